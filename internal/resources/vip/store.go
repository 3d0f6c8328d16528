package vip

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/fleet"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/keepalived"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/part"
)

// store is one VIP on all its machines.
type store struct {
	fleet *fleet.Fleet
	name  string
	// members have their names and service nodes; known is what the model has of the VIP, nil for an import.
	members []keepalived.Member
	known   *keepalived.VIP
	// owner is the service node that the model says holds the addresses; "" is none.
	owner string
	// claim is what the VIP may call its own.
	claim owner.Claim
	// left are removed members that could not be told so, with the reasons.
	left []string
	// changed is set once a machine was changed.
	changed bool
	// warnings are what machines said of changes that succeeded.
	warnings []service.Problem
}

var (
	_ crud.Store[object] = (*store)(nil)
	_ crud.Owned         = (*store)(nil)
	_ crud.Previewer     = (*store)(nil)
	_ crud.Warner        = (*store)(nil)
)

// Claim implements crud.Owned.
func (s *store) Claim() owner.Claim { return s.claim }

// FinishMark implements crud.Owned, on all machines of the VIP.
func (s *store) FinishMark(ctx context.Context) error {
	for _, id := range listServiceNodes(s.members) {
		h, err := s.fleet.Host(ctx, id)
		if err == nil {
			err = s.fleet.Engine.Commit(ctx, h, keepalived.Daemon{}, part.NewMarkEdit(fmt.Sprintf("VIP %q", s.name), s.claim))
		}
		if err != nil {
			return err
		}
	}
	s.claim = s.claim.Finished()
	return nil
}

// Warnings implements crud.Warner.
func (s *store) Warnings() []service.Problem { return s.warnings }

// groups keeps the VIPs of a sync group, which move together, from being changed at the same time.
var groups sync.Map

// takeTurn waits until no other VIP of the sync group is being changed, and returns how to end the own turn.
func takeTurn(group string) (done func()) {
	if group == "" {
		return func() {}
	}
	lock, _ := groups.LoadOrStore(group, &sync.Mutex{})
	mutex := lock.(*sync.Mutex)
	mutex.Lock()
	return mutex.Unlock
}

// Get implements crud.Store. A machine that cannot be reached keeps what is known of it, as long as another
// one answers: or a dead member could never be removed.
func (s *store) Get(ctx context.Context) (object, error) {
	ids := listServiceNodes(s.members)
	views, errs := s.lookAtMachines(ctx, ids, s.name)
	if len(views) == 0 {
		return object{}, joinErrors(ids, errs)
	}
	found, foreign := s.collectOwn(views)
	if len(found) == 0 && len(errs) == 0 && foreign != nil {
		return object{}, foreign
	}
	if len(found) == 0 && len(errs) == 0 {
		return object{}, fmt.Errorf("vrrp_instance %s: %w", s.name, crud.ErrAbsent)
	}
	if len(found) == 0 || len(errs) > 0 && s.known == nil {
		return object{}, joinErrors(ids, errs)
	}
	var kept []string
	got := object{Left: s.left}
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
	keepalived.Settled(got.Addresses)
	return got, nil
}

// collectOwn returns what the machines have of the VIP that is its own, and the first that is not.
func (s *store) collectOwn(views views) (own []keepalived.Found, foreign error) {
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
				f.Instance.Priority = stopped
			} else {
				f.Instance = *v.instance
			}
			own = append(own, f)
		}
	}
	return own, foreign
}

// stopped is the priority of a member that takes no part as its keepalived does not run: the one by which VRRP says so
// (RFC 3768 section 5.3.4). The member stays in the state, or destroying the VIP would leave it in that machine's files.
const stopped = 0

// newForeignError says whose the instance of that name on a machine is.
func (s *store) newForeignError(v view, name string) error {
	return &owner.ForeignError{
		What: "vrrp_instance " + name, Place: fmt.Sprintf("%s on %s", keepalived.Path, v.host), ImportID: keepalived.ImportID(s.members, name), Owner: v.owners[name],
	}
}

