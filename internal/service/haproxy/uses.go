package haproxy

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/plan"
)

// VerifiesNothing is the setting of the global section by which servers' certificates are not verified unless a server says so.
const VerifiesNothing = "ssl-server-verify none"

// DefaultServer is the setting of a defaults section that servers inherit from.
const DefaultServer = "default-server"

// Uses implements plan.User: its name, where it listens, and the backends that it leads to.
func (f Frontend) Uses() []plan.Use {
	uses := []plan.Use{newSectionUse("frontend", f.Name)}
	for i, b := range f.Binds {
		uses = append(uses, b.listUses("binds", i)...)
	}
	if f.Mode != "http" {
		return uses
	}
	lead := func(backend string, path ...any) {
		same := func(u plan.Use) bool { return u.Kind == plan.LeadsToHTTP && u.Value == backend }
		if backend != "" && !slices.ContainsFunc(uses, same) {
			uses = append(uses, plan.Use{Verb: plan.Needs, Kind: plan.LeadsToHTTP, Value: backend, For: f.Name, Path: path, Known: []string{"mode"}})
		}
	}
	for i, r := range f.Rules {
		lead(r.Backend, "rules", i, "backend")
	}
	lead(f.DefaultBackend, "default_backend")
	return uses
}

// Uses implements plan.User: its name, and its mode where that is written. Otherwise it is that of the defaults, which the machine's own
// check knows.
func (b Backend) Uses() []plan.Use {
	uses := []plan.Use{newSectionUse("backend", b.Name)}
	if b.Mode == "tcp" {
		uses = append(uses, plan.Use{Verb: plan.Gives, Kind: plan.TCPBackend, Value: b.Name, Path: []any{"mode"}, Known: []string{"mode"}})
	}
	return uses
}

// Uses implements plan.User: a machine has one base configuration, which listens and has settings that backends heed.
func (b Base) Uses() []plan.Use {
	uses := []plan.Use{{Kind: plan.BaseOf, Path: []any{"service_node"}}}
	if b.Health != nil {
		uses = append(uses, b.Health.Bind.listUses("health")...)
	}
	if b.Stats != nil {
		uses = append(uses, b.Stats.Bind.listUses("stats")...)
	}
	if slices.ContainsFunc(b.Extra, func(l string) bool { return strings.Join(strings.Fields(l), " ") == VerifiesNothing }) {
		uses = append(uses, plan.Use{Verb: plan.Gives, Kind: plan.Setting, Value: VerifiesNothing})
	}
	if hasDefaultServer(b.DefaultsExtra) {
		uses = append(uses, plan.Use{Verb: plan.Gives, Kind: plan.Setting, Value: DefaultServer})
	}
	return uses
}

// Describe implements plan.Described: a machine has one.
func (b Base) Describe(string) string { return "HAProxy base configuration" }

// listUses returns what a bind uses, at the path of its attribute.
func (b Bind) listUses(path ...any) []plan.Use {
	if b.Address == "" || b.Port == 0 {
		return nil
	}
	uses := []plan.Use{{Kind: plan.Listener, Value: b.Endpoint(), Path: path}}
	if a, err := netip.ParseAddr(b.Address); err == nil && !a.IsUnspecified() {
		uses = append(uses, plan.Use{Kind: plan.ListenerAddress, Value: a.String(), For: b.Endpoint(), Path: path})
	}
	return uses
}

func newSectionUse(kind, name string) plan.Use {
	return plan.Use{Verb: plan.Gives, Kind: plan.Section, Value: fmt.Sprintf("%s %q", kind, name), Path: []any{"name"}, Known: []string{"name"}}
}

// NeedBackend is what a frontend needs that leads to a backend of a machine, which the plan may give.
func NeedBackend(machine, name string) plan.Use {
	u := newSectionUse("backend", name)
	u.Verb, u.On = plan.Needs, machine
	return u
}
