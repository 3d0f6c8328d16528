// Package plan says what the resources of one plan use of what is there once, and which uses are in each other's way.
//
// How it goes: a spec of virt or service lists its Uses, which are pure and know no machine. crud adds who uses them and where
// (Holder) and registers them with the ledger of the plan (plan/ledger). That compares them, by the Rules of this package and by
// nothing else, with the uses of all other resources, and returns the collisions; crud reports each at the path of the use, worded by
// its rule. A resource that is planned again takes the place of itself, so it does not matter how often or in which order Terraform
// asks. What a resource gives, another one's checks look for in the ledger, as a View. The guide on cross-checks lists the Rules.
package plan

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"go4.org/netipx"
)

// Verb is what a resource does with what it uses.
type Verb int

const (
	// Takes is for what only one resource may have.
	Takes Verb = iota
	// Needs is for what another resource, or the machine, has to have.
	Needs
	// Gives is for what others of the plan may count on.
	Gives
)

// Kind is what is used, in the role that it has for the resource.
type Kind struct {
	// Name tells it from the other kinds, and is how the guide has it: "address of a node".
	Name string
	// Noun is how messages have it, before the value: "IP address".
	Noun string
	// Everywhere is set where it is there once for all machines and hypervisors, as far as its scope goes.
	Everywhere bool
}

// Use is a thing that a resource uses.
type Use struct {
	Verb Verb
	Kind Kind
	// On is the machine that it is on, where that is not the resource's own.
	On string
	// Scope is where the value is there once: `network "n"`; "" for all of the machine or the hypervisor.
	Scope string
	// Value is its one spelling. Addresses have a Span besides.
	Value string
	Span  Span
	// Skips says which addresses of the span are not meant; nil is none.
	Skips func(netip.Addr) bool
	// For is whom it is for: a machine by its MAC address in lower case.
	For string
	// ByID is set where the scope is a network that others may name by the id of the object, too.
	ByID bool
	// Of is what is used, for what a service's own checks compare beside the value. No rule reads it.
	Of any
	// New is set by crud where the resource did not use it before.
	New bool
	// Path leads to the attribute, as that of a service.Problem does. Known are the root attributes that have to be known for the use to
	// be: those of which a zero value would say something.
	Path  []any
	Known []string
}

// User is a spec that says what it uses. A value that is not known yet is left out.
type User interface{ Uses() []Use }

// Described is a spec that messages about others call otherwise than by its noun and its name, given the id of the object.
type Described interface{ Describe(id string) string }

// Doing is what a plan does with a resource.
type Doing int

const (
	// Keeps is for one that uses what it has used so far.
	Keeps Doing = iota
	// Changes is for one that uses something else than so far.
	Changes
	// Makes is for one that is made, be it anew.
	Makes
	// Removes is for one that goes, and with it what it used.
	Removes
)

// Holder is a resource of a plan.
type Holder struct {
	// ID tells it from every other resource of the plan, however often it is planned.
	ID string
	// Self is how a message about the resource calls it, and Name how one about another resource does.
	Self, Name string
	// Object is the id of the object.
	Object string
	// Places are the machine or the hypervisor that it is on, as messages have them. A hypervisor's machine is at both.
	Places []string
	Doing  Doing
	// Provisional is set while its plan is not complete: others may count on what it gives, and it is in nobody's way yet.
	Provisional bool
}

// Locate returns where a use of the holder is there once, as messages have it: one text for each of the holder's places.
func (h Holder) Locate(u Use) []string {
	places := h.Places
	switch {
	case u.Kind.Everywhere:
		return []string{u.Scope}
	case u.On != "":
		places = []string{u.On}
	}
	scopes := []string{u.Scope}
	if u.ByID && h.Object != "" {
		scopes = append(scopes, OnNetwork(h.Object))
	}
	all := make([]string, 0, len(places)*len(scopes))
	for _, place := range places {
		for _, scope := range scopes {
			if scope != "" {
				scope += " of "
			}
			all = append(all, scope+place)
		}
	}
	return all
}

// Identity is what is used, whatever it is for and wherever it is written.
type Identity struct {
	Kind             Kind
	On, Scope, Value string
}

// Identify returns what a use is of.
func (u Use) Identify() Identity { return Identity{u.Kind, u.On, u.Scope, u.Value} }

// IsSame says whether two uses are of the same.
func (u Use) IsSame(other Use) bool { return u.Identify() == other.Identify() }

// Spell is a use of the holder as messages have it: `IP address 10.0.0.7 on network "n" of the provider's hypervisor`.
func (h Holder) Spell(u Use) string {
	return u.Kind.Noun + " " + u.Value + " on " + strings.Join(h.Locate(u)[:min(1, len(h.Locate(u)))], "")
}