// MayCreate implements crud.Previewer.
func (s *store) MayCreate(ctx context.Context) error {
	views, _ := s.lookAtMachines(ctx, listServiceNodes(s.members), s.name)
	for _, v := range views {
		if err := s.refuseForeign(v, s.claim.MayTake, s.name); err != nil {
			return err
		}
	}
	return nil
}

// Create implements crud.Store.
func (s *store) Create(ctx context.Context, want object) (object, error) {
	return s.readAfterChange(ctx, want, s.changeMachines(ctx, keepalived.VIP{Name: want.Name}, want.VIP, s.claim.MayTake))
}

// Update implements crud.Store.
func (s *store) Update(ctx context.Context, prior, want object) (object, error) {
	return s.readAfterChange(ctx, want, s.changeMachines(ctx, prior.VIP, want.VIP, s.claim.Owns))
}

// readAfterChange returns what the machines have after a change. A change that failed when a machine was changed already is
// unfinished: what a create left behind is in the state and goes with it.
func (s *store) readAfterChange(ctx context.Context, want object, err error) (object, error) {
	if err == nil {
		s.claim = s.claim.Written()
	}
	if err == nil || !s.changed {
		got, err := service.ReadBack(ctx, s.Get, err)
		got.Changed = true
		return got, err
	}
	got, failed := s.Get(context.WithoutCancel(ctx))
	if failed != nil {
		got = want
	}
	return got, &crud.Unfinished{Made: true, Err: err}
}

// Delete implements crud.Store: those that hold nothing stop first, so that nobody takes over on the way.
func (s *store) Delete(ctx context.Context) error {
	if s.known != nil {
		defer takeTurn(s.known.SyncGroup)()
	}
	ids := listServiceNodes(s.members)
	views, errs := s.lookAtMachines(ctx, ids, s.name)
	if len(errs) > 0 {
		return fmt.Errorf("no machine was changed, because not every member can be reached: remove a dead one from members first: %w", joinErrors(ids, errs))
	}
	slices.SortStableFunc(views, func(a, b view) int { return a.rankHolding() - b.rankHolding() })
	var foreign error
	for _, v := range views {
		err := s.applyStep(ctx, v, keepalived.Step{ID: v.id, Was: s.name}, s.claim.Owns)
		if errors.As(err, new(*owner.ForeignError)) {
			foreign = err
		} else if err != nil {
			return err
		}
	}
	return foreign
}

