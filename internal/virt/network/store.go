package network

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
)

// Store is where one network lives.
type Store struct {
	Client *hypervisor.Client
	// Ref is the network's UUID, or its name where the UUID is not known yet.
	Ref string
	// Known are the subnets that state or plan have, which tell this resource's from others of the same network.
	Known []netip.Prefix
	// Owner is what the resource may call its own, ImportID what `terraform import` takes for the network.
	Owner    owner.Claim
	ImportID string
	// taken says that a create took the network over, so that its mark need not be this resource's yet.
	taken bool
	// written says that the network was just made or changed: what is read then is what Terraform expects.
	written bool
}

// Claim is what the state keeps of whose the network is.
func (s *Store) Claim() owner.Claim { return s.Owner }

// mine returns an *owner.ForeignError where the network is another state's. One that nobody marked is the one with the UUID
// that the state has.
func (s *Store) mine(n *hypervisor.Network) (found owner.Mark, err error) {
	found, err = markOf(n.ConfigXML)
	if err == nil && found.ID != "" && !s.Owner.Owns(found) {
		err = s.foreign(n, found)
	}
	return found, err
}

func (s *Store) foreign(n *hypervisor.Network, whose owner.Mark) error {
	return &owner.ForeignError{What: fmt.Sprintf("network %q (UUID %s)", n.Name, n.UUID), Place: "the networks of " + s.Client.URI(), ImportID: s.ImportID, Owner: whose}
}

// Get reads the network. The error is hypervisor.ErrNotFound where there is none, and an *owner.ForeignError where it is
// another state's.
func (s *Store) Get(ctx context.Context) (Spec, error) {
	n, err := s.Client.Network(ctx, s.Ref)
	if err != nil {
		return Spec{}, err
	}
	mark, err := s.mine(n)
	if err != nil {
		return Spec{}, err
	}
	s.Owner = s.Owner.Found(mark)
	got, err := readSpec(n, s.Known...)
	if err != nil {
		return got, err
	}
	if got.setLostRoutes(LostRoutes(ctx, s.Client, n)); s.written {
		got.Lost = nil // those are the next plan's: this one did not warn of a restart
	}
	got.CutOff, err = CutOff(ctx, s.Client, n)
	return got, err
}

// Create defines and starts the network. One of that name that a killed run of the same workspace left behind is completed; any
// other is an *owner.ForeignError.
func (s *Store) Create(ctx context.Context, want Spec) (Spec, error) {
	uuid, err := s.create(ctx, want)
	if err != nil {
		return Spec{}, err
	}
	s.Ref, s.written, s.Owner = uuid, true, s.Owner.Written()
	return s.readBack(ctx)
}

// readBack reads what was just made or changed.
func (s *Store) readBack(ctx context.Context) (Spec, error) {
	got, err := s.Get(ctx)
	if err != nil {
		return got, fmt.Errorf("read the network back: %w", err)
	}
	return got, nil
}

func (s *Store) create(ctx context.Context, want Spec) (uuid string, err error) {
	c := s.Client
	switch there, err := c.Network(ctx, want.Name); {
	case err == nil:
		return s.complete(ctx, there, want)
	case !hypervisor.IsNotFound(err):
		return "", err
	}
	xml, err := s.render(want.Definition, "")
	if err != nil {
		return "", err
	}
	if uuid, err = c.DefineNetwork(ctx, want.Name, xml); err != nil {
		return "", err
	}
	if err := setState(ctx, c, uuid, want.State); err != nil {
		// It did not exist before, so a network that cannot start leaves nothing behind.
		ctx := context.WithoutCancel(ctx)
		return "", errors.Join(err, c.StopNetwork(ctx, uuid), c.UndefineNetwork(ctx, uuid))
	}
	return uuid, nil
}

// complete takes over what a killed run left behind, and makes it what it shall be.
func (s *Store) complete(ctx context.Context, there *hypervisor.Network, want Spec) (uuid string, err error) {
	mark, err := markOf(there.ConfigXML)
	if err != nil {
		return "", err
	}
	if !s.Owner.MayTake(mark) {
		return "", s.foreign(there, mark)
	}
	s.Ref, s.Known, s.taken = there.UUID, []netip.Prefix{want.Subnet, want.Subnet6}, true
	if err := s.update(ctx, want); err != nil || !want.Active {
		return there.UUID, err
	}
	return there.UUID, MendRoutes(ctx, s.Client, there.UUID)
}

// render is the definition on XML that libvirt has, or "", with the mark of whose it is.
func (s *Store) render(want Definition, onto string, known ...netip.Prefix) (string, error) {
	xml, err := want.Render(onto, known...)
	if err != nil {
		return "", err
	}
	root, err := parseXML(xml)
	if err != nil {
		return "", err
	}
	renderMark(root, s.Owner.Mark())
	return render(root) + "\n", nil
}

