package machine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/metadata"
)

// Store is where one machine lives: its domain, with the volumes, reservations and network filters that are its own.
type Store struct {
	client *hypervisor.Client
	cache  *HypervisorCache
	// known is the machine as state or plan has it: it is found by it, and read in its order and its words.
	known *Spec
	claim owner.Claim
	// kept are volumes by the machine's naming that stay, as they are not its own.
	kept []VolumeRef
	// northbounds finds the databases of the networks of OVN that the machine's interfaces are on.
	northbounds Northbounds
	// others are all hypervisors that may be asked, by their names: the machine may have come from one of them, or have gone there.
	others   map[string]*hypervisor.Client
	warnings []service.Problem
}

// NewStore opens the store of a machine by what state or plan knows of it: its UUID, or else its name.
func NewStore(c *hypervisor.Client, facts *HypervisorCache, ports Northbounds, known *Spec, claim owner.Claim) *Store {
	return &Store{client: c, cache: facts, northbounds: ports, known: known, claim: claim}
}

// Among tells the store which hypervisors there are beside its own, by their names.
func (s *Store) Among(all map[string]*hypervisor.Client) *Store {
	s.others = all
	return s
}

// Claim is what the state keeps of whose the machine is.
func (s *Store) Claim() owner.Claim { return s.claim }

// FinishMark takes from the machine's mark that it is being made. Create has done so already, unless that failed.
func (s *Store) FinishMark(ctx context.Context) error {
	d, err := s.findDomain(ctx)
	if err != nil {
		return err
	}
	if m := Read(d.Config); m.Mark.Creating != "" && s.claim.Owns(m.Mark.ownerMark()) {
		m.Mark.Creating = ""
		if err := writeMark(ctx, s.client, m, d.Active()); err != nil {
			return err
		}
	}
	s.claim = s.claim.Finished()
	return nil
}

// Warnings says of each volume that was to go why it stays, and which chassis do not follow. It implements crud.Warner.
func (s *Store) Warnings() []service.Problem {
	all := slices.Clone(s.warnings)
	for _, ref := range s.kept {
		all = append(all, service.Warningf(nil, fmt.Sprintf("Volume %s stays", ref.Name),
			"It is in storage pool %s under a name of node %q, and is not the node's own: it carries no mark of it, was made anew by somebody under the name, or is another domain's disk.", ref.Pool, s.known.Name))
	}
	return all
}

// Get reads the machine. The error is service.ErrAbsent where libvirt says that there is none, and an *owner.ForeignError where it is
// somebody else's.
func (s *Store) Get(ctx context.Context) (*Spec, error) {
	d, err := s.findWhereItIs(ctx)
	if errors.Is(err, service.ErrAbsent) {
		undefined, look := s.findUndefined(ctx)
		if look != nil || undefined != nil {
			return undefined, look
		}
	}
	if err != nil {
		return nil, err
	}
	if err := s.CheckOwned(d); err != nil {
		return nil, err
	}
	s.claim = s.claim.Found(Read(d.Config).Mark.ownerMark())
	s.cache.RememberNode(s.known)
	got, err := s.readMachine(ctx, s.known, d, true)
	switch mark := Read(d.Config).Mark; {
	case err != nil:
	case mark.isMoving():
		got.State = Moving
	case isOutdated(d):
		got.State = Outdated
	}
	return got, err
}

// findDomain reads the machine's domain by its id, or by its name where it was imported by its identity.
func (s *Store) findDomain(ctx context.Context) (*hypervisor.Domain, error) {
	get, key := s.client.Domain, s.known.UUID
	if key == "" {
		get, key = s.client.DomainByName, s.known.Name
	}
	d, err := get(ctx, key)
	if hypervisor.IsNotFound(err) {
		return nil, fmt.Errorf("domain %s: %w: %w", key, service.ErrAbsent, err)
	}
	return d, err
}

// ownsDomain says whether the domain that state knows by its UUID is this resource's still. One without an owner's mark is: nobody else
// made it, and a mark is easily lost where somebody edits the domain. One with another's was imported there.
func (s *Store) ownsDomain(found owner.Mark) bool {
	return found.ID == "" && s.known.UUID != "" || s.claim.Owns(found)
}

// CheckOwned returns an *owner.ForeignError for a domain that was this resource's and is somebody else's.
func (s *Store) CheckOwned(d *hypervisor.Domain) error {
	if found := Read(d.Config).Mark.ownerMark(); !s.ownsDomain(found) {
		return s.newForeignError(d, found)
	}
	return nil
}