// changeMachines brings the machines from what they serve to what they shall serve. mine says whether what carries a mark may be
// changed.
func (s *store) changeMachines(ctx context.Context, prior, want keepalived.VIP, mine func(owner.Mark) bool) error {
	done, err := s.takeAddresses(ctx, prior, want)
	if err != nil {
		return err
	}
	defer done()
	defer takeTurn(want.SyncGroup)()
	ids := listServiceNodes(want.Members)
	for _, id := range listServiceNodes(prior.Members) {
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	views, errs := s.lookAtMachines(ctx, ids, prior.Name, want.Name)
	for _, id := range listServiceNodes(want.Members) {
		if errs[id] != nil {
			return fmt.Errorf("no machine was changed, because not every member can be reached: %w", joinErrors(ids, errs))
		}
	}
	for _, id := range slices.Sorted(maps.Keys(errs)) {
		s.left = append(s.left, errs[id].Error())
	}
	for i, v := range views {
		if v.written != nil && !mine(v.written.Owner) && !slices.Contains(listServiceNodes(want.Members), v.id) {
			views[i].instance, views[i].written = nil, nil // a removed member's, that is somebody else's now
		}
	}
	for i, m := range want.Members {
		if err := s.refuseForeign(views.findView(m.ID), mine, prior.Name, want.Name); err != nil {
			return placeInMember(want, i, "service_node", err)
		}
		if err := s.refuseGroup(views.findView(m.ID), want); err != nil {
			return err
		}
	}
	want.Owner = s.claim.Mark()
	if err := checkMachinesOf(&want, views); err != nil {
		return err
	}
	if err := s.listenForStrangers(ctx, want, views, prior); err != nil {
		return err
	}
	r := runner{store: s, want: want, views: views, mine: mine}
	return r.rollOut(ctx)
}

// refuseForeign returns an *owner.ForeignError where a machine's configuration has an instance of one of the names that is
// not the VIP's own, whether or not its keepalived runs.
func (s *store) refuseForeign(v view, mine func(owner.Mark) bool, names ...string) error {
	for _, name := range names {
		if found, there := v.owners[name]; there && !mine(found) {
			return s.newForeignError(v, name)
		}
	}
	return nil
}

// refuseGroup returns an *owner.ForeignError where the VIP is to join a sync group in which another state has an instance on a machine:
// a group fails over as one, and its instances are changed with each other. In the group already it stays, as the state of the others
// may have moved. A version without marks left none.
func (s *store) refuseGroup(v view, want keepalived.VIP) error {
	if v.written != nil && v.written.SyncGroup == want.SyncGroup {
		return nil
	}
	for _, in := range v.listCompanions(want.SyncGroup) {
		if in.Owner.ID != "" && in.Owner.Workspace != s.claim.Mark().Workspace {
			return service.At([]any{"sync_group"}, &owner.ForeignError{
				What: fmt.Sprintf("sync group %s, with vrrp_instance %s,", want.SyncGroup, in.Name), Place: fmt.Sprintf("%s on %s", keepalived.Path, v.host), Owner: in.Owner,
			})
		}
	}
	return nil
}

// checkMachinesOf completes the VIP with what only the machines know, and compares it with them.
func checkMachinesOf(want *keepalived.VIP, views views) error {
	want.Members = slices.Clone(want.Members)
	for i, m := range want.Members {
		v := views.findView(m.ID)
		if err := checkMember(want, i, v); err != nil {
			return err
		}
		if !want.Members[i].Address.IsValid() {
			return placeInMember(*want, i, "address", fmt.Errorf("%s on %s has no address of its own of the family of %s: set one, or write it", m.Interface, v.host, want.Addresses[0].Addr()))
		}
	}
	return nil
}

// checkMember compares one member with its machine, and completes its address where it is not given.
func checkMember(want *keepalived.VIP, i int, v view) error {
	m := want.Members[i]
	if !v.hasDevice(m.Interface) {
		return placeInMember(*want, i, "interface", fmt.Errorf("%s has no network device %s; it has %s", v.host, m.Interface, strings.Join(slices.Sorted(maps.Keys(v.links.Links)), ", ")))
	}
	own, _ := v.links.Own(m.Interface, want.Addresses, v.declared)
	if m.Address.IsValid() {
		if own = m.Address; !v.links.findPrefix(m.Interface, own).IsValid() {
			return placeInMember(*want, i, "address", fmt.Errorf("%s on %s does not have the address %s: write one that it has, or leave address out", m.Interface, v.host, own))
		}
	}
	want.Members[i].Address = own
	subnet := v.links.findPrefix(m.Interface, own)
	for _, a := range want.Addresses {
		if subnet.IsValid() && !subnet.IsSingleIP() && !(own.Is6() && own.IsLinkLocalUnicast()) && a.Addr().Is4() == own.Is4() && !subnet.Contains(a.Addr()) {
			return placeInMember(*want, i, "interface", fmt.Errorf("%s on %s is in %s, and the virtual address %s is not: choose the device in that address's network, or an address in this one", m.Interface, v.host, subnet.Masked(), a.Addr()))
		}
	}
	return nil
}

// listServiceNodes returns the members' service nodes.
func listServiceNodes(members []keepalived.Member) []string {
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
