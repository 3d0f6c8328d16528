package rollout

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/hashicorp/terraform-plugin-log/tflog"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/haproxy"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/machine"
)

// balancers are the service nodes whose HAProxy leads connections to a machine, and what a turn told them.
type balancers struct {
	hosts  hostFinder
	engine *transaction.Engine
	// drained are the servers that a turn drained, by the endpoint of their service node.
	drained map[string][]haproxy.ServerRef
}

// visitServiceNode does something on a service node whose configuration is read.
func (b *balancers) visitServiceNode(ctx context.Context, endpoint string, do func(h host.Host, t transaction.Tree) error) error {
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

// drainServers has no new connections go to a machine's addresses, and waits until those that there are have ended. What has not by then goes
// down with the machine.
func (b *balancers) drainServers(ctx context.Context, d *machine.Drain, addresses []netip.Addr) error {
	for _, endpoint := range d.ServiceNodes {
		err := b.visitServiceNode(ctx, endpoint, func(h host.Host, t transaction.Tree) (err error) {
			drained, err := haproxy.DrainAddresses(ctx, h, t, addresses)
			b.drained[endpoint] = append(b.drained[endpoint], drained...)
			return err
		})
		if err != nil {
			return fmt.Errorf("drain the node's servers on %s: %w", endpoint, err)
		}
	}
	deadline := time.Now().Add(d.Limit())
	for _, endpoint := range d.ServiceNodes {
		err := b.visitServiceNode(ctx, endpoint, func(h host.Host, t transaction.Tree) error {
			left, err := haproxy.WaitEnded(ctx, h, t, b.drained[endpoint], time.Until(deadline))
			if left > 0 {
				tflog.Warn(ctx, "connections that have not ended go down with the node", map[string]any{"service_node": endpoint, "connections": left, "after": d.Limit().String()})
			}
			return err
		})
		if err != nil {
			return fmt.Errorf("wait for the connections of the node's servers on %s: %w", endpoint, err)
		}
	}
	return nil
}

// undrainServers has the servers that drainServers drained take connections again.
func (b *balancers) undrainServers(ctx context.Context) error {
	var failed []error
	for endpoint, servers := range b.drained {
		if len(servers) == 0 {
			continue
		}
		err := b.visitServiceNode(ctx, endpoint, func(h host.Host, t transaction.Tree) error { return haproxy.Undrain(ctx, h, t, servers) })
		if err != nil {
			failed = append(failed, fmt.Errorf("undrain the node's servers on %s: %w", endpoint, err))
			continue
		}
		delete(b.drained, endpoint)
	}
	return errors.Join(failed...)
}

// yieldLimit bounds the question whether the guest holds virtual addresses: its agent may not answer.
const yieldLimit = 20 * time.Second

// handOver has the guest hand over the virtual addresses that it holds, by its agent. One without an agent, or without keepalived, has
// none that could be known.
func (s *Store) handOver(ctx context.Context, t *turn) {
	d, err := s.at.Domain(ctx, t.own)
	if err != nil || !machine.IsAgentConnected(d) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, yieldLimit)
	defer cancel()
	h, err := s.findGuest(ctx)
	if err == nil {
		t.handedOver, err = s.in.HandOvers.Yield(ctx, h, []netip.Addr{netip.IPv4Unspecified(), netip.IPv6Unspecified()})
	}
	switch {
	case err != nil: // the guest stops keepalived as it shuts down, which hands them over too
		tflog.Warn(ctx, "the guest could not be asked to hand over virtual addresses", map[string]any{"node": d.Name, "reason": err.Error()})
	case t.handedOver:
		tflog.Info(ctx, "the guest handed over its virtual addresses", map[string]any{"node": d.Name})
	}
}

// takePart has the guest take part again in who holds the virtual addresses that it handed over, so that the next one may hand over its own.
func (s *Store) takePart(ctx context.Context, t *turn) {
	if !t.handedOver {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, yieldLimit)
	defer cancel()
	h, err := s.findGuest(ctx)
	if err == nil {
		err = s.in.HandOvers.Resume(ctx, h)
	}
	if err != nil { // it does so by itself after a while
		tflog.Warn(ctx, "the guest could not be told to take its virtual addresses again", map[string]any{"node": t.name, "reason": err.Error()})
	}
}

// findGuest returns the inside of the machine, by its guest agent.
func (s *Store) findGuest(ctx context.Context) (host.Host, error) {
	return s.in.Host(ctx, host.Endpoint{Scheme: host.Agent, Host: s.known.Hypervisor, Domain: s.known.Name}.String())
}
