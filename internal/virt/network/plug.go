package network

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"libvirt.org/go/libvirtxml"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
)

// A network that is stopped takes its bridge along, and one that starts does not look for the interfaces of
// running machines that were in it. An update of the interface connects it where its bridge becomes another
// one, without the guest noticing, and not where nothing changes; a change of its type that keeps the bridge
// connects it in libvirt 9 and no longer in libvirt 11 (both measured). So each goes to a spare bridge and
// back, which also registers the network's port.

// Start starts a network and plugs the interfaces of running machines into its bridge again; into an active one it plugs
// those that its bridge has lost.
func Start(ctx context.Context, c *hypervisor.Client, nameOrUUID string) error {
	started, err := c.StartNetwork(ctx, nameOrUUID)
	if err != nil {
		return err
	}
	if !started {
		return plugLostInterfaces(ctx, c, nameOrUUID)
	}
	return plugNetworkIn(ctx, c, nameOrUUID)
}

// plugNetworkIn plugs the interfaces of running machines into the bridge of a network that has just started: those
// that name the network, and those that name its bridge or one of the former bridges.
func plugNetworkIn(ctx context.Context, c *hypervisor.Client, nameOrUUID string, former ...string) error {
	defer c.ForgetPlan()
	n, err := c.Network(ctx, nameOrUUID)
	if err != nil || !n.Active() || n.Bridge() == "" || n.Live.VirtualPort != nil {
		return err
	}
	bridges := former
	if own := n.OwnBridge(); own != "" {
		bridges = append(bridges, own)
	}
	plugs, err := listInterfacesOn(ctx, c, n.Name, bridges...)
	if err != nil {
		return err
	}
	stranded, err := findStrandedInterfaces(ctx, c, n)
	if err != nil {
		return err
	}
	return plugInterfaces(ctx, c, n, append(plugs, stranded...))
}

// plugInterfaces plugs interfaces into the network's bridge.
func plugInterfaces(ctx context.Context, c *hypervisor.Client, n *hypervisor.Network, plugs []hypervisor.Interface) error {
	if len(plugs) == 0 {
		return nil
	}
	spare, remove, err := createSpareBridge(ctx, c, n)
	if err != nil {
		return err
	}
	var failed []error
	for _, p := range plugs {
		// One machine that cannot be plugged in must not leave the others without a network.
		if err := replugInterface(ctx, c, n, n.Bridge(), spare, p); err != nil && !hypervisor.IsNotFound(err) {
			failed = append(failed, err)
		}
	}
	return errors.Join(append(failed, remove())...)
}

// createSpareBridge makes a bridge of no use, by a network that is gone when it is stopped. One that an interrupted apply
// left is taken, because it tells whose the interfaces on it are.
func createSpareBridge(ctx context.Context, c *hypervisor.Client, n *hypervisor.Network) (bridge string, remove func() error, err error) {
	name := spareBridgeName(n)
	remove = func() error { return c.StopNetwork(context.WithoutCancel(ctx), name) }
	if left, err := c.Network(ctx, name); err == nil && left.Active() {
		return left.Bridge(), remove, nil
	}
	err = c.CreateTransientNetwork(ctx, fmt.Sprintf("make a spare bridge for network %q", n.Name), "<network><name>"+name+"</name><bridge stp='off' delay='0'/></network>")
	if err != nil {
		return "", nil, err
	}
	made, err := c.Network(ctx, name)
	if err != nil {
		return "", nil, errors.Join(err, remove())
	}
	return made.Bridge(), remove, nil
}

// spareBridgeName returns the name of the network that the spare bridge belongs to.
func spareBridgeName(n *hypervisor.Network) string { return "virtcluster-plug-" + n.UUID }

// listInterfacesOn lists the interfaces of running machines on a network or on a bridge.
func listInterfacesOn(ctx context.Context, c *hypervisor.Client, network string, bridges ...string) ([]hypervisor.Interface, error) {
	all, err := c.RunningInterfaces(ctx)
	return slices.DeleteFunc(all, func(p hypervisor.Interface) bool {
		return (p.Network == "" || p.Network != network) && (p.Bridge == "" || !slices.Contains(bridges, p.Bridge))
	}), err
}

// replugInterface connects one interface to the bridge by way of the spare one.
func replugInterface(ctx context.Context, c *hypervisor.Client, n *hypervisor.Network, bridge, spare string, p hypervisor.Interface) error {
	back := newBridgeSource(bridge)
	if p.Bridge == "" {
		on := *p.Device.Source.Network
		on.PortID = "" // it went with the stop
		back = &libvirtxml.DomainInterfaceSource{Network: &on}
	}
	for _, source := range []*libvirtxml.DomainInterfaceSource{newBridgeSource(spare), back} {
		device := p.Device
		device.Source = source
		if err := c.UpdateInterface(ctx, fmt.Sprintf("plug an interface of domain %q into network %q", p.Domain, n.Name), p, &device); err != nil {
			return err
		}
	}
	return nil
}

func newBridgeSource(bridge string) *libvirtxml.DomainInterfaceSource {
	return &libvirtxml.DomainInterfaceSource{Bridge: &libvirtxml.DomainInterfaceSourceBridge{Bridge: bridge}}
}

// ListPlugs names the networks on a hypervisor that each of some MAC addresses is plugged into, as its machines are configured: by
// their names, or by the bridges that they have. A bridge that no network has is "the bridge NAME".
func ListPlugs(ctx context.Context, c *hypervisor.Client, macs []string) (map[string][]string, error) {
	domains, err := c.Domains(ctx)
	if err != nil {
		return nil, err
	}
	networks, err := c.PlanNetworks(ctx)
	if err != nil {
		return nil, err
	}
	return matchPlugs(domains, networks, macs), nil
}

func matchPlugs(domains []*hypervisor.Domain, networks []*hypervisor.Network, macs []string) map[string][]string {
	plugs := map[string][]string{}
	for _, d := range domains {
		for _, x := range d.Config.Devices.Interfaces {
			if x.MAC == nil || x.Source == nil {
				continue
			}
			at := slices.IndexFunc(macs, func(mac string) bool { return strings.EqualFold(mac, x.MAC.Address) })
			if name := nameSource(x.Source, networks); at >= 0 && name != "" {
				plugs[macs[at]] = append(plugs[macs[at]], name)
			}
		}
	}
	return plugs
}

// nameSource names what an interface is plugged into; "" where that is neither a network nor a bridge.
func nameSource(source *libvirtxml.DomainInterfaceSource, networks []*hypervisor.Network) string {
	switch {
	case source.Network != nil:
		return source.Network.Network
	case source.Bridge != nil:
		for _, n := range networks {
			if n.Bridge() == source.Bridge.Bridge {
				return n.Name
			}
		}
		return "the bridge " + source.Bridge.Bridge
	}
	return ""
}

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
