// Package agenthost is a virtual machine reached by its QEMU guest agent: through the hypervisor, without a
// network that leads to the machine. The agent must allow guest-exec and the guest-file commands.
package agenthost

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/failpoint"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
)

var _ host.Host = (*Host)(nil)

// Agent passes one command to a guest agent and returns its answer, both as JSON
// (https://qemu.readthedocs.io/en/latest/interop/qemu-ga-ref.html). An error that wraps host.ErrCut leaves
// unknown whether the guest got the command.
type Agent interface {
	Command(ctx context.Context, json string) (string, error)
}

// AgentError says that the agent does not answer or refused a command.
type AgentError struct {
	Domain string
	Err    error
}

// Error names the machine.
func (e *AgentError) Error() string {
	return fmt.Sprintf("guest agent of %s: %s", e.Domain, e.Err)
}

// Unwrap returns the hypervisor's error.
func (e *AgentError) Unwrap() error { return e.Err }

// DisabledError says that the agent's configuration forbids what is needed; waiting does not help.
type DisabledError struct {
	Domain   string
	Commands []string
}

// Error names the way out.
func (e *DisabledError) Error() string {
	return fmt.Sprintf("the guest agent of %s does not offer %s: take them out of BLOCK_RPCS (or add them to ALLOW_RPCS) in "+
		"/etc/sysconfig/qemu-ga there, restart qemu-guest-agent, or reach the machine by ssh", e.Domain, strings.Join(e.Commands, ", "))
}

// needed are the agent's commands that a Host uses.
var needed = []string{
	"guest-exec", "guest-exec-status", "guest-file-open", "guest-file-close", "guest-file-read", "guest-file-write",
}

// maxTries bounds how often a repeatable command is run when the way to the agent breaks.
const maxTries = 4

// Host is one virtual machine. The agent runs commands as root and one message at a time.
type Host struct {
	host.ByCommands

	name  string
	agent Agent

	mu    sync.Mutex
	asked bool
}

// New returns the machine that an agent runs in; name is what messages call it.
func New(name string, agent Agent) *Host {
	h := &Host{name: name, agent: agent}
	h.Machine = h
	return h
}

// String names the machine in messages.
func (h *Host) String() string { return h.name }

// Run implements host.Host.
func (h *Host) Run(ctx context.Context, cmd host.Cmd) ([]byte, error) {
	if err := h.checkAgent(ctx); err != nil {
		return nil, err
	}
	for try := 1; ; try++ {
		guarded, err := h.Locks.Guard(cmd)
		if err != nil {
			return nil, err
		}
		out, err := failpoint.Send(ctx, cmd.String(), func() ([]byte, error) { return h.runOnce(ctx, cmd, guarded.Argv) })
		if cmd.Repeatable && errors.Is(err, host.ErrCut) && try < maxTries && ctx.Err() == nil {
			continue
		}
		return out, host.LockError(cmd, err)
	}
}

// checkAgent asks the agent once what it can do.
func (h *Host) checkAgent(ctx context.Context) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.asked {
		return nil
	}
	var info struct {
		Commands []struct {
			Name    string `json:"name"`
			Enabled bool   `json:"enabled"`
		} `json:"supported_commands"`
	}
	if err := h.callAgent(ctx, "guest-info", nil, &info); err != nil {
		return err
	}
	lacking := slices.Clone(needed)
	for _, c := range info.Commands {
		if c.Enabled {
			lacking = slices.DeleteFunc(lacking, func(name string) bool { return name == c.Name })
		}
	}
	if len(lacking) > 0 {
		return &DisabledError{Domain: h.name, Commands: lacking}
	}
	h.asked = true
	return nil
}

// callAgent calls the agent; answer may be nil.
func (h *Host) callAgent(ctx context.Context, name string, arguments map[string]any, answer any) error {
	message := map[string]any{"execute": name}
	if arguments != nil {
		message["arguments"] = arguments
	}
	text, err := json.Marshal(message)
	if err != nil {
		return err
	}
	reply, err := h.agent.Command(ctx, string(text))
	if err != nil {
		return &AgentError{Domain: h.name, Err: err}
	}
	if len(reply) > 2*host.MaxAnswer { // base64, and what is around it
		return &AgentError{Domain: h.name, Err: fmt.Errorf("%s: %w", name, host.ErrTooLong)}
	}
	var envelope struct {
		Return json.RawMessage `json:"return"`
		Error  *struct {
			Desc string `json:"desc"`
		} `json:"error"`
	}
	if err := json.Unmarshal([]byte(reply), &envelope); err != nil {
		return &AgentError{Domain: h.name, Err: fmt.Errorf("%s: %w", name, err)}
	}
	if envelope.Error != nil {
		return &AgentError{Domain: h.name, Err: fmt.Errorf("%s: %s", name, envelope.Error.Desc)}
	}
	if answer == nil {
		return nil
	}
	if err := json.Unmarshal(envelope.Return, answer); err != nil {
		return &AgentError{Domain: h.name, Err: fmt.Errorf("%s: %w", name, err)}
	}
	return nil
}
