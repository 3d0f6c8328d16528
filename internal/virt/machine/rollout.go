package machine

import (
	"cmp"
	"context"
	"slices"
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
	Before         *TurnCommand `attr:"before" xml:"before"`
	Ready          *TurnReady   `attr:"ready" xml:"ready"`
	After          *TurnCommand `attr:"after" xml:"after"`
	Timeout        string       `attr:"timeout" xml:"timeout,attr,omitempty"`
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
	readyInterval  = 2 * time.Second
)

// Limit returns how many machines of the group may be down at one time.
func (r *Rollout) Limit() int { return int(cmp.Or(r.MaxUnavailable, 1)) }

// Patience returns how long a machine waits for others of which nothing changes meanwhile.
func (r *Rollout) Patience() time.Duration { return parseTime(r.Timeout, turnTimeout) }

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

// validateRollout finds a condition that is none, or more than one.
func (s *Spec) validateRollout() []service.Problem {
	if s.Rollout == nil || s.Rollout.Ready == nil {
		return nil
	}
	at, r := pathTo("rollout", "ready"), s.Rollout.Ready
	known := func(name string) bool { return !s.Unknown.Has(pathBelow(at, name)...) }
	if !known("url") || !known("tcp") || !known("dns") || !known("command") || !known("endpoint") {
		return nil
	}
	written := slices.DeleteFunc([]string{r.URL, r.TCP, r.DNS}, func(text string) bool { return text == "" })
	if len(r.Command) > 0 {
		written = append(written, "command")
	}
	switch {
	case len(written) != 1:
		return []service.Problem{service.Problemf(at, "One condition is needed", "write one of url, tcp, dns, and command with its endpoint")}
	case len(r.Command) > 0 != (r.Endpoint != ""):
		return []service.Problem{service.Problemf(at, "A command needs its machine", "write endpoint and command together: the machine that the command runs on, such as \"ssh://root@10.0.0.100\"")}
	}
	return nil
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
	changes, err := PlanChanges(ctx, c, was, want)
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(changes, func(c Change) bool { return c.Restart != nil || c.Maybe && want.AllowRestart }), nil
}
