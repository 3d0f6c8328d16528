// Package vip is a VIP on all its machines: what each has of it, who holds the addresses, and how a change is rolled out so that never two
// of them hold them. What stands on one machine is keepalived's.
package vip

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/keepalived"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/part"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

// Object is a VIP and what the machines say of it beyond its configuration.
type Object struct {
	keepalived.VIP
	// Owner is the id of the service node that holds the addresses; "" is none.
	Owner string
	// Changed is set after a change: an owner that was planned is kept then, and one that took over meanwhile shows in the next
	// plan.
	Changed bool
	// PasswordsDiffer is set where the members' passwords are not the same one.
	PasswordsDiffer bool
	// Unreachable are machines that could not be asked, with the reasons: state keeps what it had of them.
	Unreachable []string
	// Left are removed members that could not be reached, with the reasons.
	Left []string
}

// Machines are how the members' machines are reached and changed.
type Machines struct {
	// Host returns the machine of a service node by its id.
	Host func(ctx context.Context, serviceNode string) (host.Host, error)
	// Engine runs the changes of keepalived's configuration, and Turns are the locks of machines that this run holds together.
	Engine *transaction.Engine
	Turns  *host.Turns
	// HandOvers and Groups are what this run has done to keepalived's instances, and does.
	HandOvers *keepalived.HandOvers
	Groups    *Groups
}

// Store is a crud.Store of one VIP on all its machines.
type Store struct {
	machines Machines
	name     string
	// members have their names and service nodes; known is what the state has of the VIP, nil for an import.
	members []keepalived.Member
	known   *keepalived.VIP
	// owner is the service node that the state says holds the addresses; "" is none.
	owner string
	// claim is what the VIP may call its own.
	claim owner.Claim
	// left are removed members that could not be told so, with the reasons.
	left []string
	// tried is set once a machine was told to change, changed once one was changed.
	tried, changed bool
	// warnings are what machines said of changes that succeeded.
	warnings []service.Problem
}

// New returns the store of a VIP of which nothing is known but its name and its members' names and service nodes, as after an import.
func New(machines Machines, claim owner.Claim, name string, members []keepalived.Member) *Store {
	return &Store{machines: machines, claim: claim, name: name, members: members}
}

// Open returns the store of a VIP that a state or a plan knows. holder is the service node that the state says holds the addresses; "" is
// none.
func Open(machines Machines, claim owner.Claim, known keepalived.VIP, holder string) *Store {
	s := New(machines, claim, known.Name, known.Members)
	s.known, s.owner = &known, holder
	return s
}

// Claim implements crud.Owned.
func (s *Store) Claim() owner.Claim { return s.claim }

// FinishMark implements crud.Owned, on all machines of the VIP.
func (s *Store) FinishMark(ctx context.Context) error {
	for _, id := range ListServiceNodes(s.members) {
		h, err := s.machines.Host(ctx, id)
		if err == nil {
			err = s.machines.Engine.Commit(ctx, h, keepalived.Daemon{}, part.NewMarkEdit(fmt.Sprintf("VIP %q", s.name), s.claim))
		}
		if err != nil {
			return err
		}
	}
	s.claim = s.claim.Finished()
	return nil
}

// Warnings implements crud.Warner.
func (s *Store) Warnings() []service.Problem { return s.warnings }

// Get implements crud.Store. A machine that cannot be reached keeps what is known of it, as long as another
// one answers: or a dead member could never be removed.
func (s *Store) Get(ctx context.Context) (Object, error) {
	ids := ListServiceNodes(s.members)
	views, errs := s.lookAtMachines(ctx, ids, s.name)
	if len(views) == 0 {
		return Object{}, joinErrors(ids, errs)
	}
	found, foreign := s.collectOwn(views)
	if len(found) == 0 && len(errs) == 0 && foreign != nil {
		return Object{}, foreign
	}
	if len(found) == 0 && len(errs) == 0 {
		return Object{}, fmt.Errorf("vrrp_instance %s: %w", s.name, service.ErrAbsent)
	}
	if len(found) == 0 || len(errs) > 0 && s.known == nil {
		return Object{}, joinErrors(ids, errs)
	}
	var kept []string
	got := Object{Left: s.left}
	for _, id := range ids {
		if err, failed := errs[id]; failed {
			kept = append(kept, id)
			got.Unreachable = append(got.Unreachable, err.Error())
		}
	}
	got.VIP = keepalived.Merge(found, s.known, ids, kept)
	for i, m := range got.Members {
		if v := views.findView(m.ID); !m.Address.IsValid() && v.host != nil && !v.hasLostSource() {
			got.Members[i].Address, _ = v.links.Own(m.Interface, got.Addresses, v.declared)
		}
	}
	got.PasswordsDiffer = slices.ContainsFunc(found, func(f keepalived.Found) bool { return f.Instance.AuthPass != found[0].Instance.AuthPass })
	got.Owner = s.findOwner(ctx, got.VIP, views)
	s.machines.HandOvers.Settle(got.Addresses)
	return got, nil
}

