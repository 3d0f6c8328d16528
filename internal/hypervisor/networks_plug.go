package hypervisor

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/digitalocean/go-libvirt"
	"libvirt.org/go/libvirtxml"
)

// A network that is stopped takes its bridge along, and one that starts does not look for the interfaces of
// running machines that were in it. An update of the interface that changes nothing does not connect it
// either (measured with libvirt 9.0), but a change of its type does, without the guest noticing: so each
// goes from "network" to "bridge" and back, or the other way round, which also registers the network's port.

// plugIn plugs the interfaces of running machines into the bridge of a network that has just started: those
// that name the network, and those that name its bridge or one of the former bridges.
func (c *Client) plugIn(ctx context.Context, nameOrUUID string, former ...string) error {
	n, err := c.Network(ctx, nameOrUUID)
	if err != nil || !n.Active() || n.Bridge() == "" || n.Live.VirtualPort != nil {
		return err
	}
	bridges, bridge := former, n.Bridge()
	if own := n.ownBridge(); own != "" {
		bridges = append(bridges, own)
	}
	plugs, err := callIdempotent(ctx, c, fmt.Sprintf("find the interfaces on network %q", n.Name), func(l *libvirt.Libvirt) ([]plug, error) {
		return plugsOf(l, n.Name, bridges...)
	})
	if err != nil {
		return err
	}
	var failed []error
	for _, p := range plugs {
		// One machine that cannot be plugged in must not leave the others without a network.
		if err := c.replug(ctx, n, bridge, p); err != nil && !IsNotFound(err) {
			failed = append(failed, err)
		}
	}
	return errors.Join(failed...)
}

// plug is an interface of a running machine.
type plug struct {
	domain libvirt.Domain
	xml    string // its element in the running definition, whole
}

var interfaceElement = regexp.MustCompile(`(?s)<interface type='(?:network|bridge)'>.*?</interface>`)

// plugsOf lists the interfaces of running machines on a network or on a bridge.
func plugsOf(l *libvirt.Libvirt, network string, bridges ...string) ([]plug, error) {
	domains, _, err := l.ConnectListAllDomains(1, libvirt.ConnectListDomainsActive)
	if err != nil {
		return nil, err
	}
	var plugs []plug
	for _, d := range domains {
		text, err := l.DomainGetXMLDesc(d, 0)
		if IsNotFound(explain("", err)) {
			continue // ended meanwhile
		}
		if err != nil {
			return nil, err
		}
		for _, element := range interfaceElement.FindAllString(text, -1) {
			var i libvirtxml.DomainInterface
			if err := i.Unmarshal(element); err != nil {
				return nil, fmt.Errorf("parse an interface of domain %q: %w", d.Name, err)
			}
			if s := i.Source; s != nil && (s.Network != nil && s.Network.Network == network || s.Bridge != nil && s.Bridge.Bridge != "" && slices.Contains(bridges, s.Bridge.Bridge)) {
				plugs = append(plugs, plug{d, element})
			}
		}
	}
	return plugs, nil
}

var (
	sourceElement = regexp.MustCompile(`(?s)<source [^>]*/>`)
	portID        = regexp.MustCompile(` portid='[^']*'`)
)

// replug connects one interface to the bridge by changing its type and back.
func (c *Client) replug(ctx context.Context, n *Network, bridge string, p plug) error {
	toNetwork, toBridge := fmt.Sprintf("<source network='%s'/>", escape(n.Name)), fmt.Sprintf("<source bridge='%s'/>", escape(bridge))
	away, back := p.as("bridge", toBridge), portID.ReplaceAllString(p.xml, "") // the port went with the stop
	if p.kind() == "bridge" {
		away, back = p.as("network", toNetwork), p.as("bridge", toBridge)
	}
	for _, xml := range []string{away, back} {
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

// as is the interface with another type and source.
func (p plug) as(kind, source string) string {
	_, rest, _ := strings.Cut(p.xml, ">")
	return "<interface type='" + kind + "'>" + sourceElement.ReplaceAllLiteralString(rest, source)
}

func escape(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", "'", "&apos;").Replace(s)
}
