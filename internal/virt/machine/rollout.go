package machine

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

// Rollout says how a machine takes its turn among those of its group, whenever a change takes it down. Durations are as they were
// written; "" is the default.
type Rollout struct {
	Group string `attr:"group" xml:"group,attr"`
	// MaxUnavailable is 0 for the default.
	MaxUnavailable int64        `attr:"max_unavailable" xml:"max_unavailable,attr,omitempty"`
	Drain          *Drain       `attr:"drain" xml:"drain"`
	Before         *TurnCommand `attr:"before" xml:"before"`
	Ready          *TurnReady   `attr:"ready" xml:"ready"`
	After          *TurnCommand `attr:"after" xml:"after"`
	Timeout        string       `attr:"timeout" xml:"timeout,attr,omitempty"`
}

// Drain says on which service nodes' HAProxy the machine's servers are drained before the change.
type Drain struct {
	ServiceNodes []string `attr:"service_nodes" xml:"service_node"`
	Timeout      string   `attr:"timeout" xml:"timeout,attr,omitempty"`
}

// TurnCommand is a command on a machine, as a list of arguments, before or after the change.
type TurnCommand struct {
	Endpoint string   `attr:"endpoint" xml:"endpoint,attr"`
	Command  []string `attr:"command" xml:"argument"`
	Timeout  string   `attr:"timeout" xml:"timeout,attr,omitempty"`
}

// TurnReady is what says that a machine serves: one of a URL, a port, a name, and a command that succeeds on the machine of an endpoint.
type TurnReady struct {
	URL      string   `attr:"url" xml:"url,attr,omitempty"`
	TCP      string   `attr:"tcp" xml:"tcp,attr,omitempty"`
	DNS      string   `attr:"dns" xml:"dns,attr,omitempty"`
	Endpoint string   `attr:"endpoint" xml:"endpoint,attr,omitempty"`
	Command  []string `attr:"command" xml:"argument"`
	Interval string   `attr:"interval" xml:"interval,attr,omitempty"`
	Timeout  string   `attr:"timeout" xml:"timeout,attr,omitempty"`
}

// The defaults of a turn.
const (
	turnTimeout    = 10 * time.Minute
	commandTimeout = 5 * time.Minute
	drainTimeout   = 30 * time.Second
	readyInterval  = 2 * time.Second
)

// Limit returns how many machines of the group may be down at one time.
func (r *Rollout) Limit() int { return int(cmp.Or(r.MaxUnavailable, 1)) }

// Patience returns how long a machine waits for others of which nothing changes meanwhile.
func (r *Rollout) Patience() time.Duration { return parseTime(r.Timeout, turnTimeout) }

// Limit returns how long connections may take to end.
func (d *Drain) Limit() time.Duration { return parseTime(d.Timeout, drainTimeout) }

// Limit returns how long the command may take.
func (c *TurnCommand) Limit() time.Duration { return parseTime(c.Timeout, commandTimeout) }

// Limit returns how long the machine may take to be ready.
func (r *TurnReady) Limit() time.Duration { return parseTime(r.Timeout, turnTimeout) }

// Pause returns how long it is from one question to the next.
func (r *TurnReady) Pause() time.Duration { return parseTime(r.Interval, readyInterval) }

// parseTime reads a duration, which the schema has checked.
func parseTime(text string, fallback time.Duration) time.Duration {
	d, err := time.ParseDuration(text)
	if err != nil {
		return fallback
	}
	return d
}

// validateRollout finds a condition that is none, or more than one, and a service node to drain that is the machine itself.
func (s *Spec) validateRollout() []service.Problem {
	if s.Rollout == nil {
		return nil
	}
	return append(s.Rollout.validateReady(s.Unknown), s.validateDrain()...)
}

