package vip

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"

	"github.com/hashicorp/terraform-plugin-log/tflog"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/keepalived"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

// view is what one machine has at a moment.
type view struct {
	id   string
	host host.Host
	// instance is what it serves of the VIP, nil for nothing; written is what its configuration has of it, served or not.
	instance, written *keepalived.Instance
	// owners is whose the instances of its configuration are, by name.
	owners map[string]owner.Mark
	// others are the provider's other instances on the machine, declared all that its configuration puts addresses on devices for.
	others   []keepalived.Instance
	declared []keepalived.Declared
	links    links
}

type links struct{ keepalived.Links }

// findPrefix returns an address of a device with its length; an invalid one is none.
func (l links) findPrefix(device string, a netip.Addr) netip.Prefix {
	for _, p := range l.Links[device] {
		if p.Addr() == a {
			return p
		}
	}
	return netip.Prefix{}
}

// hasDevice says whether the machine has a network device.
func (v view) hasDevice(name string) bool {
	_, there := v.links.Links[name]
	return there
}

// rankHolding is 1 for a machine that has an address of the instance, 0 for another.
func (v view) rankHolding() int {
	if v.instance != nil && v.links.HoldsAny(v.instance.All()) {
		return 1
	}
	return 0
}

// hasLostSource says whether the machine does not have the address that its instance speaks from.
func (v view) hasLostSource() bool {
	return v.instance != nil && v.instance.Source.IsValid() && !v.links.findPrefix(v.instance.Interface, v.instance.Source).IsValid()
}

// listCompanions returns the other instances of a sync group on the machine.
func (v view) listCompanions(group string) []keepalived.Instance {
	var all []keepalived.Instance
	for _, in := range v.others {
		if group != "" && in.SyncGroup == group {
			all = append(all, in)
		}
	}
	return all
}

// Views is what the machines that answered have at a moment.
type Views []view

func (all Views) findView(id string) view {
	for _, v := range all {
		if v.id == id {
			return v
		}
	}
	return view{id: id}
}

// listHolders lists the machines that have one of the addresses.
func (all Views) listHolders(addresses []netip.Prefix) []string {
	var ids []string
	for _, v := range all {
		if v.links.HoldsAny(addresses) {
			ids = append(ids, v.id)
		}
	}
	return ids
}

// askHolders asks the machines again which of them have one of the addresses, those that answer beside an error too.
func (all Views) askHolders(ctx context.Context, addresses []netip.Prefix) ([]string, error) {
	has, errs := make([]bool, len(all)), make([]error, len(all))
	all.lookAtAll(func(i int, v view) {
		links, err := keepalived.ReadLinks(ctx, v.host)
		has[i], errs[i] = err == nil && links.HoldsAny(addresses), err
	})
	var ids []string
	for i, v := range all {
		if has[i] {
			ids = append(ids, v.id)
		}
	}
	return ids, errors.Join(errs...)
}

// lookAtAll looks at all machines at the same time.
func (all Views) lookAtAll(look func(i int, v view)) {
	var wait sync.WaitGroup
	for i, v := range all {
		wait.Go(func() { look(i, v) })
	}
	wait.Wait()
}

// lookAtMachines asks all machines at the same time what they have of an instance, under the first of the names that they have.
// Those that cannot be asked have an error instead of a view.
func (s *Store) lookAtMachines(ctx context.Context, ids []string, names ...string) (Views, map[string]error) {
	seen, errs := make([]view, len(ids)), make([]error, len(ids))
	var wait sync.WaitGroup
	for i, id := range ids {
		wait.Go(func() { seen[i], errs[i] = s.lookAtMachine(ctx, id, names) })
	}
	wait.Wait()
	var all Views
	failed := map[string]error{}
	for i, id := range ids {
		if errs[i] != nil {
			failed[id] = errs[i]
		} else {
			all = append(all, seen[i])
		}
	}
	return all, failed
}

func (s *Store) lookAtMachine(ctx context.Context, id string, names []string) (view, error) {
	h, err := s.machines.Host(ctx, id)
	if err != nil {
		return view{}, err
	}
	v := view{id: id, host: h}
	if v.links.Links, err = keepalived.ReadLinks(ctx, h); err != nil {
		return v, err
	}
	tree, err := s.machines.Engine.Snapshot(ctx, h, keepalived.Daemon{})
	if err != nil {
		return v, err
	}
	if v.others, _, err = keepalived.Instances(tree); err != nil {
		return v, err
	}
	v.declared = keepalived.ListDeclared(tree)
	v.others = slices.DeleteFunc(v.others, func(in keepalived.Instance) bool { return slices.Contains(names, in.Name) })
	running, err := s.machines.Engine.Running(ctx, h, keepalived.Daemon{})
	if err != nil {
		return v, err
	}
	if v.written, err = findInstance(tree, names); err != nil {
		return v, err
	}
	if running {
		v.instance = v.written
	}
	v.owners, err = keepalived.OwnersOf(tree)
	return v, err
}

// findInstance returns the first of the instances that a configuration has; nil for none.
func findInstance(t transaction.Tree, names []string) (*keepalived.Instance, error) {
	for _, name := range names {
		in, err := keepalived.Find(t, name)
		if errors.Is(err, transaction.ErrAbsent) {
			continue
		}
		return &in, err
	}
	return nil, nil
}

// listenForStrangers waits on the wire of every member for a stranger who advertises the id that is about to be used, for
// a little more than an advertisement of one second. An id that the VIP has already needs no proof.
func (s *Store) listenForStrangers(ctx context.Context, want keepalived.VIP, views Views, prior keepalived.VIP) error {
	if prior.RouterID == want.RouterID && slices.Equal(prior.Addresses, want.Addresses) {
		return nil
	}
	if slices.ContainsFunc(views, func(v view) bool { return v.instance != nil && v.instance.RouterID == want.RouterID }) {
		return nil // what is heard with this id is the VIP itself
	}
	var own []netip.Addr
	for _, m := range want.Members {
		own = append(own, m.Address)
	}
	strangers, errs := make([]netip.Addr, len(want.Members)), make([]error, len(want.Members))
	var wait sync.WaitGroup
	for i, m := range want.Members {
		wait.Go(func() {
			strangers[i], errs[i] = keepalived.Listen(ctx, views.findView(m.ID).host, m.Interface, m.Address.Is6(), want.RouterID, own)
		})
	}
	wait.Wait()
	for i, err := range errs {
		switch {
		case strangers[i].IsValid():
			return service.At([]any{"virtual_router_id"}, fmt.Errorf(
				"%s on %s hears advertisements with the virtual router id %d from %s, which is no member: no machine was changed; set virtual_router_id to another number from 1 to 255",
				want.Members[i].Interface, views.findView(want.Members[i].ID).host, want.RouterID, strangers[i]))
		case errors.Is(err, keepalived.ErrDeaf):
			tflog.Warn(ctx, "The id was not checked on the wire: the machine has no python to listen with", map[string]any{"member": want.Members[i].ID})
		case err != nil && isExit(err):
			tflog.Warn(ctx, "The id was not checked on the wire", map[string]any{"member": want.Members[i].ID, "error": strings.TrimSpace(err.Error())})
		case err != nil:
			return err
		}
	}
	return nil
}

func isExit(err error) bool {
	var exit *host.ExitError
	return errors.As(err, &exit)
}