// collectOwn returns what the machines have of the VIP that is its own, and the first that is not.
func (s *Store) collectOwn(views Views) (own []keepalived.Found, foreign error) {
	for _, v := range views {
		switch {
		case v.written == nil:
		case !s.claim.Owns(v.written.Owner):
			if foreign == nil {
				foreign = s.newForeignError(v, v.written.Name)
			}
		default:
			s.claim = s.claim.Found(v.written.Owner)
			f := keepalived.Found{ID: v.id, Instance: *v.written, LostSource: v.hasLostSource()}
			if v.instance == nil {
				f.Instance.Priority = Stopped
			} else {
				f.Instance = *v.instance
			}
			own = append(own, f)
		}
	}
	return own, foreign
}

// Stopped is the priority of a member that takes no part as its keepalived does not run: the one by which VRRP says so
// (RFC 3768 section 5.3.4). The member stays in the state, or destroying the VIP would leave it in that machine's files.
const Stopped = 0

// newForeignError says whose the instance of that name on a machine is.
func (s *Store) newForeignError(v view, name string) error {
	return s.claim.NewForeignError("vrrp_instance "+name, fmt.Sprintf("%s on %s", keepalived.Path, v.host), keepalived.ImportID(s.members, name), v.owners[name])
}

// ownInstances is OwnInstances of what the store was opened for.
func (s *Store) ownInstances(mine func(owner.Mark) bool) IsOwn {
	return OwnInstances(keepalived.VIP{Name: s.name, Members: s.members}, mine)
}

// MayCreate implements crud.Previewer.
func (s *Store) MayCreate(ctx context.Context) error {
	views, _ := s.lookAtMachines(ctx, ListServiceNodes(s.members), s.name)
	for _, v := range views {
		if err := s.refuseForeign(v, s.ownInstances(s.claim.MayTake), s.name); err != nil {
			return err
		}
	}
	return nil
}

// Create implements crud.Store.
func (s *Store) Create(ctx context.Context, want Object) (Object, error) {
	err := s.changeMachines(ctx, keepalived.VIP{Name: want.Name}, want.VIP, OwnInstances(want.VIP, s.claim.MayTake))
	return s.readAfterChange(ctx, want, s.changed, err)
}

// Update implements crud.Store. After a failure the members of before count as well, or one that was to go would be forgotten where it is.
func (s *Store) Update(ctx context.Context, prior, want Object) (Object, error) {
	err := s.changeMachines(ctx, prior.VIP, want.VIP, OwnInstances(prior.VIP, s.claim.Owns))
	if err != nil {
		want.Members = slices.Clone(want.Members)
		for _, m := range prior.Members {
			if !slices.Contains(ListServiceNodes(want.Members), m.ID) {
				want.Members = append(want.Members, m)
			}
		}
		s.known, s.members = &want.VIP, want.Members
	}
	return s.readAfterChange(ctx, want, s.tried, err)
}

// readAfterChange returns what the machines have after a change. A change that failed when a machine may have been changed already is
// unfinished: what a create left behind is in the state and goes with it.
func (s *Store) readAfterChange(ctx context.Context, want Object, changed bool, err error) (Object, error) {
	if err == nil {
		s.claim = s.claim.Written()
	}
	if err == nil || !changed {
		got, err := service.ReadBack(ctx, s.Get, err)
		got.Changed = true
		return got, err
	}
	got, failed := s.Get(context.WithoutCancel(ctx))
	if failed != nil {
		got = want
	}
	return got, &service.Unfinished{Made: true, Err: err}
}

// Delete implements crud.Store: those that hold nothing stop first, so that nobody takes over on the way.
func (s *Store) Delete(ctx context.Context) error {
	if s.known != nil {
		defer s.machines.Groups.takeTurn(s.known.SyncGroup)()
	}
	ids := ListServiceNodes(s.members)
	views, errs := s.lookAtMachines(ctx, ids, s.name)
	if len(errs) > 0 {
		return fmt.Errorf("no machine was changed, because not every member can be reached: remove a dead one from members first: %w", joinErrors(ids, errs))
	}
	slices.SortStableFunc(views, func(a, b view) int { return a.rankHolding() - b.rankHolding() })
	var foreign error
	for _, v := range views {
		err := s.applyStep(ctx, v, keepalived.Step{ID: v.id, Was: s.name}, s.ownInstances(s.claim.Owns))
		if errors.As(err, new(*owner.ForeignError)) {
			foreign = err
		} else if err != nil {
			return err
		}
	}
	return foreign
}

// ListServiceNodes returns the members' service nodes.
func ListServiceNodes(members []keepalived.Member) []string {
	ids := make([]string, 0, len(members))
	for _, m := range members {
		ids = append(ids, m.ID)
	}
	return ids
}

// joinErrors returns the errors of all machines that failed, in order.
func joinErrors(ids []string, errs map[string]error) error {
	var all []error
	for _, id := range ids {
		if err := errs[id]; err != nil {
			all = append(all, err)
		}
	}
	return errors.Join(all...)
}

func placeInMember(v keepalived.VIP, i int, attribute string, err error) error {
	return service.At(v.At(i, attribute), err)
}
