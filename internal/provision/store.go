package provision

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/sshhost"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

// goneForGood is the way out for a machine that will not answer any more.
const goneForGood = "If the machine is gone for good, there is nothing to give back: take it and what lived on it out of the state with `terraform state rm`."

// Machine is a service node in plain values.
type Machine struct {
	// Endpoint has the whole fingerprint of the host key that the machine is pinned by.
	Endpoint host.Endpoint
	Services []string
	Install  bool
	// Inventory is nil while nobody has looked.
	Inventory *Inventory
}

// Machines are the ways to machines.
type Machines interface {
	// Host returns a machine by its reference, and Meet one whose key is not known yet, or only in part.
	Host(ctx context.Context, endpoint string) (host.Host, error)
	Meet(ctx context.Context, endpoint, hostKey string) (host.Endpoint, host.Host, error)
}

// Place is where a service node is, and what it goes by.
type Place struct {
	// ID is "" before the machine was met; Endpoint and HostKey are as the configuration or the state has them; Name is the machine's in
	// messages.
	ID, Endpoint, HostKey, Name string
}

// Store is a crud.Store of one machine as one service node uses it.
type Store struct {
	machines  Machines
	engine    *transaction.Engine
	temporary Temporary
	claim     owner.Claim
	place     Place
	// machine is the one that a create met; nil before.
	machine host.Host
	// known are the services that the model has.
	known    []string
	warnings []service.Problem
}

// NewStore returns the store of a service node. temporary says which errors to reach it may pass by themselves, and known are the services
// that the state or the plan has.
func NewStore(machines Machines, engine *transaction.Engine, temporary Temporary, claim owner.Claim, place Place, known []string) *Store {
	return &Store{machines: machines, engine: engine, temporary: temporary, claim: claim, place: place, known: known}
}

// Claim implements crud.Owned.
func (s *Store) Claim() owner.Claim { return s.claim }

// FinishMark implements crud.Owned.
func (s *Store) FinishMark(ctx context.Context) error {
	h, err := s.machine, error(nil)
	if h == nil {
		_, h, err = s.reachMachine(ctx)
	}
	if err == nil {
		err = Finish(ctx, h, s.claim.Mark())
	}
	if err == nil {
		s.claim = s.claim.Finished()
	}
	return err
}

// Warnings implements crud.Warner.
func (s *Store) Warnings() []service.Problem { return s.warnings }

func (s *Store) addWarnings(summary string, details ...string) {
	for _, detail := range details {
		s.warnings = append(s.warnings, service.Warningf(nil, summary, "%s", detail))
	}
}

// reachMachine returns the machine by its id, and holds its key against the whole fingerprint that is known. One that was imported just
// now by less is met.
func (s *Store) reachMachine(ctx context.Context) (host.Endpoint, host.Host, error) {
	e, err := host.ParseEndpoint(s.place.ID)
	if err != nil {
		return e, nil, err
	}
	if e.Scheme == host.SSH && (s.place.HostKey == "" || e.HostKey == "") {
		return s.machines.Meet(ctx, s.place.ID, s.place.HostKey)
	}
	if e.Scheme == host.SSH {
		whole, err := sshhost.WholePin(s.place.HostKey)
		if err != nil {
			return e, nil, err
		}
		if !whole.Within(e.HostKey) {
			return e, nil, fmt.Errorf("the id of %s says that its host key is %s, and host_key says %s", e.Machine(), e.HostKey, whole)
		}
		e.HostKey = whole
	}
	h, err := s.machines.Host(ctx, e.String())
	return e, h, err
}

// Get implements crud.Store. A machine that cannot be asked is an error, and stays in the state.
func (s *Store) Get(ctx context.Context) (Machine, error) {
	e, h, err := s.reachMachine(ctx)
	if err != nil {
		return Machine{}, err
	}
	got, err := lookAtMachine(ctx, e, h)
	if err == nil {
		s.claim = got.Inventory.Record.findClaim(s.claim)
		s.addWarnings("A service cannot run", got.Inventory.Missing(h, s.known)...)
	}
	return got, err
}

func lookAtMachine(ctx context.Context, e host.Endpoint, h host.Host) (Machine, error) {
	inv, err := Look(ctx, h)
	return Machine{Endpoint: e, Inventory: &inv}, err
}

