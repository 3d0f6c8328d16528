package vip

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/terraform-plugin-log/tflog"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/keepalived"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/part"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

// runner takes the steps of a rollout.
type runner struct {
	store *Store
	want  keepalived.VIP
	views Views
	mine  IsOwn
}

func (r *runner) rollOut(ctx context.Context) error {
	for _, m := range r.want.Members {
		if err := r.store.machines.HandOvers.Resume(ctx, r.views.findView(m.ID).host); err != nil {
			return err
		}
	}
	now := r.readSituation(ctx)
	for _, step := range keepalived.Rollout(r.want, now) {
		tflog.Debug(ctx, "VRRP rollout step", map[string]any{"vip": r.want.Name, "member": step.ID, "drop": step.Instance == nil, "owner": step.Owner})
		if err := r.takeStep(ctx, step, now); err != nil {
			return err
		}
	}
	if err := r.dropStopped(ctx); err != nil {
		return err
	}
	return r.awaitHolder(ctx, "", r.want.Addresses)
}

// dropStopped takes the instance out of the files of former members whose keepalived does not run: they have no part in a
// rollout, and would hold the addresses again as soon as it is started.
func (r *runner) dropStopped(ctx context.Context) error {
	for _, v := range r.views {
		if v.instance == nil && v.written != nil && !slices.Contains(ListServiceNodes(r.want.Members), v.id) {
			if err := r.store.applyStep(ctx, v, keepalived.Step{ID: v.id, Was: v.written.Name}, r.mine); err != nil {
				return err
			}
		}
	}
	return nil
}

// groupHolder lifts a machine that holds the addresses of the same sync group above all others: a new
// instance of the group has to start there.
const groupHolder = 300

func (r *runner) readSituation(ctx context.Context) keepalived.Situation {
	now := keepalived.Situation{Live: map[string]keepalived.Instance{}, Bonus: map[string]int{}, Companions: map[string][]keepalived.Instance{}}
	for _, v := range r.views {
		for _, c := range v.listCompanions(r.want.SyncGroup) {
			if v.links.Holds(c.Addresses) {
				now.Bonus[v.id] = groupHolder
			}
		}
		if v.instance == nil {
			continue
		}
		now.Live[v.id], now.Bonus[v.id] = *v.instance, r.askBonus(ctx, v)
		now.Companions[v.id] = v.listCompanions(v.instance.SyncGroup)
		if v.links.Holds(v.instance.Addresses) {
			now.Owner = v.id
		}
	}
	return now
}

// askBonus asks what tracking adds to a machine's priority now.
func (r *runner) askBonus(ctx context.Context, v view) int {
	served, err := keepalived.Dump(ctx, v.host)
	if err != nil {
		return 0
	}
	for _, s := range served {
		if s.Name == v.instance.Name {
			if s.State == "FAULT" {
				return keepalived.Unfit
			}
			return s.Effective - s.Priority
		}
	}
	return 0
}

// takeStep makes one step and waits for its owner. An heir that does not take the addresses must not leave
// nobody with them: the former owner gets back what it had.
func (r *runner) takeStep(ctx context.Context, step keepalived.Step, now keepalived.Situation) error {
	v := r.views.findView(step.ID)
	if step.Was == "" && v.written != nil {
		step.Was = v.written.Name // in the file of a keepalived that does not run
	}
	if err := r.store.applyStep(ctx, v, step, r.mine); err != nil {
		return err
	}
	before := now.Live[step.ID]
	if step.Instance != nil {
		now.Live[step.ID] = *step.Instance
	}
	if step.Owner == "" {
		return nil
	}
	held := r.want.Addresses
	if heir, there := now.Live[step.Owner]; there {
		held = heir.All() // not those that it shall have in the end: it takes over what the former owner speaks of
	}
	err := r.awaitHolder(ctx, step.Owner, held)
	if err != nil && step.Instance == nil && step.Owner != step.ID {
		back := keepalived.Step{ID: step.ID, Instance: &before, Companions: now.Companions[step.ID]}
		err = errors.Join(err, r.store.applyStep(context.WithoutCancel(ctx), v, back, r.mine))
	}
	return err
}

