package network

import (
	"context"
	"fmt"
	"slices"

	"libvirt.org/go/libvirtxml"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
)

// editInPlace changes ranges, lease times, records and listed reservations in place; the caller holds the network's lock, and has
// read the network before it wrote any configuration.
func editInPlace(ctx context.Context, c *hypervisor.Client, n *hypervisor.Network, was, want Definition) error {
	marks, err := parseHostMarks(n.ConfigXML)
	if err != nil {
		return err
	}
	return editDefinitions(ctx, c, fmt.Sprintf("update network %q", n.Name), n.UUID, func(_ *hypervisor.Network, definition string, _ *libvirtxml.Network) ([]hypervisor.NetworkEdit, error) {
		return ListEdits(definition, marks, was, want)
	})
}

// writeConfiguration replaces a network's configuration. What others changed meanwhile in the reservations of a running
// network, by a call that changes both what runs and the configuration, is made in the new configuration too.
func writeConfiguration(ctx context.Context, c *hypervisor.Client, n *hypervisor.Network, xml string) error {
	if _, err := c.DefineNetwork(ctx, n.Name, xml); err != nil || !n.Active() {
		return err
	}
	now, err := c.Network(ctx, n.UUID)
	if err != nil || !now.Active() {
		return err
	}
	what := fmt.Sprintf("update network %q", n.Name)
	ran, runs, has := hypervisor.DHCPHosts(n.Live), hypervisor.DHCPHosts(now.Live), hypervisor.DHCPHosts(now.Config)
	for _, h := range runs {
		if !slices.Contains(ran, h) && !slices.Contains(has, h) {
			index, err := findSubnet(now.Config, h.IP)
			if err != nil {
				continue // the network has left the subnet
			}
			if err := c.EditNetwork(ctx, what, n.UUID, newHostEdit(hypervisor.EditAdd, index, h, chooseLease(now.Config.IPs[index], xml)), false, true); err != nil {
				return err
			}
		}
	}
	for _, h := range ran {
		if index := findReservationSubnet(now.Config, h); !slices.Contains(runs, h) && index >= 0 {
			if err := c.EditNetwork(ctx, what, n.UUID, newHostEdit(hypervisor.EditDelete, index, h, nil), false, true); err != nil {
				return err
			}
		}
	}
	return nil
}

// findReservationSubnet returns the place of the <ip> element that has a reservation; -1 where none has it.
func findReservationSubnet(n *libvirtxml.Network, h hypervisor.DHCPHost) int {
	return slices.IndexFunc(n.IPs, func(ip libvirtxml.NetworkIP) bool {
		return slices.Contains(hypervisor.DHCPHosts(&libvirtxml.Network{IPs: []libvirtxml.NetworkIP{ip}}), h)
	})
}

// editDefinitions edits the running definition and the configuration, which may differ: `changes` is asked
// for each. Where both need the same, one call does both, so that nothing can come between them.
func editDefinitions(ctx context.Context, c *hypervisor.Client, what, uuid string, changes func(n *hypervisor.Network, xml string, definition *libvirtxml.Network) ([]hypervisor.NetworkEdit, error)) error {
	n, err := c.Network(ctx, uuid)
	if err != nil {
		return err
	}
	var live, config []hypervisor.NetworkEdit
	if n.Active() {
		if live, err = changes(n, n.LiveXML, n.Live); err != nil {
			return err
		}
	}
	if n.Persistent {
		if config, err = changes(n, n.ConfigXML, n.Config); err != nil {
			return err
		}
	}
	send := func(edits []hypervisor.NetworkEdit, live, config bool) error {
		for _, e := range edits {
			if err := c.EditNetwork(ctx, what, n.UUID, e, live, config); err != nil {
				return err
			}
		}
		return nil
	}
	if n.Active() && n.Persistent && slices.Equal(live, config) {
		return send(live, true, true)
	}
	if err := send(config, false, true); err != nil {
		return err
	}
	return send(live, true, false)
}
