package haproxy

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

// ServerRef names a server of a backend.
type ServerRef struct{ Backend, Name string }

// DrainAddresses has the process send no new connections to the servers at some addresses, whatever backend they are in, and returns those
// that it told: not those that drain or are off already. The configuration stays as it is. The error is ErrNoSocket where the process
// cannot be told.
func DrainAddresses(ctx context.Context, h host.Host, t transaction.Tree, addresses []netip.Addr) ([]ServerRef, error) {
	api, err := openRuntime(h, t)
	if err != nil {
		return nil, err
	}
	servers, err := api.readServers(ctx)
	if err != nil {
		return nil, err
	}
	var drained []ServerRef
	for _, s := range servers.listAt(addresses) {
		if err := api.tellCommand(ctx, fmt.Sprintf("set server %s/%s state drain", s.Backend, s.Name)); err != nil {
			return drained, err
		}
		drained = append(drained, s)
	}
	return drained, nil
}

// listAt lists the servers at some addresses that take connections.
func (t serverTable) listAt(addresses []netip.Addr) (found []ServerRef) {
	for _, backend := range slices.Sorted(maps.Keys(t)) {
		for _, name := range slices.Sorted(maps.Keys(t[backend])) {
			s := t[backend][name]
			if a, err := netip.ParseAddr(s.address); err == nil && !s.drain && !s.maint && slices.Contains(addresses, a.Unmap()) {
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
