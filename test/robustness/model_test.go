package robustness

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// fact is what the model knows of a thing: who has it, and which values a client may see. No values are any; an empty one is that it
// is not there.
type fact struct {
	Owner  string   `json:"owner"` // "a" and so on, person, or machine for what was there at the beginning
	Of     string   `json:"of"`    // the resource's address, or the person's thing
	Values []string `json:"values"`
}

func (f fact) allows(value string) bool {
	return slices.Contains(f.Values, value) || value != "" && (len(f.Values) == 0 || slices.Contains(f.Values, "*"))
}

const (
	person = "person"
	anyone = "machine"
)

// model maps every thing to who has it.
type model struct {
	facts map[string]fact
	// vague are the states whose last run ended in an unknown way: what it did may have happened or not.
	vague map[string]bool
	// stopped are units that somebody stopped, by machine and name: what they serve is not there.
	stopped map[string]bool
}

func newModel() *model {
	return &model{facts: map[string]fact{}, vague: map[string]bool{}, stopped: map[string]bool{}}
}

// violation is an invariant that does not hold.
type violation struct {
	Rule   string `json:"rule"`
	Thing  string `json:"thing"`
	Detail string `json:"detail"`
}

func (v violation) String() string { return fmt.Sprintf("%s: %s: %s", v.Rule, v.Thing, v.Detail) }

// signature tells one fault from another: things with other numbers are alike.
func (v violation) signature() string {
	return v.Rule + " " + strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return -1
		}
		return r
	}, v.Thing)
}

// give makes things a state's or a person's: what another has already is a violation.
func (m *model) give(owner, of string, claims []claim) []violation {
	var wrong []violation
	for _, c := range claims {
		f, ok := m.facts[c.Thing]
		if ok && m.vague[f.Owner] && slices.Contains(f.Values, "") {
			ok = false // who may have it did not get it
		}
		if ok && (f.Owner != owner || f.Of != of) {
			wrong = append(wrong, violation{"one thing has one owner", c.Thing, fmt.Sprintf("%s of %s has it, and %s of %s believes to have it too", f.Of, f.Owner, of, owner)})
			continue
		}
		m.facts[c.Thing] = fact{owner, of, c.Values}
	}
	return wrong
}

// drop takes everything from an owner.
func (m *model) drop(owner string) {
	maps.DeleteFunc(m.facts, func(_ string, f fact) bool { return f.Owner == owner })
}

// listLacking returns what a state has that somebody took away by hand: until one of its runs ends well, nobody brings it back.
func (m *model) listLacking(state string) []string {
	var all []string
	for thing, f := range m.facts {
		if f.Owner == state && slices.Contains(f.Values, "") {
			all = append(all, thing)
		}
	}
	return all
}

// allowLacking lets things not be there that somebody has.
func (m *model) allowLacking(things []string) {
	for _, thing := range things {
		f, ok := m.facts[thing]
		if !ok || f.Owner == person || f.Owner == anyone || slices.Contains(f.Values, "") {
			continue
		}
		if f.Values = append(slices.Clone(f.Values), ""); len(f.Values) == 1 {
			f.Values = append(f.Values, "*")
		}
		m.facts[thing] = f
	}
}

// settle says that a run of a state ended well: it has what it believes to have, and nothing else.
func (m *model) settle(state string, has []believed) []violation {
	m.drop(state)
	delete(m.vague, state)
	var wrong []violation
	for _, b := range has {
		wrong = append(wrong, m.give(state, b.Address, claimsOf(b.Type, b.Attributes))...)
	}
	return wrong
}

// settleFailed says that a run of a state failed and is known: it has what it believes to have. A thing that has another address without a moved
// block may be at both while the removal of the old one is refused: the next run tells which has it.
func (m *model) settleFailed(state string, has []believed) []violation {
	return slices.DeleteFunc(m.settle(state, has), func(v violation) bool { return m.facts[v.Thing].Owner == state })
}

