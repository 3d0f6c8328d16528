package haproxy

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-log/tflog"
	"golang.org/x/sync/errgroup"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

// HAProxy changes servers while it runs, by its runtime API, which no connection notices. This file says which changes go that way
// (planLive) and makes them (changeLive). All others take a reload, after which an old worker serves its connections to their end:
//
//	what differs                                    what is done, and why
//	comments and blanks                             nothing
//	weight, state, address or port of a server      set server
//	a server more                                   add server
//	a server less                                   it is drained, its sessions are waited for a little, and then del server
//	an address that is a name                       a reload: names are resolved when HAProxy starts
//	another parameter of a server                   a reload: set server has no word for it
//	servers of a backend that hashes, unless        a reload: HAProxy cannot change the number of servers then
//	  consistently (balance source, uri and so on)
//	servers, beside a default-server of a defaults  a reload: what they inherit from it is not known here
//	  section
//	anything else                                   a reload
//
// Where HAProxy refuses a command, or is not what the configuration says afterwards (Verify), a reload follows: it mends whatever was left
// half done.

// liveCommand is a command of the runtime API.
type liveCommand struct {
	text string
	// answers are beginnings of what HAProxy says where it did it; silence says so too.
	answers []string
	// idle is the server, by its backend and name, that has to have no sessions before; none where it has no backend.
	idle struct{ backend, name string }
	// tries is how often it may be refused: idle connections to a server are closed one after the other.
	tries int
}

// planLive returns the commands by which the process gets from one configuration to the next, and where it cannot, why it has to be
// reloaded.
func planLive(prev, next transaction.Tree) (commands []liveCommand, reload string) {
	write, remove := prev.Changes(next)
	from, to := parseDocument(prev[ConfigPath].Content), parseDocument(next[ConfigPath].Content)
	if len(remove) > 0 || slices.ContainsFunc(write, func(p string) bool { return p != ConfigPath }) || !slices.Equal(from.linesWithoutServers(), to.linesWithoutServers()) {
		return nil, "more changes than servers of backends"
	}
	for _, s := range to.listSections() {
		if s.kind != "backend" {
			continue
		}
		old, _ := from.findProxy("backend", s.name)
		was, is := ParseBackend(s.name, from.bodyOf(old)), ParseBackend(s.name, to.bodyOf(s))
		found, reload := was.planLive(is)
		switch {
		case reload != "":
			return nil, reload
		case len(found) > 0 && !is.takesServersLive():
			return nil, fmt.Sprintf("backend %q balances by a hash", s.name)
		case len(found) > 0 && HasDefaultServer(next):
			return nil, "servers inherit from a defaults section"
		}
		commands = append(commands, found...)
	}
	return commands, ""
}

// linesWithoutServers is what HAProxy acts on, without the servers of backends.
func (d *document) linesWithoutServers() []string {
	var kept []string
	kind := ""
	for _, line := range d.lines {
		line = strings.TrimSpace(line)
		if !isSignificant(line) {
			continue
		}
		words, _ := rawWords(line)
		if slices.Contains(sectionWords, words[0]) {
			kind = words[0]
		}
		if kind == "backend" && words[0] == "server" {
			rest, _ := cutKeyword(line, "server")
			if _, _, ok := parseServer(rest); ok {
				continue
			}
		}
		kept = append(kept, strings.Join(words, " "))
	}
	return kept
}

// takesServersLive says whether HAProxy changes the number of servers of such a backend while it runs.
func (b Backend) takesServersLive() bool {
	algorithm, _, _ := strings.Cut(b.Balance, " ")
	return slices.Contains([]string{"", "roundrobin", "leastconn", "random", "first"}, algorithm) || strings.HasPrefix(b.HashType, "consistent")
}

// planLive returns the commands for one backend. Who leaves goes last, so that it is never smaller than both configurations say.
func (b Backend) planLive(next Backend) (commands []liveCommand, reload string) {
	var leave []liveCommand
	defaults, all := next.inheritedParams(), map[string]Server{}
	maps.Copy(all, b.Servers)
	maps.Copy(all, next.Servers)
	for _, name := range sortedKeys(all) {
		id := b.Name + "/" + name
		was, there := b.Servers[name]
		is, stays := next.Servers[name]
		moved := was
		moved.Address, moved.Port, moved.Weight, moved.State = is.Address, is.Port, is.Weight, is.State
		switch {
		case !stays:
			off := liveCommand{text: "set server " + id + " state maint"}
			off.idle.backend, off.idle.name = b.Name, name
			leave = append(leave, liveCommand{text: "set server " + id + " state drain"}, off, liveCommand{text: "del server " + id, answers: []string{"deleted"}, tries: 10})
		case there && was.serverLine() == is.serverLine():
		case !isAddress(is.Address):
			return nil, fmt.Sprintf("the address of server %s is a name, which only a start resolves", id)
		case there && moved.serverLine() != is.serverLine():
			return nil, fmt.Sprintf("server %s changes more than its address, weight and state", id)
		case there && was.Address == is.Address && was.Port == is.Port:
			commands = append(commands, is.stateCommands(id, defaults)...)
		case there:
			commands = append(commands, liveCommand{text: fmt.Sprintf("set server %s addr %s port %d", id, is.Address, is.Port), answers: []string{"IP changed", "port changed", "no need to change"}})
			commands = append(commands, is.stateCommands(id, defaults)...)
		default:
			commands = append(append(commands, is.addCommands(id, defaults)...), is.stateCommands(id, defaults)...)
		}
	}
	return append(commands, leave...), ""
}

