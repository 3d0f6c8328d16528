package vip

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/keepalived"
)

// IsOwn says whether an instance that a machine has, by its name and its mark, may be changed as the VIP's own.
type IsOwn func(serviceNode, name string, found owner.Mark) bool

// OwnInstances returns an IsOwn of what carries a mark that is mine. Without a mark that is only what the VIP is known to be made of: an import
// found it there, and on another machine, or by another name, it is somebody else's.
func OwnInstances(known keepalived.VIP, mine func(owner.Mark) bool) IsOwn {
	return func(serviceNode, name string, found owner.Mark) bool {
		isThere := func(m keepalived.Member) bool { return host.SameReference(m.ID, serviceNode) }
		return mine(found) && (found.ID != "" || name == known.Name && slices.ContainsFunc(known.Members, isThere))
	}
}

// changeMachines brings the machines from what they serve to what they shall serve.
func (s *Store) changeMachines(ctx context.Context, prior, want keepalived.VIP, mine IsOwn) error {
	done, err := s.takeAddresses(ctx, prior, want)
	if err != nil {
		return err
	}
	defer done()
	defer s.machines.Groups.takeTurn(want.SyncGroup)()
	ids := ListServiceNodes(want.Members)
	for _, id := range ListServiceNodes(prior.Members) {
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	views, errs := s.lookAtMachines(ctx, ids, prior.Name, want.Name)
	for _, id := range ListServiceNodes(want.Members) {
		if errs[id] != nil {
			return fmt.Errorf("no machine was changed, because not every member can be reached: %w", joinErrors(ids, errs))
		}
	}
	for _, id := range slices.Sorted(maps.Keys(errs)) {
		s.left = append(s.left, errs[id].Error())
	}
	for i, v := range views {
		if v.written != nil && !mine(v.id, v.written.Name, v.written.Owner) && !slices.Contains(ListServiceNodes(want.Members), v.id) {
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
func (s *Store) refuseForeign(v view, mine IsOwn, names ...string) error {
	for _, name := range names {
		if found, there := v.owners[name]; there && !mine(v.id, name, found) {
			return s.newForeignError(v, name)
		}
	}
	return nil
}

// refuseGroup returns an *owner.ForeignError where the VIP is to join a sync group in which another state has an instance on a machine:
// a group fails over as one, and its instances are changed with each other. In the group already it stays, as the state of the others
// may have moved. A version without marks left none.
func (s *Store) refuseGroup(v view, want keepalived.VIP) error {
	if v.written != nil && v.written.SyncGroup == want.SyncGroup {
		return nil
	}
	for _, in := range v.listCompanions(want.SyncGroup) {
		if in.Owner.ID != "" && in.Owner.Workspace != s.claim.Mark().Workspace {
			return service.At([]any{"sync_group"}, s.claim.NewForeignError(
				fmt.Sprintf("sync group %s, with vrrp_instance %s,", want.SyncGroup, in.Name), fmt.Sprintf("%s on %s", keepalived.Path, v.host), "", in.Owner))
		}
	}
	return nil
}

// checkMachinesOf completes the VIP with what only the machines know, and compares it with them.
func checkMachinesOf(want *keepalived.VIP, views Views) error {
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
