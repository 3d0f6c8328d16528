package hypervisor

import (
	"context"
	"fmt"

	"github.com/digitalocean/go-libvirt"
	"libvirt.org/go/libvirtxml"
)

// DomainCapabilities is what the hypervisor offers to a machine of a type ("kvm", "qemu") and a chipset
// ("q35", "pc-q35-7.2"; "" for the hypervisor's default). libvirt refuses what it does not offer at all.
func (c *Client) DomainCapabilities(ctx context.Context, virtualisation, chipset string) (*libvirtxml.DomainCaps, error) {
	what := fmt.Sprintf("ask what the hypervisor offers to a machine of type %s and chipset %q", virtualisation, chipset)
	text, err := callIdempotent(ctx, c, what, func(l *libvirt.Libvirt) (string, error) {
		return l.ConnectGetDomainCapabilities(nil, libvirt.OptString{"x86_64"}, optString(chipset), optString(virtualisation), 0)
	})
	if err != nil {
		return nil, err
	}
	caps := &libvirtxml.DomainCaps{}
	if err := caps.Unmarshal(text); err != nil {
		return nil, fmt.Errorf("cannot understand the domain capabilities: %w", err)
	}
	return caps, nil
}

// HostCapabilities is what the hypervisor is and which guests it offers.
func (c *Client) HostCapabilities(ctx context.Context) (*libvirtxml.Caps, error) {
	text, err := callIdempotent(ctx, c, "ask for the hypervisor's capabilities", func(l *libvirt.Libvirt) (string, error) {
		return l.ConnectGetCapabilities()
	})
	if err != nil {
		return nil, err
	}
	caps := &libvirtxml.Caps{}
	if err := caps.Unmarshal(text); err != nil {
		return nil, fmt.Errorf("cannot understand the hypervisor's capabilities: %w", err)
	}
	return caps, nil
}

// HostMemory is the hypervisor's whole memory in bytes.
func (c *Client) HostMemory(ctx context.Context) (uint64, error) {
	return callIdempotent(ctx, c, "ask for the hypervisor's memory", func(l *libvirt.Libvirt) (uint64, error) {
		_, kib, _, _, _, _, _, _, err := l.NodeGetInfo()
		return kib << 10, err
	})
}

func optString(s string) libvirt.OptString {
	if s == "" {
		return nil
	}
	return libvirt.OptString{s}
}
