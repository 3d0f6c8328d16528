package network

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"libvirt.org/go/libvirtxml"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
)

// Update makes the network what it shall be, running and configured. What libvirt changes live it changes live; anything
// else goes by a new definition and a restart, after which every interface is plugged in again. UUID, bridge MAC,
// reservations and whatever is not modelled stay. A network that does not start with the new definition gets the old one
// back.
func (s *Store) Update(ctx context.Context, was, want Spec) (Spec, error) {
	s.written = true
	s.Known = []netip.Prefix{was.Subnet, was.Subnet6}
	if err := s.updateNetwork(ctx, want); err != nil {
		return Spec{}, err
	}
	if want.Active && !Equal(Definition{Routes: was.Routes}, Definition{Routes: want.Routes}) {
		// Routes that are lost since the plan are the next one's otherwise: it did not warn of a restart.
		if err := RestoreRoutes(ctx, s.Client, s.Ref); err != nil {
			return Spec{}, err
		}
	}
	s.Known, s.Owner = []netip.Prefix{want.Subnet, want.Subnet6}, s.Owner.Written()
	return s.readBack(ctx)
}

func (s *Store) updateNetwork(ctx context.Context, want Spec) error {
	c := s.Client
	uuid, err := c.NetworkUUID(ctx, s.Ref)
	if err != nil {
		return err
	}
	defer c.LockNetwork(uuid)()
	defer c.ForgetPlan()
	n, err := c.Network(ctx, uuid)
	if err != nil {
		return err
	}
	mark, err := s.checkOwned(n)
	if err != nil && !s.taken {
		return err
	}
	config, err := Parse(n.ConfigXML, s.Known...)
	if err != nil {
		return err
	}
	live := config
	if n.Active() {
		if live, err = Parse(n.LiveXML, s.Known...); err != nil {
			return err
		}
		live.Routes = DropLostRoutes(live.Routes, FindLostRoutes(ctx, c, n), want.Routes)
	}
	if want.Bridge == "" && want.Mode != Bridge && config.Mode != Bridge { // whose bridge is somebody else's
		want.Bridge = config.Bridge
	}
	restart := n.Active() && want.Active && NeedsRestart(live, want.Definition)
	if restart || NeedsDefinition(config, want.Definition) || mark != s.Owner.Mark() || !n.Persistent { // somebody took its configuration away
		return s.redefineNetwork(ctx, n, config, want, restart)
	}
	if err := editInPlace(ctx, c, n, config, want.Definition); err != nil {
		return err
	}
	return applyState(ctx, c, uuid, want.State)
}

// redefineNetwork replaces the configuration, and the running network where it must.
func (s *Store) redefineNetwork(ctx context.Context, n *hypervisor.Network, was Definition, want Spec, restart bool) (err error) {
	c := s.Client
	xml, err := s.renderMarked(want.Definition, n.ConfigXML, was.Subnet, was.Subnet6)
	if err != nil {
		return err
	}
	edits := !restart && n.Active() && want.Active // what runs is what is wanted but for what can be edited
	if edits {
		if err := removeUnlistedHosts(ctx, c, n, was, want.Definition); err != nil {
			return err
		}
	}
	if err := writeConfiguration(ctx, c, n, xml); err != nil {
		return err
	}
	if !restart {
		if edits {
			if err := editInPlace(ctx, c, n, was, want.Definition); err != nil {
				return err
			}
		}
		return applyState(ctx, c, n.UUID, want.State)
	}
	if err := restartNetwork(ctx, c, n); err != nil {
		return errors.Join(err, restoreDefinition(context.WithoutCancel(ctx), c, n))
	}
	// From here on the network is the wanted one, so a machine that cannot be plugged in is no reason to go back.
	var former []string
	if own := n.OwnBridge(); own != "" {
		former = []string{own} // its interfaces follow the bridge to its new name
	}
	return errors.Join(plugNetworkIn(ctx, c, n.UUID, former...), c.SetNetworkAutostart(ctx, n.UUID, want.Autostart))
}

func restartNetwork(ctx context.Context, c *hypervisor.Client, n *hypervisor.Network) error {
	if err := c.StopNetwork(ctx, n.UUID); err != nil {
		return err
	}
	_, err := c.StartNetwork(ctx, n.UUID)
	return err
}

// restoreDefinition puts the old definition back and starts it.
func restoreDefinition(ctx context.Context, c *hypervisor.Client, n *hypervisor.Network) error {
	_, err := c.DefineNetwork(ctx, n.Name, n.ConfigXML)
	err = errors.Join(err, c.StopNetwork(ctx, n.UUID), applyState(ctx, c, n.UUID, State{n.Autostart, n.Active()}))
	if err != nil {
		return fmt.Errorf("put the old definition of network %q back: %w", n.Name, err)
	}
	return nil
}

// removeUnlistedHosts takes those reservations out of what runs that the network lists no more, or elsewhere. It comes before the new
// configuration, which alone says what is listed: a run that is ended between the two leaves a listed reservation that does not run,
// which is drift, and not one that runs and nobody lists, which would be a person's.
func removeUnlistedHosts(ctx context.Context, c *hypervisor.Client, n *hypervisor.Network, was, want Definition) error {
	marks, err := parseHostMarks(n.ConfigXML)
	if err != nil {
		return err
	}
	root, err := parseXML(n.LiveXML)
	if err != nil {
		return err
	}
	unlisted, _, err := listHostEdits(&parser{root: root}, marks, was, want)
	if err != nil {
		return err
	}
	for _, e := range unlisted {
		if err := c.EditNetwork(ctx, fmt.Sprintf("update network %q", n.Name), n.UUID, e, true, false); err != nil {
			return err
		}
	}
	return nil
}

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

// writeConfiguration replaces a network's configuration. What others changed meanwhile in the marks of reservations is kept, and what
// they changed in the reservations of a running network, by a call that changes both what runs and the configuration, is made in the
// new configuration too.
func writeConfiguration(ctx context.Context, c *hypervisor.Client, n *hypervisor.Network, xml string) error {
	latest, err := c.Network(ctx, n.UUID)
	if err != nil {
		return err
	}
	if xml, err = mergeHostMarks(xml, n.ConfigXML, latest.ConfigXML); err != nil {
		return err
	}
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