// blur says that a run of a state ended in an unknown way: everything may be as it was, as it was to be, or gone.
func (m *model) blur(state string, was, has []believed, want configuration) {
	m.vague[state] = true
	possible := map[string]fact{}
	add := func(of string, claims []claim, absent bool) {
		for _, c := range claims {
			f, ok := possible[c.Thing]
			if !ok {
				f = fact{Owner: state, Of: of}
			}
			values := c.Values
			if len(values) == 0 {
				values = []string{"*"}
			}
			f.Values = append(f.Values, values...)
			if absent {
				f.Values = append(f.Values, "")
			}
			possible[c.Thing] = f
		}
	}
	for _, b := range slices.Concat(was, has) {
		add(b.Address, claimsOf(b.Type, b.Attributes), true)
	}
	for _, r := range want {
		add(r.address(), claimsOf(r.Type, r.Attributes), true)
		for _, b := range slices.Concat(was, has) {
			if moves := r.Type == "node" && b.Type == "node" && hypervisorOf(b.Attributes) != hypervisorOf(r.Attributes); moves && (b.Address == r.address() || b.Address == "virtcluster_node."+r.From) {
				// It is changed before it goes, or where it came to.
				add(r.address(), claimsOf("node", withValue(b.Attributes, "hypervisor", r.Attributes["hypervisor"])), true)
				add(r.address(), claimsOf("node", withValue(r.Attributes, "hypervisor", b.Attributes["hypervisor"])), true)
			}
		}
	}
	for thing, f := range m.facts {
		if f.Owner == state {
			add(f.Of, []claim{{thing, f.Values}}, true)
		}
	}
	got := map[string]bool{}
	for _, b := range has {
		for _, c := range claimsOf(b.Type, b.Attributes) {
			got[c.Thing] = true
		}
	}
	for thing, f := range possible {
		other, ok := m.facts[thing]
		if ok && other.Owner != state && (!m.vague[other.Owner] || !slices.Contains(other.Values, "")) {
			continue
		}
		if ok && other.Owner != state { // one of the two got it: who says so in its state, or else who may have been first
			both := slices.Concat(other.Values, f.Values)
			if !got[thing] {
				f = other
			}
			f.Values = both
		}
		m.facts[thing] = f
	}
}

// withValue returns attributes with another value of one.
func withValue(a attributes, name string, value any) attributes {
	other := maps.Clone(a)
	other[name] = value
	return other
}

// taken returns who else has what a resource wants.
func (m *model) taken(state string, r resource) (string, bool) {
	for _, c := range claimsOf(r.Type, r.Attributes) {
		if f, ok := m.facts[c.Thing]; ok && f.Owner != state {
			return f.Owner, true
		}
	}
	return "", false
}

// withoutTaken returns the configuration without what others have, and without what it has twice.
func (m *model) withoutTaken(state string, c configuration) configuration {
	seen := map[string]string{}
	return c.without(func(r resource) bool {
		if _, ok := m.taken(state, r); ok {
			return true
		}
		for _, each := range claimsOf(r.Type, r.Attributes) {
			if first, ok := seen[each.Thing]; ok && first != r.address() {
				return true
			}
			seen[each.Thing] = r.address()
		}
		return false
	})
}

// units say which daemon serves a thing.
func unitOf(thing string) (string, bool) {
	machine, rest, _ := strings.Cut(thing, " ")
	word, _, _ := strings.Cut(rest, " ")
	unit, ok := map[string]string{"dns": "named", "view": "named", "server": "named", "backend": "haproxy", "http": "haproxy", "proxy": "haproxy", "export": "nfs-server"}[word]
	return machine + " " + unit, ok
}

// check compares what clients see with what everybody has.
func (m *model) check(seen observation) []violation {
	var wrong []violation
	for _, thing := range slices.Sorted(maps.Keys(m.facts)) {
		f := m.facts[thing]
		if strings.HasPrefix(thing, "name ") || f.allows(seen[thing]) {
			continue
		}
		if unit, ok := unitOf(thing); ok && seen[thing] == "" && m.stopped[unit] {
			continue
		}
		rule := "what " + f.Owner + " has is there"
		if f.Owner != person && f.Owner != anyone {
			rule = "what a state has is there"
		}
		wrong = append(wrong, violation{rule, thing, fmt.Sprintf("%s of %s has it as %q, and it is %q", f.Of, f.Owner, f.Values, seen[thing])})
	}
	if len(m.vague) > 0 {
		return wrong
	}
	for _, thing := range slices.Sorted(maps.Keys(seen)) {
		if _, ok := m.facts[thing]; !ok && seen[thing] != "" && !strings.Contains(thing, " raw ") {
			wrong = append(wrong, violation{"nothing is there that nobody has", thing, fmt.Sprintf("it is %q", seen[thing])})
		}
	}
	return wrong
}

