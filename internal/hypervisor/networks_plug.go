package hypervisor

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/digitalocean/go-libvirt"
	"golang.org/x/sync/errgroup"
	"libvirt.org/go/libvirtxml"
)

// A network that is stopped takes its bridge along, and one that starts does not look for the interfaces of
// running machines that were in it. An update of the interface connects it where its bridge becomes another
// one, without the guest noticing, and not where nothing changes; a change of its type that keeps the bridge
// connects it in libvirt 9 and no longer in libvirt 11 (both measured). So each goes to a spare bridge and
// back, which also registers the network's port.

// plugIn plugs the interfaces of running machines into the bridge of a network that has just started: those
// that name the network, and those that name its bridge or one of the former bridges.
func (c *Client) plugIn(ctx context.Context, nameOrUUID string, former ...string) error {
	defer c.forget()
	n, err := c.Network(ctx, nameOrUUID)
	if err != nil || !n.Active() || n.Bridge() == "" || n.Live.VirtualPort != nil {
		return err
	}
	bridges := former
	if own := n.ownBridge(); own != "" {
		bridges = append(bridges, own)
	}
	plugs, err := callIdempotent(ctx, c, fmt.Sprintf("find the interfaces on network %q", n.Name), func(l *libvirt.Libvirt) ([]plug, error) {
		plugs, err := plugsOf(l, n.Name, bridges...)
		if err != nil {
			return nil, err
		}
		stranded, err := strandedOf(l, n)
		return append(plugs, stranded...), err
	})
	if err != nil {
		return err
	}
	return c.plugAll(ctx, n, plugs)
}

// plugAll plugs interfaces into the network's bridge.
func (c *Client) plugAll(ctx context.Context, n *Network, plugs []plug) error {
	if len(plugs) == 0 {
		return nil
	}
	spare, remove, err := c.spareBridge(ctx, n)
	if err != nil {
		return err
	}
	var failed []error
	for _, p := range plugs {
		// One machine that cannot be plugged in must not leave the others without a network.
		if err := c.replug(ctx, n, n.Bridge(), spare, p); err != nil && !IsNotFound(err) {
			failed = append(failed, err)
		}
	}
	return errors.Join(append(failed, remove())...)
}

// spareBridge makes a bridge of no use, by a network that is gone when it is stopped. One that an interrupted apply
// left is taken, because it tells whose the interfaces on it are.
func (c *Client) spareBridge(ctx context.Context, n *Network) (bridge string, remove func() error, err error) {
	name := n.spareName()
	remove = func() error { return c.StopNetwork(context.WithoutCancel(ctx), name) }
	if left, err := c.Network(ctx, name); err == nil && left.Active() {
		return left.Bridge(), remove, nil
	}
	c.bridgeNames.Lock()
	_, err = call(ctx, c, fmt.Sprintf("make a spare bridge for network %q", n.Name), func(l *libvirt.Libvirt) (libvirt.Network, error) {
		return l.NetworkCreateXML("<network><name>" + name + "</name><bridge stp='off' delay='0'/></network>")
	})
	c.bridgeNames.Unlock()
	if err != nil {
		return "", nil, err
	}
	made, err := c.Network(ctx, name)
	if err != nil {
		return "", nil, errors.Join(err, remove())
	}
	return made.Bridge(), remove, nil
}

// spareName is the network's that the spare bridge belongs to.
func (n *Network) spareName() string { return "virtcluster-plug-" + n.UUID }

// plug is an interface of a running machine.
type plug struct {
	domain libvirt.Domain
	xml    string // its element in the running definition, whole
	// network, by name, with its port there, or bridge: what it is on.
	network, port, bridge string
}

var interfaceElement = regexp.MustCompile(`(?s)<interface type='(?:network|bridge)'>.*?</interface>`)

// plugsOf lists the interfaces of running machines on a network or on a bridge.
func plugsOf(l *libvirt.Libvirt, network string, bridges ...string) ([]plug, error) {
	all, err := runningInterfaces(l)
	return slices.DeleteFunc(all, func(p plug) bool {
		return (p.network == "" || p.network != network) && (p.bridge == "" || !slices.Contains(bridges, p.bridge))
	}), err
}

// runningInterfaces lists the interfaces of all running machines on networks and bridges.
func runningInterfaces(l *libvirt.Libvirt) ([]plug, error) {
	domains, _, err := l.ConnectListAllDomains(1, libvirt.ConnectListDomainsActive)
	if err != nil {
		return nil, err
	}
	found := make([][]plug, len(domains))
	var group errgroup.Group
	group.SetLimit(8) // a hypervisor may be far away
	for i, d := range domains {
		group.Go(func() (err error) {
			found[i], err = interfacesOf(l, d, 0)
			return err
		})
	}
	err = group.Wait()
	return slices.Concat(found...), err
}

// interfacesOf lists the interfaces of one machine; one that is gone has none.
func interfacesOf(l *libvirt.Libvirt, d libvirt.Domain, flags libvirt.DomainXMLFlags) ([]plug, error) {
	text, err := l.DomainGetXMLDesc(d, flags)
	if IsNotFound(explain("", err)) {
		return nil, nil // ended meanwhile
	}
	if err != nil {
		return nil, err
	}
	var plugs []plug
	for _, element := range interfaceElement.FindAllString(text, -1) {
		var i libvirtxml.DomainInterface
		if err := i.Unmarshal(element); err != nil {
			return nil, fmt.Errorf("parse an interface of domain %q: %w", d.Name, err)
		}
		p := plug{domain: d, xml: element}
		if s := i.Source; s != nil && s.Network != nil {
			p.network, p.port = s.Network.Network, s.Network.PortID
		} else if s != nil && s.Bridge != nil {
			p.bridge = s.Bridge.Bridge
		}
		plugs = append(plugs, p)
	}
	return plugs, nil
}

var (
	sourceElement = regexp.MustCompile(`(?s)<source [^>]*/>`)
	portID        = regexp.MustCompile(` portid='[^']*'`)
)

// replug connects one interface to the bridge by way of the spare one.
func (c *Client) replug(ctx context.Context, n *Network, bridge, spare string, p plug) error {
	back := portID.ReplaceAllString(p.xml, "") // the port went with the stop
	if p.kind() == "bridge" {
		back = p.onBridge(bridge)
	}
	for _, xml := range []string{p.onBridge(spare), back} {
		_, err := callIdempotent(ctx, c, fmt.Sprintf("plug an interface of domain %q into network %q", p.domain.Name, n.Name), act(func(l *libvirt.Libvirt) error {
			return l.DomainUpdateDeviceFlags(p.domain, xml, libvirt.DomainDeviceModifyLive)
		}))
		if err != nil {
			return err
		}
	}
	return nil
}

// kind is the interface's type: "network" or "bridge".
func (p plug) kind() string {
	_, rest, _ := strings.Cut(p.xml, "type='")
	kind, _, _ := strings.Cut(rest, "'")
	return kind
}

// onNetwork is the interface as one on a network, without a port.
func (p plug) onNetwork(name string) string {
	_, rest, _ := strings.Cut(p.xml, ">")
	return "<interface type='network'>" + sourceElement.ReplaceAllLiteralString(rest, "<source network='"+escape(name)+"'/>")
}

// onBridge is the interface as one on a bridge.
func (p plug) onBridge(bridge string) string {
	_, rest, _ := strings.Cut(p.xml, ">")
	return "<interface type='bridge'>" + sourceElement.ReplaceAllLiteralString(rest, "<source bridge='"+escape(bridge)+"'/>")
}

func escape(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", "'", "&apos;").Replace(s)
}