func setState(ctx context.Context, c *hypervisor.Client, uuid string, state State) error {
	if err := c.SetNetworkAutostart(ctx, uuid, state.Autostart); err != nil {
		return err
	}
	if state.Active {
		return Start(ctx, c, uuid)
	}
	return c.StopNetwork(ctx, uuid)
}

// Update makes the network what it shall be, running and configured. What libvirt changes live it changes live; anything
// else goes by a new definition and a restart, after which every interface is plugged in again. UUID, bridge MAC,
// reservations and whatever is not modelled stay. A network that does not start with the new definition gets the old one
// back.
func (s *Store) Update(ctx context.Context, was, want Spec) (Spec, error) {
	s.written = true
	s.Known = []netip.Prefix{was.Subnet, was.Subnet6}
	if err := s.update(ctx, want); err != nil {
		return Spec{}, err
	}
	if want.Active && !Equal(Definition{Routes: was.Routes}, Definition{Routes: want.Routes}) {
		// Routes that are lost since the plan are the next one's otherwise: it did not warn of a restart.
		if err := MendRoutes(ctx, s.Client, s.Ref); err != nil {
			return Spec{}, err
		}
	}
	s.Known, s.Owner = []netip.Prefix{want.Subnet, want.Subnet6}, s.Owner.Written()
	return s.readBack(ctx)
}

func (s *Store) update(ctx context.Context, want Spec) error {
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
	mark, err := s.mine(n)
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
		live.Routes = WithoutLost(live.Routes, LostRoutes(ctx, c, n), want.Routes)
	}
	if want.Bridge == "" && want.Mode != Bridge && config.Mode != Bridge { // whose bridge is somebody else's
		want.Bridge = config.Bridge
	}
	restart := n.Active() && want.Active && NeedsRestart(live, want.Definition)
	if restart || NeedsDefinition(config, want.Definition) || mark != s.Owner.Mark() || !n.Persistent { // somebody took its configuration away
		return s.redefine(ctx, n, config, want, restart)
	}
	if err := edit(ctx, c, n, config, want.Definition); err != nil {
		return err
	}
	return setState(ctx, c, uuid, want.State)
}

// redefine replaces the configuration, and the running network where it must.
func (s *Store) redefine(ctx context.Context, n *hypervisor.Network, was Definition, want Spec, restart bool) (err error) {
	c := s.Client
	xml, err := s.render(want.Definition, n.ConfigXML, was.Subnet, was.Subnet6)
	if err != nil {
		return err
	}
	if err := writeConfiguration(ctx, c, n, xml); err != nil {
		return err
	}
	if !restart {
		if n.Active() && want.Active { // what runs is what is wanted but for what can be edited
			if err := edit(ctx, c, n, was, want.Definition); err != nil {
				return err
			}
		}
		return setState(ctx, c, n.UUID, want.State)
	}
	if err := restartNetwork(ctx, c, n); err != nil {
		return errors.Join(err, restore(context.WithoutCancel(ctx), c, n))
	}
	// From here on the network is the wanted one, so a machine that cannot be plugged in is no reason to go back.
	var former []string
	if own := n.OwnBridge(); own != "" {
		former = []string{own} // its interfaces follow the bridge to its new name
	}
	return errors.Join(plugIn(ctx, c, n.UUID, former...), c.SetNetworkAutostart(ctx, n.UUID, want.Autostart))
}

func restartNetwork(ctx context.Context, c *hypervisor.Client, n *hypervisor.Network) error {
	if err := c.StopNetwork(ctx, n.UUID); err != nil {
		return err
	}
	_, err := c.StartNetwork(ctx, n.UUID)
	return err
}

// restore puts the old definition back and starts it.
func restore(ctx context.Context, c *hypervisor.Client, n *hypervisor.Network) error {
	_, err := c.DefineNetwork(ctx, n.Name, n.ConfigXML)
	err = errors.Join(err, c.StopNetwork(ctx, n.UUID), setState(ctx, c, n.UUID, State{n.Autostart, n.Active()}))
	if err != nil {
		return fmt.Errorf("put the old definition of network %q back: %w", n.Name, err)
	}
	return nil
}

// Delete stops and undefines the network; an absent one is no error. It refuses while machines run on it, and names them.
func (s *Store) Delete(ctx context.Context) error {
	c := s.Client
	n, err := c.Network(ctx, s.Ref)
	if hypervisor.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	if _, err := s.mine(n); err != nil {
		return err
	}
	defer c.LockNetwork(n.UUID)()
	users, err := interfacesOn(ctx, c, n.Name, n.OwnBridge())
	if err != nil {
		return err
	}
	if len(users) > 0 && n.Active() {
		var names []string
		for _, u := range users {
			names = append(names, u.Domain)
		}
		slices.Sort(names)
		return fmt.Errorf("network %q is in use by running machines: %s; stop or remove them first", n.Name, strings.Join(slices.Compact(names), ", "))
	}
	if err := c.StopNetwork(ctx, n.UUID); err != nil {
		return err
	}
	return c.UndefineNetwork(ctx, n.UUID)
}
