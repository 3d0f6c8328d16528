package planregistry

import (
	"cmp"
	"maps"
	"slices"
	"sync"
)

// DNSView is what other resources of a plan need to know about a view.
type DNSView struct {
	Name  string
	Order int64
	// ForStrangers says that clients from anywhere are answered, MatchesAll that no question gets past the view.
	ForStrangers, MatchesAll bool
}

// DNSPlace is a zone in a view on a service node, all in canonical form. A node that is not known yet is "".
type DNSPlace struct{ Node, View, Zone string }

// DNSSet names a record set: owner relative to the zone, type in upper case.
type DNSSet struct{ Name, Type string }

// DNS gathers the views, zones and record sets of one plan. Planning one of them again replaces what it said before.
// The zero value is ready to use.
type DNS struct {
	mu    sync.Mutex
	views map[string]map[string]DNSView
	zones map[DNSPlace]map[DNSSet]bool
	sets  map[DNSPlace]map[DNSSet]string
}

// PutView notes a view.
func (d *DNS) PutView(node string, v DNSView) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.views == nil {
		d.views = map[string]map[string]DNSView{}
	}
	if d.views[node] == nil {
		d.views[node] = map[string]DNSView{}
	}
	d.views[node][v.Name] = v
}

// Views lists the views of the plan on a node.
func (d *DNS) Views(node string) []DNSView {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.SortedFunc(maps.Values(d.views[node]), func(a, b DNSView) int { return cmp.Compare(a.Name, b.Name) })
}

// View finds a view of the plan.
func (d *DNS) View(node, name string) (DNSView, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	v, ok := d.views[node][name]
	return v, ok
}

// PutZone notes the record sets that a zone describes itself, and returns those that record sets of the plan have too.
func (d *DNS) PutZone(at DNSPlace, sets []DNSSet) []DNSSet {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.zones == nil {
		d.zones = map[DNSPlace]map[DNSSet]bool{}
	}
	own := map[DNSSet]bool{}
	var taken []DNSSet
	for _, s := range sets {
		own[s] = true
		if _, ok := d.sets[at][s]; ok {
			taken = append(taken, s)
		}
	}
	d.zones[at] = own
	return taken
}

// PutSet notes a record set; data tells it from another resource's of the same name and type. It says whether the zone
// has that set among its own records, and whether another resource has it.
func (d *DNS) PutSet(at DNSPlace, s DNSSet, data string) (inZone, twice bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.sets == nil {
		d.sets = map[DNSPlace]map[DNSSet]string{}
	}
	if d.sets[at] == nil {
		d.sets[at] = map[DNSSet]string{}
	}
	other, ok := d.sets[at][s]
	if !ok {
		d.sets[at][s] = data
	}
	return d.zones[at][s], ok && other != data
}

// Names lists the names that have records in a plan, in their zone and in record sets.
func (d *DNS) Names(at DNSPlace) []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	names := map[string]bool{}
	for s := range d.zones[at] {
		names[s.Name] = true
	}
	for s := range d.sets[at] {
		names[s.Name] = true
	}
	return slices.Sorted(maps.Keys(names))
}

// Types says which types a name has in a plan besides one, in its zone and in record sets.
func (d *DNS) Types(at DNSPlace, name, except string) []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	var types []string
	for s := range d.zones[at] {
		if s.Name == name && s.Type != except {
			types = append(types, s.Type)
		}
	}
	for s := range d.sets[at] {
		if s.Name == name && s.Type != except && !slices.Contains(types, s.Type) {
			types = append(types, s.Type)
		}
	}
	slices.Sort(types)
	return types
}
