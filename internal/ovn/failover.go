package ovn

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/ovn-kubernetes/libovsdb/ovsdb"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

// Failover is how fast chassis notice that another one is dead: they send to each other every so many milliseconds, and so many that are
// missing mean death (RFC 5880).
type Failover struct {
	IntervalMS int64 `attr:"interval_ms"`
	Multiplier int64 `attr:"multiplier"`
}

// failoverKey is the key of external_ids of a router that says that it wants a failover of its own: OVN has one for all of its chassis.
const failoverKey = "virtcluster-failover"

// formatNote returns what a router's external_ids have, "" for OVN's own failover.
func (f *Failover) formatNote() string {
	if f == nil {
		return ""
	}
	return fmt.Sprintf("%d ms, %d times", f.IntervalMS, f.Multiplier)
}

// formatOptions returns those of NB_Global (ovn-nb(5)); "" takes one away.
func (f *Failover) formatOptions() map[string]string {
	o := map[string]string{"bfd-min-rx": "", "bfd-min-tx": "", "bfd-mult": ""}
	if f != nil {
		interval := strconv.FormatInt(f.IntervalMS, 10)
		o["bfd-min-rx"], o["bfd-min-tx"], o["bfd-mult"] = interval, interval, strconv.FormatInt(f.Multiplier, 10)
	}
	return o
}

// failoverOf reads the failover that a router asked for, as OVN has it now; nil where it asked for none. Chassis have an interval to receive at
// and one to send at: where the first one is what was asked for, the other one is returned.
func failoverOf(r *RouterRow, global *Global) *Failover {
	if r.ExternalIDs[failoverKey] == "" {
		return nil
	}
	var f Failover
	f.IntervalMS, _ = strconv.ParseInt(global.Options["bfd-min-rx"], 10, 64)
	f.Multiplier, _ = strconv.ParseInt(global.Options["bfd-mult"], 10, 64)
	if f.formatNote() == r.ExternalIDs[failoverKey] {
		f.IntervalMS, _ = strconv.ParseInt(global.Options["bfd-min-tx"], 10, 64)
	}
	return &f
}

// checkFailover finds another router that has another failover than is wanted, or will have one by the plan. What routers of this state have while it is applied does
// not matter: the plan has compared what they will have, and they get it one after the other.
func (r routerRows) checkFailover(want Router, planned Planned) error {
	notes := map[string]string{}
	for _, other := range r.others {
		if planned.keepsMarked(owner.Parse(other.ExternalIDs[markKey])) {
			notes[other.Name] = other.ExternalIDs[failoverKey]
		}
	}
	for name, other := range planned.Routers {
		notes[name] = other.Failover.formatNote()
	}
	for _, name := range slices.Sorted(maps.Keys(notes)) {
		if note := notes[name]; name != want.Name && note != "" && want.Failover != nil && note != want.Failover.formatNote() {
			return service.At([]any{"failover"}, fmt.Errorf("router %q has another failover, %s, and OVN has one for all of its chassis: write the same, or none", name, note))
		}
	}
	return nil
}

// putFailover has OVN have the failover that a router wants. One that another router still wants stays, and so does what none of them asked for.
func (r routerRows) putFailover(want *Failover) ([]ovsdb.Operation, error) {
	if want == nil && slices.ContainsFunc(r.others, func(other RouterRow) bool { return other.ExternalIDs[failoverKey] != "" }) {
		return nil, nil
	}
	note := r.global.ExternalIDs[failoverKey] // where the router is gone
	if r.router != nil {
		note = r.router.ExternalIDs[failoverKey]
	}
	if want == nil && note == "" {
		return nil, nil
	}
	noted := r.global.ExternalIDs[failoverKey] != "" || r.router != nil && r.router.ExternalIDs[failoverKey] != "" || slices.ContainsFunc(r.others, func(other RouterRow) bool { return other.ExternalIDs[failoverKey] != "" })
	for option := range want.formatOptions() {
		if is, set := r.global.Options[option]; set && !noted {
			return nil, service.At([]any{"failover"}, fmt.Errorf("somebody has set OVN's failover already, %s = %s: take that away first by `ovn-nbctl remove NB_Global . options bfd-min-rx bfd-min-tx bfd-mult`, or leave failover out", option, is))
		}
	}
	// That a router wanted it is noted beside it too: a router that somebody removes takes its own note with it.
	changes := append(putKeys("options", r.global.Options, want.formatOptions()), putKeys(externalIDs, r.global.ExternalIDs, map[string]string{failoverKey: want.formatNote()})...)
	if len(changes) == 0 {
		return nil, nil
	}
	return []ovsdb.Operation{whileSame(NorthDB, r.global, r.global.UUID, "options", pairs(r.global.Options)), mutate(NorthDB, r.global, r.global.UUID, changes...)}, nil
}