// Create implements crud.Store: it waits for the machine, pins its key and prepares it. Once the key is pinned the state knows the
// machine, whatever happens.
func (s *Store) Create(ctx context.Context, want Machine) (Machine, error) {
	e, h, err := s.awaitMachine(ctx)
	if err != nil {
		return Machine{}, err
	}
	s.claim, s.machine = s.claim.Written(), h
	got := Machine{Endpoint: e}
	warning, err := Booted(ctx, h)
	if err != nil {
		return got, &service.Unfinished{Made: true, Err: fmt.Errorf("wait until it has started: %w", err)}
	}
	if warning != "" {
		s.addWarnings("cloud-init failed", warning)
	}
	failed := s.prepareServices(ctx, h, s.claim, want, want.Services)
	seen, err := lookAtMachine(ctx, e, h)
	if err == nil {
		got = seen
	}
	if err = errors.Join(failed, err); err != nil {
		return got, &service.Unfinished{Made: true, Err: placeError(failed, err)}
	}
	return got, nil
}

// awaitMachine waits until the machine answers.
func (s *Store) awaitMachine(ctx context.Context) (host.Endpoint, host.Host, error) {
	type met struct {
		endpoint host.Endpoint
		host     host.Host
	}
	got, err := Answering(ctx, s.place.Name, s.temporary, func(ctx context.Context) (met, error) {
		e, h, err := s.machines.Meet(ctx, s.place.Endpoint, s.place.HostKey)
		return met{e, h}, err
	})
	return got.endpoint, got.host, err
}

// prepareServices makes services ready, of all those that are wanted.
func (s *Store) prepareServices(ctx context.Context, h host.Host, claim owner.Claim, want Machine, services []string) error {
	warnings, err := Prepare(ctx, h, claim, want.Services, services, want.Install)
	s.addWarnings("A daemon did not start", warnings...)
	if errors.As(err, new(*MissingError)) || errors.As(err, new(*transaction.MissingError)) {
		return service.At([]any{"services"}, err)
	}
	return err
}

// placeError returns an error at the attribute of the failure that it contains.
func placeError(failure, err error) error {
	if at, ok := errors.AsType[*service.AttributeError](failure); ok {
		return service.At(at.Path, err)
	}
	return err
}

// Update implements crud.Store: it makes services ready that are new and gives back those that are no longer wanted.
func (s *Store) Update(ctx context.Context, was, want Machine) (Machine, error) {
	e, h, err := s.reachMachine(ctx)
	if err != nil {
		return Machine{}, err
	}
	if s.claim.Anonymous() { // nothing was read before, as with -refresh=false
		got, err := lookAtMachine(ctx, e, h)
		if err != nil {
			return Machine{}, err
		}
		s.claim = got.Inventory.Record.findClaim(s.claim)
	}
	claim := s.claim // as the state has it: the written one does not know what it took over any more
	s.claim = s.claim.Written()
	if added := subtractNames(want.Services, was.Services); len(added) > 0 || was.Install != want.Install {
		if err := s.prepareServices(ctx, h, claim, want, added); err != nil {
			return Machine{}, err
		}
	}
	if dropped := subtractNames(was.Services, want.Services); len(dropped) > 0 {
		warnings, err := GiveBack(ctx, h, s.engine, claim, dropped)
		s.addWarnings(s.notAsItWas(), warnings...)
		if err != nil {
			return Machine{}, fmt.Errorf("give services back: %w", err)
		}
	}
	return service.ReadBack(ctx, func(ctx context.Context) (Machine, error) { return lookAtMachine(ctx, e, h) }, nil)
}

// Delete implements crud.Store: it gives the machine back. A machine that cannot be asked is an error: nobody knows whether it is
// gone or its configuration still serves.
func (s *Store) Delete(ctx context.Context) error {
	_, h, err := s.reachMachine(ctx)
	if err == nil {
		var warnings []string
		warnings, err = Leave(ctx, h, s.engine, s.claim, s.known)
		s.addWarnings(s.notAsItWas(), warnings...)
	}
	if err != nil {
		return fmt.Errorf("give it back: %w\n\n%s", err, goneForGood)
	}
	return nil
}

func (s *Store) notAsItWas() string {
	return fmt.Sprintf("Not all of service node %q is as it was", s.place.Name)
}

// subtractNames are the names that are not among others.
func subtractNames(names, others []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return slices.Contains(others, name) })
}
