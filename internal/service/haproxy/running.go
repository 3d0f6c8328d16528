package haproxy

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/terraform-plugin-log/tflog"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

// runningServer is a server as the process has it, from `show servers state` (manual, section 9.3).
type runningServer struct {
	address string
	port    int64
	// maint and drain are what the configuration or an operator ordered, not what checks found.
	maint, drain bool
	weight       int64
}

// Bits of srv_admin_state.
const (
	forcedMaint = 0x01
	forcedDrain = 0x08
)

// serverTable is by backend and server.
type serverTable map[string]map[string]runningServer

func (r runtimeAPI) readServers(ctx context.Context) (serverTable, error) {
	out, err := r.askCommand(ctx, "show servers state")
	if err != nil {
		return nil, err
	}
	return parseServerStates(out)
}

// statsAndServers asks for both at once: HAProxy ends each answer by an empty line, of which neither has one in it.
func (r runtimeAPI) statsAndServers(ctx context.Context) (statTable, serverTable, error) {
	out, err := r.askCommand(ctx, "show stat;show servers state")
	if err != nil {
		return nil, nil, err
	}
	first, second, _ := strings.Cut(out, "\n\n")
	stats, err := parseStats(first)
	if err != nil {
		return nil, nil, err
	}
	servers, err := parseServerStates(second)
	return stats, servers, err
}

func parseServerStates(out string) (serverTable, error) {
	table := serverTable{}
	var columns []string
	for line := range strings.Lines(out) {
		fields := strings.Fields(line)
		if len(fields) > 1 && fields[0] == "#" {
			columns = fields[1:]
			continue
		}
		if columns == nil || len(fields) < len(columns) {
			continue
		}
		value := func(column string) string { return fields[slices.Index(columns, column)] }
		number := func(column string) int64 { n, _ := strconv.ParseInt(value(column), 10, 64); return n }
		for _, column := range []string{"be_name", "srv_name", "srv_addr", "srv_port", "srv_admin_state", "srv_uweight"} {
			if !slices.Contains(columns, column) {
				return nil, fmt.Errorf("HAProxy's server states have no column %s: %.200q", column, line)
			}
		}
		if table[value("be_name")] == nil {
			table[value("be_name")] = map[string]runningServer{}
		}
		table[value("be_name")][value("srv_name")] = runningServer{
			address: CanonicalAddress(value("srv_addr")), port: number("srv_port"), weight: number("srv_uweight"),
			maint: number("srv_admin_state")&forcedMaint != 0, drain: number("srv_admin_state")&forcedDrain != 0,
		}
	}
	if columns == nil {
		return nil, fmt.Errorf("HAProxy's server states are not the table they should be: %.80q", out)
	}
	return table, nil
}

// Running are the servers as the running process has them, where it can be asked.
type Running struct {
	servers serverTable
	weights bool
}

// AskRunning asks the process that serves a configuration for its servers, which a transaction shares among
// those who read the same configuration.
func AskRunning(ctx context.Context, h host.Host, t transaction.Tree) (Running, error) {
	api, err := openRuntime(h, t)
	if errors.Is(err, ErrNoSocket) {
		return Running{}, nil
	}
	if err != nil {
		return Running{}, err
	}
	servers, err := api.readServers(ctx)
	return Running{servers, !HasDefaultServer(t)}, err
}

// FindDrained finds the servers of some backends that drain, though the configuration has them take connections.
func (r Running) FindDrained(backends []string) (drained []ServerRef) {
	for _, backend := range backends {
		for _, name := range sortedKeys(r.servers[backend]) {
			if r.servers[backend][name].drain {
				drained = append(drained, ServerRef{backend, name})
			}
		}
	}
	return drained
}

