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
)

// store is one VIP on all its machines.
type store struct {
	fleet *fleet.Fleet
	name  string
	// ids are the members' service nodes; known is what the model has of the VIP, nil for an import.
	ids   []string
	known *keepalived.VIP
	// claim is what the VIP may call its own.
	claim owner.Claim
	// left are removed members that could not be told so, with the reasons.
	left []string
	// changed is set once a machine was changed.
	changed bool
}

var (
	_ crud.Store[object] = (*store)(nil)
	_ crud.Owned         = (*store)(nil)
)

// Claim implements crud.Owned.
func (s *store) Claim() owner.Claim { return s.claim }

// groups keeps the VIPs of a sync group, which move together, from being changed at the same time.
var groups sync.Map

// turn waits until no other VIP of the sync group is being changed, and returns how to end the own turn.
func turn(group string) (done func()) {
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
	views, errs := s.look(ctx, s.ids, s.name)
	if len(views) == 0 {
		return object{}, joined(s.ids, errs)
	}
	found, foreign := s.found(views)
	if len(found) == 0 && len(errs) == 0 && foreign != nil {
		return object{}, foreign
	}
	if len(found) == 0 && len(errs) == 0 {
		return object{}, fmt.Errorf("vrrp_instance %s: %w", s.name, crud.ErrAbsent)
	}
	if len(found) == 0 || len(errs) > 0 && s.known == nil {
		return object{}, joined(s.ids, errs)
	}
	var kept []string
	got := object{Left: s.left}
	for _, id := range s.ids {
		if err, failed := errs[id]; failed {
			kept = append(kept, id)
			got.Unreachable = append(got.Unreachable, err.Error())
		}
	}
	got.VIP = keepalived.Merge(found, s.known, s.ids, kept)
	for i, m := range got.Members {
		if v := views.of(m.ID); !m.Address.IsValid() && v.host != nil && !v.astray() {
			got.Members[i].Address, _ = v.links.Own(m.Interface, got.Addresses)
		}
	}
	got.PasswordsDiffer = slices.ContainsFunc(found, func(f keepalived.Found) bool { return f.Instance.AuthPass != found[0].Instance.AuthPass })
	if owners := views.owners(got.Addresses); len(owners) == 1 {
		got.Owner = owners[0]
	}
	return got, nil
}

