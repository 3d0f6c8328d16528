package hypervisor

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/digitalocean/go-libvirt"
	"libvirt.org/go/libvirtxml"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor/netspec"
)

// NetworkState is what a network is besides its definition.
type NetworkState struct{ Autostart, Active bool }

// CreateNetwork defines and starts a network and returns its UUID. One of the same name and meaning that an
// interrupted apply of this provider left behind is completed; any other of that name is an error.
func (c *Client) CreateNetwork(ctx context.Context, want netspec.Network, state NetworkState) (uuid string, err error) {
	switch there, err := c.Network(ctx, want.Name); {
	case err == nil:
		return there.UUID, c.completeNetwork(ctx, there, want, state)
	case !IsNotFound(err):
		return "", err
	}
	xml, err := want.Render("")
	if err != nil {
		return "", err
	}
	if xml, err = netspec.Mark(xml); err != nil {
		return "", err
	}
	if uuid, err = c.DefineNetwork(ctx, want.Name, xml); err != nil {
		return "", err
	}
	if err := c.setNetworkState(ctx, uuid, state); err != nil {
		// It did not exist before, so a network that cannot start leaves nothing behind.
		ctx := context.WithoutCancel(ctx)
		return "", errors.Join(err, c.StopNetwork(ctx, uuid), c.UndefineNetwork(ctx, uuid))
	}
	return uuid, nil
}

// completeNetwork takes over what an interrupted apply left behind.
func (c *Client) completeNetwork(ctx context.Context, there *Network, want netspec.Network, state NetworkState) error {
	has, err := netspec.Parse(there.ConfigXML, want.Subnet, want.Subnet6)
	if err != nil {
		return err
	}
	if want.Bridge == "" {
		want.Bridge = has.Bridge
	}
	if !netspec.Marked(there.ConfigXML) || !netspec.Equal(has, want) {
		return fmt.Errorf("a network %q is there already (UUID %s); to manage it, run: terraform import ADDRESS %s", want.Name, there.UUID, want.Name)
	}
	return c.setNetworkState(ctx, there.UUID, state)
}

func (c *Client) setNetworkState(ctx context.Context, uuid string, state NetworkState) error {
	if err := c.SetNetworkAutostart(ctx, uuid, state.Autostart); err != nil {
		return err
	}
	if state.Active {
		return c.StartNetwork(ctx, uuid)
	}
	return c.StopNetwork(ctx, uuid)
}

// UpdateNetwork makes a network what it shall be, running and configured. What libvirt changes live it
// changes live; anything else goes by a new definition and a restart, after which every interface is plugged
// in again. UUID, bridge MAC, reservations and whatever is not modelled stay. A network that does not start
// with the new definition gets the old one back. The known subnets say which of several are the ones to change.
func (c *Client) UpdateNetwork(ctx context.Context, uuid string, want netspec.Network, state NetworkState, known ...netip.Prefix) error {
	defer c.lockNetwork(uuid)()
	defer c.forget()
	n, err := c.Network(ctx, uuid)
	if err != nil {
		return err
	}
	config, err := netspec.Parse(n.ConfigXML, known...)
	if err != nil {
		return err
	}
	live := config
	if n.Active() {
		if live, err = netspec.Parse(n.LiveXML, known...); err != nil {
			return err
		}
		live.Routes = netspec.WithoutLost(live.Routes, c.LostRoutes(ctx, n), want.Routes)
	}
	if want.Bridge == "" && want.Mode != netspec.Bridge && config.Mode != netspec.Bridge { // whose bridge is somebody else's
		want.Bridge = config.Bridge
	}
	restart := n.Active() && state.Active && netspec.NeedsRestart(live, want)
	if restart || netspec.NeedsDefinition(config, want) || !n.Persistent { // somebody took its configuration away
		return c.redefineNetwork(ctx, n, config, want, state, restart)
	}
	if err := c.editNetwork(ctx, n, config, want); err != nil {
		return err
	}
	return c.setNetworkState(ctx, uuid, state)
}