// Observe changes the servers of a backend, as the configuration has them, to what the running process
// does with them: an operator may have ordered something at run time that no file says. A server that the
// file has otherwise than known stays as it is in the file: it was edited there, and is not loaded yet.
func (r Running) Observe(b Backend, known map[string]Server) Backend {
	if r.servers == nil || len(b.Servers) == 0 {
		return b
	}
	seen := b.observeServers(r.servers[b.Name], r.weights)
	for name, s := range b.Servers {
		if before, ok := known[name]; !ok || before.serverLine() != s.serverLine() {
			seen.Servers[name] = s
		}
	}
	return seen
}

// observeServers is Observe's pure part. Weights are compared where it is known what they should be.
func (b Backend) observeServers(running map[string]runningServer, weights bool) Backend {
	servers := map[string]Server{}
	for name, s := range b.Servers {
		if r, ok := running[name]; ok {
			s = s.observeServer(r, b.effectiveWeight(s), weights)
		}
		servers[name] = s
	}
	b.Servers = servers
	return b
}

func (s Server) observeServer(r runningServer, weight int64, weights bool) Server {
	if isAddress(s.Address) && isAddress(r.address) {
		s.Address, s.Port = r.address, r.port
	}
	if (s.State == Maint) != r.maint {
		s.State = map[bool]string{true: Maint, false: Ready}[r.maint]
	}
	if r.drain && s.State == Ready {
		s.State = Drain
	}
	if weights && s.State != Maint && !r.drain && r.weight != weight && !strings.Contains(s.Options, "agent-check") {
		s.State, s.Weight = Ready, &r.weight
	}
	return s
}

// effectiveWeight is what a server's weight is in HAProxy.
func (b Backend) effectiveWeight(s Server) int64 {
	switch p := s.withDefaults(b.inheritedParams()); {
	case s.State == Drain:
		return 0
	case p.Weight != nil:
		return *p.Weight
	}
	return 1
}

// findMissing lists how the running process differs from the provider's sections of the configuration. A server that somebody drains at run time,
// as the turn of a rollout does, is as it should be: it takes connections again when that ends.
func findMissing(t transaction.Tree, stats statTable, servers serverTable) []string {
	var problems []string
	d, weights := parseDocument(t[ConfigPath].Content), !HasDefaultServer(t)
	for _, s := range d.listSections() {
		if s.mark == "" || s.name == "" || d.isDisabled(s) {
			continue
		}
		switch s.kind {
		case "frontend", "listen":
			if _, ok := stats[s.name]["FRONTEND"]; !ok {
				problems = append(problems, fmt.Sprintf("frontend %q is not there", s.name))
			}
		case "backend":
			if _, ok := stats[s.name]["BACKEND"]; !ok {
				problems = append(problems, fmt.Sprintf("backend %q is not there", s.name))
				continue
			}
			problems = append(problems, missingServers(ParseBackend(s.name, d.bodyOf(s)), servers[s.name], weights)...)
		}
	}
	return problems
}

// isDisabled says whether a proxy is in the configuration only: by its own last word, or by that of its defaults.
func (d *document) isDisabled(proxy section) bool {
	word := func(s section, otherwise bool) bool {
		for _, line := range d.bodyOf(s) {
			switch oneLine(line) {
			case "disabled":
				otherwise = true
			case "enabled":
				otherwise = false
			}
		}
		return otherwise
	}
	off := false
	for _, s := range d.listSections() {
		if s.kind == "defaults" && s.start < proxy.start {
			off = word(s, false)
		}
	}
	return word(proxy, off)
}

func missingServers(b Backend, running map[string]runningServer, weights bool) []string {
	var problems []string
	undrained := maps.Clone(running)
	for name, r := range running {
		r.drain = false
		undrained[name] = r
	}
	seen := b.observeServers(undrained, weights)
	for _, name := range sortedKeys(b.Servers) {
		if _, ok := running[name]; !ok {
			problems = append(problems, fmt.Sprintf("server %q of backend %q is not there", name, b.Name))
		} else if got, want := seen.Servers[name].serverLine(), b.Servers[name].serverLine(); got != want {
			problems = append(problems, fmt.Sprintf("server %q of backend %q is \"%s\", not \"%s\"", name, b.Name, got, want))
		}
	}
	if len(b.Extra) > 0 {
		return problems // lines that have servers in them, a server-template for one, bring more of them
	}
	for _, name := range sortedKeys(running) {
		if _, ok := b.Servers[name]; !ok {
			problems = append(problems, fmt.Sprintf("server %q of backend %q is still there", name, b.Name))
		}
	}
	return problems
}

