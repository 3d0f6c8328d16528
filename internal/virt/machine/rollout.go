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
	MaxUnavailable int64  `attr:"max_unavailable" xml:"max_unavailable,attr,omitempty"`
	Drain          *Drain `attr:"drain" xml:"drain"`
	// ServiceNode is nil where the machine is none.
	ServiceNode *TurnServiceNode `attr:"service_node" xml:"service_node"`
	Before      *TurnCommand     `attr:"before" xml:"before"`
	Ready       *TurnReady       `attr:"ready" xml:"ready"`
	After       *TurnCommand     `attr:"after" xml:"after"`
	Timeout     string           `attr:"timeout" xml:"timeout,attr,omitempty"`
}

// Drain says on which service nodes' HAProxy the machine's servers are drained before the change.
type Drain struct {
	ServiceNodes []string `attr:"service_nodes" xml:"service_node"`
	Timeout      string   `attr:"timeout" xml:"timeout,attr,omitempty"`
}

// TurnServiceNode is the machine as a service node, with the host key that it is known by, "" where known_hosts has it.
type TurnServiceNode struct {
	Endpoint string `attr:"endpoint" xml:"endpoint,attr"`
	HostKey  string `attr:"host_key" xml:"host_key,attr,omitempty"`
	Timeout  string `attr:"timeout" xml:"timeout,attr,omitempty"`
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

// Limit returns how long a machine that was made anew may take until its services serve.
func (n *TurnServiceNode) Limit() time.Duration { return parseTime(n.Timeout, turnTimeout) }

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

// validateDrain finds the machine itself among the service nodes, by its addresses and by its names.
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
		byAgent := u.Scheme == "qemu-ga" && u.Host == s.Hypervisor && strings.TrimPrefix(u.Path, "/") == s.Name
		if byAgent || u.Scheme == "ssh" && s.isCalled(u.Hostname()) || a.IsValid() && slices.Contains(own, a.Unmap()) {
			return []service.Problem{drainsItself(n)}
		}
	}
	return nil
}

// isCalled says whether a name is the machine's: its own, one that a network keeps an address for, or that of the service node that it is.
func (s *Spec) isCalled(name string) bool {
	if name == "" {
		return false
	}
	if n := s.Rollout.ServiceNode; n != nil {
		if u, err := url.Parse(n.Endpoint); err == nil && u.Hostname() == name {
			return true
		}
	}
	return name == s.Name || slices.ContainsFunc(s.Interfaces, func(i InterfaceSpec) bool { return i.Hostname == name })
}

func drainsItself(n int) service.Problem {
	return service.Problemf(pathTo("rollout", "drain", "service_nodes", n), "Drained in its own turn",
		"this is the node itself, which is down in its turn: write the service nodes that lead connections to it")
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

// Ways to take a machine down.
const (
	// Restarts is a change that stops and starts it, or stops it alone.
	Restarts Downtime = iota
	// Moves is a move to another hypervisor.
	Moves
	// Replaces is another machine in its place.
	Replaces
	// Removes is a removal for good.
	Removes
)

// Downtime is how a change takes a machine down.
type Downtime int

// DescribeTurn says for people what the turn of a machine does beside the change, in its order. A machine with a guest agent may be told to hand
// virtual addresses over.
func (r *Rollout) DescribeTurn(how Downtime, agent bool) string {
	var steps []string
	if r.Drain != nil {
		steps = append(steps, fmt.Sprintf("its servers on %s are drained for up to %s", strings.Join(r.Drain.ServiceNodes, ", "), r.Drain.Limit()))
	}
	switch {
	case r.ServiceNode != nil:
		steps = append(steps, "its virtual addresses go to another one of the group")
	case agent:
		steps = append(steps, "virtual addresses that it holds go to another machine, where its guest agent answers")
	}
	if r.Before != nil {
		steps = append(steps, fmt.Sprintf("%q is run on %s", strings.Join(r.Before.Command, " "), r.Before.Endpoint))
	}
	if how == Removes {
		return strings.Join(append(steps, "it is removed for good"), "; ")
	}
	return strings.Join(append(steps, r.describeReturn(how)...), "; ")
}

// describeReturn says what the change itself is, and what is done until the machine serves again.
func (r *Rollout) describeReturn(how Downtime) (steps []string) {
	switch {
	case how == Moves:
		steps = append(steps, "it moves while it runs, and is changed")
	case how == Replaces && r.ServiceNode != nil:
		steps = append(steps, fmt.Sprintf("it is made anew, and gets the services and their configuration that %s has", r.ServiceNode.Endpoint))
	default:
		steps = append(steps, "it is taken down, changed and started")
	}
	if c := r.Ready; c != nil {
		asked := c.URL + c.TCP + c.DNS
		if len(c.Command) > 0 {
			asked = fmt.Sprintf("%q on %s", strings.Join(c.Command, " "), c.Endpoint)
		}
		steps = append(steps, fmt.Sprintf("%s is waited for, up to %s", asked, c.Limit()))
	}
	if n := r.ServiceNode; n != nil {
		steps = append(steps, fmt.Sprintf("its services are waited for, up to %s; it takes the virtual addresses that are to be its own", n.Limit()))
	}
	if r.After != nil {
		steps = append(steps, fmt.Sprintf("%q is run on %s", strings.Join(r.After.Command, " "), r.After.Endpoint))
	}
	if r.Drain != nil {
		steps = append(steps, "its servers take connections again")
	}
	return steps
}

// JoinGroup writes into a machine's mark that it is of a group, ahead of the change that has it so: from then on others of the group see it. It
// says whether that is new. A machine that is on its way to another hypervisor, or whose mark has no settings, does not join.
func JoinGroup(ctx context.Context, c *hypervisor.Client, d *hypervisor.Domain, r *Rollout) (joined bool, err error) {
	m := Read(d.Config)
	is := m.Mark.Settings
	if is == nil || m.Mark.isMoving() || is.Rollout != nil && is.Rollout.Group == r.Group {
		return false, nil
	}
	settings := *is
	settings.Rollout, m.Mark.Settings = r, &settings
	return true, writeMark(ctx, c, m, d.Active())
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
	d, err := c.Domain(ctx, was.UUID)
	if err == nil && isOutdated(d) {
		return true, nil
	}
	changes, err := PlanChanges(ctx, c, was, want)
	return slices.ContainsFunc(changes, func(c Change) bool { return c.Restart != nil || c.Maybe && want.AllowRestart }), err
}