// addCommands make a server. HAProxy gives it nothing of default-server, does not check it, and leaves it in maintenance.
func (s Server) addCommands(id string, defaults Params) []liveCommand {
	p := s.withDefaults(defaults)
	words := strings.TrimSpace(joinEndpoint(s.Address, s.Port) + " " + p.withoutNegations().formatParams())
	commands := []liveCommand{{text: "add server " + id + " " + words, answers: []string{"registered"}}}
	if p.Check != nil && *p.Check {
		commands = append(commands, liveCommand{text: "enable health " + id})
	}
	return commands
}

// stateCommands put a server into its state. A configuration can only say drain by weight 0, and so it is here: a reload changes nothing.
func (s Server) stateCommands(id string, defaults Params) []liveCommand {
	weight := int64(1)
	if w := s.withDefaults(defaults).Weight; w != nil {
		weight = *w
	}
	switch s.State {
	case Maint:
		return []liveCommand{{text: "set server " + id + " state maint"}}
	case Drain:
		weight = 0
	}
	return []liveCommand{{text: fmt.Sprintf("set server %s weight %d", id, weight)}, {text: "set server " + id + " state ready"}}
}

// changeLive gives the commands to the process, and proves that it is then what the next configuration says.
func (d Daemon) changeLive(ctx context.Context, h host.Host, prev, next transaction.Tree, commands []liveCommand) error {
	if len(commands) == 0 {
		return d.Verify(ctx, h, next)
	}
	api, err := openRuntime(h, prev)
	if err != nil {
		return err
	}
	for _, c := range commands {
		if c.idle.backend != "" {
			if err := api.awaitIdle(ctx, c.idle.backend, c.idle.name); err != nil {
				return err
			}
		}
		err := api.tellCommand(ctx, c.text, c.answers...)
		for try := 1; err != nil && try < c.tries; try++ {
			if err := pauseFor(ctx, 100*time.Millisecond); err != nil {
				return err
			}
			err = api.tellCommand(ctx, c.text, c.answers...)
		}
		if err != nil {
			return err
		}
	}
	return d.Verify(ctx, h, next)
}

// removalPatience is how long a server that leaves may go on with requests under way before a reload is the
// better way out: an old worker serves its connections to their end.
const removalPatience = 2 * time.Second

// awaitIdle waits until a server has no sessions.
func (r runtimeAPI) awaitIdle(ctx context.Context, backend, name string) error {
	for deadline := time.Now().Add(removalPatience); ; {
		stats, err := r.readStats(ctx)
		if err != nil || stats[backend][name].numberOf("scur") == 0 {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("server %s/%s still has connections", backend, name)
		}
		if err := pauseFor(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
}

// activateScript has the master process reload and waits for the new worker, or starts HAProxy where it does not run.
//
//go:embed activate.sh
var activateScript string

// exitNotStarted is activateScript's status when HAProxy did not run and does not start.
const exitNotStarted = 2

// Activate implements transaction.Daemon: nothing where only comments differ, the runtime API where only
// servers do and HAProxy allows it, a reload otherwise. None of them drops a connection.
func (d Daemon) Activate(ctx context.Context, h host.Host, prev, next transaction.Tree) error {
	if err := activateUnit(ctx, h, prev, next); err != nil {
		return err
	}
	commands, reload := planLive(prev, next)
	if reload == "" {
		err := d.changeLive(ctx, h, prev, next, commands)
		if err == nil {
			return nil
		}
		reload = err.Error()
	}
	tflog.Info(ctx, "HAProxy does not take this at run time, so it is reloaded", map[string]any{"host": h.String(), "reason": reload})
	socket, repeat := "", func() {}
	if api, err := openSocket(h, next, isSocket); err == nil {
		socket = api.socket
	}
	if api, err := openRuntime(h, prev); err == nil {
		repeat = keepOrders(ctx, api, prev, next)
	}
	_, err := h.Run(ctx, host.Script("reload haproxy", activateScript, socket, talkScript))
	if err == nil {
		repeat()
	}
	var exit *host.ExitError
	if errors.As(err, &exit) {
		verb := "reload"
		if exit.Code == exitNotStarted {
			verb = "start"
		}
		return refusal{words: fmt.Sprintf("%s haproxy on %s: %s", verb, h, checkerWords(exit.Stderr, "", next)), err: err}
	}
	return err
}

// Verify implements transaction.Daemon: HAProxy runs, and has the provider's proxies and servers of next
// where their number, address, weight and state can be asked for.
func (d Daemon) Verify(ctx context.Context, h host.Host, next transaction.Tree) error {
	_, err := d.Witness(ctx, h, next)
	return err
}

// Witness implements transaction.Witness: what AskRunning would ask is a part of what Verify does.
func (d Daemon) Witness(ctx context.Context, h host.Host, next transaction.Tree) (any, error) {
	var stats statTable
	var servers serverTable
	api, err := openRuntime(h, next)
	hasSocket := err == nil
	g, asking := errgroup.WithContext(ctx)
	if hasSocket {
		g.Go(func() (err error) { stats, servers, err = api.statsAndServers(asking); return err })
	}
	// A process that answers need not be the unit's; one that does not run is the reason for all that follows.
	running, err := d.Running(ctx, h)
	asked := g.Wait()
	if err != nil {
		return nil, err
	}
	if !running {
		return nil, fmt.Errorf("haproxy.service is not active on %s", h)
	}
	if !hasSocket {
		return Running{}, nil
	}
	if asked != nil {
		return nil, asked
	}
	if problems := findMissing(next, stats, servers); len(problems) > 0 {
		return nil, fmt.Errorf("HAProxy on %s does not serve what is in %s: %s", h, ConfigPath, strings.Join(problems, "; "))
	}
	return Running{servers, !HasDefaultServer(next)}, nil
}