// applyStep makes one machine serve what a step says, in one reload.
func (s *Store) applyStep(ctx context.Context, v view, step keepalived.Step, mine IsOwn) error {
	edit := transaction.Edit{Owner: fmt.Sprintf("VIP %q", s.name), Apply: func(t transaction.Tree) error {
		return step.Apply(t, func(name string, found owner.Mark) bool { return mine(v.id, name, found) })
	}}
	// A keepalived that is stopped is not started for what only goes.
	edit.Removes = step.Instance == nil && len(step.Companions) == 0
	edit.Warn = func(text string) { s.warnings = append(s.warnings, part.DaemonWarning(text)) }
	if step.Instance != nil {
		edit.Secrets = []string{step.Instance.AuthPass}
	}
	for _, c := range step.Companions {
		edit.Secrets = append(edit.Secrets, c.AuthPass)
	}
	s.tried = true
	err := s.machines.Engine.Commit(ctx, v.host, keepalived.Daemon{}, edit)
	if foreign, is := errors.AsType[*owner.ForeignError](err); is {
		// Another error: the edit can be asked again.
		return s.claim.NewForeignError(foreign.What, fmt.Sprintf("%s on %s", keepalived.Path, v.host), keepalived.ImportID(s.members, s.name), foreign.Owner)
	}
	s.changed = s.changed || err == nil
	if err == nil && edit.Removes && v.instance == nil {
		err = keepalived.ForgetUnit(ctx, v.host)
	}
	return err
}

// awaitInterval is how often the machines are asked who has the addresses.
const awaitInterval = 100 * time.Millisecond

// awaitHolder waits until one machine has some addresses and no other one has any of them: the owner, or any
// where owner is "". A VIP that no member may hold, because what they track has failed, is complete too.
func (r *runner) awaitHolder(ctx context.Context, owner string, addresses []netip.Prefix) error {
	limit := time.Duration(r.want.AdvertInterval*float64(5*time.Second)) + 5*time.Second
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for round := 1; ; round++ {
		holders, err := r.views.askHolders(ctx, addresses)
		if err == nil && len(holders) == 1 && (owner == "" || holders[0] == owner) {
			return nil
		}
		if err == nil && len(holders) == 0 && round%10 == 0 && r.areAllFaulty(ctx, owner) {
			return nil
		}
		select {
		case <-ctx.Done():
			if err != nil {
				return err
			}
			return describeHolders(owner, addresses, holders)
		case <-time.After(awaitInterval):
		}
	}
}

func describeHolders(owner string, addresses []netip.Prefix, holders []string) error {
	all := make([]string, 0, len(addresses))
	for _, a := range addresses {
		all = append(all, a.Addr().String())
	}
	list := strings.Join(all, ", ")
	switch {
	case len(holders) > 1:
		return fmt.Errorf("%s is held by %d machines at once, %s: they do not hear each other's advertisements; check that nothing between them drops VRRP (IP protocol 112)",
			list, len(holders), strings.Join(holders, " and "))
	case owner != "":
		return fmt.Errorf("%s was not taken by %s; its journal says why (journalctl -u keepalived)", list, owner)
	}
	return fmt.Errorf("%s is held by no member; their journals say why (journalctl -u keepalived)", list)
}

// areAllFaulty says whether every member that runs is kept from holding the addresses by what it tracks; with
// an owner, whether that one is.
func (r *runner) areAllFaulty(ctx context.Context, owner string) bool {
	asked := false
	for _, v := range r.views {
		if owner != "" && v.id != owner || !slices.Contains(ListServiceNodes(r.want.Members), v.id) {
			continue
		}
		served, err := keepalived.Dump(ctx, v.host)
		if err != nil {
			return false
		}
		for _, s := range served {
			if s.Name == r.want.Name {
				if asked = true; s.State != "FAULT" {
					return false
				}
			}
		}
	}
	return asked
}

// Groups keep the VIPs of a sync group, which move together, from being changed at the same time. The zero value is ready to be used.
type Groups struct {
	mu     sync.Mutex
	byName map[string]*sync.Mutex
}

// takeTurn waits until no other VIP of the sync group is being changed, and returns how to end the own turn.
func (g *Groups) takeTurn(group string) (done func()) {
	if group == "" {
		return func() {}
	}
	g.mu.Lock()
	if g.byName == nil {
		g.byName = map[string]*sync.Mutex{}
	}
	if g.byName[group] == nil {
		g.byName[group] = &sync.Mutex{}
	}
	turn := g.byName[group]
	g.mu.Unlock()
	turn.Lock()
	return turn.Unlock
}
