package network

import (
	"context"
	"regexp"
	"slices"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
)

// libvirt does not say which bridge an interface is in. But it keeps a port for each interface on a network,
// which goes when the network stops, together with the bridge: an interface whose port is gone is in no bridge
// until it is plugged in again. Interfaces on a bridge by its name have no port. They go with those that have.

// CutOff names the running machines that a network's bridge has lost: it was stopped and started without them,
// or whoever plugged them in again was interrupted.
func CutOff(ctx context.Context, c *hypervisor.Client, n *hypervisor.Network) ([]string, error) {
	if !n.Active() || n.OwnBridge() == "" {
		return nil, nil // nobody's, or a bridge that outlives the network
	}
	all, err := c.PlanInterfaces(ctx)
	if err != nil {
		return nil, err
	}
	lost, err := lostOf(ctx, c, n, all)
	var names []string
	for _, p := range lost {
		names = append(names, p.Domain)
	}
	slices.Sort(names)
	return slices.Compact(names), err
}

// plugBack plugs in what the bridge of an active network has lost.
func plugBack(ctx context.Context, c *hypervisor.Client, nameOrUUID string) error {
	n, err := c.Network(ctx, nameOrUUID)
	if err != nil || !n.Active() || n.OwnBridge() == "" {
		return err
	}
	defer c.ForgetPlan()
	all, err := c.RunningInterfaces(ctx)
	if err != nil {
		return err
	}
	lost, err := lostOf(ctx, c, n, all)
	if err != nil || len(lost) == 0 {
		return err
	}
	for _, p := range all {
		if p.Bridge == n.Bridge() {
			lost = append(lost, p)
		}
	}
	return plugAll(ctx, c, n, lost)
}

// lostOf picks those interfaces that a network's bridge has lost. No question is asked where none is on it.
func lostOf(ctx context.Context, c *hypervisor.Client, n *hypervisor.Network, all []hypervisor.Interface) ([]hypervisor.Interface, error) {
	lost, err := portless(ctx, c, n, all)
	if err != nil || !slices.ContainsFunc(all, func(p hypervisor.Interface) bool { return libvirtsBridge.MatchString(p.Bridge) }) {
		return lost, err
	}
	stranded, err := strandedOf(ctx, c, n)
	return append(lost, stranded...), err
}

// portless picks the interfaces on a network whose port is gone.
func portless(ctx context.Context, c *hypervisor.Client, n *hypervisor.Network, all []hypervisor.Interface) ([]hypervisor.Interface, error) {
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

// libvirtsBridge is a name that libvirt chooses, as it does for a spare bridge.
var libvirtsBridge = regexp.MustCompile(`^virbr\d+$`)

// strandedOf lists the interfaces on a network's spare bridge, where an interrupted apply left them.
func strandedOf(ctx context.Context, c *hypervisor.Client, n *hypervisor.Network) ([]hypervisor.Interface, error) {
	spare, err := c.Network(ctx, spareName(n))
	if hypervisor.IsNotFound(err) {
		return nil, nil
	}
	if err != nil || spare.Bridge() == "" {
		return nil, err
	}
	stranded, err := interfacesOn(ctx, c, "", spare.Bridge())
	if err != nil {
		return nil, err
	}
	for i, p := range stranded {
		configured, err := c.DomainInterfaces(ctx, p.Domain, p.DomainUUID, true)
		if err != nil {
			return nil, err
		}
		byBridge := slices.ContainsFunc(configured, func(q hypervisor.Interface) bool { return macOf(q.XML) == macOf(p.XML) && q.Bridge == n.Bridge() })
		if !byBridge {
			stranded[i].XML = onNetwork(p.XML, n.Name)
		}
	}
	return stranded, nil
}

var macElement = regexp.MustCompile(`<mac address='([^']*)'`)

func macOf(element string) string { return strings.ToLower(macElement.FindString(element)) }
