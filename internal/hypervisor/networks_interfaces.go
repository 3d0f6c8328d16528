package hypervisor

import (
	"context"
	"fmt"
	"regexp"
	"slices"

	"github.com/digitalocean/go-libvirt"
	"golang.org/x/sync/errgroup"
	"libvirt.org/go/libvirtxml"
)

// Interface is an interface of a machine that is on a network or on a bridge.
type Interface struct {
	Domain, DomainUUID string
	// Device is it in the definition, whole.
	Device libvirtxml.DomainInterface
	// Network, by name, with the interface's port there, or Bridge: what it is on.
	Network, Port, Bridge string
}

// RunningInterfaces lists the interfaces of all running machines on networks and bridges.
func (c *Client) RunningInterfaces(ctx context.Context) ([]Interface, error) {
	return callIdempotent(ctx, c, "read the interfaces of running machines", func(l *libvirt.Libvirt) ([]Interface, error) {
		domains, _, err := l.ConnectListAllDomains(1, libvirt.ConnectListDomainsActive)
		if err != nil {
			return nil, err
		}
		found := make([][]Interface, len(domains))
		var group errgroup.Group
		group.SetLimit(8) // a hypervisor may be far away
		for i, d := range domains {
			group.Go(func() (err error) {
				found[i], err = listInterfacesOf(l, d, 0)
				return err
			})
		}
		err = group.Wait()
		return slices.Concat(found...), err
	})
}

// DomainInterfaces lists the interfaces of one machine as it runs, or as it is configured; one that is gone has none.
func (c *Client) DomainInterfaces(ctx context.Context, domain, uuid string, configured bool) ([]Interface, error) {
	ref, err := newDomainRef(uuid)
	if err != nil {
		return nil, err
	}
	ref.Name = domain
	var flags libvirt.DomainXMLFlags
	if configured {
		flags = libvirt.DomainXMLInactive
	}
	return callIdempotent(ctx, c, fmt.Sprintf("read the interfaces of domain %q", domain), func(l *libvirt.Libvirt) ([]Interface, error) {
		return listInterfacesOf(l, ref, flags)
	})
}

// UpdateInterface gives an interface of a running machine another definition, until the machine is stopped.
func (c *Client) UpdateInterface(ctx context.Context, what string, i Interface, device *libvirtxml.DomainInterface) error {
	ref, err := newDomainRef(i.DomainUUID)
	if err != nil {
		return err
	}
	text, err := device.Marshal()
	if err != nil {
		return fmt.Errorf("cannot render an interface of domain %q: %w", i.Domain, err)
	}
	_, err = callIdempotent(ctx, c, what, withoutResult(func(l *libvirt.Libvirt) error {
		return l.DomainUpdateDeviceFlags(ref, text, libvirt.DomainDeviceModifyLive)
	}))
	return err
}

// NetworkPorts lists the ids of a network's ports; the error is one of IsUnsupported where libvirt keeps none (before 5.5).
func (c *Client) NetworkPorts(ctx context.Context, uuid string) ([]string, error) {
	return callIdempotent(ctx, c, fmt.Sprintf("list the ports of network %s", uuid), func(l *libvirt.Libvirt) ([]string, error) {
		ref, err := lookupNetwork(l, uuid)
		if err != nil {
			return nil, err
		}
		ports, _, err := l.NetworkListAllPorts(ref, 1, 0)
		if err != nil {
			return nil, err
		}
		var ids []string
		for _, p := range ports {
			ids = append(ids, formatUUID(p.UUID))
		}
		return ids, nil
	})
}

var interfaceElement = regexp.MustCompile(`(?s)<interface type='(?:network|bridge)'[^>]*>.*?</interface>`)

// listInterfacesOf lists the interfaces of one machine; one that is gone has none.
func listInterfacesOf(l *libvirt.Libvirt, d libvirt.Domain, flags libvirt.DomainXMLFlags) ([]Interface, error) {
	text, err := l.DomainGetXMLDesc(d, flags)
	if IsNotFound(explainError("", err)) {
		return nil, nil // ended meanwhile
	}
	if err != nil {
		return nil, err
	}
	var all []Interface
	for _, element := range interfaceElement.FindAllString(text, -1) {
		var parsed libvirtxml.DomainInterface
		if err := parsed.Unmarshal(element); err != nil {
			return nil, fmt.Errorf("parse an interface of domain %q: %w", d.Name, err)
		}
		i := Interface{Domain: d.Name, DomainUUID: formatUUID(d.UUID), Device: parsed}
		if s := parsed.Source; s != nil && s.Network != nil {
			i.Network, i.Port = s.Network.Network, s.Network.PortID
		} else if s != nil && s.Bridge != nil {
			i.Bridge = s.Bridge.Bridge
		}
		all = append(all, i)
	}
	return all, nil
}
