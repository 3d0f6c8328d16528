package network

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/plan"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

// Checker finds what can be known about a planned network only by asking its hypervisor.
type Checker struct {
	Client *hypervisor.Client
	// Want is planned; Was is what is there, and the zero value where there is nothing.
	Want, Was Definition
	// UUID is that of the network that is there; "" for one that is to be made.
	UUID string
	// DHCPUnknown and PXEUnknown are set where parts of the network's DHCP or PXE are known at apply only.
	DHCPUnknown, PXEUnknown bool
	// Plan is what the plan holds, and Hypervisors are all that it knows, by their names.
	Plan        plan.Notes
	Hypervisors map[string]*hypervisor.Client
}

// NoteSuccession notes that the network succeeds another one, which is in nobody's way then: one of another name that is there, or,
// where it replaces one, that of its own name.
func (k *Checker) NoteSuccession(ctx context.Context, replaces bool) error {
	if k.UUID != "" && k.Was.Name != k.Want.Name {
		first := slices.ContainsFunc(k.Want.Subnets(), func(mine netip.Prefix) bool { return slices.ContainsFunc(k.Was.Subnets(), mine.Overlaps) })
		k.noteSuccession(k.UUID, first)
	}
	if k.UUID != "" || !replaces {
		return nil
	}
	networks, err := k.Client.PlanNetworks(ctx)
	if at := slices.IndexFunc(networks, func(n *hypervisor.Network) bool { return n.Name == k.Want.Name }); at >= 0 {
		k.noteSuccession(networks[at].UUID, true)
	}
	return err
}

// noteSuccession notes that a network of the hypervisor is succeeded by another one, and whether it has to go first.
func (k *Checker) noteSuccession(uuid string, first bool) {
	u := newSuccession(k.Client.URI(), uuid)
	if first {
		u.For = goesFirst
	}
	k.Plan.Note(u)
}

func (k *Checker) isSucceeded(uuid string) bool {
	_, goes := FindSuccession(k.Plan, k.Client.URI(), uuid)
	return goes
}

// goesFirst is whom a succession is for where the old network has to go before the new one can be made: they have a name or addresses in
// common.
const goesFirst = "first"

func newSuccession(uri, uuid string) plan.Use {
	return plan.Use{Verb: plan.Gives, Kind: plan.SucceededNetwork, On: uri, Value: uuid}
}

// FindSuccession returns whether a network, by its hypervisor's URI and its UUID, is succeeded by another one, and has to go first.
func FindSuccession(view plan.View, uri, uuid string) (first, goes bool) {
	for _, u := range view.List(plan.SucceededNetwork) {
		if u.On == uri && u.Value == uuid {
			return u.For == goesFirst, true
		}
	}
	return false, false
}

// subnetAttribute returns the path of the attribute that a subnet is written in.
func subnetAttribute(p netip.Prefix) []any {
	if p.Addr().Is6() {
		return []any{"ipv6_cidr"}
	}
	return []any{"cidr"}
}

// Subnets returns the subnets that the network has: one of each family at most.
func (n Definition) Subnets() []netip.Prefix {
	var all []netip.Prefix
	for _, p := range []netip.Prefix{n.Subnet, n.Subnet6} {
		if p.IsValid() {
			all = append(all, p)
		}
	}
	return all
}

// OverlapProblem returns the problem of a subnet that overlaps another one; whose says which that is: `of network "okd"`.
func OverlapProblem(mine, other netip.Prefix, whose string) service.Problem {
	return service.Problemf(subnetAttribute(mine), "Overlapping subnets", "%s overlaps %s %s: choose a subnet outside of it.", mine, other, whose)
}

// CheckSurroundings returns what the network would collide with: the hypervisor's other networks, and the devices and routes of its
// machine. One whose subnets and bridge stay as they are asks nobody. The error is a hypervisor that does not answer.
func (k *Checker) CheckSurroundings(ctx context.Context) ([]service.Problem, error) {
	if k.keepsSubnets() && k.Want.Bridge == k.Was.Bridge && k.Want.Mode == k.Was.Mode {
		return nil, nil
	}
	networks, err := k.Client.PlanNetworks(ctx)
	if err != nil {
		return nil, err
	}
	bridges := map[string]bool{} // of networks, which the routes below lead to as well
	var problems []service.Problem
	for _, n := range networks {
		bridges[n.Bridge()] = true
		if n.Name == k.Want.Name || k.UUID != "" && n.UUID == k.UUID || k.isSucceeded(n.UUID) {
			continue
		}
		other, err := Parse(n.ConfigXML)
		if err != nil {
			return problems, err
		}
		mark, err := parseMark(n.ConfigXML)
		if err != nil {
			return problems, err
		}
		problems = append(problems, k.compareWith(other, mark)...)
	}
	device, err := k.checkDevice(ctx, bridges)
	foreign, err2 := k.checkForeignBridge(ctx)
	problems = append(append(problems, device...), foreign...)
	if err := errors.Join(err, err2); err != nil {
		return problems, err
	}
	routes, err := k.checkRoutes(ctx, bridges)
	return append(problems, routes...), err
}

