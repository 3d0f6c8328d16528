package network

import (
	"context"
	"fmt"
	"slices"

	"libvirt.org/go/libvirtxml"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
)

// edit changes ranges, lease times and records in place; the caller holds the network's lock.
func edit(ctx context.Context, c *hypervisor.Client, n *hypervisor.Network, was, want Definition) error {
	return editDefinitions(ctx, c, fmt.Sprintf("update network %q", n.Name), n.UUID, func(_ *hypervisor.Network, definition string, _ *libvirtxml.Network) ([]hypervisor.NetworkEdit, error) {
		return Edits(definition, was, want)
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
