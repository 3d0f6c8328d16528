package servicenode

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/fleet"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/sshhost"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/provision"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

// goneForGood is the way out for a machine that will not answer any more.
const goneForGood = "If the machine is gone for good, there is nothing to give back: take it and what lived on it out of the state with `terraform state rm`."

// machine is a service node in plain values.
type machine struct {
	// Endpoint has the whole fingerprint of the host key that the machine is pinned by.
	Endpoint host.Endpoint
	Services []string
	Install  bool
	// Inventory is nil while nobody has looked.
	Inventory *provision.Inventory
}

// store is one machine as one service node uses it.
type store struct {
	fleet *fleet.Fleet
	claim owner.Claim
	// machine is the one that a create met; nil before.
	machine host.Host
	// id is "" before the machine was met; endpoint and hostKey are as the configuration or the state has them; name is the
	// machine's in messages.
	id, endpoint, hostKey, name string
	// known are the services that the model has.
	known    []string
	warnings []service.Problem
}

var (
	_ crud.Store[machine] = (*store)(nil)
	_ crud.Owned          = (*store)(nil)
	_ crud.Warner         = (*store)(nil)
)

// Claim implements crud.Owned.
func (s *store) Claim() owner.Claim { return s.claim }

// FinishMark implements crud.Owned.
func (s *store) FinishMark(ctx context.Context) error {
	h, err := s.machine, error(nil)
	if h == nil {
		_, h, err = s.reachMachine(ctx)
	}
	if err == nil {
		err = provision.Finish(ctx, h, s.claim.Mark())
	}
	if err == nil {
		s.claim = s.claim.Finished()
	}
	return err
}

// Warnings implements crud.Warner.
func (s *store) Warnings() []service.Problem { return s.warnings }

func (s *store) addWarnings(summary string, details ...string) {
	for _, detail := range details {
		s.warnings = append(s.warnings, service.Warningf(nil, summary, "%s", detail))
	}
}

// reachMachine returns the machine by its id, and holds its key against the whole fingerprint that is known. One that was imported just
// now by less is met.
func (s *store) reachMachine(ctx context.Context) (host.Endpoint, host.Host, error) {
	e, err := host.ParseEndpoint(s.id)
	if err != nil {
		return e, nil, err
	}
	if e.Scheme == host.SSH && (s.hostKey == "" || e.HostKey == "") {
		return s.fleet.Meet(ctx, s.id, s.hostKey)
	}
	if e.Scheme == host.SSH {
		whole, err := sshhost.WholePin(s.hostKey)
		if err != nil {
			return e, nil, err
		}
		if !whole.Within(e.HostKey) {
			return e, nil, fmt.Errorf("the id of %s says that its host key is %s, and host_key says %s", e.Machine(), e.HostKey, whole)
		}
		e.HostKey = whole
	}
	h, err := s.fleet.Host(ctx, e.String())
	return e, h, err
}

// Get implements crud.Store. A machine that cannot be asked is an error, and stays in the state.
func (s *store) Get(ctx context.Context) (machine, error) {
	e, h, err := s.reachMachine(ctx)
	if err != nil {
		return machine{}, err
	}
	got, err := lookAtMachine(ctx, e, h)
	if err == nil {
		s.addWarnings("A service cannot run", got.Inventory.Missing(h, s.known)...)
	}
	return got, err
}

func lookAtMachine(ctx context.Context, e host.Endpoint, h host.Host) (machine, error) {
	inv, err := provision.Look(ctx, h)
	return machine{Endpoint: e, Inventory: &inv}, err
}

// Create implements crud.Store: it waits for the machine, pins its key and prepares it. Once the key is pinned the state knows the
// machine, whatever happens.
func (s *store) Create(ctx context.Context, want machine) (machine, error) {
	e, h, err := s.awaitMachine(ctx)
	if err != nil {
		return machine{}, err
	}
	s.claim, s.machine = s.claim.Written(), h
	got := machine{Endpoint: e}
	warning, err := provision.Booted(ctx, h)
	if err != nil {
		return got, &crud.Unfinished{Made: true, Err: fmt.Errorf("wait until it has started: %w", err)}
	}
	if warning != "" {
		s.addWarnings("cloud-init failed", warning)
	}
	failed := s.prepareServices(ctx, h, want, want.Services)
	seen, err := lookAtMachine(ctx, e, h)
	if err == nil {
		got = seen
	}
	if err = errors.Join(failed, err); err != nil {
		return got, &crud.Unfinished{Made: true, Err: placeError(failed, err)}
	}
	return got, nil
}

// awaitMachine waits until the machine answers.
func (s *store) awaitMachine(ctx context.Context) (host.Endpoint, host.Host, error) {
	type met struct {
		endpoint host.Endpoint
		host     host.Host
	}
	got, err := provision.Answering(ctx, s.name, fleet.Temporary, func(ctx context.Context) (met, error) {
		e, h, err := s.fleet.Meet(ctx, s.endpoint, s.hostKey)
		return met{e, h}, err
	})
	return got.endpoint, got.host, err
}

// prepareServices makes services ready, of all those that are wanted.
func (s *store) prepareServices(ctx context.Context, h host.Host, want machine, services []string) error {
	warnings, err := provision.Prepare(ctx, h, s.claim.Mark(), want.Services, services, want.Install)
	s.addWarnings("A daemon did not start", warnings...)
	if errors.As(err, new(*provision.MissingError)) || errors.As(err, new(*transaction.MissingError)) {
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
func (s *store) Update(ctx context.Context, was, want machine) (machine, error) {
	e, h, err := s.reachMachine(ctx)
	if err != nil {
		return machine{}, err
	}
	s.claim = s.claim.Written()
	if added := subtractNames(want.Services, was.Services); len(added) > 0 || was.Install != want.Install {
		if err := s.prepareServices(ctx, h, want, added); err != nil {
			return machine{}, err
		}
	}
	if dropped := subtractNames(was.Services, want.Services); len(dropped) > 0 {
		warnings, err := provision.GiveBack(ctx, h, &s.fleet.Engine, s.claim.Mark(), dropped)
		s.addWarnings(s.notAsItWas(), warnings...)
		if err != nil {
			return machine{}, fmt.Errorf("give services back: %w", err)
		}
	}
	return service.ReadBack(ctx, func(ctx context.Context) (machine, error) { return lookAtMachine(ctx, e, h) }, nil)
}

// Delete implements crud.Store: it gives the machine back. A machine that cannot be asked is an error: nobody knows whether it is
// gone or its configuration still serves.
func (s *store) Delete(ctx context.Context) error {
	_, h, err := s.reachMachine(ctx)
	if err == nil {
		var warnings []string
		warnings, err = provision.Leave(ctx, h, &s.fleet.Engine, s.ownMark(), s.known)
		s.addWarnings(s.notAsItWas(), warnings...)
	}
	if err != nil {
		return fmt.Errorf("give it back: %w\n\n%s", err, goneForGood)
	}
	return nil
}

// ownMark is what the machine knows the service node by. Where the state keeps none, as that of a tainted one, that is the workspace.
func (s *store) ownMark() owner.Mark {
	if s.claim.Anonymous() {
		return owner.Mark{Workspace: owner.Workspace()}
	}
	return s.claim.Mark()
}

func (s *store) notAsItWas() string {
	return fmt.Sprintf("Not all of service node %q is as it was", s.name)
}

// subtractNames are the names that are not among others.
func subtractNames(names, others []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return slices.Contains(others, name) })
}