// newForeignError says that a domain is somebody else's.
func (s *Store) newForeignError(d *hypervisor.Domain, found owner.Mark) error {
	return s.claim.NewForeignError(fmt.Sprintf("domain %q", d.Name), "hypervisor "+s.client.URI(), d.UUID, found)
}

// MayCreate returns an *owner.ForeignError where a domain of the name is somebody else's. One without a mark may be what is replaced.
func (s *Store) MayCreate(ctx context.Context) error {
	d, err := s.client.DomainByName(ctx, s.known.Name)
	if err != nil {
		return err
	}
	found := Read(d.Config).Mark.ownerMark()
	if s.claim.MayTake(found) || found.ID == "" && s.claim.ReplacesInPlace() {
		return nil
	}
	return s.newForeignError(d, found)
}

// readBack reads the machine after a change. What was promised and time alone can alter, such as that the machine runs, is kept:
// the next refresh looks again.
func (s *Store) readBack(ctx context.Context, want *Spec) (*Spec, error) {
	d, err := s.client.Domain(ctx, want.UUID)
	if err != nil {
		return nil, fmt.Errorf("read back: %w", err)
	}
	got, err := s.readMachine(ctx, want, d, false)
	if err != nil {
		return nil, fmt.Errorf("read back: %w", err)
	}
	if got.Running = want.Running; want.State != "" {
		got.State = want.State
	}
	if want.Addresses != nil {
		got.Addresses = want.Addresses
	}
	for n := range got.Interfaces { // who makes a machine at this moment that rules name writes their filters anew
		i := &got.Interfaces[n]
		if at := slices.IndexFunc(want.Interfaces, func(x InterfaceSpec) bool { return x.MAC == i.MAC }); at >= 0 {
			i.SecurityRules = want.Interfaces[at].SecurityRules
		}
	}
	return got, nil
}

// Create makes the machine and starts it, and returns it as it then is. The error is a *service.Unfinished where it is there and
// does not have what was waited for.
func (s *Store) Create(ctx context.Context, planned *Spec) (*Spec, error) {
	return s.defineMachine(ctx, planned, "")
}

// defineMachine makes a machine with a UUID; with a new one for "".
//
// The domain comes first, marked as being created and with the names of all its volumes: whatever is left when the provider is
// killed can be found again and told from what belongs to somebody. The mark goes when everything is in place.
func (s *Store) defineMachine(ctx context.Context, planned *Spec, id string) (*Spec, error) {
	copied := *planned
	want := &copied
	before, err := s.listLeases(ctx, want)
	if err != nil {
		return nil, err
	}
	var b *blueprint
	k := &Checker{Client: s.client, Cache: s.cache, Want: want, Was: &Spec{}, Fresh: true}
	bridges, networks := bridgeChecker{k}, networkChecker{k}
	err = bridges.runWithBridges(ctx, func() error {
		if err := networks.checkPluggable(ctx, true); err != nil {
			return err
		}
		b, err = s.makeMachine(ctx, want, id)
		return err
	})
	if b == nil {
		return nil, err
	}
	want.UUID = b.machine.UUID
	s.claim = s.claim.Written()
	if err != nil {
		return want, &service.Unfinished{Made: true, Err: err}
	}
	failed := errors.Join(s.renewPeers(ctx, want.Name), s.awaitReady(ctx, want, before))
	// A wait that took all the time there was is no reason to leave the rest undone.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	got, err := s.readBack(ctx, want)
	failed = errors.Join(failed, err)
	if got == nil {
		got = want
	}
	// The very last thing: a provider that is killed before Terraform has its answer leaves a machine that the next
	// apply still knows for an interrupted create.
	marked := writeMark(ctx, s.client, b.machine, want.Running)
	if marked == nil {
		s.claim = s.claim.Finished()
	}
	failed = errors.Join(failed, marked)
	if failed != nil {
		return got, &service.Unfinished{Made: true, Err: failed}
	}
	return got, nil
}

// writeMark puts the machine's mark into the domain's metadata.
func writeMark(ctx context.Context, c *hypervisor.Client, m *Machine, live bool) error {
	element, err := m.RenderMark()
	if err != nil {
		return err
	}
	return c.SetDomainMetadata(ctx, m.UUID, prefix, metadata.Machine, element, live)
}
