package network

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/metadata"
)

// IsID says whether a text is the id of a network, its UUID, so that it cannot be taken for a name.
func IsID(text string) bool { return hypervisor.IsUUID(text) }

// Store is where one network lives.
type Store struct {
	Client *hypervisor.Client
	// Ref is the network's UUID, or its name where the UUID is not known yet.
	Ref string
	// Name is what a network that is to be made is called.
	Name string
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

// FinishMark takes from the network's mark that it is being made.
func (s *Store) FinishMark(ctx context.Context) error {
	uuid, err := s.Client.NetworkUUID(ctx, s.Ref)
	if err != nil {
		return err
	}
	defer s.Client.LockNetwork(uuid)()
	defer s.Client.ForgetPlan()
	n, err := s.Client.Network(ctx, uuid)
	if err != nil {
		return err
	}
	root, err := parseXML(n.ConfigXML)
	if err != nil {
		return err
	}
	if mark := readMark(findMetadata(root, metadata.Network)); mark.Creating != "" && s.Owner.Owns(mark) {
		renderMark(root, mark.Finished())
		if err := writeConfiguration(ctx, s.Client, n, renderXML(root)+"\n"); err != nil {
			return err
		}
	}
	s.Owner = s.Owner.Finished()
	return nil
}

// checkOwned returns an *owner.ForeignError where the network is another state's. One that nobody marked is the one with the UUID
// that the state has.
func (s *Store) checkOwned(n *hypervisor.Network) (found owner.Mark, err error) {
	found, err = parseMark(n.ConfigXML)
	if err == nil && found.ID != "" && !s.Owner.Owns(found) {
		err = s.newForeignError(n, found)
	}
	return found, err
}

func (s *Store) newForeignError(n *hypervisor.Network, whose owner.Mark) error {
	return s.Owner.NewForeignError(fmt.Sprintf("network %q (UUID %s)", n.Name, n.UUID), "the networks of "+s.Client.URI(), s.ImportID, whose)
}

// MayCreate returns an *owner.ForeignError where a network of the name is somebody else's. One without a mark may be what is
// replaced.
func (s *Store) MayCreate(ctx context.Context) error {
	n, err := s.Client.Network(ctx, s.Name)
	if err != nil {
		return err
	}
	found, err := parseMark(n.ConfigXML)
	if err != nil || s.Owner.MayTake(found) || found.ID == "" && s.Owner.ReplacesInPlace() {
		return err
	}
	return s.newForeignError(n, found)
}

// markAbsent returns the error, as a service.ErrAbsent where it proves that something is not there.
func markAbsent(err error) error {
	if hypervisor.IsNotFound(err) {
		return fmt.Errorf("%w: %w", service.ErrAbsent, err)
	}
	return err
}

// Get reads the network. The error is service.ErrAbsent where there is none, and an *owner.ForeignError where it is
// another state's.
func (s *Store) Get(ctx context.Context) (Spec, error) {
	n, err := s.Client.Network(ctx, s.Ref)
	if err != nil {
		return Spec{}, markAbsent(err)
	}
	mark, err := s.checkOwned(n)
	if err != nil {
		return Spec{}, err
	}
	s.Owner = s.Owner.Found(mark)
	got, err := readSpec(n, s.Known...)
	if err != nil {
		return got, err
	}
	if got.setLostRoutes(FindLostRoutes(ctx, s.Client, n)); s.written {
		got.Lost = nil // those are the next plan's: this one did not warn of a restart
	}
	got.CutOff, err = ListCutOffMachines(ctx, s.Client, n)
	return got, err
}

// Create defines and starts the network. One of that name that a killed run of the same workspace left behind is completed; any
// other is an *owner.ForeignError.
func (s *Store) Create(ctx context.Context, want Spec) (Spec, error) {
	uuid, err := s.createNetwork(ctx, want)
	if uuid == "" {
		return Spec{}, err
	}
	s.Ref, s.written, s.Owner = uuid, true, s.Owner.Written()
	var got Spec
	if err == nil {
		got, err = s.readBack(ctx)
	}
	if err != nil { // the network exists
		want.UUID = uuid
		return want, &service.Unfinished{Made: true, Err: err}
	}
	return got, nil
}

// readBack reads what was just made or changed.
func (s *Store) readBack(ctx context.Context) (Spec, error) {
	got, err := s.Get(ctx)
	if err != nil {
		return got, fmt.Errorf("read the network back: %w", err)
	}
	return got, nil
}

// createNetwork defines and starts the network, and returns its UUID once there is one to keep, with an error too.
func (s *Store) createNetwork(ctx context.Context, want Spec) (uuid string, err error) {
	c := s.Client
	switch there, err := c.Network(ctx, want.Name); {
	case err == nil:
		if uuid, err = s.completeLeftover(ctx, there, want); !hypervisor.IsNotFound(err) {
			return uuid, err
		}
		s.Ref, s.Known, s.taken = "", nil, false // somebody removed it meanwhile
	case !hypervisor.IsNotFound(err):
		return "", err
	}
	xml, err := s.renderMarked(want.Definition, "")
	if err != nil {
		return "", err
	}
	if uuid, err = c.DefineNetwork(ctx, want.Name, xml); err != nil {
		return "", err
	}
	if err := applyState(ctx, c, uuid, want.State); err != nil {
		// It did not exist before, so a network that cannot start leaves nothing behind.
		ctx := context.WithoutCancel(ctx)
		if left := errors.Join(c.StopNetwork(ctx, uuid), c.UndefineNetwork(ctx, uuid)); left != nil {
			return uuid, errors.Join(err, left)
		}
		return "", err
	}
	return uuid, nil
}

// completeLeftover takes over what a killed run left behind, and makes it what it shall be.
func (s *Store) completeLeftover(ctx context.Context, there *hypervisor.Network, want Spec) (uuid string, err error) {
	mark, err := parseMark(there.ConfigXML)
	if err != nil {
		return "", err
	}
	if !s.Owner.MayTake(mark) {
		return "", s.newForeignError(there, mark)
	}
	s.Ref, s.Known, s.taken = there.UUID, []netip.Prefix{want.Subnet, want.Subnet6}, true
	if err := s.updateNetwork(ctx, want); err != nil || !want.Active {
		return there.UUID, err
	}
	return there.UUID, RestoreRoutes(ctx, s.Client, there.UUID)
}

// renderMarked returns the definition on XML that libvirt has, or "", with the mark of whose it is.
func (s *Store) renderMarked(want Definition, onto string, known ...netip.Prefix) (string, error) {
	xml, err := want.Render(onto, known...)
	if err != nil {
		return "", err
	}
	root, err := parseXML(xml)
	if err != nil {
		return "", err
	}
	renderMark(root, s.Owner.Mark())
	return renderXML(root) + "\n", nil
}

func applyState(ctx context.Context, c *hypervisor.Client, uuid string, state State) error {
	if err := c.SetNetworkAutostart(ctx, uuid, state.Autostart); err != nil {
		return err
	}
	if state.Active {
		return Start(ctx, c, uuid)
	}
	return c.StopNetwork(ctx, uuid)
}

// Delete stops and undefines the network; an absent one is no error. It refuses while others' machines or reservations need it, and
// while machines run on it, and names them.
func (s *Store) Delete(ctx context.Context) error {
	c := s.Client
	uuid, err := c.NetworkUUID(ctx, s.Ref)
	if hypervisor.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	n, err := c.Network(ctx, uuid)
	if err == nil {
		if _, err = s.checkOwned(n); err == nil {
			err = s.awaitUnused(ctx, n)
		}
	}
	if hypervisor.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	defer c.LockNetwork(uuid)() // before it is known whose it is: a create may be about to take it over
	n, err = c.Network(ctx, uuid)
	if hypervisor.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	if _, err := s.checkOwned(n); err != nil {
		return err
	}
	if _, err := s.checkUnused(ctx, n); err != nil { // since it was awaited
		return err
	}
	if err := c.StopNetwork(ctx, n.UUID); err != nil {
		return err
	}
	return c.UndefineNetwork(ctx, n.UUID)
}
