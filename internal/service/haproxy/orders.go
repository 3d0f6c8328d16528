package haproxy

import (
	"context"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-log/tflog"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

// listPersons lists the backends that a person wrote, each with the servers that one configuration has as the other one: of these a reload forgets what
// somebody ordered at run time, and no plan of this provider would ever show that.
func listPersons(prev, next transaction.Tree) []Backend {
	from, to := parseDocument(prev[ConfigPath].Content), parseDocument(next[ConfigPath].Content)
	var found []Backend
	for _, s := range to.listSections() {
		old, there := from.findProxy(s.kind, s.name)
		if !there || s.mark != "" || s.name == "" || s.kind != "backend" && s.kind != "listen" {
			continue
		}
		was, is := ParseBackend(s.name, from.bodyOf(old)), ParseBackend(s.name, to.bodyOf(s))
		for name, server := range is.Servers {
			if was.Servers[name].serverLine() != server.serverLine() || strings.Contains(server.Options, "agent-check") {
				delete(is.Servers, name)
			}
		}
		if len(is.Servers) > 0 {
			found = append(found, is)
		}
	}
	return found
}

// repeatOrders lists the commands by which the servers of backends are again what somebody ordered while the process ran. What checks and
// names lead to comes by itself.
func repeatOrders(backends []Backend, before, after serverTable) []liveCommand {
	var commands []liveCommand
	for _, b := range backends {
		for _, name := range sortedKeys(b.Servers) {
			was, ran := before[b.Name][name]
			is, runs := after[b.Name][name]
			if !ran || !runs {
				continue
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

// keepOrders notes what somebody ordered of a person's servers at run time, and returns what orders it again after a reload. Where the process
// cannot be asked or told, nobody could order anything there either, or the reload is worth more than the order: that is said in the log.
func keepOrders(ctx context.Context, api runtimeAPI, prev, next transaction.Tree) (repeat func()) {
	backends := listPersons(prev, next)
	if len(backends) == 0 {
		return func() {}
	}
	warn := func(err error) {
		if err != nil {
			tflog.Warn(ctx, fmt.Sprintf("keep what was ordered of a person's servers at run time on %s: %s", api.host, err))
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