// accept takes a violation for known: the model goes on with what is there, so that one fault is told once.
func (m *model) accept(v violation, seen observation) {
	f, ok := m.facts[v.Thing]
	switch {
	case !ok && seen[v.Thing] != "":
		m.facts[v.Thing] = fact{"nobody", v.Rule, []string{seen[v.Thing], ""}}
	case ok && f.Owner == person && seen[v.Thing] == "":
		delete(m.facts, v.Thing)
	case ok:
		f.Values = append(f.Values, seen[v.Thing], "")
		m.facts[v.Thing] = f
	}
}

func TestModel(t *testing.T) {
	hosts := func(key, ip string) believed {
		return believed{"virtcluster_hosts_file." + key, "hosts_file", map[string]any{"host": "ssh://root@10.0.100.101", "name": key, "entries": map[string]any{ip: []any{"x.example"}}}}
	}
	node := func(hypervisor string, memory int) believed {
		return believed{"virtcluster_node.c0", "node", map[string]any{"name": "c0", "hypervisor": hypervisor, "memory_mib": memory, "root_disk": map[string]any{"pool": carried}}}
	}
	const thing = "svc-1 hosts 10.9.0.1"
	for name, c := range map[string]struct {
		do   func(m *model) []violation
		seen observation
		want string // the beginning of the rule, "" where all is well
	}{
		"what is there":       {func(m *model) []violation { return m.settle("a", []believed{hosts("h", "10.9.0.1")}) }, observation{thing: "x.example"}, ""},
		"what is gone":        {func(m *model) []violation { return m.settle("a", []believed{hosts("h", "10.9.0.1")}) }, observation{}, "what a state has"},
		"what a destroy left": {func(m *model) []violation { return m.settle("a", nil) }, observation{thing: "x.example"}, "nothing is there"},
		"what two resources have": {func(m *model) []violation {
			return m.settle("a", []believed{hosts("h", "10.9.0.1"), hosts("i", "10.9.0.1")})
		}, observation{thing: "x.example"}, "one thing"},
		"what a failed run has at two addresses": {func(m *model) []violation {
			return m.settleFailed("a", []believed{hosts("h", "10.9.0.1"), hosts("i", "10.9.0.1")})
		}, observation{thing: "x.example"}, ""},
		"what a failed run believes to have of another": {func(m *model) []violation {
			return append(m.settle("b", []believed{hosts("h", "10.9.0.1")}), m.settleFailed("a", []believed{hosts("i", "10.9.0.1")})...)
		}, observation{thing: "x.example"}, "one thing"},
		"what a person lost": {func(m *model) []violation { return m.give(person, "person1", []claim{{thing, []string{"x"}}}) }, observation{thing: "y"}, "what person"},
		"what a killed run made": {func(m *model) []violation {
			m.blur("a", nil, nil, configuration{asResource(hosts("h", "10.9.0.1"))})
			return nil
		}, observation{thing: "x.example"}, ""},
		"what a killed run did not": {func(m *model) []violation {
			m.blur("a", nil, nil, configuration{asResource(hosts("h", "10.9.0.1"))})
			return nil
		}, observation{}, ""},
		"what a killed run may not": {func(m *model) []violation {
			m.blur("a", nil, nil, configuration{asResource(hosts("h", "10.9.0.1"))})
			return nil
		}, observation{thing: "y"}, "what a state has"},
		"what one of two killed runs made": {func(m *model) []violation {
			m.blur("a", nil, nil, configuration{asResource(hosts("h", "10.9.0.1"))})
			other := hosts("i", "10.9.0.1")
			other.Attributes["entries"] = map[string]any{"10.9.0.1": []any{"y.example"}}
			m.blur("b", nil, []believed{other}, configuration{asResource(other)})
			if m.facts[thing].Owner != "b" {
				return []violation{{Rule: "it belongs to who has it in its state"}}
			}
			return nil
		}, observation{thing: "y.example"}, ""},
		"what a killed run moved and did not change": {func(m *model) []violation {
			m.blur("a", []believed{node(far, 64)}, nil, configuration{asResource(node(farther, 96))})
			return nil
		}, observation{"hv-2 domain c0": "64", "hv-2 volume carried/c0-root.qcow2": "there"}, ""},
		"what a killed run moved and made of no configuration": {func(m *model) []violation {
			m.blur("a", []believed{node(far, 64)}, nil, configuration{asResource(node(farther, 96))})
			return nil
		}, observation{"hv-2 domain c0": "80"}, "what a state has"},
		"what a person wrote beside an import": {func(m *model) []violation {
			return m.settle("a", []believed{{"virtcluster_resolver.svc-1", "resolver", map[string]any{"host": "svc-1", "nameservers": []any{"10.0.100.102"}, "search": []any{"person7.example"}}}})
		}, observation{"svc-1 resolver": "nameserver 10.0.100.102 search c5.example"}, ""},
		"what a stopped server has": {func(m *model) []violation {
			m.stopped["svc-1 nfs-server"] = true
			return m.settle("a", []believed{{"virtcluster_nfs_export.e", "nfs_export", map[string]any{"service_node": "svc-1", "path": "/srv/e0", "clients": []any{map[string]any{"match": "10.0.3.7"}}}}})
		}, observation{}, ""},
		"what two states have of one interface": {func(m *model) []violation {
			spare := func(address string) []believed {
				return []believed{{"virtcluster_interface.i", "interface", map[string]any{"host": "svc-1", "name": "spare0", "addresses": []any{address}}}}
			}
			return append(m.settle("a", spare("10.19.70.1/24")), m.settle("b", spare("10.19.70.2/24"))...)
		}, observation{"svc-1 on spare0 10.19.70.1/24": "there", "svc-1 on spare0 10.19.70.2/24": "there"}, "one thing"},
		"what is gone, and a run was refused since": {func(m *model) []violation {
			m.settle("a", []believed{hosts("h", "10.9.0.1")})
			m.allowLacking([]string{thing})
			lacking := m.listLacking("a")
			wrong := m.settle("a", []believed{hosts("h", "10.9.0.1")})
			m.allowLacking(lacking)
			return wrong
		}, observation{}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			m := newModel()
			wrong := append(c.do(m), m.check(c.seen)...)
			switch {
			case c.want == "" && len(wrong) > 0, c.want != "" && (len(wrong) == 0 || !strings.HasPrefix(wrong[0].Rule, c.want)):
				t.Errorf("wrong is %v, want %q", wrong, c.want)
			}
		})
	}
}

