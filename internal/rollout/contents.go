package rollout

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-log/tflog"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/sshhost"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/provision"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/readiness"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/machine"
)

// serviceNodeHost returns the machine as the service node that it is. It is known by its host key alone, whichever machine shows that.
func serviceNodeHost(ctx context.Context, hosts hostFinder, n *machine.TurnServiceNode) (host.Host, error) {
	e, err := host.ParseEndpoint(n.Endpoint)
	if err == nil && n.HostKey != "" {
		e.HostKey, err = sshhost.WholePin(n.HostKey)
	}
	if err != nil {
		return nil, fmt.Errorf("rollout.service_node: %w", err)
	}
	return hosts(ctx, e.String())
}

// takeLimit bounds the reading of what a machine has as a service node.
const takeLimit = time.Minute

// takeContents reads what the machine has as a service node before it is made anew. Of one that is down already that may fail.
func (s *Store) takeContents(ctx context.Context, t *turn) error {
	n := t.settings.ServiceNode
	if n == nil {
		return nil
	}
	limited, cancel := context.WithTimeout(ctx, takeLimit)
	defer cancel()
	h, err := serviceNodeHost(limited, s.in.Host, n)
	if err == nil {
		t.contents, err = provision.TakeContents(limited, h, s.in.Engine)
	}
	switch {
	case err != nil && t.wasUp:
		return fmt.Errorf("read what it has as a service node: %w", err)
	case err != nil:
		tflog.Warn(ctx, "what the node had as a service node is not known, and the next apply makes it", map[string]any{"node": t.name, "reason": err.Error()})
	}
	return nil
}

// putContents makes the new machine the service node that the old one was: it returns when its services serve.
func (s *Store) putContents(ctx context.Context, t *turn) error {
	n := s.known.Rollout.ServiceNode
	if t.contents == nil || n == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, n.Limit())
	defer cancel()
	t.noteStep(ctx, "does not answer yet")
	h, err := s.awaitInside(ctx, t)
	if err != nil {
		return fmt.Errorf("wait until it answers as a service node: %w", err)
	}
	t.noteStep(ctx, "gets its services")
	warning, err := provision.Booted(ctx, h)
	if err != nil {
		return fmt.Errorf("wait until it has started: %w", err)
	}
	warnings, err := t.contents.Put(ctx, h, s.in.Engine)
	if warnings = append(warnings, warning); strings.Join(warnings, "") != "" {
		tflog.Warn(ctx, "not all went well on the new service node", map[string]any{"node": t.name, "warnings": warnings})
	}
	if err != nil {
		return fmt.Errorf("make it the service node that it was: %w", err)
	}
	return nil
}

// serviceAsker says that a service node is ready where all of its services run that have something to serve.
type serviceAsker struct {
	on     host.Host
	engine *transaction.Engine
}

// Ask implements readiness.Asker.
func (a serviceAsker) Ask(ctx context.Context, _ readiness.Condition) (string, error) {
	stopped, err := provision.FindStopped(ctx, a.on, a.engine)
	if err == nil && len(stopped) > 0 {
		err = fmt.Errorf("%s does not serve on %s", strings.Join(stopped, ", "), a.on)
	}
	return "", err
}

// askServices returns why a service node does not serve; nil where it does.
func askServices(ctx context.Context, hosts hostFinder, engine *transaction.Engine, n *machine.TurnServiceNode) error {
	h, err := serviceNodeHost(ctx, hosts, n)
	if err == nil {
		_, err = serviceAsker{h, engine}.Ask(ctx, readiness.Condition{})
	}
	return err
}

// awaitServices waits until a service node serves: the next one may hand its virtual addresses over to it.
func (t *turn) awaitServices(ctx context.Context, hosts hostFinder) error {
	n := t.settings.ServiceNode
	h, err := serviceNodeHost(ctx, hosts, n)
	if err != nil {
		return err
	}
	_, err = readiness.Wait(ctx, serviceAsker{h, t.balancers.engine}, readiness.Condition{Interval: servicesInterval, Timeout: n.Limit()}, func(reason string) {
		tflog.Info(ctx, "its services do not serve yet", map[string]any{"node": t.name, "reason": reason})
	})
	if late, ok := errors.AsType[*readiness.NotReadyError](err); ok {
		return fmt.Errorf("its services do not serve after %s: %w", n.Limit(), late.Last)
	}
	return err
}

// servicesInterval lies between two looks at the services of a machine that was just started.
const servicesInterval = 500 * time.Millisecond

// lacksContents says that nobody knows what a new machine is to serve: the run that took the old one down was killed, or could not ask it.
func (s *Store) lacksContents(t *turn) bool {
	return t.contents == nil && s.known.Rollout.ServiceNode != nil
}