// Collision is a use that is in the way of another resource's.
type Collision struct {
	Rule         Rule
	Mine, Theirs Use
	Me, They     Holder
}

// Detail words the collision by its rule.
func (c Collision) Detail() string {
	first := func(all []string) string { return strings.Join(all[:min(1, len(all))], "") }
	return strings.NewReplacer(
		"{mine}", c.Me.Spell(c.Mine), "{theirs}", c.They.Spell(c.Theirs),
		"{value}", c.Mine.Value, "{their value}", c.Theirs.Value,
		"{for}", c.Mine.For, "{their for}", c.Theirs.For,
		"{scope}", c.Mine.Scope, "{their scope}", c.Theirs.Scope, "{Their scope}", upperFirst(c.Theirs.Scope), "{common}", c.Mine.Span.firstOfBoth(c.Theirs.Span),
		"{place}", first(c.Me.Locate(Use{On: c.Mine.On})), "{object}", c.Me.Object,
		"{self}", c.Me.Self, "{holder}", c.They.Name, "{Holder}", upperFirst(c.They.Name),
	).Replace(c.Rule.Detail)
}

func upperFirst(text string) string {
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

// View is what may be asked of a plan's ledger.
type View interface {
	// List returns the uses of a kind, in no order. What goes is not among them.
	List(kind Kind) []Held
	// Find returns who of the plan has a use that one would meet: of its kind, there, and with its value. What goes is not found.
	Find(u Use) (holder Holder, found bool)
}

// Held is a use that a resource of the plan has.
type Held struct {
	Use
	Holder Holder
}

// Notes is a View to which may be added what no resource says of itself.
type Notes interface {
	View
	// Note notes a use that is nobody's. It is in no rule's way by itself.
	Note(u Use)
}

// ownHypervisor is the provider's own.
const ownHypervisor = "the provider's hypervisor"

// NameHypervisor is a hypervisor as messages have it; "" is the provider's own.
func NameHypervisor(name string) string {
	if name == "" {
		return ownHypervisor
	}
	return fmt.Sprintf("hypervisor %q", name)
}

// IsHypervisor says whether a place is a hypervisor, and IsNamedHypervisor whether it is another one than the provider's own.
func IsHypervisor(place string) bool { return place == ownHypervisor || IsNamedHypervisor(place) }

// IsNamedHypervisor says whether a place is a hypervisor that the configuration names.
func IsNamedHypervisor(place string) bool { return strings.HasPrefix(place, "hypervisor \"") }

// Span is a run of addresses, both ends included. The zero one has none.
type Span struct{ First, Last netip.Addr }

// SpanOf returns the one address.
func SpanOf(a netip.Addr) Span { return Span{a, a} }

// Contains says whether an address is in the span; none is where an end is not known.
func (s Span) Contains(a netip.Addr) bool {
	return s.First.IsValid() && s.First.Is4() == a.Is4() && s.First.Compare(a) <= 0 && a.Compare(s.Last) <= 0
}

// Overlaps says whether two spans have an address in common.
func (s Span) Overlaps(other Span) bool { return s.Contains(other.First) || other.Contains(s.First) }

// firstOfBoth returns the first address that two spans have in common, as messages have it; "" where one of them has none.
func (s Span) firstOfBoth(other Span) string {
	switch {
	case !s.First.IsValid() || !other.First.IsValid():
		return ""
	case s.First.Less(other.First):
		return other.First.String()
	}
	return s.First.String()
}

// SpanOfPrefix returns the addresses of a prefix.
func SpanOfPrefix(p netip.Prefix) Span { return Span{p.Masked().Addr(), netipx.PrefixLastIP(p)} }

// String is the span as messages have it.
func (s Span) String() string {
	if s.First == s.Last {
		return s.First.String()
	}
	return s.First.String() + " to " + s.Last.String()
}

// PlansBridge says whether a resource of the plan has a bridge on a place that is meant, or on a machine that may be it: which hypervisor
// a machine is cannot be told for sure, as a machine has many names.
func PlansBridge(view View, bridge string, meant func(place string) bool) bool {
	for _, kind := range []Kind{NetworkBridge, HostBridge} {
		for _, u := range view.List(kind) {
			elsewhere := len(u.Holder.Places) > 0 && IsHypervisor(u.Holder.Places[0])
			if u.Value == bridge && (!elsewhere || slices.ContainsFunc(u.Holder.Places, meant)) {
				return true
			}
		}
	}
	return false
}
