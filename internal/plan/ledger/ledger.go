// Package ledger keeps what the resources of one plan use, and finds what of it collides.
package ledger

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/plan"
)

// Ledger is what the resources of one plan use. Terraform plans them in one process for each configured provider, in any order and some
// of them twice. The zero value is ready to use.
type Ledger struct {
	mu    sync.Mutex
	uses  map[string][]*held
	kinds map[plan.Kind]*shelf
	// changed is closed when something is registered.
	changed chan struct{}
}

// held is a use that somebody has.
type held struct {
	plan.Use
	holder plan.Holder
	scopes []string
}

// shelf has the uses of a kind: by their value, and those of several addresses besides.
type shelf struct {
	byValue map[string][]*held
	wide    []*held
}

// skipsAddress says whether a use does not mean the one address of another one.
func (h *held) skipsAddress(one *held) bool {
	return h.Skips != nil && !one.isWide() && h.Skips(one.Span.First)
}

func (h *held) isWide() bool { return h.Span.First != h.Span.Last }

// Register takes what a resource uses for what it used before, and returns what of it is in the way of other resources: in the order of
// the uses, and of the others' names. Nothing is in the way of what is provisional.
func (l *Ledger) Register(holder plan.Holder, uses []plan.Use) []plan.Collision {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.forgetHolder(holder.ID)
	var all []plan.Collision
	for _, u := range uses {
		if holder.Provisional {
			break
		}
		mine := &held{Use: u, holder: holder, scopes: holder.Locate(u)}
		for _, rule := range plan.RulesOf(u.Kind) {
			found := slices.DeleteFunc(l.findOthers(mine, rule), func(h *held) bool { return h.holder.Provisional })
			slices.SortStableFunc(found, func(a, b *held) int { return strings.Compare(a.holder.Name, b.holder.Name) })
			for _, theirs := range found {
				all = append(all, plan.Collision{Rule: rule, Mine: u, Theirs: theirs.Use, Me: holder, They: theirs.holder})
			}
		}
	}
	for _, u := range uses {
		l.addUse(&held{Use: u, holder: holder, scopes: holder.Locate(u)})
	}
	if l.changed != nil {
		close(l.changed)
		l.changed = nil
	}
	return all
}

// findOthers returns the uses of others that a rule compares with one. The mutex is held.
func (l *Ledger) findOthers(mine *held, rule plan.Rule) []*held {
	shelf := l.kinds[rule.Theirs]
	if shelf == nil {
		return nil
	}
	candidates := shelf.wide
	if mine.isWide() {
		for _, all := range shelf.byValue {
			candidates = append(slices.Clip(candidates), all...)
		}
	} else {
		candidates = append(slices.Clip(candidates), shelf.byValue[mine.Value]...)
	}
	var found []*held
	for _, theirs := range candidates {
		if theirs.holder.ID != mine.holder.ID && usesCollide(mine, theirs, rule) && !l.isExcepted(mine, theirs, rule) {
			found = append(found, theirs)
		}
	}
	return found
}

// isExcepted says whether the one address that two uses have in common has a use by which a rule excepts them. The mutex is held.
func (l *Ledger) isExcepted(mine, theirs *held, rule plan.Rule) bool {
	on := l.kinds[rule.Unless]
	if on == nil {
		return false
	}
	value := mine.Value
	if mine.isWide() {
		value = theirs.Value
	}
	return len(on.byValue[value]) > 0
}

// usesCollide is the one rule of what overlaps.
func usesCollide(mine, theirs *held, rule plan.Rule) bool {
	if !rule.MineIs.Is(mine.holder, mine.Use) || !rule.TheirsIs.Is(theirs.holder, theirs.Use) {
		return false
	}
	if !rule.AnyScope && !slices.ContainsFunc(mine.scopes, func(s string) bool { return slices.Contains(theirs.scopes, s) }) {
		return false
	}
	if rule.ForOthers && (mine.For == "" || theirs.For == "" || mine.For == theirs.For) {
		return false
	}
	if mine.Span.First.IsValid() && theirs.Span.First.IsValid() {
		return mine.Span.Overlaps(theirs.Span) && !mine.skipsAddress(theirs) && !theirs.skipsAddress(mine)
	}
	return mine.Value == theirs.Value
}

// addUse notes a use. The mutex is held.
func (l *Ledger) addUse(h *held) {
	if l.kinds == nil {
		l.uses, l.kinds = map[string][]*held{}, map[plan.Kind]*shelf{}
	}
	if l.kinds[h.Kind] == nil {
		l.kinds[h.Kind] = &shelf{byValue: map[string][]*held{}}
	}
	on := l.kinds[h.Kind]
	if h.isWide() {
		on.wide = append(on.wide, h)
	} else {
		on.byValue[h.Value] = append(on.byValue[h.Value], h)
	}
	l.uses[h.holder.ID] = append(l.uses[h.holder.ID], h)
}

// forgetHolder takes back what a resource said. The mutex is held.
func (l *Ledger) forgetHolder(id string) {
	for _, h := range l.uses[id] {
		is := func(other *held) bool { return other == h }
		on := l.kinds[h.Kind]
		on.wide = slices.DeleteFunc(on.wide, is)
		if left := slices.DeleteFunc(on.byValue[h.Value], is); len(left) > 0 {
			on.byValue[h.Value] = left
		} else {
			delete(on.byValue, h.Value)
		}
	}
	delete(l.uses, id)
}

// Find implements plan.View.
func (l *Ledger) Find(u plan.Use) (plan.Holder, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	found := l.findOthers(&held{Use: u, scopes: plan.Holder{}.Locate(u)}, plan.Rule{Theirs: u.Kind})
	if len(found) == 0 {
		return plan.Holder{}, false
	}
	first := slices.MinFunc(found, func(a, b *held) int { return strings.Compare(a.holder.Name, b.holder.Name) })
	return first.holder, true
}

// List implements plan.View.
func (l *Ledger) List(kind plan.Kind) (all []plan.Held) {
	l.mu.Lock()
	defer l.mu.Unlock()
	on := l.kinds[kind]
	if on == nil {
		return nil
	}
	add := func(uses []*held) {
		for _, h := range uses {
			if h.holder.Doing != plan.Removes {
				all = append(all, plan.Held{Use: h.Use, Holder: h.holder})
			}
		}
	}
	add(on.wide)
	for _, uses := range on.byValue {
		add(uses)
	}
	return all
}

// Note implements plan.Notes.
func (l *Ledger) Note(u plan.Use) {
	l.Register(plan.Holder{ID: "note of " + strings.Join([]string{u.Kind.Name, u.On, u.Scope, u.Value}, "|")}, []plan.Use{u})
}

// Await waits until somebody of the plan has a use, as Find finds it, and says whether somebody does. Terraform plans what does not
// depend on each other side by side, so it is a matter of milliseconds.
func (l *Ledger) Await(ctx context.Context, u plan.Use, patience time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		l.mu.Lock()
		if l.changed == nil {
			l.changed = make(chan struct{})
		}
		changed := l.changed
		l.mu.Unlock()
		if _, found := l.Find(u); found {
			return true
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return false
		}
	}
}
