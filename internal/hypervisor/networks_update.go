package hypervisor

import (
	"context"
	"fmt"
	"slices"

	"github.com/digitalocean/go-libvirt"
	"libvirt.org/go/libvirtxml"
)

// networkUpdate is one change that libvirt makes to a network without a restart.
type networkUpdate struct {
	command libvirt.NetworkUpdateCommand
	section libvirt.NetworkUpdateSection
	parent  int32 // place of the <ip> element; -1 where the section has none
	xml     string
}

// updateNetwork changes a network in place, one change at a time.
func (c *Client) updateNetwork(ctx context.Context, what, nameOrUUID string, changes func(n *Network, definition *libvirtxml.Network) ([]networkUpdate, error)) error {
	uuid, err := c.networkUUID(ctx, nameOrUUID)
	if err != nil {
		return err
	}
	defer c.lockNetwork(uuid)()
	defer c.forget()
	return c.editDefinitions(ctx, what, uuid, func(n *Network, _ string, definition *libvirtxml.Network) ([]networkUpdate, error) {
		return changes(n, definition)
	})
}

// editDefinitions edits the running definition and the configuration, which may differ: `changes` is asked
// for each. Where both need the same, one call does both, so that nothing can come between them.
func (c *Client) editDefinitions(ctx context.Context, what, uuid string, changes func(n *Network, xml string, definition *libvirtxml.Network) ([]networkUpdate, error)) error {
	n, err := c.Network(ctx, uuid)
	if err != nil {
		return err
	}
	var live, config []networkUpdate
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
	if n.Active() && n.Persistent && slices.Equal(live, config) {
		return c.applyUpdates(ctx, what, n, live, libvirt.NetworkUpdateAffectLive|libvirt.NetworkUpdateAffectConfig)
	}
	if err := c.applyUpdates(ctx, what, n, config, libvirt.NetworkUpdateAffectConfig); err != nil {
		return err
	}
	return c.applyUpdates(ctx, what, n, live, libvirt.NetworkUpdateAffectLive)
}

func (c *Client) applyUpdates(ctx context.Context, what string, n *Network, updates []networkUpdate, affect libvirt.NetworkUpdateFlags) error {
	for _, u := range updates {
		_, err := call(ctx, c, what, act(func(l *libvirt.Libvirt) error {
			ref, err := lookupNetwork(l, n.UUID)
			if err != nil {
				return err
			}
			// Compat asks which of two orders of the arguments the daemon understands.
			return l.NetworkUpdateCompat(ref, u.command, u.section, u.parent, u.xml, affect)
		}))
		if err != nil {
			return fmt.Errorf("%w (while sending %s)", err, u.xml)
		}
	}
	return nil
}
