package bridge

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/hostnet"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

// DefaultRollback is long enough for a slow switch to learn, short enough to wait for.
const DefaultRollback = time.Minute

// runDir holds the records of bridges; like the bridges themselves they do not outlive a reboot.
const runDir = "/run/virtcluster"

func recordPath(name string) string { return runDir + "/bridge-" + name + ".json" }

// Store is one bridge on one machine.
type Store struct {
	hostnet.Site
	Name string
	// ImportID is what `terraform import` takes for it.
	ImportID string
	claim    owner.Claim
}

// Open returns the store of a bridge, with what its resource may call its own.
func Open(site hostnet.Site, name, importID string, claim owner.Claim) *Store {
	return &Store{Site: site, Name: name, ImportID: importID, claim: claim}
}

// Claim is what the state keeps of whose the bridge is.
func (s *Store) Claim() owner.Claim { return s.claim }

// look reads the machine, and the bridge's record where the bridge carries the record's mark.
func (s *Store) look(ctx context.Context) (m hostnet.Machine, r Record, known bool, err error) {
	if m, err = hostnet.Look(ctx, s.Host); err != nil {
		return m, r, false, err
	}
	link, there := m.Link(s.Name)
	if !there || owner.Parse(link.Alias) == (owner.Mark{}) {
		return m, r, false, nil
	}
	text, err := s.Host.Read(ctx, recordPath(s.Name))
	if errors.Is(err, fs.ErrNotExist) {
		return m, r, false, nil
	}
	if err != nil {
		return m, r, false, err
	}
	if r, err = ParseRecord(s.Name, text); err != nil {
		return m, r, false, fmt.Errorf("read %s on %s: %w", recordPath(s.Name), s.Host, err)
	}
	return m, r, r.Mark == owner.Parse(link.Alias), nil
}

// foreign is an *owner.ForeignError where the device of the bridge's name is not allowed to be touched.
func (s *Store) foreign(m hostnet.Machine, allowed func(owner.Mark) bool) error {
	link, there := m.Link(s.Name)
	if !there {
		return nil
	}
	e := &owner.ForeignError{What: fmt.Sprintf("bridge %q", s.Name), Place: "the network of " + s.Host.String(), ImportID: s.ImportID, Owner: owner.Parse(link.Alias)}
	if link.LinkInfo.Kind != "bridge" {
		e.What, e.ImportID = fmt.Sprintf("device %q, which is no bridge,", s.Name), ""
		return e
	}
	if allowed(e.Owner) {
		return nil
	}
	return e
}

// Get reads the bridge back; transaction.ErrAbsent where there is none.
func (s *Store) Get(ctx context.Context) (Bridge, error) {
	m, r, known, err := s.look(ctx)
	if err != nil {
		return Bridge{}, err
	}
	b, there := read(m, s.Name, r, known)
	if !there {
		return b, fmt.Errorf("bridge %q on %s: %w", s.Name, s.Host, transaction.ErrAbsent)
	}
	if err := s.foreign(m, s.claim.Owns); err != nil {
		return b, err
	}
	link, _ := m.Link(s.Name)
	s.claim = s.claim.Found(owner.Parse(link.Alias))
	return b, nil
}

// Plan finds what would keep the bridge from being made, or changed, as the machine is now.
func (s *Store) Plan(ctx context.Context, b Bridge, create bool) error {
	m, r, known, err := s.look(ctx)
	if err != nil {
		return err
	}
	allowed := s.claim.Owns
	if create {
		allowed = s.claim.MayTake
	}
	if err := s.foreign(m, allowed); err != nil {
		return service.At([]any{"name"}, err)
	}
	if !known {
		r = Record{}
	}
	_, err = b.begin(m, r)
	return err
}

// Create makes the bridge. One that a killed run of this workspace left is taken over.
func (s *Store) Create(ctx context.Context, want Bridge) (Bridge, error) {
	return s.put(ctx, want, s.claim.MayTake)
}

// Update changes the bridge in place.
func (s *Store) Update(ctx context.Context, _, want Bridge) (Bridge, error) {
	return s.put(ctx, want, s.claim.Owns)
}

func (s *Store) put(ctx context.Context, want Bridge, allowed func(owner.Mark) bool) (Bridge, error) {
	unlock, err := s.Host.Lock(ctx, hostnet.Lock)
	if err != nil {
		return want, err
	}
	defer unlock()
	m, was, known, err := s.look(ctx)
	if err != nil {
		return want, err
	}
	if err := s.foreign(m, allowed); err != nil {
		return want, err
	}
	_, there := m.Link(s.Name)
	if there && !known {
		was = imported(m, s.Name)
	}
	record, err := want.begin(m, was)
	if err != nil {
		return want, fmt.Errorf("on %s: %w", s.Host, err)
	}
	record.Mark = s.claim.Mark()
	c := hostnet.Change{Files: []hostnet.File{{Path: recordPath(s.Name), Content: string(record.Render()), Mode: 0o600}}, Timeout: want.RollbackTimeout}
	had := was.settings()
	if there {
		do, undo := record.Update(m, was)
		c.Do, c.Undo = hostnet.RunBatch(do, false), hostnet.RunBatch(undo, true)
	} else {
		do, undo := record.Make(m)
		c.Do, c.Undo = hostnet.RunBatch(do, false), hostnet.RunBatch(undo, true)
		had = record.before()
	}
	c.GivenUp = hostnet.GatewaysOf(hostnet.Without(had, record.settings()))
	if err := s.Run(ctx, c); err != nil {
		return want, err
	}
	s.claim = s.claim.Written()
	return s.Get(ctx)
}

// imported is the record of a bridge that somebody else made and an import took over: what it has is its interfaces'.
func imported(m hostnet.Machine, name string) Record {
	b, _ := read(m, name, Record{}, false)
	r := Record{Want: b}
	for i, port := range b.Interfaces {
		p := Port{Name: port, MTU: mustLink(m, port).MTU}
		if i == 0 {
			p.Settings = m.Settings(name)
		}
		r.Before = append(r.Before, p)
	}
	return r
}

// Delete gives the interfaces back what the bridge took from them.
func (s *Store) Delete(ctx context.Context) error {
	unlock, err := s.Host.Lock(ctx, hostnet.Lock)
	if err != nil {
		return err
	}
	defer unlock()
	m, r, known, err := s.look(ctx)
	if err != nil {
		return err
	}
	if _, there := m.Link(s.Name); !there {
		return s.Host.Remove(ctx, recordPath(s.Name))
	}
	if err := s.foreign(m, s.claim.Owns); err != nil {
		return err
	}
	if guests := m.Guests(s.Name); len(guests) > 0 {
		return fmt.Errorf("bridge %q on %s carries the virtual machines behind %q: remove them first", s.Name, s.Host, guests)
	}
	if !known {
		r = imported(m, s.Name)
	}
	do, undo := r.Unmake(m)
	return s.Run(ctx, hostnet.Change{
		Files: []hostnet.File{{Path: recordPath(s.Name), Absent: true}}, Do: hostnet.RunBatch(do, false), Undo: hostnet.RunBatch(undo, true),
		GivenUp: hostnet.GatewaysOf(hostnet.Without(r.settings(), r.before())), Timeout: r.Want.RollbackTimeout,
	})
}
