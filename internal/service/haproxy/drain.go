package haproxy

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

// masterSocket is where Debian's unit opens the master's own interface, which reaches old workers too.
const masterSocket = "/run/haproxy-master.sock"

// Draining lists the servers that begin to drain with a change.
func Draining(was, is Backend) []string {
	var names []string
	for _, name := range sortedKeys(is.Servers) {
		if old, ok := was.Servers[name]; ok && old.State != Drain && is.Servers[name].State == Drain {
			names = append(names, name)
		}
	}
	return names
}

// WaitDrained waits until servers of a backend have no sessions any more, in old workers neither, and
// returns how many each has left when the limit is over.
func WaitDrained(ctx context.Context, h host.Host, t transaction.Tree, backend string, names []string, limit time.Duration) (map[string]int64, error) {
	if len(names) == 0 {
		return nil, nil
	}
	api, err := openSocket(h, t, isSocket)
	if err != nil {
		return nil, err
	}
	for deadline := time.Now().Add(limit); ; {
		left, err := api.countSessions(ctx, backend, names)
		if err != nil || len(left) == 0 || time.Now().After(deadline) {
			return left, err
		}
		if err := pauseFor(ctx, 250*time.Millisecond); err != nil {
			return left, err
		}
	}
}

// countSessions counts the sessions of those servers that have any, over all workers.
func (r runtimeAPI) countSessions(ctx context.Context, backend string, names []string) (map[string]int64, error) {
	tables := []statTable{}
	stats, err := r.readStats(ctx)
	if err != nil {
		return nil, err
	}
	tables = append(tables, stats)
	master := runtimeAPI{host: r.host, socket: masterSocket}
	processes, err := master.askCommand(ctx, "show proc")
	if err != nil {
		processes = "" // there is no such socket everywhere, and then nobody knows of old workers
	}
	for _, pid := range oldWorkers(processes) {
		// A worker that ended meanwhile has no sessions.
		if out, err := master.askCommand(ctx, fmt.Sprintf("@!%s show stat", pid)); err == nil {
			if stats, err := parseStats(out); err == nil {
				tables = append(tables, stats)
			}
		}
	}
	counts := map[string]int64{}
	for _, table := range tables {
		for name, s := range table[backend] {
			if n := s.numberOf("scur"); n > 0 && slices.Contains(names, name) {
				counts[name] += n
			}
		}
	}
	return counts, nil
}

// oldWorkers lists the processes that serve connections from before a reload to their end.
func oldWorkers(processes string) []string {
	var pids []string
	old := false
	for line := range strings.Lines(processes) {
		if strings.HasPrefix(line, "#") {
			old = strings.HasPrefix(line, "# old workers")
			continue
		}
		if fields := strings.Fields(line); old && len(fields) > 1 && fields[1] == "worker" {
			pids = append(pids, fields[0])
		}
	}
	return pids
}

// ServerRef names a server of a backend.
type ServerRef struct{ Backend, Name string }

// FindServers finds the servers at some addresses that take connections, whatever backend they are in: not those that drain or are off. The error
// is ErrNoSocket where the process cannot be told to drain them.
func FindServers(ctx context.Context, h host.Host, t transaction.Tree, addresses []netip.Addr) ([]ServerRef, error) {
	api, err := openRuntime(h, t)
	if err != nil {
		return nil, err
	}
	servers, err := api.readServers(ctx)
	return servers.listAt(addresses, false), err
}

// FindDraining finds the servers at some addresses that drain, whatever backend they are in. The error is ErrNoSocket where the process cannot be
// told that they take connections.
func FindDraining(ctx context.Context, h host.Host, t transaction.Tree, addresses []netip.Addr) ([]ServerRef, error) {
	api, err := openRuntime(h, t)
	if err != nil {
		return nil, err
	}
	servers, err := api.readServers(ctx)
	return servers.listAt(addresses, true), err
}

// DrainServers has the process send no new connections to servers. The configuration stays as it is.
func DrainServers(ctx context.Context, h host.Host, t transaction.Tree, servers []ServerRef) error {
	api, err := openRuntime(h, t)
	if err != nil {
		return err
	}
	for _, s := range servers {
		if err := api.tellCommand(ctx, fmt.Sprintf("set server %s/%s state drain", s.Backend, s.Name)); err != nil {
			return err
		}
	}
	return nil
}

// listAt lists the servers at some addresses that drain, or else those that take connections; neither are those that are off.
func (t serverTable) listAt(addresses []netip.Addr, drained bool) (found []ServerRef) {
	for _, backend := range slices.Sorted(maps.Keys(t)) {
		for _, name := range slices.Sorted(maps.Keys(t[backend])) {
			s := t[backend][name]
			if a, err := netip.ParseAddr(s.address); err == nil && s.drain == drained && !s.maint && slices.Contains(addresses, a.Unmap()) {
				found = append(found, ServerRef{backend, name})
			}
		}
	}
	return found
}

// WaitEnded waits until servers have no sessions any more, in old workers neither, and returns how many they have left when the limit is
// over.
func WaitEnded(ctx context.Context, h host.Host, t transaction.Tree, servers []ServerRef, limit time.Duration) (left int64, err error) {
	byBackend := map[string][]string{}
	for _, s := range servers {
		byBackend[s.Backend] = append(byBackend[s.Backend], s.Name)
	}
	deadline := time.Now().Add(limit)
	for _, backend := range slices.Sorted(maps.Keys(byBackend)) {
		counts, err := WaitDrained(ctx, h, t, backend, byBackend[backend], time.Until(deadline))
		if err != nil {
			return left, err
		}
		for _, n := range counts {
			left += n
		}
	}
	return left, nil
}

// EndSessions ends the connections to servers, but those of workers from before a reload.
func EndSessions(ctx context.Context, h host.Host, t transaction.Tree, servers []ServerRef) error {
	api, err := openRuntime(h, t)
	if err != nil {
		return err
	}
	for _, s := range servers {
		if err := api.tellCommand(ctx, fmt.Sprintf("shutdown sessions server %s/%s", s.Backend, s.Name)); err != nil {
			return err
		}
	}
	return nil
}

// Undrain has servers take connections again. One that is gone is no error, nor one that somebody has told otherwise since.
func Undrain(ctx context.Context, h host.Host, t transaction.Tree, servers []ServerRef) error {
	api, err := openRuntime(h, t)
	if err != nil {
		return err
	}
	now, err := api.readServers(ctx)
	if err != nil {
		return err
	}
	for _, s := range servers {
		if is, there := now[s.Backend][s.Name]; !there || !is.drain {
			continue
		}
		if err := api.tellCommand(ctx, fmt.Sprintf("set server %s/%s state ready", s.Backend, s.Name)); err != nil {
			return err
		}
	}
	return nil
}
