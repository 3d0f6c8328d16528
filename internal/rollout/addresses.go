package rollout

import (
	"context"
	"fmt"
	"time"

	"github.com/hashicorp/terraform-plugin-log/tflog"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/provision"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/keepalived"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/machine"
)

// yieldLimit bounds the questions about virtual addresses: a guest's agent may not answer.
const yieldLimit = 20 * time.Second

// handOver has the machine hand over the virtual addresses that it holds: as the service node that it is, or by its guest agent. One without
// either, or without keepalived, has none that could be known.
func (s *Store) handOver(ctx context.Context, t *turn) {
	if s.known.Rollout.ServiceNode == nil {
		d, err := s.at.Domain(ctx, t.own)
		if err != nil || !machine.IsAgentConnected(d) {
			return
		}
	}
	ctx, cancel := context.WithTimeout(ctx, yieldLimit)
	defer cancel()
	h, err := s.findInside(ctx)
	ordered := false
	if err == nil {
		ordered, err = s.in.HandOvers.Leave(ctx, h, t.heir != nil)
	}
	if ordered {
		t.handedOver = h.String()
	}
	switch {
	case err != nil: // the guest stops keepalived as it shuts down, which hands them over too
		tflog.Warn(ctx, "the guest could not be asked to hand over virtual addresses", map[string]any{"node": t.name, "reason": err.Error()})
	case ordered:
		tflog.Info(ctx, "the guest handed over its virtual addresses", map[string]any{"node": t.name})
	}
}

// takePart has the guest take part again in who holds the virtual addresses that it handed over, so that the next one may hand over its own. One that
// was started anew does so by itself, though its agent may not answer yet.
func (s *Store) takePart(ctx context.Context, t *turn) {
	if t.handedOver == "" {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, yieldLimit)
	defer cancel()
	h, err := s.awaitInside(ctx, t)
	if err == nil {
		err = s.in.HandOvers.Resume(ctx, h)
	}
	if madeAnew := s.in.Successor != ""; err == nil || madeAnew || t.arrived == nil {
		s.in.HandOvers.Forget(t.handedOver)
	}
	if err != nil { // it does so by itself after a while
		tflog.Warn(ctx, "the guest could not be told to take its virtual addresses again", map[string]any{"node": t.name, "reason": err.Error()})
	}
}

// liftHeir puts another service node of the group before all others while this one is down and comes up again: it takes virtual addresses over at
// once, and keeps them. Else keepalived would take them back as soon as it runs, while the machine still starts.
func (s *Store) liftHeir(ctx context.Context, t *turn) {
	if t.settings.ServiceNode == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, yieldLimit)
	defer cancel()
	heir, err := s.findHeir(ctx, t)
	if err == nil && heir != nil {
		err = keepalived.Lift(ctx, heir)
	}
	if err != nil { // it takes part by its own priority
		tflog.Warn(ctx, "no other service node could be told to take virtual addresses over", map[string]any{"node": t.name, "reason": err.Error()})
		return
	}
	t.heir = heir
}

// findHeir finds the other service node of the group that holds virtual addresses, or, where none does, the one with the highest priority. Where
// several hold some, it returns nil: lifted, one would take all.
func (s *Store) findHeir(ctx context.Context, t *turn) (heir host.Host, err error) {
	all, err := t.board.listMembers(ctx, t.settings.Group)
	if err != nil {
		return nil, err
	}
	highest, holders := 0, 0
	for _, m := range all {
		if m.hasTurn(t) || !m.running || m.settings == nil || m.settings.ServiceNode == nil {
			continue
		}
		h, err := serviceNodeHost(ctx, s.in.Host, m.settings.ServiceNode)
		if err != nil {
			return nil, err
		}
		holds, priority, err := keepalived.HoldsAddresses(ctx, h)
		switch {
		case err != nil:
			return nil, fmt.Errorf("look for virtual addresses of node %q: %w", m.name, err)
		case holds:
			heir, holders = h, holders+1
		case holders == 0 && priority > highest:
			heir, highest = h, priority
		}
	}
	if holders > 1 {
		return nil, nil
	}
	return heir, nil
}

// takeBack has the heir give back the virtual addresses that are to be this one's, which serves now. It waits until the machine has started, so
// that nothing else comes in between.
func (s *Store) takeBack(ctx context.Context, t *turn) {
	if t.heir == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, t.settings.ServiceNode.Limit())
	defer cancel()
	inside, err := s.findInside(ctx)
	if err == nil {
		_, err = provision.Booted(ctx, inside)
	}
	if err == nil {
		err = keepalived.GiveBack(ctx, t.heir, inside)
	}
	t.heir = nil
	if err != nil { // it gives them back by itself after a while
		tflog.Warn(ctx, "the heir could not be told to give virtual addresses back", map[string]any{"node": t.name, "reason": err.Error()})
	}
}

// findInside returns the inside of the machine: as the service node that it is, or by its guest agent.
func (s *Store) findInside(ctx context.Context) (host.Host, error) {
	if n := s.known.Rollout.ServiceNode; n != nil {
		return serviceNodeHost(ctx, s.in.Host, n)
	}
	return s.in.Host(ctx, host.Endpoint{Scheme: host.Agent, Host: s.known.Hypervisor, Domain: s.known.Name}.String())
}

// awaitInside returns the inside of the machine once it answers.
func (s *Store) awaitInside(ctx context.Context, t *turn) (host.Host, error) {
	return provision.Answering(ctx, t.name, s.in.Temporary, func(ctx context.Context) (host.Host, error) {
		h, err := s.findInside(ctx)
		if err == nil {
			_, err = h.Run(ctx, host.Cmd{Argv: []string{"true"}, Repeatable: true})
		}
		return h, err
	})
}
