package exposureattr

import (
	"context"
	"errors"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/addresspool"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/exposure"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/haproxy"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

// store is an exposure on its machine: an address that may come from a pool, the rules and the address on the device, and what
// HAProxy carries of it, made in this order and removed in the other.
type store struct {
	*crud.Part[exposure.Exposure]
	// pool is where the address is drawn, nil where it is given.
	pool  *crud.Part[addresspool.Address]
	claim owner.Claim
	// balanced says that HAProxy carries what it shall.
	balanced bool
	// listeners are the programs whose ports are not chosen.
	listeners []exposure.Listener
	warnings  []service.Problem
}

// Open returns the store of an exposure; name is its own on the machine, and what names it in messages.
func Open(ctx context.Context, at crud.Opening, c *Common, name, what, id string) (crud.Store[exposure.Exposure], error) {
	s := &store{claim: at.Claim, balanced: true}
	put := func(t transaction.Tree, want exposure.Exposure) error {
		return exposure.Set(t, exposure.AssignNodePorts(t, want, s.listeners), at.Claim.Mark())
	}
	part, err := crud.OpenPart(ctx, at, c.ServiceNode.ValueString(), crud.Part[exposure.Exposure]{
		Daemon: exposure.Daemon{}, Owner: what, Place: exposure.Place(name), ImportID: id,
		Mark: func(t transaction.Tree) (owner.Mark, bool) { return exposure.Mark(t, name) },
		Find: func(t transaction.Tree) (exposure.Exposure, error) { return exposure.Find(t, name) },
		Add:  put, Set: put,
		Drop: func(t transaction.Tree) error { return exposure.Drop(t, name) },
	})
	if err != nil {
		return nil, err
	}
	s.Part = part
	if convert.Known(c.Pool) {
		s.pool, err = OpenAddress(ctx, at, c.Pool, "exposed/"+strings.ReplaceAll(name, ":", "-"))
	}
	return s, err
}

// Get reads the exposure and what HAProxy carries of it.
func (s *store) Get(ctx context.Context) (exposure.Exposure, error) {
	got, err := s.Part.Get(ctx)
	if err != nil || got.Kind != exposure.LoadBalancer {
		return got, err
	}
	tree, err := s.Engine.Snapshot(ctx, s.Host, haproxy.Daemon{})
	if err != nil || !exposure.NeedsBalance(tree, got, s.claim) {
		return got, err
	}
	running, err := s.Engine.Running(ctx, s.Host, haproxy.Daemon{})
	s.balanced = running && exposure.BalanceMatches(tree, got, s.claim)
	return got, err
}

// Serving implements crud.Server.
func (s *store) Serving() bool { return s.Part.Serving() && s.balanced }

// Create draws the address where it comes from a pool, and exposes what is wanted.
func (s *store) Create(ctx context.Context, want exposure.Exposure) (exposure.Exposure, error) {
	if s.pool != nil {
		drawn, err := s.pool.Create(ctx, addresspool.Address{})
		if err != nil {
			return want, service.At([]any{"pool"}, err)
		}
		want.Address = drawn.IP
	}
	got, err := s.put(ctx, want, s.Part.Create)
	if err != nil && s.pool != nil && errors.Is(s.missing(ctx), transaction.ErrAbsent) {
		err = errors.Join(err, s.pool.Delete(context.WithoutCancel(ctx)))
	}
	return got, err
}

// missing is an error that is transaction.ErrAbsent where nothing was made.
func (s *store) missing(ctx context.Context) error {
	_, err := s.Part.Get(ctx)
	return err
}

// Update changes it in place.
func (s *store) Update(ctx context.Context, was, want exposure.Exposure) (exposure.Exposure, error) {
	if s.pool != nil {
		want.Address = was.Address
	}
	return s.put(ctx, want, func(ctx context.Context, want exposure.Exposure) (exposure.Exposure, error) {
		return s.Part.Update(ctx, was, want)
	})
}

// put completes what is wanted by what the machine's network says, and makes it so.
func (s *store) put(ctx context.Context, want exposure.Exposure, write func(context.Context, exposure.Exposure) (exposure.Exposure, error)) (exposure.Exposure, error) {
	tree, err := s.Engine.Snapshot(ctx, s.Host, s.Daemon)
	if err != nil {
		return want, err
	}
	want, err = exposure.Locate(ctx, s.Host, tree, want)
	if err != nil {
		return want, err
	}
	if want.Kind == exposure.NodePort {
		survey, err := exposure.Look(ctx, s.Host)
		if err != nil {
			return want, err
		}
		s.listeners = survey.Listeners
	}
	got, err := write(ctx, want)
	if err != nil {
		return got, err
	}
	if err := s.balance(ctx, want, false); err != nil {
		return got, &crud.Unfinished{Made: true, Err: err}
	}
	return crud.ReadBack(ctx, s.Get, nil)
}

// balance has HAProxy carry what it shall, where there is something to carry or to take out.
func (s *store) balance(ctx context.Context, want exposure.Exposure, removes bool) error {
	tree, err := s.Engine.Snapshot(ctx, s.Host, haproxy.Daemon{})
	if err != nil || !exposure.NeedsBalance(tree, want, s.claim) {
		return err
	}
	return s.Engine.Commit(ctx, s.Host, haproxy.Daemon{}, transaction.Edit{
		Owner: s.Part.Owner, Removes: removes,
		Warn:  func(text string) { s.warnings = append(s.warnings, crud.DaemonWarning(text)) },
		Apply: func(t transaction.Tree) error { return exposure.SetBalance(t, want, s.claim) },
	})
}

// Delete takes it away, and gives the address back to its pool.
func (s *store) Delete(ctx context.Context) error {
	got, err := s.Part.Get(ctx)
	if err != nil && !crud.IsAbsent(err) {
		return err
	}
	if err == nil {
		if err := s.balance(ctx, exposure.Exposure{Name: got.Name}, true); err != nil {
			return err
		}
	}
	if err := s.Part.Delete(ctx); err != nil || s.pool == nil {
		return err
	}
	return s.pool.Delete(ctx)
}

// Warnings implements crud.Warner.
func (s *store) Warnings() []service.Problem { return append(s.Part.Warnings(), s.warnings...) }
