package ovn

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/ovn-kubernetes/libovsdb/ovsdb"

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

// putFailover has OVN have the failover that a router wants. Another router may want the same one only; what nobody of them asked for stays.
func (r routerRows) putFailover(want *Failover) ([]ovsdb.Operation, error) {
	for _, other := range r.others {
		switch note := other.ExternalIDs[failoverKey]; {
		case note == "":
		case want == nil:
			return nil, nil // the other one still wants it
		case note != want.formatNote():
			return nil, service.At([]any{"failover"}, fmt.Errorf("router %q has another failover, %s, and OVN has one for all of its chassis: write the same, or none", other.Name, note))
		}
	}
	if want == nil && (r.router == nil || r.router.ExternalIDs[failoverKey] == "") {
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
	return []ovsdb.Operation{mutate(NorthDB, r.global, r.global.UUID, changes...)}, nil
}
