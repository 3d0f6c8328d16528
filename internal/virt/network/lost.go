package network

import (
	"context"
	"regexp"
	"slices"
	"strings"

	"libvirt.org/go/libvirtxml"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
)

// libvirt does not say which bridge an interface is in. But it keeps a port for each interface on a network,
// which goes when the network stops, together with the bridge: an interface whose port is gone is in no bridge
// until it is plugged in again. Interfaces on a bridge by its name have no port. They go with those that have.

// ListCutOffMachines names the running machines that a network's bridge has lost: it was stopped and started without them,
// or whoever plugged them in again was interrupted.
func ListCutOffMachines(ctx context.Context, c *hypervisor.Client, n *hypervisor.Network) ([]string, error) {
	if !n.Active() || n.OwnBridge() == "" {
		return nil, nil // nobody's, or a bridge that outlives the network
	}
	all, err := c.PlanInterfaces(ctx)
	if err != nil {
		return nil, err
	}
	lost, err := findLostInterfaces(ctx, c, n, all)
	var names []string
	for _, p := range lost {
		names = append(names, p.Domain)
	}
	slices.Sort(names)
	return slices.Compact(names), err
}

// plugLostInterfaces plugs in what the bridge of an active network has lost.
func plugLostInterfaces(ctx context.Context, c *hypervisor.Client, nameOrUUID string) error {
	n, err := c.Network(ctx, nameOrUUID)
	if err != nil || !n.Active() || n.OwnBridge() == "" {
		return err
	}
	defer c.ForgetPlan()
	all, err := c.RunningInterfaces(ctx)
	if err != nil {
		return err
	}
	lost, err := findLostInterfaces(ctx, c, n, all)
	if err != nil || len(lost) == 0 {
		return err
	}
	for _, p := range all {
		if p.Bridge == n.Bridge() {
			lost = append(lost, p)
		}
	}
	return plugInterfaces(ctx, c, n, lost)
}

// findLostInterfaces picks those interfaces that a network's bridge has lost. No question is asked where none is on it.
func findLostInterfaces(ctx context.Context, c *hypervisor.Client, n *hypervisor.Network, all []hypervisor.Interface) ([]hypervisor.Interface, error) {
	lost, err := findPortlessInterfaces(ctx, c, n, all)
	if err != nil || !slices.ContainsFunc(all, func(p hypervisor.Interface) bool { return libvirtsBridge.MatchString(p.Bridge) }) {
		return lost, err
	}
	stranded, err := findStrandedInterfaces(ctx, c, n)
	return append(lost, stranded...), err
}

// findPortlessInterfaces picks the interfaces on a network whose port is gone.
func findPortlessInterfaces(ctx context.Context, c *hypervisor.Client, n *hypervisor.Network, all []hypervisor.Interface) ([]hypervisor.Interface, error) {
	mine := slices.DeleteFunc(slices.Clone(all), func(p hypervisor.Interface) bool { return p.Network != n.Name || p.Port == "" })
	if len(mine) == 0 {
		return nil, nil
	}
	ports, err := c.NetworkPorts(ctx, n.UUID)
	if hypervisor.IsUnsupported(err) {
		return nil, nil // a libvirt before 5.5
	}
	if err != nil {
		return nil, err
	}
	there := map[string]bool{}
	for _, id := range ports {
		there[id] = true
	}
	var lost []hypervisor.Interface
	for _, p := range mine {
		if there[p.Port] {
			continue
		}
		// A machine that ended since it was read has lost its port too.
		now, err := c.DomainInterfaces(ctx, p.Domain, p.DomainUUID, false)
		if err != nil {
			return nil, err
		}
		if i := slices.IndexFunc(now, func(q hypervisor.Interface) bool { return q.Port == p.Port }); i >= 0 {
			lost = append(lost, now[i])
		}
	}
	return lost, nil
}

// libvirtsBridge matches the names that libvirt gives to bridges by itself, as to a spare bridge.
var libvirtsBridge = regexp.MustCompile(`^virbr\d+$`)

// findStrandedInterfaces lists the interfaces on a network's spare bridge, where an interrupted apply left them.
func findStrandedInterfaces(ctx context.Context, c *hypervisor.Client, n *hypervisor.Network) ([]hypervisor.Interface, error) {
	spare, err := c.Network(ctx, spareBridgeName(n))
	if hypervisor.IsNotFound(err) {
		return nil, nil
	}
	if err != nil || spare.Bridge() == "" {
		return nil, err
	}
	stranded, err := listInterfacesOn(ctx, c, "", spare.Bridge())
	if err != nil {
		return nil, err
	}
	for i, p := range stranded {
		configured, err := c.DomainInterfaces(ctx, p.Domain, p.DomainUUID, true)
		if err != nil {
			return nil, err
		}
		byBridge := slices.ContainsFunc(configured, func(q hypervisor.Interface) bool { return readMAC(q) == readMAC(p) && q.Bridge == n.Bridge() })
		if !byBridge {
			stranded[i].Network, stranded[i].Bridge = n.Name, ""
			stranded[i].Device.Source = &libvirtxml.DomainInterfaceSource{Network: &libvirtxml.DomainInterfaceSourceNetwork{Network: n.Name}}
		}
	}
	return stranded, nil
}

func readMAC(p hypervisor.Interface) string {
	if p.Device.MAC == nil {
		return ""
	}
	return strings.ToLower(p.Device.MAC.Address)
}