// redefineNetwork replaces the configuration, and the running network where it must.
func (c *Client) redefineNetwork(ctx context.Context, n *Network, was, want netspec.Network, state NetworkState, restart bool) (err error) {
	xml, err := want.Render(n.ConfigXML, was.Subnet, was.Subnet6)
	if err != nil {
		return err
	}
	if _, err := c.DefineNetwork(ctx, n.Name, xml); err != nil {
		return err
	}
	if !restart {
		if n.Active() && state.Active { // what runs is what is wanted but for what can be edited
			if err := c.editNetwork(ctx, n, was, want); err != nil {
				return err
			}
		}
		return c.setNetworkState(ctx, n.UUID, state)
	}
	if err := c.restartNetwork(ctx, n); err != nil {
		return errors.Join(err, c.restoreNetwork(context.WithoutCancel(ctx), n))
	}
	// From here on the network is the wanted one, so a machine that cannot be plugged in is no reason to go back.
	var former []string
	if own := n.ownBridge(); own != "" {
		former = []string{own} // its interfaces follow the bridge to its new name
	}
	return errors.Join(c.plugIn(ctx, n.UUID, former...), c.SetNetworkAutostart(ctx, n.UUID, state.Autostart))
}

func (c *Client) restartNetwork(ctx context.Context, n *Network) error {
	if err := c.StopNetwork(ctx, n.UUID); err != nil {
		return err
	}
	_, err := c.startNetwork(ctx, n.UUID)
	return err
}

// restoreNetwork puts the old definition back and starts it.
func (c *Client) restoreNetwork(ctx context.Context, n *Network) error {
	_, err := c.DefineNetwork(ctx, n.Name, n.ConfigXML)
	err = errors.Join(err, c.StopNetwork(ctx, n.UUID), c.setNetworkState(ctx, n.UUID, NetworkState{n.Autostart, n.Active()}))
	if err != nil {
		return fmt.Errorf("put the old definition of network %q back: %w", n.Name, err)
	}
	return nil
}

// sections are libvirt's numbers of what can be edited.
var sections = map[netspec.Section]libvirt.NetworkUpdateSection{
	netspec.DHCPRange: libvirt.NetworkSectionIPDhcpRange,
	netspec.DHCPHost:  libvirt.NetworkSectionIPDhcpHost,
	netspec.DNSHost:   libvirt.NetworkSectionDNSHost,
}

var commands = map[netspec.Command]libvirt.NetworkUpdateCommand{
	netspec.Add:    libvirt.NetworkUpdateCommandAddLast,
	netspec.Delete: libvirt.NetworkUpdateCommandDelete,
	netspec.Modify: libvirt.NetworkUpdateCommandModify,
}

// editNetwork changes ranges, lease times and records in place; the caller holds the network's lock.
func (c *Client) editNetwork(ctx context.Context, n *Network, was, want netspec.Network) error {
	return c.editDefinitions(ctx, fmt.Sprintf("update network %q", n.Name), n.UUID, func(_ *Network, definition string, _ *libvirtxml.Network) ([]networkUpdate, error) {
		edits, err := netspec.Edits(definition, was, want)
		if err != nil {
			return nil, err
		}
		var updates []networkUpdate
		for _, e := range edits {
			updates = append(updates, networkUpdate{command: commands[e.Command], section: sections[e.Section], parent: int32(e.Parent), xml: e.XML})
		}
		return updates, nil
	})
}

// DeleteNetwork stops and undefines a network; an absent one is no error. It refuses while machines run on it,
// and names them.
func (c *Client) DeleteNetwork(ctx context.Context, uuid string) error {
	n, err := c.Network(ctx, uuid)
	if IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	defer c.lockNetwork(n.UUID)()
	users, err := callIdempotent(ctx, c, fmt.Sprintf("find the interfaces on network %q", n.Name), func(l *libvirt.Libvirt) ([]plug, error) {
		return plugsOf(l, n.Name, n.ownBridge())
	})
	if err != nil {
		return err
	}
	if len(users) > 0 && n.Active() {
		var names []string
		for _, u := range users {
			names = append(names, u.domain.Name)
		}
		slices.Sort(names)
		return fmt.Errorf("network %q is in use by running machines: %s; stop or remove them first", n.Name, strings.Join(slices.Compact(names), ", "))
	}
	if err := c.StopNetwork(ctx, n.UUID); err != nil {
		return err
	}
	return c.UndefineNetwork(ctx, n.UUID)
}

// ownBridge is the bridge that comes and goes with the network; "" where it is somebody else's.
func (n *Network) ownBridge() string {
	if f := n.Current().Forward; f != nil && f.Mode == "bridge" {
		return ""
	}
	return n.Bridge()
}
