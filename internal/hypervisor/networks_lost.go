package hypervisor

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/digitalocean/go-libvirt"
)

// libvirt does not say which bridge an interface is in. But it keeps a port for each interface on a network,
// which goes when the network stops, together with the bridge: an interface whose port is gone is in no bridge
// until it is plugged in again. Interfaces on a bridge by its name have no port. They go with those that have.

// CutOff names the running machines that a network's bridge has lost: it was stopped and started without them,
// or whoever plugged them in again was interrupted.
func (c *Client) CutOff(ctx context.Context, n *Network) ([]string, error) {
	if !n.Active() || n.ownBridge() == "" {
		return nil, nil // nobody's, or a bridge that outlives the network
	}
	all, err := c.planPlugs(ctx)
	if err != nil {
		return nil, err
	}
	lost, err := callIdempotent(ctx, c, n.looking(), func(l *libvirt.Libvirt) ([]plug, error) { return lostOf(l, n, all) })
	var names []string
	for _, p := range lost {
		names = append(names, p.domain.Name)
	}
	slices.Sort(names)
	return slices.Compact(names), err
}

func (n *Network) looking() string {
	return fmt.Sprintf("look for machines that are cut off from network %q", n.Name)
}

// plugBack plugs in what the bridge of an active network has lost.
func (c *Client) plugBack(ctx context.Context, nameOrUUID string) error {
	n, err := c.Network(ctx, nameOrUUID)
	if err != nil || !n.Active() || n.ownBridge() == "" {
		return err
	}
	defer c.forget()
	lost, err := callIdempotent(ctx, c, n.looking(), func(l *libvirt.Libvirt) ([]plug, error) {
		all, err := runningInterfaces(l)
		if err != nil {
			return nil, err
		}
		lost, err := lostOf(l, n, all)
		if len(lost) == 0 {
			return nil, err
		}
		for _, p := range all {
			if p.bridge == n.Bridge() {
				lost = append(lost, p)
			}
		}
		return lost, err
	})
	if err != nil {
		return err
	}
	return c.plugAll(ctx, n, lost)
}

// lostOf picks those interfaces that a network's bridge has lost. No question is asked where none is on it.
func lostOf(l *libvirt.Libvirt, n *Network, all []plug) ([]plug, error) {
	lost, err := portless(l, n, all)
	if err != nil || !slices.ContainsFunc(all, func(p plug) bool { return libvirtsBridge.MatchString(p.bridge) }) {
		return lost, err
	}
	stranded, err := strandedOf(l, n)
	return append(lost, stranded...), err
}

// portless picks the interfaces on a network whose port is gone.
func portless(l *libvirt.Libvirt, n *Network, all []plug) ([]plug, error) {
	mine := slices.DeleteFunc(slices.Clone(all), func(p plug) bool { return p.network != n.Name || p.port == "" })
	if len(mine) == 0 {
		return nil, nil
	}
	ref, err := lookupNetwork(l, n.UUID)
	if err != nil {
		return nil, err
	}
	ports, _, err := l.NetworkListAllPorts(ref, 1, 0)
	if Code(explain("", err)) == int(libvirt.ErrNoSupport) {
		return nil, nil // a libvirt before 5.5
	}
	if err != nil {
		return nil, err
	}
	there := map[string]bool{}
	for _, p := range ports {
		there[uuidText(p.UUID)] = true
	}
	var lost []plug
	for _, p := range mine {
		if there[p.port] {
			continue
		}
		// A machine that ended since it was read has lost its port too.
		now, err := interfacesOf(l, p.domain, 0)
		if err != nil {
			return nil, err
		}
		if i := slices.IndexFunc(now, func(q plug) bool { return q.port == p.port }); i >= 0 {
			lost = append(lost, now[i])
		}
	}
	return lost, nil
}

// libvirtsBridge is a name that libvirt chooses, as it does for a spare bridge.
var libvirtsBridge = regexp.MustCompile(`^virbr\d+$`)

// strandedOf lists the interfaces on a network's spare bridge, where an interrupted apply left them.
func strandedOf(l *libvirt.Libvirt, n *Network) ([]plug, error) {
	ref, err := l.NetworkLookupByName(n.spareName())
	if IsNotFound(explain("", err)) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	spare, err := readNetwork(l, ref)
	if err != nil || spare.Bridge() == "" {
		return nil, err
	}
	plugs, err := plugsOf(l, "", spare.Bridge())
	if err != nil {
		return nil, err
	}
	var stranded []plug
	for _, p := range plugs {
		if p.bridge == "" {
			continue
		}
		configured, err := interfacesOf(l, p.domain, libvirt.DomainXMLInactive)
		if err != nil {
			return nil, err
		}
		byBridge := slices.ContainsFunc(configured, func(q plug) bool { return q.mac() == p.mac() && q.bridge == n.Bridge() })
		if !byBridge {
			p.xml = p.onNetwork(n.Name)
		}
		stranded = append(stranded, p)
	}
	return stranded, nil
}

var macElement = regexp.MustCompile(`<mac address='([^']*)'`)

func (p plug) mac() string { return strings.ToLower(macElement.FindString(p.xml)) }
