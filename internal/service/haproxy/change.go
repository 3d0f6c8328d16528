package haproxy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

// removalPatience is how long a server that leaves may go on with requests under way before a reload is the
// better way out: an old worker serves its connections to their end.
const removalPatience = 2 * time.Second

// serverChange is one server that is added (from is nil), removed (to is nil) or changed.
type serverChange struct {
	backend, name string
	from, to      *Server
	defaults      Params
}

// serverChanges lists the differences between two configurations when only servers of backends with a
// dynamic algorithm differ; otherwise it is not ok. Comments make no difference.
func serverChanges(prev, next transaction.Tree) ([]serverChange, bool) {
	write, remove := prev.Changes(next)
	if len(remove) > 0 || slices.ContainsFunc(write, func(p string) bool { return p != ConfigPath }) {
		return nil, false
	}
	from, to := parseDocument(prev[ConfigPath].Content), parseDocument(next[ConfigPath].Content)
	if !slices.Equal(from.linesWithoutServers(), to.linesWithoutServers()) {
		return nil, false
	}
	var changes []serverChange
	for _, s := range to.listSections() {
		if s.kind != "backend" {
			continue
		}
		old, _ := from.findProxy("backend", s.name)
		was, is := ParseBackend(s.name, from.bodyOf(old)), ParseBackend(s.name, to.bodyOf(s))
		found := was.serverChanges(is)
		if len(found) > 0 && (!is.changesServersLive() || !plainWeights(next)) {
			return nil, false
		}
		changes = append(changes, found...)
	}
	return changes, true
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

// changesServersLive says whether HAProxy changes the number of servers of such a backend while it runs. It refuses on
// "balance source", and where it refuses for another reason a reload follows.
func (b Backend) changesServersLive() bool {
	algorithm, _, _ := strings.Cut(b.Balance, " ")
	switch algorithm {
	case "", "roundrobin", "leastconn", "random", "first":
		return true
	}
	return strings.HasPrefix(b.HashType, "consistent")
}

func (b Backend) serverChanges(next Backend) []serverChange {
	var changes []serverChange
	defaults := next.inheritedParams()
	names := map[string]bool{}
	for name := range b.Servers {
		names[name] = true
	}
	for name := range next.Servers {
		names[name] = true
	}
	for _, name := range sortedKeys(names) {
		c := serverChange{backend: b.Name, name: name, defaults: defaults}
		if s, ok := b.Servers[name]; ok {
			c.from = &s
		}
		if s, ok := next.Servers[name]; ok {
			c.to = &s
		}
		if c.from == nil || c.to == nil || c.from.serverLine() != c.to.serverLine() {
			changes = append(changes, c)
		}
	}
	// Who leaves goes last, so that the backend is never smaller than both configurations say.
	slices.SortStableFunc(changes, func(x, y serverChange) int { return countLeaving(x) - countLeaving(y) })
	return changes
}

func countLeaving(c serverChange) int {
	if c.to == nil {
		return 1
	}
	return 0
}

func (c serverChange) runChange(ctx context.Context, api runtimeAPI) error {
	switch {
	case c.from == nil:
		return c.addServer(ctx, api)
	case c.to == nil:
		return c.removeServer(ctx, api)
	}
	return c.modifyServer(ctx, api)
}

func (c serverChange) id() string { return c.backend + "/" + c.name }

// addServer makes a server. HAProxy gives it nothing of default-server and leaves it in maintenance.
func (c serverChange) addServer(ctx context.Context, api runtimeAPI) error {
	if !isAddress(c.to.Address) {
		return fmt.Errorf("the address of server %s is a name, which only a start resolves", c.id())
	}
	p := c.to.withDefaults(c.defaults)
	check := p.Check != nil && *p.Check
	words := joinEndpoint(c.to.Address, c.to.Port) + " " + p.withoutNegations().formatParams()
	if err := api.tellCommand(ctx, "add server "+c.id()+" "+strings.TrimSpace(words), "registered"); err != nil {
		return err
	}
	if check {
		if err := api.tellCommand(ctx, "enable health "+c.id()); err != nil {
			return err
		}
	}
	return c.setState(ctx, api, p)
}

// setState puts a server into the state that it shall have.
func (c serverChange) setState(ctx context.Context, api runtimeAPI, p Params) error {
	weight := int64(1)
	if p.Weight != nil {
		weight = *p.Weight
	}
	commands := map[string][]string{
		Ready: {fmt.Sprintf("set server %s weight %d", c.id(), weight), "set server " + c.id() + " state ready"},
		// A configuration can only say drain by weight 0, and so it is here: a reload changes nothing.
		Drain: {"set server " + c.id() + " weight 0", "set server " + c.id() + " state ready"},
		Maint: {"set server " + c.id() + " state maint"},
	}[c.to.State]
	for _, command := range commands {
		if err := api.tellCommand(ctx, command); err != nil {
			return err
		}
	}
	return nil
}

// modifyServer changes address, weight and state; every other difference takes a reload.
func (c serverChange) modifyServer(ctx context.Context, api runtimeAPI) error {
	from, to := *c.from, *c.to
	from.Address, from.Port, from.Weight, from.State = to.Address, to.Port, to.Weight, to.State
	if from.serverLine() != to.serverLine() || !isAddress(to.Address) {
		return fmt.Errorf("server %s changes more than its address, weight and state", c.id())
	}
	if c.from.Address != to.Address || c.from.Port != to.Port {
		command := fmt.Sprintf("set server %s addr %s port %d", c.id(), to.Address, to.Port)
		if err := api.tellCommand(ctx, command, "IP changed", "port changed", "no need to change"); err != nil {
			return err
		}
	}
	return c.setState(ctx, api, to.withDefaults(c.defaults))
}

// removeServer drains a server, waits a little for what is under way, and deletes it.
func (c serverChange) removeServer(ctx context.Context, api runtimeAPI) error {
	if err := api.tellCommand(ctx, "set server "+c.id()+" state drain"); err != nil {
		return err
	}
	deadline := time.Now().Add(removalPatience)
	for {
		stats, err := api.readStats(ctx)
		if err != nil {
			return err
		}
		if stats[c.backend][c.name].numberOf("scur") == 0 {
			break
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("server %s still has connections", c.id())
		}
		if err := pauseFor(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
	if err := api.tellCommand(ctx, "set server "+c.id()+" state maint"); err != nil {
		return err
	}
	var err error
	for range 10 { // idle connections to the server are closed one after the other
		if err = api.tellCommand(ctx, "del server "+c.id(), "deleted"); err == nil {
			return nil
		}
		if e := pauseFor(ctx, 100*time.Millisecond); e != nil {
			return errors.Join(err, e)
		}
	}
	return err
}

// withDefaults fills what is unset from default-server.
func (p Params) withDefaults(d Params) Params {
	return Params{
		Weight: cmp.Or(p.Weight, d.Weight), Backup: cmp.Or(p.Backup, d.Backup), Check: cmp.Or(p.Check, d.Check),
		CheckSSL: cmp.Or(p.CheckSSL, d.CheckSSL), SendProxy: cmp.Or(p.SendProxy, d.SendProxy),
		Verify: cmp.Or(p.Verify, d.Verify), Inter: cmp.Or(p.Inter, d.Inter),
		Fall: cmp.Or(p.Fall, d.Fall), Rise: cmp.Or(p.Rise, d.Rise), Maxconn: cmp.Or(p.Maxconn, d.Maxconn),
		Options: strings.TrimSpace(d.Options + " " + p.Options),
	}
}

// withoutNegations leaves out the "no-" words, which the runtime API does not know.
func (p Params) withoutNegations() Params {
	for _, on := range []**bool{&p.Backup, &p.Check, &p.CheckSSL, &p.SendProxy} {
		if *on != nil && !**on {
			*on = nil
		}
	}
	return p
}

func isAddress(text string) bool { _, err := service.ParseAddress(text); return err == nil }

func pauseFor(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
