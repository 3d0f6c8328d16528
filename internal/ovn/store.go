package ovn

import (
	"context"
	"fmt"

	"github.com/ovn-kubernetes/libovsdb/ovsdb"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

// markKey is where external_ids of a row have the mark of its owner.
const markKey = "virtcluster"

// Thing is what one resource keeps in the northbound database: rows, of which one has the owner's mark. It plans operations, and does none.
type Thing[S any] interface {
	// Noun and Name name it: "network", "app".
	Noun() string
	Name() string
	// Look reads it; nil external ids where it is not there.
	Look(ctx context.Context, n *Northbound) (seen S, externalIDs map[string]string, err error)
	// Put makes it, or changes it, with these external ids beside what it keeps there itself. What it was planned by is looked at anew.
	Put(ctx context.Context, n *Northbound, want S, mark string) ([]ovsdb.Operation, error)
	// Drop removes it, and what is left of it of this state's where somebody else removed it. An error says who needs it.
	Drop(ctx context.Context, n *Northbound) ([]ovsdb.Operation, error)
}

// Store is a crud.Store of one thing.
type Store[S any] struct {
	at       *Northbound
	thing    Thing[S]
	importID string
	claim    owner.Claim
	warnings []service.Problem
}

// OpenStore returns the store of a thing, with what its resource may call its own.
func OpenStore[S any](at *Northbound, thing Thing[S], importID string, claim owner.Claim) *Store[S] {
	return &Store[S]{at: at, thing: thing, importID: importID, claim: claim}
}

// Claim implements crud.Owned.
func (s *Store[S]) Claim() owner.Claim { return s.claim }

// Warnings implements crud.Warner.
func (s *Store[S]) Warnings() []service.Problem { return s.warnings }

// lookAtThing reads the thing, whose owner may be anyone.
func (s *Store[S]) lookAtThing(ctx context.Context) (seen S, mark owner.Mark, there bool, err error) {
	seen, ids, err := s.thing.Look(ctx, s.at)
	return seen, owner.Parse(ids[markKey]), ids != nil, err
}

func (s *Store[S]) foreignError(mark owner.Mark) error {
	return s.claim.NewForeignError(fmt.Sprintf("%s %q", s.thing.Noun(), s.thing.Name()), s.at.String(), s.importID, mark)
}

// Get implements crud.Store.
func (s *Store[S]) Get(ctx context.Context) (S, error) {
	seen, mark, there, err := s.lookAtThing(ctx)
	switch {
	case err != nil:
		return seen, s.at.ExplainStopped(err)
	case !there:
		// Terraform forgets what is absent, and nobody would ask for the rest of it.
		left := s.at.CommitQuietly(ctx, func(ctx context.Context) ([]ovsdb.Operation, error) { return s.thing.Drop(ctx, s.at) })
		if left != nil {
			return seen, fmt.Errorf("remove what is left of %s %q in %s, which is gone: %w", s.thing.Noun(), s.thing.Name(), s.at, left)
		}
		return seen, fmt.Errorf("%s %q in %s: %w", s.thing.Noun(), s.thing.Name(), s.at, service.ErrAbsent)
	case !s.claim.Owns(mark):
		return seen, s.foreignError(mark)
	}
	s.claim = s.claim.Found(mark)
	return seen, nil
}

// MayCreate implements crud.Previewer.
func (s *Store[S]) MayCreate(ctx context.Context) error {
	_, mark, there, err := s.lookAtThing(ctx)
	if err == nil && there && !s.claim.MayTake(mark) {
		err = s.foreignError(mark)
	}
	return err
}

// Create implements crud.Store. That nobody else made it meanwhile is part of the transaction.
func (s *Store[S]) Create(ctx context.Context, want S) (S, error) {
	return s.putThing(ctx, want, s.MayCreate)
}

// Update implements crud.Store.
func (s *Store[S]) Update(ctx context.Context, _, want S) (S, error) {
	return s.putThing(ctx, want, func(ctx context.Context) error {
		_, mark, there, err := s.lookAtThing(ctx)
		switch {
		case err == nil && !there:
			return fmt.Errorf("%s %q in %s: %w", s.thing.Noun(), s.thing.Name(), s.at, service.ErrAbsent)
		case err == nil && !s.claim.Owns(mark):
			return s.foreignError(mark)
		}
		return err
	})
}

// putThing makes the database have what is wanted, where may allows it.
func (s *Store[S]) putThing(ctx context.Context, want S, may func(context.Context) error) (S, error) {
	err := s.at.Commit(ctx, func(ctx context.Context) ([]ovsdb.Operation, error) {
		if err := may(ctx); err != nil {
			return nil, err
		}
		return s.thing.Put(ctx, s.at, want, s.claim.Mark().String())
	})
	if err == nil || isLag(err) {
		s.claim = s.claim.Written()
	}
	return service.ReadBack(ctx, s.Get, s.warnOfLag(err))
}

// warnOfLag makes a warning of chassis that do not follow, and returns any other error.
func (s *Store[S]) warnOfLag(err error) error {
	if isLag(err) {
		s.warnings = append(s.warnings, warnOfLag(err))
		return nil
	}
	return err
}

// warnOfLag is the warning of chassis that do not follow.
func warnOfLag(err error) service.Problem {
	return service.Warningf(nil, "Not all chassis follow", "%s", err)
}

// FinishMark implements crud.Owned.
func (s *Store[S]) FinishMark(ctx context.Context) error {
	finished := s.claim.Finished()
	err := s.at.CommitQuietly(ctx, func(ctx context.Context) ([]ovsdb.Operation, error) {
		seen, mark, there, err := s.lookAtThing(ctx)
		if err != nil || !there || !s.claim.Owns(mark) || mark.Creating == "" {
			return nil, err
		}
		return s.thing.Put(ctx, s.at, seen, finished.Mark().String())
	})
	if err == nil {
		s.claim = finished
	}
	return err
}

// Delete implements crud.Store.
func (s *Store[S]) Delete(ctx context.Context) error {
	return s.warnOfLag(s.at.Commit(ctx, func(ctx context.Context) ([]ovsdb.Operation, error) {
		_, mark, there, err := s.lookAtThing(ctx)
		switch {
		case err != nil:
			return nil, err
		case there && !s.claim.Owns(mark):
			return nil, s.foreignError(mark)
		}
		return s.thing.Drop(ctx, s.at)
	}))
}
