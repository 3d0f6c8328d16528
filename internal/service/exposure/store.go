package exposure

import (
	"context"
	"errors"
	"net/netip"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/addresspool"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/haproxy"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/part"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

// Store is a crud.Store of an exposure on its machine: an address that may come from a pool, the rules and the address on the device, and
// what HAProxy carries of it, made in this order and removed in the other.
type Store struct {
	*part.Part[Exposure]
	name  string
	claim owner.Claim
	turns *host.Turns
	// pool is where the address is drawn, nil where it is given, and address the one that is known to be drawn, where any is.
	pool    *addresspool.Draw
	address netip.Addr
	// balanced says that HAProxy carries what it shall, and drawn that the pool knows who has the address.
	balanced, drawn bool
	// survey is what of the machine is in the way of what is written next, and diverted says that it leads away what is exposed.
	survey   Survey
	diverted bool
	warnings []service.Problem
}

// NewStore returns the store of an exposure that has a name of its own on the machine, without its part.
func NewStore(name string, claim owner.Claim, turns *host.Turns) *Store {
	return &Store{name: name, claim: claim, turns: turns, balanced: true, drawn: true}
}

// NewPart returns the part of the machine's exposures that this one is: what names it in messages, and importID is what
// `terraform import` takes for it.
func (s *Store) NewPart(what, importID string) part.Part[Exposure] {
	put := func(t transaction.Tree, want Exposure) error {
		return Set(t, AssignNodePorts(t, want, s.survey), s.claim.Mark())
	}
	name := s.name
	return part.Part[Exposure]{
		Daemon: Daemon{}, Owner: what, Place: Place(name), ImportID: importID,
		Mark: func(t transaction.Tree) (owner.Mark, bool) { return Mark(t, name) },
		Find: func(t transaction.Tree) (Exposure, error) { return Find(t, name) },
		Add:  put, Set: put,
		Drop: func(t transaction.Tree) error { return Drop(t, name) },
	}
}

// DrawFrom has the address come from a pool; known is the one that is drawn already, where any is.
func (s *Store) DrawFrom(pool *addresspool.Draw, known netip.Addr) { s.pool, s.address = pool, known }

// FinishMark implements crud.Owned, for all that an exposure consists of. The exposure's own mark is the last one.
func (s *Store) FinishMark(ctx context.Context) error {
	if s.pool != nil {
		if err := s.pool.FinishMark(ctx); err != nil {
			return err
		}
	}
	tree, err := s.Engine.Snapshot(ctx, s.Host, haproxy.Daemon{})
	if err == nil && len(haproxy.ProxiesWithPrefix(tree, Section(s.name, ""))) > 0 {
		err = s.Engine.Commit(ctx, s.Host, haproxy.Daemon{}, part.NewMarkEdit(s.Part.Owner, s.claim))
	}
	if err == nil {
		err = s.Part.FinishMark(ctx)
	}
	return err
}

// Get reads the exposure, and what the pool and HAProxy have of it, with what somebody ordered of its targets at run time.
func (s *Store) Get(ctx context.Context) (Exposure, error) {
	got, err := s.readExposure(ctx)
	if err != nil || !s.balanced || len(got.Balanced()) == 0 {
		return got, err
	}
	drained, err := s.findDrained(ctx, got)
	s.balanced = len(drained) == 0
	return got, err
}

// findDrained finds the targets that somebody has HAProxy send no new connections to.
func (s *Store) findDrained(ctx context.Context, e Exposure) ([]haproxy.ServerRef, error) {
	var sections []string
	for port := range e.Balanced() {
		sections = append(sections, Section(e.Name, port))
	}
	_, running, err := transaction.Ask(ctx, s.Engine, s.Host, haproxy.Daemon{}, haproxy.AskRunning)
	return running.FindDrained(sections), err
}

// endDrains has targets take connections again that somebody drained at run time.
func (s *Store) endDrains(ctx context.Context, e Exposure) error {
	drained, err := s.findDrained(ctx, e)
	if err != nil || len(drained) == 0 {
		return err
	}
	tree, err := s.Engine.Snapshot(ctx, s.Host, haproxy.Daemon{})
	if err != nil {
		return err
	}
	return haproxy.Undrain(ctx, s.Host, tree, drained)
}

// readExposure reads the exposure, and what the pool and HAProxy's configuration have of it. What is drained meanwhile, by the turn of a rollout for one, is
// no result of a change.
func (s *Store) readExposure(ctx context.Context) (Exposure, error) {
	got, err := s.Part.Get(ctx)
	if err != nil {
		return got, err
	}
	if s.pool != nil {
		if s.drawn, err = s.isDrawn(ctx, got.Address); err != nil {
			return got, err
		}
	}
	_, survey, err := SurveyOnce(ctx, s.Engine, s.Host)
	if err != nil {
		return got, err
	}
	s.diverted = len(survey.Diverted(got)) > 0
	if got.Kind != LoadBalancer {
		return got, nil
	}
	tree, err := s.Engine.Snapshot(ctx, s.Host, haproxy.Daemon{})
	if err != nil || !NeedsBalance(tree, got, s.claim) {
		return got, err
	}
	running, err := s.Engine.Running(ctx, s.Host, haproxy.Daemon{})
	s.balanced = running && BalanceMatches(tree, got, s.claim)
	return got, err
}

// isDrawn says whether the pool knows that the exposure has its address: it may have lost its ledger.
func (s *Store) isDrawn(ctx context.Context, address netip.Addr) (bool, error) {
	s.address = address
	drawn, err := s.pool.Get(ctx)
	if part.IsAbsent(err) || errors.As(err, new(*owner.ForeignError)) {
		return false, nil
	}
	return drawn.IP == address, err
}

// Serving implements crud.Server.
func (s *Store) Serving() bool { return s.Part.Serving() && s.balanced && s.drawn && !s.diverted }

// Create draws the address where it comes from a pool, and exposes what is wanted.
func (s *Store) Create(ctx context.Context, want Exposure) (Exposure, error) {
	if s.pool != nil {
		err := s.takeDrawLeft(ctx)
		var drawn addresspool.Address
		if err == nil {
			drawn, err = s.pool.Create(ctx, addresspool.Address{})
		}
		if err != nil {
			return want, service.At([]any{"pool"}, err)
		}
		want.Address, s.address = drawn.IP, drawn.IP
	}
	got, err := s.putExposure(ctx, want, s.Part.Create)
	if err != nil && s.pool != nil {
		err = errors.Join(err, s.releaseAddress(context.WithoutCancel(ctx)))
	}
	return got, err
}

// takeDrawLeft has the pool give this exposure what is left drawn for an earlier one of the name.
func (s *Store) takeDrawLeft(ctx context.Context) error {
	tree, err := s.Engine.Snapshot(ctx, s.Host, s.Daemon)
	if err != nil {
		return err
	}
	ledger, err := s.pool.Engine.Snapshot(ctx, s.pool.Host, s.pool.Daemon)
	if err != nil {
		return err
	}
	if drawn, there := s.pool.Mark(ledger); there && isDrawLeft(tree, s.name, drawn) {
		s.pool.Part = part.Open(s.pool.Engine, s.pool.Host, s.claim.TakeOver(drawn), *s.pool.Part)
	}
	return nil
}

// isDrawLeft says whether what is drawn for an exposure of a name is left of one that its machine does not have any more, as it was made anew: this
// state finished it, and one state has one exposure of a name on a machine.
func isDrawLeft(t transaction.Tree, name string, drawn owner.Mark) bool {
	_, exposed := Mark(t, name)
	return !exposed && drawn.ID != "" && drawn.IsHere() && drawn.Creating == ""
}

// Update changes it in place. A pool that does not know any more who has the address is told so.
func (s *Store) Update(ctx context.Context, was, want Exposure) (Exposure, error) {
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
	got, err := s.putExposure(ctx, want, func(ctx context.Context, want Exposure) (Exposure, error) {
		return s.Part.Update(ctx, was, want)
	})
	if err == nil && len(got.Balanced()) > 0 {
		err = s.endDrains(ctx, got)
	}
	return got, err
}

// putExposure completes what is wanted by what the machine's network says, and makes it so.
func (s *Store) putExposure(ctx context.Context, want Exposure, write func(context.Context, Exposure) (Exposure, error)) (Exposure, error) {
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
	want, err = Locate(ctx, s.Host, tree, want)
	if err != nil {
		return want, err
	}
	if s.survey, err = Look(ctx, s.Host); err != nil {
		return want, err
	}
	for port, who := range s.survey.Occupied(tree, want) {
		return want, service.At(want.placePort(port), errors.New(want.describeOccupied(s.Host, port, who)))
	}
	got, err := write(ctx, want)
	if err != nil {
		return got, err
	}
	if err := s.changeBalancer(ctx, want, false); err != nil {
		return got, &service.Unfinished{Made: true, Err: err}
	}
	return service.ReadBack(ctx, s.readExposure, nil)
}

// endInterrupted has a change that did not come to its end taken back, before the machine is asked who has what: what that one exposed is
// live, an address with whatever programs found there.
func (s *Store) endInterrupted(ctx context.Context) error {
	interrupted, err := s.Engine.Interrupted(ctx, s.Host, s.Daemon)
	if err != nil || !interrupted {
		return err
	}
	return s.Engine.Commit(ctx, s.Host, s.Daemon, transaction.Edit{Owner: s.Part.Owner, Apply: func(transaction.Tree) error { return nil }})
}

// changeBalancer has HAProxy carry what it shall, where there is something to carry or to take out.
func (s *Store) changeBalancer(ctx context.Context, want Exposure, removes bool) error {
	tree, err := s.Engine.Snapshot(ctx, s.Host, haproxy.Daemon{})
	if err != nil || !NeedsBalance(tree, want, s.claim) {
		return err
	}
	return s.Engine.Commit(ctx, s.Host, haproxy.Daemon{}, transaction.Edit{
		Owner: s.Part.Owner, Removes: removes,
		Warn:  func(text string) { s.warnings = append(s.warnings, part.DaemonWarning(text)) },
		Apply: func(t transaction.Tree) error { return SetBalance(t, want, s.claim) },
	})
}

// Delete takes it away, and gives the address back to its pool. So it does where what replaces it has taken its place with another address.
func (s *Store) Delete(ctx context.Context) error {
	got, err := s.Part.Get(ctx)
	if errors.As(err, new(*owner.ForeignError)) {
		return errors.Join(err, s.releaseAddress(ctx))
	}
	if err != nil && !part.IsAbsent(err) {
		return err
	}
	if err == nil {
		if err := s.changeBalancer(ctx, Exposure{Name: got.Name}, true); err != nil {
			return err
		}
	}
	if err := s.Part.Delete(ctx); err != nil {
		return err
	}
	return s.releaseAddress(ctx)
}

// releaseAddress gives the address back to its pool, unless something of the exposure's name is still at it.
func (s *Store) releaseAddress(ctx context.Context) error {
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
func (s *Store) Warnings() []service.Problem {
	all := append(s.Part.Warnings(), s.warnings...)
	if s.pool != nil {
		all = append(all, s.pool.Warnings()...)
	}
	if !s.drawn {
		all = append(all, service.Warningf([]any{"pool"}, "Pool does not know of the address",
			"%s is not drawn from the pool for this any more, and could be given out to somebody else: the pool lost its ledger, or is gone. An apply registers it again", s.address))
	}
	return all
}
