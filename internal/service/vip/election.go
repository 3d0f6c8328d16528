package vip

import (
	"context"
	"slices"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/keepalived"
)

// findOwner returns the service node that holds the addresses, "" where none does, or more than one, or only some of them. Where that is not the one that is
// known, it waits for the end of the election that may go on, such as after a machine came back: the next plan would show another
// owner. One that hands the addresses over for a moment, while something that they lead to goes, is their owner all the while.
func (s *Store) findOwner(ctx context.Context, v keepalived.VIP, all Views) string {
	holders := all.listHolders(v.Addresses)
	known := all.findView(s.owner)
	if len(holders) == 1 && holders[0] == s.owner && known.holdsAll(known.links.Links) || v.Preempt && s.isHandingOver(ctx, known) {
		return s.owner
	}
	ctx, cancel := context.WithTimeout(ctx, electionLimit(v))
	defer cancel()
	for !isElected(ctx, v, all, holders) && ctx.Err() == nil {
		time.Sleep(awaitInterval)
		if now, _ := all.askHolders(ctx, v.Addresses); ctx.Err() == nil { // who does not answer has none
			holders = now
		}
	}
	if len(holders) != 1 || !all.findView(holders[0]).comesToHoldAll(ctx) {
		return ""
	}
	return holders[0]
}

// holdsAll says whether a machine with these links has all addresses that VRRP moves to it.
func (v view) holdsAll(links keepalived.Links) bool {
	return v.instance == nil || links.Holds(v.instance.Addresses)
}

// comesToHoldAll asks a machine whether it has all addresses, and once more a little later: they come one after the other.
func (v view) comesToHoldAll(ctx context.Context) bool {
	for try := 0; try < 2; try++ {
		links, err := keepalived.ReadLinks(ctx, v.host)
		if err != nil || v.holdsAll(links) {
			return true // who does not answer now has told before that it holds some
		}
		time.Sleep(10 * awaitInterval)
	}
	return false
}

// IsVacant says whether no machine has all addresses of a VIP although its members run and one could: then something else took them from
// the device. Nothing is said while a member cannot be asked.
func (s *Store) IsVacant(ctx context.Context, v keepalived.VIP) bool {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	all, errs := s.lookAtMachines(ctx, ListServiceNodes(v.Members), v.Name)
	if len(errs) > 0 || slices.ContainsFunc(all, func(at view) bool { return at.instance == nil || at.links.Holds(at.instance.Addresses) }) {
		return false
	}
	able := make([]bool, len(all))
	all.lookAtAll(func(i int, at view) {
		served, err := keepalived.Dump(ctx, at.host)
		able[i] = err == nil && slices.ContainsFunc(served, func(s keepalived.Status) bool { return s.Name == v.Name && s.State != "FAULT" })
	})
	return slices.Contains(able, true)
}

// electionLimit bounds the wait: a member takes over after three advertisements and a fraction of one.
func electionLimit(v keepalived.VIP) time.Duration {
	return time.Duration(v.AdvertInterval*float64(4*time.Second)) + time.Second
}

// isHandingOver says whether a machine of the VIP's hands its addresses over, and will take them back.
func (s *Store) isHandingOver(ctx context.Context, v view) bool {
	if v.host == nil || v.instance == nil {
		return false
	}
	over, err := keepalived.HandsOver(ctx, v.host)
	return err == nil && over
}

// isElected asks the machines whether who holds the addresses now goes on to. A member that waits before it takes them is not waited
// for.
func isElected(ctx context.Context, v keepalived.VIP, all Views, holders []string) bool {
	if len(holders) > 1 {
		return false
	}
	holder := ""
	if len(holders) == 1 {
		holder = holders[0]
	}
	if holder != "" && v.PreemptDelay > 0 {
		return true
	}
	served, states := make([][]keepalived.Status, len(all)), map[string]keepalived.Status{}
	all.lookAtAll(func(i int, at view) {
		if at.instance != nil {
			served[i], _ = keepalived.Dump(ctx, at.host) // one that cannot say it takes no part
		}
	})
	for i, at := range all {
		if at.instance == nil {
			continue
		}
		if n := slices.IndexFunc(served[i], func(s keepalived.Status) bool { return s.Name == at.instance.Name }); n >= 0 {
			states[at.id] = served[i][n]
		}
	}
	return keepalived.Elected(holder, states)
}
