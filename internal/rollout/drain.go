package rollout

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-log/tflog"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/provision"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/haproxy"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/machine"
)

// serverSet has servers of HAProxy by the endpoint of their service node.
type serverSet map[string][]haproxy.ServerRef

// renderServers returns the servers as a ticket has them: ENDPOINT>BACKEND/SERVER for each, separated by spaces.
func (s serverSet) renderServers() string {
	var all []string
	for _, endpoint := range slices.Sorted(maps.Keys(s)) {
		for _, server := range s[endpoint] {
			all = append(all, endpoint+">"+server.Backend+"/"+server.Name)
		}
	}
	return strings.Join(all, " ")
}

// parseServers undoes renderServers. What somebody made unreadable is not there.
func parseServers(text string) serverSet {
	s := serverSet{}
	for _, field := range strings.Fields(text) {
		endpoint, server, marked := strings.Cut(field, ">")
		backend, name, named := strings.Cut(server, "/")
		if marked && named {
			s[endpoint] = append(s[endpoint], haproxy.ServerRef{Backend: backend, Name: name})
		}
	}
	return s
}

// describeServers returns the servers for people; "" for none.
func (s serverSet) describeServers() string {
	var all []string
	for _, endpoint := range slices.Sorted(maps.Keys(s)) {
		for _, server := range s[endpoint] {
			all = append(all, fmt.Sprintf("%s/%s on %s", server.Backend, server.Name, host.WithoutKey(endpoint)))
		}
	}
	return strings.Join(all, ", ")
}

// balancers reach the service nodes whose HAProxy leads connections to a machine.
type balancers struct {
	hosts     hostFinder
	engine    *transaction.Engine
	temporary provision.Temporary
}

// visitOnce does something on a service node whose configuration is read, and returns its error, or that of reaching the service node, as it is.
func (b *balancers) visitOnce(ctx context.Context, endpoint string, do func(h host.Host, t transaction.Tree) error) error {
	h, err := b.hosts(ctx, endpoint)
	if err != nil {
		return err
	}
	t, err := b.engine.Snapshot(ctx, h, haproxy.Daemon{})
	if err != nil {
		return err
	}
	return do(h, t)
}

// mayPass says whether an error may pass by itself: of a service node that is down, or whose HAProxy is not there yet or again.
func (b *balancers) mayPass(err error) (again, brief bool) {
	if _, failed := errors.AsType[*host.ExitError](err); failed || errors.Is(err, haproxy.ErrNoSocket) {
		return true, false
	}
	return b.temporary(err)
}

// visitServiceNode does something on a service node that takes a time itself. One that is down is waited for, for as long as for other machines: it
// may have its own turn just now, in its own group.
func (t *turn) visitServiceNode(ctx context.Context, endpoint string, takes time.Duration, do func(h host.Host, t transaction.Tree) error) error {
	ctx, cancel := context.WithTimeout(ctx, t.settings.Patience()+takes)
	defer cancel()
	_, err := provision.Answering(ctx, "service node "+endpoint, t.balancers.mayPass, func(ctx context.Context) (struct{}, error) {
		err := t.balancers.visitOnce(ctx, endpoint, do)
		if err != nil {
			t.noteStep(ctx, fmt.Sprintf("waits for service node %s, whose HAProxy leads connections to it and does not answer", host.WithoutKey(endpoint)))
		}
		return struct{}{}, err
	})
	return err
}

// setDrained sets the servers that do not take connections, as a ticket has them.
func (t *turn) setDrained(text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.drained, t.ticket.Drained = parseServers(text), text
}

// drainServers has no new connections go to a machine's addresses, and waits until those that there are have ended. What has not by then is ended: a
// machine that is switched off tells nobody, and whoever is connected to it would wait. The ticket has the servers before they are drained: a later turn finds them there, where this one is cut short.
func (t *turn) drainServers(ctx context.Context, d *machine.Drain, addresses []netip.Addr) error {
	for _, endpoint := range d.ServiceNodes {
		err := t.visitServiceNode(ctx, endpoint, 0, func(h host.Host, tree transaction.Tree) error {
			servers, err := haproxy.FindServers(ctx, h, tree, addresses)
			if err != nil || len(servers) == 0 {
				return err
			}
			t.drained[endpoint] = append(t.drained[endpoint], servers...)
			if err := t.changeTicket(ctx, func(k *ticket) { k.Drained = t.drained.renderServers() }); err != nil {
				return err
			}
			return haproxy.DrainServers(ctx, h, tree, servers)
		})
		if err != nil {
			return fmt.Errorf("drain the node's servers on %s: %w", endpoint, err)
		}
	}
	deadline := time.Now().Add(d.Limit())
	for _, endpoint := range d.ServiceNodes {
		err := t.visitServiceNode(ctx, endpoint, d.Limit(), func(h host.Host, tree transaction.Tree) error {
			left, err := haproxy.WaitEnded(ctx, h, tree, t.drained[endpoint], time.Until(deadline))
			if err != nil || left == 0 {
				return err
			}
			tflog.Warn(ctx, "connections that have not ended are ended", map[string]any{"service_node": endpoint, "connections": left, "after": d.Limit().String()})
			return haproxy.EndSessions(ctx, h, tree, t.drained[endpoint])
		})
		if err != nil {
			return fmt.Errorf("wait for the connections of the node's servers on %s: %w", endpoint, err)
		}
	}
	return nil
}

// undrainServers has servers that a turn drained take connections again, and forgets those that do.
func (t *turn) undrainServers(ctx context.Context, drained serverSet) error {
	var failed []error
	for endpoint, servers := range drained {
		err := t.visitServiceNode(ctx, endpoint, 0, func(h host.Host, tree transaction.Tree) error { return haproxy.Undrain(ctx, h, tree, servers) })
		if err != nil {
			failed = append(failed, fmt.Errorf("undrain the node's servers on %s: %w", endpoint, err))
			continue
		}
		delete(drained, endpoint)
	}
	return errors.Join(failed...)
}

// undrainLimit bounds the undraining of what is not waited for.
const undrainLimit = 20 * time.Second

// undrainOthers has the servers of other machines of this state take connections again that turns left drained which were cut short, where those
// machines serve: else there may be nobody to lead connections to once this one goes down.
func (t *turn) undrainOthers(ctx context.Context) {
	all, err := t.board.listMembers(ctx, t.settings.Group)
	for _, m := range all {
		left := m.uuid != "" && m.ticket != nil && m.ticket.Drained != "" && m.workspace == owner.Workspace() && !m.hasTurn(t) && !t.turns.isAlive(t.run, m.ticket)
		if !left || t.board.askMember(ctx, m) != nil {
			continue
		}
		limited, cancel := context.WithTimeout(ctx, undrainLimit)
		e := t.undrainServers(limited, parseServers(m.ticket.Drained))
		cancel()
		if e == nil {
			e = t.board.removeMarks(ctx, m.at, m.uuid, "")
		}
		err = errors.Join(err, e)
	}
	if err != nil {
		tflog.Warn(ctx, "what a turn that was cut short left drained stays so", map[string]any{"group": t.settings.Group, "reason": err.Error()})
	}
}
