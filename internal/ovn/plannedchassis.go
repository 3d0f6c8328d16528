package ovn

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/plan"
)

// PlannedChassis is a machine that a plan has guests of OVN's networks on.
type PlannedChassis struct {
	Name string
	// Hypervisor is the provider's name of it, "" where that is not written.
	Hypervisor string
}

// NoChassisError says that a hypervisor is no chassis of OVN: guests there would have nothing to be plugged into.
type NoChassisError struct {
	// Hypervisor is how messages have it, and Machine a reference to the one with the databases.
	Hypervisor, Machine string
	// Chassis are those that there are, or will be.
	Chassis []string
}

func (e *NoChassisError) Error() string {
	there := "which has none"
	if len(e.Chassis) > 0 {
		there = "whose chassis are " + strings.Join(e.Chassis, ", ")
	}
	return fmt.Sprintf("%s is no chassis of OVN of %s, %s: write it into chassis of the virtcluster_ovn, or have the machine on another hypervisor", e.Hypervisor, host.WithoutKey(e.Machine), there)
}

// CheckPlannedChassis finds whether a hypervisor, by its name, will be a chassis of OVN as a plan has it, by a reference to the machine with the databases.
// It is decided where the plan has that OVN, and each chassis of it says which hypervisor it is; and also, without an error, where
// the plan changes that OVN: what the databases have is not what will be there then.
func CheckPlannedChassis(v plan.View, machine, hypervisor string) (decided bool, err error) {
	for _, held := range v.List(plan.OVNChassis) {
		all, ok := held.Of.([]PlannedChassis)
		if !ok || !host.SameReference(held.Holder.Object, machine) {
			continue
		}
		var names []string
		for _, c := range all {
			if c.Hypervisor == "" || hypervisor == "" { // one that has no name may be one that has
				return held.Holder.Doing != plan.Keeps, nil
			}
			if c.Hypervisor == hypervisor {
				return true, nil
			}
			names = append(names, fmt.Sprintf("%q on hypervisor %q", c.Name, c.Hypervisor))
		}
		if len(all) == 0 {
			return held.Holder.Doing != plan.Keeps, nil
		}
		return true, &NoChassisError{Hypervisor: plan.NameHypervisor(hypervisor), Machine: machine, Chassis: names}
	}
	// A plan that has OVN, and not yet which chassis, decides about them later.
	return slices.ContainsFunc(v.List(plan.OVN), func(held plan.Held) bool {
		return host.SameReference(held.Holder.Object, machine) && held.Holder.Doing != plan.Keeps
	}), nil
}

// CheckChassis finds whether a machine is a chassis, by what it calls itself: those of which the database does not know what they call themselves may be it.
func (n *Northbound) CheckChassis(ctx context.Context, machine, hypervisor, hostname string) error {
	rows, err := Rows(ctx, n.South, All[ChassisRow])
	if err != nil {
		return err
	}
	var names []string
	for _, c := range rows {
		if c.Hostname == "" || shortName(c.Hostname) == shortName(hostname) {
			return nil
		}
		names = append(names, c.Hostname)
	}
	slices.Sort(names)
	return &NoChassisError{Hypervisor: fmt.Sprintf("%s, which calls itself %s,", plan.NameHypervisor(hypervisor), hostname), Machine: machine, Chassis: names}
}

// SameMachine says whether two references to databases of OVN are to one machine.
func SameMachine(a, b string) bool { return host.SameReference(a, b) }

// shortName is what a machine calls itself without its domain.
func shortName(name string) string {
	first, _, _ := strings.Cut(name, ".")
	return strings.ToLower(first)
}