func (k *Checker) keepsSubnets() bool {
	return k.Want.Subnet == k.Was.Subnet && k.Want.Subnet6 == k.Was.Subnet6
}

// compareWith returns what another network of the hypervisor, with the mark of its owner, has and the planned one wants. One that this
// state made may be the planned one under another key, and Terraform would make the new one while the old one is there.
func (k *Checker) compareWith(other Definition, mark owner.Mark) []service.Problem {
	name := fmt.Sprintf("%q on hypervisor %s", other.Name, k.Client.URI())
	var problems []service.Problem
	for _, mine := range k.Want.Subnets() {
		for _, its := range other.Subnets() {
			if !mine.Overlaps(its) {
				continue
			}
			p := OverlapProblem(mine, its, "of network "+name)
			if mark.Workspace != "" && mark.Workspace == owner.Workspace() {
				p.Detail += fmt.Sprintf(" This state made network %q: where the planned one is to take its place under another name or for_each key, write moved { from = … to = … } with the two addresses, by which it stays and only what differs changes.", other.Name)
			}
			problems = append(problems, p)
		}
	}
	if k.Want.Bridge != "" && other.Bridge == k.Want.Bridge && (k.Want.Mode != Bridge || other.Mode != Bridge) {
		problems = append(problems, service.Problemf([]any{"bridge"}, "Bridge name taken", "Network %s has the bridge %s: write another name, or none.", name, other.Bridge))
	}
	return problems
}

// checkDevice looks for a network device that has the new bridge's name.
func (k *Checker) checkDevice(ctx context.Context, bridges map[string]bool) ([]service.Problem, error) {
	if k.Want.Bridge == "" || k.Want.Bridge == k.Was.Bridge || k.Want.Mode == Bridge || bridges[k.Want.Bridge] {
		return nil, nil
	}
	taken, err := k.Client.HasDevice(ctx, k.Want.Bridge)
	if !taken {
		return nil, err
	}
	return []service.Problem{service.Problemf([]any{"bridge"}, "Bridge name taken",
		"Hypervisor %s has a network device %s already: write another name. To plug machines into an existing bridge, use mode \"bridge\".", k.Client.URI(), k.Want.Bridge)}, err
}

// checkForeignBridge looks for the bridge of mode bridge, which is somebody else's.
func (k *Checker) checkForeignBridge(ctx context.Context) ([]service.Problem, error) {
	bridge := k.Want.Bridge
	if k.Want.Mode != Bridge || bridge == "" || k.Was.Mode == Bridge && k.Was.Bridge == bridge || PlansBridge(k.Plan, k.Hypervisors, k.Client, bridge) {
		return nil, nil
	}
	lacks, sure, err := k.Client.LacksDevice(ctx, bridge)
	switch {
	case err != nil || !lacks:
		return nil, err
	case sure:
		return []service.Problem{service.Problemf([]any{"bridge"}, "Unknown bridge",
			"Hypervisor %s has no bridge %q, and nothing planned so far makes it: make it there, or with virtcluster_external_bridge, and refer to that resource's attribute instead of writing its name, so that it comes first.", k.Client.URI(), bridge)}, nil
	}
	return []service.Problem{service.Warningf([]any{"bridge"}, "Bridge not found",
		"No bridge %q was found on hypervisor %s, which cannot be looked at closely: without it no machine on the network starts.", bridge, k.Client.URI())}, nil
}

// PlansBridge says whether a resource of the plan has a bridge on a hypervisor, under whichever name the configuration knows that,
// or on a host that may be its machine.
func PlansBridge(view plan.View, hypervisors map[string]*hypervisor.Client, on *hypervisor.Client, bridge string) bool {
	return plan.PlansBridge(view, bridge, func(place string) bool {
		for name, c := range hypervisors {
			if c == on && plan.NameHypervisor(name) == place {
				return true
			}
		}
		return false
	})
}

// checkRoutes looks for the new subnets among the routes of the hypervisor's machine: the narrower of the two would take the
// other's traffic.
func (k *Checker) checkRoutes(ctx context.Context, bridges map[string]bool) ([]service.Problem, error) {
	if k.keepsSubnets() {
		return nil, nil
	}
	routes, err := ListRoutesInTheWay(ctx, k.Client)
	if err != nil {
		return nil, err
	}
	var problems []service.Problem
	for _, mine := range k.Want.Subnets() {
		for _, r := range routes {
			if mine.Overlaps(r.Destination) && !bridges[r.Device] {
				problems = append(problems, OverlapProblem(mine, r.Destination, describeRoute(k.Client.URI(), r)))
			}
		}
	}
	return problems, nil
}

// describeRoute says how a hypervisor reaches what a route is for.
func describeRoute(uri string, r hypervisor.HostRoute) string {
	through := "device " + r.Device
	if r.Via.IsValid() {
		through = fmt.Sprintf("%s on device %s", r.Via, r.Device)
	}
	return fmt.Sprintf("that hypervisor %s reaches through %s (see `ip route` there)", uri, through)
}
