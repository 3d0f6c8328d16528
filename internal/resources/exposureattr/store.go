package exposureattr

import (
	"context"
	"errors"
	"net/netip"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/hostattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/addresspool"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/exposure"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/haproxy"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/part"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

// store is an exposure on its machine: an address that may come from a pool, the rules and the address on the device, and what
// HAProxy carries of it, made in this order and removed in the other.
type store struct {
	*part.Part[exposure.Exposure]
	// pool is where the address is drawn, nil where it is given.
	pool  *Draw
	name  string
	claim owner.Claim
	turns *host.Turns
	// balanced says that HAProxy carries what it shall, and drawn that the pool knows who has the address.
	balanced, drawn bool
	// survey is what of the machine is in the way of what is written next, and diverted says that it leads away what is exposed.
	survey   exposure.Survey
	diverted bool
	warnings []service.Problem
}

// Open returns the store of an exposure; name is its own on the machine, and what names it in messages.
func Open(ctx context.Context, at crud.Opening, c *Common, name, what, id string) (crud.Store[exposure.Exposure], error) {
	s := &store{name: name, claim: at.Claim, turns: &at.Fleet.Turns, balanced: true, drawn: true}
	put := func(t transaction.Tree, want exposure.Exposure) error {
		return exposure.Set(t, exposure.AssignNodePorts(t, want, s.survey), at.Claim.Mark())
	}
	part, err := crud.OpenPart(ctx, at, c.ServiceNode.ValueString(), part.Part[exposure.Exposure]{
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
		// No key that a configuration can have has a # in it.
		s.pool, err = OpenAddress(ctx, at, c.Pool, "exposed/"+host.WithoutKey(c.ServiceNode.ValueString())+"#"+name)
	}
	if s.pool != nil {
		s.pool.address, _, _ = hostattr.Address(c.Address) // none where it is to be drawn
	}
	return s, err
}

// FinishMark implements crud.Owned, for all that an exposure consists of. The exposure's own mark is the last one.
func (s *store) FinishMark(ctx context.Context) error {
	if s.pool != nil {
		if err := s.pool.FinishMark(ctx); err != nil {
			return err
		}
	}
	tree, err := s.Engine.Snapshot(ctx, s.Host, haproxy.Daemon{})
	if err == nil && len(haproxy.ProxiesWithPrefix(tree, exposure.Section(s.name, ""))) > 0 {
		err = s.Engine.Commit(ctx, s.Host, haproxy.Daemon{}, part.NewMarkEdit(s.Part.Owner, s.claim))
	}
	if err == nil {
		err = s.Part.FinishMark(ctx)
	}
	return err
}

// Get reads the exposure, and what the pool and HAProxy have of it.
func (s *store) Get(ctx context.Context) (exposure.Exposure, error) {
	got, err := s.Part.Get(ctx)
	if err != nil {
		return got, err
	}
	if s.pool != nil {
		if s.drawn, err = s.isDrawn(ctx, got.Address); err != nil {
			return got, err
		}
	}
	_, survey, err := exposure.SurveyOnce(ctx, s.Engine, s.Host)
	if err != nil {
		return got, err
	}
	s.diverted = len(survey.Diverted(got)) > 0
	if got.Kind != exposure.LoadBalancer {
		return got, nil
	}
	tree, err := s.Engine.Snapshot(ctx, s.Host, haproxy.Daemon{})
	if err != nil || !exposure.NeedsBalance(tree, got, s.claim) {
		return got, err
	}
	running, err := s.Engine.Running(ctx, s.Host, haproxy.Daemon{})
	s.balanced = running && exposure.BalanceMatches(tree, got, s.claim)
	return got, err
}

// isDrawn says whether the pool knows that the exposure has its address: it may have lost its ledger.
func (s *store) isDrawn(ctx context.Context, address netip.Addr) (bool, error) {
	s.pool.address = address
	drawn, err := s.pool.Get(ctx)
	if part.IsAbsent(err) || errors.As(err, new(*owner.ForeignError)) {
		return false, nil
	}
	return drawn.IP == address, err
}

// Serving implements crud.Server.
func (s *store) Serving() bool { return s.Part.Serving() && s.balanced && s.drawn && !s.diverted }

// Create draws the address where it comes from a pool, and exposes what is wanted.
func (s *store) Create(ctx context.Context, want exposure.Exposure) (exposure.Exposure, error) {
	if s.pool != nil {
		drawn, err := s.pool.Create(ctx, addresspool.Address{})
		if err != nil {
			return want, service.At([]any{"pool"}, err)
		}
		want.Address, s.pool.address = drawn.IP, drawn.IP
	}
	got, err := s.put(ctx, want, s.Part.Create)
	if err != nil && s.pool != nil {
		err = errors.Join(err, s.release(context.WithoutCancel(ctx)))
	}
	return got, err
}

// Update changes it in place. A pool that does not know any more who has the address is told so.
func (s *store) Update(ctx context.Context, was, want exposure.Exposure) (exposure.Exposure, error) {
	if s.pool != nil {
		want.Address = was.Address
		drawn, err := s.isDrawn(ctx, was.Address)
		if err == nil && !drawn {
			_, err = s.pool.Create(ctx, addresspool.Address{IP: was.Address})
		}
		if err != nil {
			return want, service.At([]any{"pool"}, err)
		}
	}
	return s.put(ctx, want, func(ctx context.Context, want exposure.Exposure) (exposure.Exposure, error) {
		return s.Part.Update(ctx, was, want)
	})
}

// put completes what is wanted by what the machine's network says, and makes it so.
func (s *store) put(ctx context.Context, want exposure.Exposure, write func(context.Context, exposure.Exposure) (exposure.Exposure, error)) (exposure.Exposure, error) {
	if err := s.endInterrupted(ctx); err != nil {
		return want, err
	}
	tree, err := s.Engine.Snapshot(ctx, s.Host, s.Daemon)
	if err != nil {
		return want, err
	}
	done, err := s.takeAddress(ctx, tree, want)
	if err != nil {
		return want, err
	}
	defer done()
	want, err = exposure.Locate(ctx, s.Host, tree, want)
	if err != nil {
		return want, err
	}
	if s.survey, err = exposure.Look(ctx, s.Host); err != nil {
		return want, err
	}
	for port, who := range s.survey.Occupied(tree, want) {
		return want, service.At(portAt(want, port), errors.New(occupied(s.Host, want, port, who)))
	}
	got, err := write(ctx, want)
	if err != nil {
		return got, err
	}
	if err := s.balance(ctx, want, false); err != nil {
		return got, &crud.Unfinished{Made: true, Err: err}
	}
	return service.ReadBack(ctx, s.Get, nil)
}

// endInterrupted has a change that did not come to its end taken back, before the machine is asked who has what: what that one exposed is
// live, an address with whatever programs found there.
func (s *store) endInterrupted(ctx context.Context) error {
	interrupted, err := s.Engine.Interrupted(ctx, s.Host, s.Daemon)
	if err != nil || !interrupted {
		return err
	}
	return s.Engine.Commit(ctx, s.Host, s.Daemon, transaction.Edit{Owner: s.Part.Owner, Apply: func(transaction.Tree) error { return nil }})
}

// balance has HAProxy carry what it shall, where there is something to carry or to take out.
func (s *store) balance(ctx context.Context, want exposure.Exposure, removes bool) error {
	tree, err := s.Engine.Snapshot(ctx, s.Host, haproxy.Daemon{})
	if err != nil || !exposure.NeedsBalance(tree, want, s.claim) {
		return err
	}
	return s.Engine.Commit(ctx, s.Host, haproxy.Daemon{}, transaction.Edit{
		Owner: s.Part.Owner, Removes: removes,
		Warn:  func(text string) { s.warnings = append(s.warnings, part.DaemonWarning(text)) },
		Apply: func(t transaction.Tree) error { return exposure.SetBalance(t, want, s.claim) },
	})
}

// Delete takes it away, and gives the address back to its pool. So it does where what replaces it has taken its place with another address.
func (s *store) Delete(ctx context.Context) error {
	got, err := s.Part.Get(ctx)
	if errors.As(err, new(*owner.ForeignError)) {
		return errors.Join(err, s.release(ctx))
	}
	if err != nil && !part.IsAbsent(err) {
		return err
	}
	if err == nil {
		if err := s.balance(ctx, exposure.Exposure{Name: got.Name}, true); err != nil {
			return err
		}
	}
	if err := s.Part.Delete(ctx); err != nil {
		return err
	}
	return s.release(ctx)
}

// release gives the address back to its pool, unless something of the exposure's name is still at it.
func (s *store) release(ctx context.Context) error {
	if s.pool == nil {
		return nil
	}
	tree, err := s.Engine.Snapshot(ctx, s.Host, s.Daemon)
	if err != nil {
		return err
	}
	drawn, err := s.pool.Get(ctx)
	switch there, errThere := s.Find(tree); {
	case part.IsAbsent(err), errors.As(err, new(*owner.ForeignError)):
		return nil
	case err != nil:
		return err
	case errThere == nil && there.Address == drawn.IP:
		return nil
	}
	return s.pool.Delete(ctx)
}

// Warnings implements crud.Warner.
func (s *store) Warnings() []service.Problem {
	all := append(s.Part.Warnings(), s.warnings...)
	if s.pool != nil {
		all = append(all, s.pool.Warnings()...)
	}
	if !s.drawn {
		all = append(all, service.Warningf([]any{"pool"}, "Pool does not know of the address",
			"%s is not drawn from the pool for this any more, and could be given out to somebody else: the pool lost its ledger, or is gone. An apply registers it again", s.pool.address))
	}
	return all
}
