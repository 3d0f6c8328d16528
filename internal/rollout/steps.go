package rollout

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-log/tflog"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/readiness"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/machine"
)

// prepareMachine does what comes before the change: connections are led to others, and the machine takes leave. One that is down already is not
// prepared.
func (s *Store) prepareMachine(ctx context.Context, t *turn, was *machine.Spec) error {
	t.undrainOthers(ctx)
	if d := t.settings.Drain; t.wasUp && d != nil && len(d.ServiceNodes) > 0 {
		t.noteStep(ctx, "is being drained")
		if err := t.drainServers(ctx, d, was.ListAddresses()); err != nil {
			return err
		}
	}
	s.liftHeir(ctx, t)
	if t.wasUp {
		s.handOver(ctx, t)
	}
	if !t.wasUp || t.settings.Before == nil {
		return nil
	}
	t.noteStep(ctx, "is being prepared")
	return runCommand(ctx, s.in.Host, "before", t.settings.Before)
}

// awaitServing waits until the machine serves, and does what comes after it.
func (s *Store) awaitServing(ctx context.Context, t *turn) error {
	t.noteStep(ctx, "is not ready yet")
	if r := t.settings.Ready; r != nil {
		asker, c, err := machines{host: s.in.Host}.findCondition(ctx, r)
		if err != nil {
			return err
		}
		if _, err := readiness.Wait(ctx, asker, c, func(reason string) {
			tflog.Info(ctx, "not ready yet", map[string]any{"node": t.name, "reason": reason})
		}); err != nil {
			if late, ok := errors.AsType[*readiness.NotReadyError](err); ok && c.Target() == "" {
				return fmt.Errorf("%q is not ready after %s: %w", strings.Join(r.Command, " "), r.Limit(), late.Last)
			}
			return err
		}
	}
	s.takePart(ctx, t)
	if t.settings.ServiceNode != nil {
		if err := t.awaitServices(ctx, s.in.Host); err != nil {
			return err
		}
		s.takeBack(ctx, t)
	}
	if t.settings.After != nil {
		if err := runCommand(ctx, s.in.Host, "after", t.settings.After); err != nil {
			return err
		}
	}
	return t.undrainServers(ctx, t.drained)
}

// hostFinder returns the machine of an endpoint.
type hostFinder = func(ctx context.Context, endpoint string) (host.Host, error)

// runCommand runs one of the commands of a turn, on its machine and in its time.
func runCommand(ctx context.Context, hosts hostFinder, name string, c *machine.TurnCommand) error {
	ctx, cancel := context.WithTimeout(ctx, c.Limit())
	defer cancel()
	h, err := hosts(ctx, c.Endpoint)
	if err == nil {
		_, err = h.Run(ctx, host.Cmd{Argv: c.Command})
	}
	switch {
	case err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded):
		return fmt.Errorf("rollout.%s did not end in %s: %w", name, c.Limit(), err)
	case err != nil:
		return fmt.Errorf("rollout.%s: %w", name, err)
	}
	return nil
}