func TestSatisfiable(t *testing.T) {
	image := configuration{{Type: "image", Key: "image", Attributes: map[string]any{"name": "i", "pool": "s0"}}}
	draws := func(key string) resource {
		return resource{Type: "address", Key: key, Attributes: map[string]any{"pool": "${virtcluster_address_pool.p.id}", "key": key}}
	}
	drawing := configuration{{Type: "address_pool", Key: "p", Attributes: map[string]any{"ranges": []any{"10.19.41.200-10.19.41.202"}}}, draws("x"), draws("y"), draws("z")}
	for name, c := range map[string]struct {
		config configuration
		facts  map[string]fact
		want   int
		vague  []string
		held   map[string]bool
	}{
		"without pools":               {config: image, want: 0},
		"with another's pool":         {config: image, facts: map[string]fact{"hypervisor pool s0": {Owner: "b"}}, want: 1},
		"with a pool that may go":     {config: image, facts: map[string]fact{"hypervisor pool s0": {Owner: "a"}}, want: 0},
		"with a pool of a killed run": {config: image, facts: map[string]fact{"hypervisor pool s0": {Owner: "b"}}, vague: []string{"b"}, held: map[string]bool{"hypervisor pool s0": true}},
		"made in a pool of a killed run": {
			config: image, facts: map[string]fact{"hypervisor pool s0": {Owner: "b"}, "hypervisor volume s0/i": {Owner: "a"}}, want: 1,
			vague: []string{"a", "b"}, held: map[string]bool{"hypervisor pool s0": true},
		},
		"made in a pool that goes":   {config: image, facts: map[string]fact{"hypervisor pool s0": {Owner: "b"}, "hypervisor volume s0/i": {Owner: "a"}}, vague: []string{"a", "b"}},
		"with room":                  {config: drawing, facts: map[string]fact{"lan address 10.19.41.201": {Owner: "a"}}, want: 4},
		"with a person's in a range": {config: drawing, facts: map[string]fact{"lan address 10.19.41.201": {Owner: person}}, want: 3},
	} {
		t.Run(name, func(t *testing.T) {
			m := newModel()
			m.facts = c.facts
			for _, state := range c.vague {
				m.vague[state] = true
			}
			if got := m.satisfiable("a", c.config, c.held); len(got) != c.want {
				t.Errorf("%d are left", len(got))
			}
		})
	}
}

func asResource(b believed) resource {
	return resource{Type: b.Type, Key: strings.TrimPrefix(b.Address, "virtcluster_"+b.Type+"."), Attributes: b.Attributes}
}
