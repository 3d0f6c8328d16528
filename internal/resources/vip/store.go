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
	// left are removed members that could not be told so, with the reasons.
	left []string
}

var _ crud.Store[object] = (*store)(nil)

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
	var found []keepalived.Found
	for _, v := range views {
		if v.instance != nil {
			found = append(found, keepalived.Found{ID: v.id, Instance: *v.instance, Astray: v.astray()})
		}
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

// Create implements crud.Store.
func (s *store) Create(ctx context.Context, want object) (object, error) {
	return crud.ReadBack(ctx, s.Get, s.change(ctx, keepalived.VIP{Name: want.Name}, want.VIP, true))
}

// Update implements crud.Store.
func (s *store) Update(ctx context.Context, prior, want object) (object, error) {
	return crud.ReadBack(ctx, s.Get, s.change(ctx, prior.VIP, want.VIP, false))
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
	for _, v := range views {
		if err := s.apply(ctx, v, keepalived.Step{ID: v.id, Was: s.name}); err != nil {
			return err
		}
	}
	return nil
}

// change brings the machines from what they serve to what they shall serve.
func (s *store) change(ctx context.Context, prior, want keepalived.VIP, create bool) error {
	defer turn(want.SyncGroup)()
	ids := memberIDs(want)
	for _, id := range memberIDs(prior) {
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	views, errs := s.look(ctx, ids, prior.Name)
	for _, id := range memberIDs(want) {
		if errs[id] != nil {
			return fmt.Errorf("no machine was changed, because not every member can be reached: %w", joined(ids, errs))
		}
	}
	for _, id := range slices.Sorted(maps.Keys(errs)) {
		s.left = append(s.left, errs[id].Error())
	}
	if err := prepare(&want, views, create); err != nil {
		return err
	}
	if err := s.listen(ctx, want, views, prior); err != nil {
		return err
	}
	r := runner{store: s, want: want, views: views}
	return r.run(ctx)
}

// prepare completes the VIP with what only the machines know, and compares it with them.
func prepare(want *keepalived.VIP, views views, create bool) error {
	want.Members = slices.Clone(want.Members)
	for i, m := range want.Members {
		v := views.of(m.ID)
		if create && v.foreign {
			return memberError(i, "service_node", fmt.Errorf("%s has a vrrp_instance %s that Terraform did not write: import it by the id %q, or choose another name", v.host, want.Name, keepalived.ID(memberIDs(*want), want.Name)))
		}
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
