package hostnet

import (
	"context"
	_ "embed"
	"fmt"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

// Holder is what has the place of a thing in a machine's network now.
type Holder struct {
	// There is false where nothing has it.
	There bool
	Mark  owner.Mark
	// What names it in an error: `bridge "br0"`.
	What string
	// Fixed is set for what no import can take over, such as a device that is no bridge.
	Fixed bool
}

// Found is what a machine has of a thing in its network.
type Found interface {
	// Holder says what has the thing's place.
	Holder() Holder
	// IsUnproven says whether that may go back in a moment, as a change is under way or was left by a run that was killed.
	IsUnproven() bool
}

// Kind is one kind of thing in a machine's network: a bridge, an interface, a route. S is such a thing as it shall be, F what a
// machine has of it.
type Kind[S any, F Found] interface {
	// Look reads what the machine has.
	Look(ctx context.Context, h host.Host) (F, error)
	// Read is the thing as it was found; service.ErrAbsent where there is none.
	Read(found F) (S, error)
	// Complete fills in what the machine decides, and finds what would keep the thing from being made or changed.
	Complete(ctx context.Context, h host.Host, found F, want S) (S, error)
	// Put completes the thing, and is the change that makes it, or changes what was found into it, with the mark on it.
	Put(ctx context.Context, h host.Host, found F, want S, mark owner.Mark) (Change, error)
	// Drop is the change that gives back what was before.
	Drop(ctx context.Context, h host.Host, found F) (Change, error)
}

// Store is one thing in one machine's network: it decides whose the thing is, and makes each change under the machine's lock and
// with the rollback armed.
type Store[S any, F Found] struct {
	Site
	Kind Kind[S, F]
	// ImportID is what `terraform import` takes for the thing, At the attribute that names it.
	ImportID string
	At       string

	claim owner.Claim
}

// OpenStore returns the store of a thing, with what its resource may call its own.
func OpenStore[S any, F Found](site Site, kind Kind[S, F], importID, at string, claim owner.Claim) *Store[S, F] {
	return &Store[S, F]{Site: site, Kind: kind, ImportID: importID, At: at, claim: claim}
}

// Claim is what the state keeps of whose the thing is.
func (s *Store[S, F]) Claim() owner.Claim { return s.claim }

// foreignError is an *owner.ForeignError where what has the place may not be touched.
func (s *Store[S, F]) foreignError(found F, allowed func(owner.Mark) bool) error {
	h := found.Holder()
	if !h.There || !h.Fixed && allowed(h.Mark) {
		return nil
	}
	e := s.claim.NewForeignError(h.What, "the network of "+s.Host.String(), s.ImportID, h.Mark)
	if h.Fixed {
		e.ImportID = ""
	}
	return e
}

// lookAtMachine reads what the machine has. A change that is under way comes to its end first, and what a killed run left armed goes back: state and
// plan would be of what is gone in a moment.
func (s *Store[S, F]) lookAtMachine(ctx context.Context) (F, error) {
	found, err := s.Kind.Look(ctx, s.Host)
	if err != nil || !found.IsUnproven() {
		return found, err
	}
	unlock, err := s.Host.Lock(ctx, Lock)
	if err != nil {
		return found, err
	}
	defer unlock()
	if err := s.endEarlier(ctx); err != nil {
		return found, err
	}
	return s.Kind.Look(ctx, s.Host)
}

// Get reads the thing back; service.ErrAbsent where there is none.
func (s *Store[S, F]) Get(ctx context.Context) (S, error) {
	var none S
	found, err := s.lookAtMachine(ctx)
	if err != nil {
		return none, err
	}
	got, err := s.Kind.Read(found)
	if err != nil {
		return none, fmt.Errorf("on %s: %w", s.Host, err)
	}
	if err := s.foreignError(found, s.claim.Owns); err != nil {
		return none, err
	}
	s.claim = s.claim.Found(found.Holder().Mark)
	return got, nil
}

// Warner is a Kind that has something to say about a change before it is made.
type Warner[S, F any] interface {
	Warn(found F, want S) []service.Problem
}

// Plan completes the thing as the machine is now; the error says what would keep it from being made or changed.
func (s *Store[S, F]) Plan(ctx context.Context, want S, create bool) (planned S, warnings []service.Problem, err error) {
	found, err := s.lookAtMachine(ctx)
	if err != nil {
		return want, nil, err
	}
	allowed := s.claim.Owns
	if create {
		allowed = s.claim.MayTake
	}
	if err := s.foreignError(found, allowed); err != nil {
		return want, nil, service.At([]any{s.At}, err)
	}
	if w, warns := s.Kind.(Warner[S, F]); warns {
		warnings = w.Warn(found, want)
	}
	planned, err = s.Kind.Complete(ctx, s.Host, found, want)
	return planned, warnings, err
}

// RemovalWarner is a Kind that has something to say before what was found is given back.
type RemovalWarner[F any] interface {
	WarnOfRemoval(found F) []service.Problem
}

// PlanRemoval warns of what a destroy of the thing would do. What the machine cannot say now, the destroy says.
func (s *Store[S, F]) PlanRemoval(ctx context.Context) []service.Problem {
	w, warns := s.Kind.(RemovalWarner[F])
	if !warns {
		return nil
	}
	found, err := s.lookAtMachine(ctx)
	if err != nil || s.foreignError(found, s.claim.Owns) != nil {
		return nil
	}
	return w.WarnOfRemoval(found)
}

// Create makes the thing. One that a killed run of this workspace left is taken over.
func (s *Store[S, F]) Create(ctx context.Context, want S) (S, error) {
	return s.putWanted(ctx, want, s.claim.MayTake)
}

// Update changes the thing in place.
func (s *Store[S, F]) Update(ctx context.Context, _, want S) (S, error) {
	return s.putWanted(ctx, want, s.claim.Owns)
}

func (s *Store[S, F]) putWanted(ctx context.Context, want S, allowed func(owner.Mark) bool) (S, error) {
	err := s.makeChange(ctx, allowed, func(found F) (Change, error) {
		c, err := s.Kind.Put(ctx, s.Host, found, want, s.claim.Mark())
		if err != nil {
			return c, fmt.Errorf("on %s: %w", s.Host, err)
		}
		return c, nil
	})
	if err != nil {
		return want, err
	}
	s.claim = s.claim.Written()
	return s.Get(ctx)
}

// Delete gives back what was before the thing.
func (s *Store[S, F]) Delete(ctx context.Context) error {
	return s.makeChange(ctx, s.claim.Owns, func(found F) (Change, error) {
		if !found.Holder().There {
			return Change{}, nil
		}
		return s.Kind.Drop(ctx, s.Host, found)
	})
}

// makeChange makes a change of what is found under the machine's lock.
func (s *Store[S, F]) makeChange(ctx context.Context, allowed func(owner.Mark) bool, prepare func(F) (Change, error)) error {
	unlock, err := s.Host.Lock(ctx, Lock)
	if err != nil {
		return err
	}
	defer unlock()
	if err := s.endEarlier(ctx); err != nil {
		return err
	}
	found, err := s.Kind.Look(ctx, s.Host)
	if err != nil {
		return err
	}
	if err := s.foreignError(found, allowed); err != nil {
		return err
	}
	c, err := prepare(found)
	if err != nil || len(c.Files) == 0 && c.Do == "" {
		return err
	}
	return s.Run(ctx, c)
}

// finishScript takes from the marks of an owner that the thing is being made.
//
//go:embed finish.sh
var finishScript string

// finishPatterns are where marks of things in a machine's network stand: records, and the files of what manages its network.
const finishPatterns = runDir + "/* " + keptDir + "/*.json /etc/systemd/network/*virtcluster* /etc/systemd/network/*.d/*virtcluster* " +
	"/etc/netplan/*virtcluster* /etc/NetworkManager/*/*virtcluster* /etc/network/interfaces.d/*virtcluster* /etc/network/if-up.d/*virtcluster* " +
	"/etc/systemd/resolved.conf.d/*virtcluster* /etc/dhcp/dhclient-enter-hooks.d/*virtcluster* /etc/resolv.conf"

// FinishMark takes from the thing's mark that it is being made, wherever that stands. Nothing is told to read it.
func (s *Store[S, F]) FinishMark(ctx context.Context) error {
	unlock, err := s.Host.Lock(ctx, Lock)
	if err != nil {
		return err
	}
	defer unlock()
	if _, err := s.Host.Run(ctx, host.RepeatableScript("finish a mark", finishScript, append([]string{s.claim.Mark().ID}, strings.Fields(finishPatterns)...)...)); err != nil {
		return fmt.Errorf("on %s: %w", s.Host, err)
	}
	s.claim = s.claim.Finished()
	return nil
}