// unchanged is a backend with the servers that a reload brings back as they were configured before.
type unchanged struct {
	Backend
	// persons says that a person wrote it: no plan of this provider would ever show what somebody ordered of it at run time. Of the provider's own
	// a plan does, and a reload mends it; only drains outlive that, as the turn of a rollout may have ordered them.
	persons bool
}

// listUnchanged lists the backends with the servers that one configuration has as the other one: of these a reload forgets what somebody ordered at
// run time.
func listUnchanged(prev, next transaction.Tree) []unchanged {
	from, to := parseDocument(prev[ConfigPath].Content), parseDocument(next[ConfigPath].Content)
	var found []unchanged
	for _, s := range to.listSections() {
		old, there := from.findProxy(s.kind, s.name)
		if !there || s.name == "" || s.kind != "backend" && s.kind != "listen" {
			continue
		}
		was, is := ParseBackend(s.name, from.bodyOf(old)), ParseBackend(s.name, to.bodyOf(s))
		for name, server := range is.Servers {
			if was.Servers[name].serverLine() != server.serverLine() || strings.Contains(server.Options, "agent-check") {
				delete(is.Servers, name)
			}
		}
		if len(is.Servers) > 0 {
			found = append(found, unchanged{is, s.mark == ""})
		}
	}
	return found
}

// repeatOrders lists the commands by which the servers of backends are again what somebody ordered while the process ran. What checks and
// names lead to comes by itself.
func repeatOrders(backends []unchanged, before, after serverTable) []liveCommand {
	var commands []liveCommand
	for _, b := range backends {
		for _, name := range sortedKeys(b.Servers) {
			was, ran := before[b.Name][name]
			is, runs := after[b.Name][name]
			if !ran || !runs {
				continue
			}
			if drain := was.drain; !b.persons {
				was = is
				was.drain = drain
			}
			order := func(format string, args ...any) {
				commands = append(commands, liveCommand{text: fmt.Sprintf("set server "+b.Name+"/"+name+" "+format, args...), answers: []string{"IP changed", "port changed", "no need to change"}})
			}
			if isAddress(b.Servers[name].Address) && isAddress(was.address) && (was.address != is.address || was.port != is.port) {
				order("addr %s port %d", was.address, was.port)
			}
			if was.weight != is.weight {
				order("weight %d", was.weight)
			}
			switch {
			case was.maint == is.maint && was.drain == is.drain:
			case was.maint:
				order("state maint")
			case was.drain:
				order("state drain")
			default: // which the configuration has down
				order("state ready")
			}
		}
	}
	return commands
}

// keepOrders notes what somebody ordered of servers at run time, and returns what orders it again after a reload. Where the process
// cannot be asked or told, nobody could order anything there either, or the reload is worth more than the order: that is said in the log.
func keepOrders(ctx context.Context, api runtimeAPI, prev, next transaction.Tree) (repeat func()) {
	backends := listUnchanged(prev, next)
	if len(backends) == 0 {
		return func() {}
	}
	warn := func(err error) {
		if err != nil {
			tflog.Warn(ctx, fmt.Sprintf("keep what was ordered of servers at run time on %s: %s", api.host, err))
		}
	}
	before, err := api.readServers(ctx)
	if err != nil {
		warn(err)
		return func() {}
	}
	return func() {
		after, err := api.readServers(ctx)
		warn(err)
		for _, c := range repeatOrders(backends, before, after) {
			warn(api.tellCommand(ctx, c.text, c.answers...))
		}
	}
}