// validateDrain finds the machine itself among the service nodes, by its addresses and by its name.
func (s *Spec) validateDrain() []service.Problem {
	if s.Rollout.Drain == nil {
		return nil
	}
	own := s.ListAddresses()
	for n, endpoint := range s.Rollout.Drain.ServiceNodes {
		u, err := url.Parse(endpoint)
		if err != nil {
			continue // the schema says so
		}
		a, _ := netip.ParseAddr(u.Hostname())
		if u.Scheme == "qemu-ga" && u.Host == s.Hypervisor && strings.TrimPrefix(u.Path, "/") == s.Name || a.IsValid() && slices.Contains(own, a.Unmap()) {
			return []service.Problem{service.Problemf(pathTo("rollout", "drain", "service_nodes", n), "Drained in its own turn",
				"this is the node itself, which is down in its turn: write the service nodes that lead connections to it")}
		}
	}
	return nil
}

// ListAddresses lists the addresses that a machine has as its configuration and its hypervisor say.
func (s *Spec) ListAddresses() (all []netip.Addr) {
	for _, text := range s.Addresses {
		if a, err := netip.ParseAddr(text); err == nil {
			all = append(all, a.Unmap())
		}
	}
	for n := range s.Interfaces {
		i := &s.Interfaces[n]
		all = append(append(all, i.IP, i.IPv6), i.listAddresses()...)
	}
	return slices.DeleteFunc(all, func(a netip.Addr) bool { return !a.IsValid() })
}

func (r *Rollout) validateReady(unknown Places) []service.Problem {
	if r.Ready == nil {
		return nil
	}
	at := pathTo("rollout", "ready")
	known := func(name string) bool { return !unknown.Has(pathBelow(at, name)...) }
	if !known("url") || !known("tcp") || !known("dns") || !known("command") || !known("endpoint") {
		return nil
	}
	written := slices.DeleteFunc([]string{r.Ready.URL, r.Ready.TCP, r.Ready.DNS}, func(text string) bool { return text == "" })
	if len(r.Ready.Command) > 0 {
		written = append(written, "command")
	}
	switch {
	case len(written) != 1:
		return []service.Problem{service.Problemf(at, "One condition is needed", "write one of url, tcp, dns, and command with its endpoint")}
	case len(r.Ready.Command) > 0 != (r.Ready.Endpoint != ""):
		return []service.Problem{service.Problemf(at, "A command needs its machine", "write endpoint and command together: the machine that the command runs on, such as \"ssh://root@10.0.0.100\"")}
	}
	return nil
}

// DescribeTurn says for people what the turn of a machine does beside the change, in its order; of one that moves to another hypervisor too.
func (r *Rollout) DescribeTurn(moves bool) string {
	var steps []string
	if r.Drain != nil {
		steps = append(steps, fmt.Sprintf("its servers on %s are drained for up to %s", strings.Join(r.Drain.ServiceNodes, ", "), r.Drain.Limit()))
	}
	if r.Before != nil {
		steps = append(steps, fmt.Sprintf("%q is run on %s", strings.Join(r.Before.Command, " "), r.Before.Endpoint))
	}
	if moves {
		steps = append(steps, "it moves while it runs, and is changed")
	} else {
		steps = append(steps, "it is taken down, changed and started")
	}
	if c := r.Ready; c != nil {
		asked := c.URL + c.TCP + c.DNS
		if len(c.Command) > 0 {
			asked = fmt.Sprintf("%q on %s", strings.Join(c.Command, " "), c.Endpoint)
		}
		steps = append(steps, fmt.Sprintf("%s is waited for, up to %s", asked, c.Limit()))
	}
	if r.After != nil {
		steps = append(steps, fmt.Sprintf("%q is run on %s", strings.Join(r.After.Command, " "), r.After.Endpoint))
	}
	if r.Drain != nil {
		steps = append(steps, "its servers take connections again")
	}
	return strings.Join(steps, "; ")
}

// TakesDown says whether a change takes down a machine that runs: it restarts or stops it, or may do so. A machine that is gone is down
// already.
func TakesDown(ctx context.Context, c *hypervisor.Client, was, want *Spec) (bool, error) {
	if !was.Runs() {
		return false, nil
	}
	if !want.Running && want.Power != External {
		return true, nil
	}
	if was.Hypervisor != want.Hypervisor { // it serves all the while, but the move may fail, and the rest of the change may take it down
		return true, nil
	}
	changes, err := PlanChanges(ctx, c, was, want)
	return slices.ContainsFunc(changes, func(c Change) bool { return c.Restart != nil || c.Maybe && want.AllowRestart }), err
}