// found is what the machines have of the VIP that is its own, and the first that is not.
func (s *store) found(views views) (own []keepalived.Found, foreign error) {
	for _, v := range views {
		switch {
		case v.written == nil:
		case !s.claim.Owns(v.written.Owner):
			if foreign == nil {
				foreign = s.foreignError(v, v.written.Name)
			}
		default:
			s.claim = s.claim.Found(v.written.Owner)
			f := keepalived.Found{ID: v.id, Instance: *v.written, Astray: v.astray()}
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

// foreignError says whose the instance of that name on a machine is.
func (s *store) foreignError(v view, name string) error {
	return &owner.ForeignError{
		What: "vrrp_instance " + name, Place: fmt.Sprintf("%s on %s", keepalived.Path, v.host), ImportID: keepalived.ID(s.ids, name), Owner: v.owners[name],
	}
}

// Create implements crud.Store.
func (s *store) Create(ctx context.Context, want object) (object, error) {
	return s.finish(ctx, want, s.change(ctx, keepalived.VIP{Name: want.Name}, want.VIP, s.claim.MayTake))
}

// Update implements crud.Store.
func (s *store) Update(ctx context.Context, prior, want object) (object, error) {
	return s.finish(ctx, want, s.change(ctx, prior.VIP, want.VIP, s.claim.Owns))
}

// finish returns what the machines have after a change. A change that failed when a machine was changed already is
// unfinished: what a create left behind is in the state and goes with it.
func (s *store) finish(ctx context.Context, want object, err error) (object, error) {
	if err == nil {
		s.claim = s.claim.Written()
	}
	if err == nil || !s.changed {
		got, err := crud.ReadBack(ctx, s.Get, err)
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
		defer turn(s.known.SyncGroup)()
	}
	views, errs := s.look(ctx, s.ids, s.name)
	if len(errs) > 0 {
		return fmt.Errorf("no machine was changed, because not every member can be reached: remove a dead one from members first: %w", joined(s.ids, errs))
	}
	slices.SortStableFunc(views, func(a, b view) int { return a.holding() - b.holding() })
	var foreign error
	for _, v := range views {
		err := s.apply(ctx, v, keepalived.Step{ID: v.id, Was: s.name}, s.claim.Owns)
		if errors.As(err, new(*owner.ForeignError)) {
			foreign = err
		} else if err != nil {
			return err
		}
	}
	return foreign
}

// change brings the machines from what they serve to what they shall serve. mine says whether what carries a mark may be
// changed.
func (s *store) change(ctx context.Context, prior, want keepalived.VIP, mine func(owner.Mark) bool) error {
	defer turn(want.SyncGroup)()
	ids := memberIDs(want)
	for _, id := range memberIDs(prior) {
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	views, errs := s.look(ctx, ids, prior.Name, want.Name)
	for _, id := range memberIDs(want) {
		if errs[id] != nil {
			return fmt.Errorf("no machine was changed, because not every member can be reached: %w", joined(ids, errs))
		}
	}
	for _, id := range slices.Sorted(maps.Keys(errs)) {
		s.left = append(s.left, errs[id].Error())
	}
	for i, v := range views {
		if v.written != nil && !mine(v.written.Owner) && !slices.Contains(memberIDs(want), v.id) {
			views[i].instance, views[i].written = nil, nil // a removed member's, that is somebody else's now
		}
	}
	for i, m := range want.Members {
		if err := s.refuseForeign(views.of(m.ID), mine, prior.Name, want.Name); err != nil {
			return memberError(i, "service_node", err)
		}
	}
	want.Owner = s.claim.Mark()
	if err := prepare(&want, views); err != nil {
		return err
	}
	if err := s.listen(ctx, want, views, prior); err != nil {
		return err
	}
	r := runner{store: s, want: want, views: views, mine: mine}
	return r.run(ctx)
}

// refuseForeign returns an *owner.ForeignError where a machine's configuration has an instance of one of the names that is
// not the VIP's own, whether or not its keepalived runs.
func (s *store) refuseForeign(v view, mine func(owner.Mark) bool, names ...string) error {
	for _, name := range names {
		if found, there := v.owners[name]; there && !mine(found) {
			return s.foreignError(v, name)
		}
	}
	return nil
}

// prepare completes the VIP with what only the machines know, and compares it with them.
func prepare(want *keepalived.VIP, views views) error {
	want.Members = slices.Clone(want.Members)
	for i, m := range want.Members {
		v := views.of(m.ID)
		if err := checkMember(want, i, v); err != nil {
			return err
		}
		if !want.Members[i].Address.IsValid() {
			return memberError(i, "address", fmt.Errorf("%s on %s has no address of its own of the family of %s: set one, or write it", m.Interface, v.host, want.Addresses[0].Addr()))
		}
	}
	return nil
}

// checkMember compares one member with its machine, and completes its address where it is not given.
func checkMember(want *keepalived.VIP, i int, v view) error {
	m := want.Members[i]
	if _, ok := v.links.Links[m.Interface]; !ok {
		return memberError(i, "interface", fmt.Errorf("%s has no network device %s; it has %s", v.host, m.Interface, strings.Join(slices.Sorted(maps.Keys(v.links.Links)), ", ")))
	}
	own, _ := v.links.Own(m.Interface, want.Addresses)
	if m.Address.IsValid() {
		if own = m.Address; !v.links.prefix(m.Interface, own).IsValid() {
			return memberError(i, "address", fmt.Errorf("%s on %s does not have the address %s: write one that it has, or leave address out", m.Interface, v.host, own))
		}
	}
	want.Members[i].Address = own
	subnet := v.links.prefix(m.Interface, own)
	for _, a := range want.Addresses {
		if subnet.IsValid() && !subnet.IsSingleIP() && !(own.Is6() && own.IsLinkLocalUnicast()) && a.Addr().Is4() == own.Is4() && !subnet.Contains(a.Addr()) {
			return memberError(i, "interface", fmt.Errorf("%s on %s is in %s, and the virtual address %s is not: choose the device in that address's network, or an address in this one", m.Interface, v.host, subnet.Masked(), a.Addr()))
		}
	}
	return nil
}

func memberIDs(v keepalived.VIP) []string {
	ids := make([]string, 0, len(v.Members))
	for _, m := range v.Members {
		ids = append(ids, m.ID)
	}
	return ids
}

// joined is the errors of all machines that failed, in order.
func joined(ids []string, errs map[string]error) error {
	var all []error
	for _, id := range ids {
		if err := errs[id]; err != nil {
			all = append(all, err)
		}
	}
	return errors.Join(all...)
}

func memberError(i int, attribute string, err error) error {
	return service.At([]any{"members", i, attribute}, err)
}
