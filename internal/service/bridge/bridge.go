// Package bridge is a host bridge with physical interfaces in it, as plain values, and what makes it
// and takes it apart again without losing the machine.
package bridge

import (
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/plan"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/hostnet"
)

// Bridge is a host bridge as it shall be, or as it is.
type Bridge struct {
	// Name of the device, at most 15 bytes.
	Name string
	// Interfaces are the physical interfaces in it, in order. The MAC of the first one, or of the first one in a bond, becomes the
	// bridge's.
	Interfaces []string
	// VLANs are in it as devices that the bridge makes, and Bonds with the physical interfaces that they are made of.
	VLANs         []hostnet.VLANOptions
	Bonds         []Bond
	STP           bool
	VLANFiltering bool
	// MTU in bytes; 0 leaves what the interfaces have.
	MTU int
	// Inherit moves the interfaces' addresses and routes to the bridge; otherwise Addressing is set and the interfaces' own go.
	Inherit bool
	// Addressing is without routes. Name servers and domains that it does not list are inherited too.
	hostnet.Addressing
	// Backend is what keeps the bridge over reboots: one of hostnet's, or hostnet.Auto for what manages the interfaces.
	Backend string
	// ActiveBackend is the one that keeps it. Only read.
	ActiveBackend string
	// RollbackTimeout is how long the machine waits for the disarming before it goes back by itself.
	RollbackTimeout time.Duration
	// Active are the addresses that the bridge has, whoever gave them to it. Only read.
	Active []netip.Prefix `json:"-"`
}

// Bond is several physical interfaces that act as one, in a bridge.
type Bond struct {
	Name       string   `json:"name"`
	Mode       string   `json:"mode"`
	Interfaces []string `json:"interfaces"`
}

// Modes are the kernel's names of what a bond does.
var Modes = []string{"balance-rr", "active-backup", "balance-xor", "broadcast", "802.3ad", "balance-tlb", "balance-alb"}

// VLANDevice is the name of the device of a VLAN.
func VLANDevice(v hostnet.VLANOptions) string { return fmt.Sprintf("%s.%d", v.Parent, v.ID) }

// physicalInterfaces are those that the physical interfaces that the bridge takes, into it or into a bond.
func (b Bridge) physicalInterfaces() []string {
	all := slices.Clone(b.Interfaces)
	for _, bond := range b.Bonds {
		all = append(all, bond.Interfaces...)
	}
	return all
}

// ownDevices are those that the bridge makes beside itself.
func (b Bridge) ownDevices() []string {
	var names []string
	for _, bond := range b.Bonds {
		names = append(names, bond.Name)
	}
	for _, v := range b.VLANs {
		names = append(names, VLANDevice(v))
	}
	return names
}

// allDevices are those of the machine that the bridge is made of.
func (b Bridge) allDevices() []string {
	devices := b.physicalInterfaces()
	for _, v := range b.VLANs {
		devices = append(devices, v.Parent)
	}
	return devices
}

// masterOf is the device that a physical interface is in.
func (b Bridge) masterOf(name string) (device string, bonded bool) {
	for _, bond := range b.Bonds {
		if slices.Contains(bond.Interfaces, name) {
			return bond.Name, true
		}
	}
	return b.Name, false
}

// otherMaster names the device that a device of the bridge is in instead, as somebody put it there; "" for none.
func (b Bridge) otherMaster(now hostnet.Machine, name string) string {
	master := linkOf(now, name).Master
	if master == b.Name || slices.Contains(b.ownDevices(), master) {
		return ""
	}
	return master
}

// Validate finds what no machine would take.
func (b Bridge) Validate() []service.Problem {
	var problems []service.Problem
	if !hostnet.ValidDevice(b.Name) {
		problems = append(problems, service.Problemf([]any{"name"}, "Invalid bridge name",
			"write 1 to 15 letters, digits, dots, dashes or underscores, not %q", b.Name))
	}
	problems = append(problems, b.validateMembers()...)
	if b.Inherit {
		if len(b.Gateways) > 0 {
			problems = append(problems, service.Problemf([]any{"gateway"}, "Gateway without addresses",
				"the default route is inherited with the addresses: leave gateway out, or list the addresses"))
		}
		if b.Metric != 0 {
			problems = append(problems, service.Problemf([]any{"metric"}, "Metric without gateway", "the default route is inherited with its metric: leave metric out, or list the addresses"))
		}
		names := hostnet.Addressing{Search: b.Search}
		problems = append(problems, names.Validate()...)
	} else {
		problems = append(problems, b.Addressing.Validate()...)
	}
	if b.Backend == hostnet.Runtime {
		problems = append(problems, b.WithoutManager()...)
	}
	if b.Backend == hostnet.Netplan && b.VLANFiltering {
		problems = append(problems, service.Problemf([]any{"vlan_filtering"}, "VLAN filtering with netplan", "netplan has no word for it: choose the backend \"systemd-networkd\""))
	}
	return problems
}

func (b Bridge) validateMembers() []service.Problem {
	var problems []service.Problem
	at := []any{"interfaces"}
	if len(b.physicalInterfaces())+len(b.VLANs) == 0 {
		problems = append(problems, service.Problemf(at, "No interface", "name at least one physical interface"))
	}
	seen := map[string]bool{}
	name := func(device string) {
		if !hostnet.ValidDevice(device) || device == b.Name {
			problems = append(problems, service.Problemf(at, "Invalid interface", "%q cannot be an interface of bridge %q: write 1 to 15 letters, digits, dots, dashes or underscores", device, b.Name))
		}
		if seen[device] {
			problems = append(problems, service.Problemf(at, "Duplicate interface", "%q is listed twice", device))
		}
		seen[device] = true
	}
	for _, device := range append(b.physicalInterfaces(), b.ownDevices()...) {
		name(device)
	}
	for _, v := range b.VLANs {
		if v.ID < 1 || v.ID > 4094 {
			problems = append(problems, service.Problemf(at, "Invalid VLAN id", "write 1 to 4094 for a VLAN of %q, not %d", v.Parent, v.ID))
		}
		if slices.Contains(b.physicalInterfaces(), v.Parent) || v.Parent == b.Name {
			problems = append(problems, service.Problemf(at, "VLAN of a port", "%q is in the bridge itself, which then hears its VLANs: use vlan_filtering, or leave one of the two out", v.Parent))
		}
	}
	for _, bond := range b.Bonds {
		if !slices.Contains(Modes, bond.Mode) {
			problems = append(problems, service.Problemf(at, "Invalid bond mode", "write one of %q, not %q", Modes, bond.Mode))
		}
		if len(bond.Interfaces) == 0 {
			problems = append(problems, service.Problemf(at, "Empty bond", "name at least one physical interface of bond %q", bond.Name))
		}
	}
	return problems
}

func linkOf(m hostnet.Machine, name string) hostnet.Link {
	link, _ := m.Link(name)
	return link
}

// Uses implements plan.User: a machine has one device of a name.
func (b Bridge) Uses() []plan.Use {
	return append(b.Addressing.ListUses(plan.BridgeAddress, b.Name), plan.Use{Verb: plan.Gives, Kind: plan.HostBridge, Value: b.Name, Path: []any{"name"}, Known: []string{"name"}})
}
