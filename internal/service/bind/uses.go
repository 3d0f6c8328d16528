package bind

import (
	"fmt"
	"slices"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/plan"
)

// Uses implements plan.User: the view, whose place others are compared with.
func (v View) Uses() []plan.Use {
	return []plan.Use{{Verb: plan.Gives, Kind: plan.DNSView, Value: v.Name, Of: v, Known: []string{"name", "order", "match_clients", "match_destinations"}}}
}

// PlannedViews returns the views that a plan has on a machine, by their names; "" stands for all machines that are not known yet.
func PlannedViews(view plan.View, machine string) []View {
	var all []View
	for _, u := range view.List(plan.DNSView) {
		if strings.Join(u.Holder.Places, "") == machine {
			all = append(all, u.Of.(View))
		}
	}
	slices.SortFunc(all, func(a, b View) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// Uses implements plan.User: the records that the zone describes itself.
func (z Zone) Uses() []plan.Use {
	zone, err := z.CanonicalName()
	if err != nil {
		return nil
	}
	sets, _ := z.canonicalSets()
	uses := make([]plan.Use, 0, len(sets))
	for _, set := range sortedSets(sets) {
		uses = append(uses, plan.Use{Kind: plan.ZoneRecords, Scope: describeZone(z.View, zone), Value: set.name + " " + set.rrType, Path: []any{"records"}, Known: []string{"view", "name"}})
	}
	return uses
}

// Uses implements plan.User.
func (r RecordSet) Uses() []plan.Use {
	zone, name, rrType := r.Key()
	return []plan.Use{{Kind: plan.RecordSet, Scope: describeZone(r.View, zone), Value: name + " " + rrType, Path: []any{"name"}, Known: []string{"view", "zone", "name", "type"}}}
}

// describeZone is a zone in the scope of a use, and so in messages.
func describeZone(view, zone string) string {
	if view == "" {
		return fmt.Sprintf("zone %q", zone)
	}
	return fmt.Sprintf("zone %q of view %q", zone, view)
}

// PlannedBeside returns the types of the records that a plan has in the set's zone on a machine, by their names, but for those of the set
// itself.
func (r RecordSet) PlannedBeside(view plan.View, machine string) map[string][]string {
	own := r.Uses()[0]
	types := map[string][]string{}
	for _, kind := range []plan.Kind{plan.ZoneRecords, plan.RecordSet} {
		for _, u := range view.List(kind) {
			name, rrType, _ := strings.Cut(u.Value, " ")
			if u.Scope == own.Scope && u.Value != own.Value && strings.Join(u.Holder.Places, "") == machine && !slices.Contains(types[name], rrType) {
				types[name] = append(types[name], rrType)
			}
		}
	}
	return types
}
