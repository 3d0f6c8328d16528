package haproxy

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/terraform-plugin-log/tflog"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/keepalived"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/part"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

// FrontendStore is a crud.Store of a frontend that virtual addresses may lead to. Terraform removes what a service node runs before it
// changes the VIP whose member that node was, so the addresses are handed over first. Where the frontends come back in the same run, so do
// the addresses.
type FrontendStore struct {
	*part.Part[Frontend]
	removals  *Removals
	handOvers *keepalived.HandOvers
}

// NewFrontendPart returns the part of the configuration that a frontend is.
func NewFrontendPart(of part.Identity) part.Part[Frontend] {
	return newProxyPart("frontend", of, FindFrontend)
}

// NewFrontendStore returns the store of a frontend whose part is opened, with what its run has removed and handed over.
func NewFrontendStore(p *part.Part[Frontend], removals *Removals, handOvers *keepalived.HandOvers) *FrontendStore {
	return &FrontendStore{Part: p, removals: removals, handOvers: handOvers}
}

// Delete implements crud.Store.
func (s *FrontendStore) Delete(ctx context.Context) error {
	if f, err := s.Get(ctx); err == nil {
		ordered, err := s.handOver(ctx, f)
		if err != nil {
			tflog.Warn(ctx, "Virtual addresses were not handed over before a frontend goes", map[string]any{"frontend": f.Name, "error": err.Error()})
		}
		s.removals.noteRemoval(s.Host.String(), f.Name, ordered)
	}
	return s.Part.Delete(ctx)
}

// handOver hands the virtual addresses over that lead to a frontend. Whether the machine has any is read once for all frontends that go at a
// moment.
func (s *FrontendStore) handOver(ctx context.Context, f Frontend) (ordered bool, err error) {
	tree, err := s.Engine.Snapshot(ctx, s.Host, keepalived.Daemon{})
	if err != nil {
		return false, err
	}
	if ours, _, err := keepalived.Instances(tree); err != nil || len(ours) == 0 {
		return false, err
	}
	return s.handOvers.Yield(ctx, s.Host, f.ListListeners())
}

// Create implements crud.Store.
func (s *FrontendStore) Create(ctx context.Context, want Frontend) (Frontend, error) {
	got, err := s.Part.Create(ctx, want)
	if err == nil && s.removals.noteReturn(s.Host.String(), want.Name) {
		if err := s.handOvers.Resume(ctx, s.Host); err != nil { // it ends by itself later
			tflog.Warn(ctx, "Virtual addresses were not taken back after frontends came back", map[string]any{"frontend": want.Name, "error": err.Error()})
		}
	}
	return got, err
}

// Removals are the frontends that a run has removed, by machine. The zero value has none.
type Removals struct {
	mu       sync.Mutex
	machines map[string]*removal
}

type removal struct {
	names map[string]bool
	// handsOver is set where the machine handed virtual addresses over for one of them.
	handsOver bool
}

// noteRemoval notes that a frontend goes, and whether its machine hands addresses over for that.
func (r *Removals) noteRemoval(machine, name string, handsOver bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.machines == nil {
		r.machines = map[string]*removal{}
	}
	if r.machines[machine] == nil {
		r.machines[machine] = &removal{names: map[string]bool{}}
	}
	gone := r.machines[machine]
	gone.names[name] = true
	gone.handsOver = gone.handsOver || handsOver
}

// noteReturn notes that a frontend is there, and says whether it was the last one that a machine missed which handed addresses over.
func (r *Removals) noteReturn(machine, name string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	gone := r.machines[machine]
	if gone == nil {
		return false
	}
	if delete(gone.names, name); len(gone.names) > 0 {
		return false
	}
	delete(r.machines, machine)
	return gone.handsOver
}

// ListListeners returns the addresses that a frontend listens on.
func (f Frontend) ListListeners() []netip.Addr {
	var all []netip.Addr
	for _, b := range f.Binds {
		if b.Wildcard() {
			all = append(all, netip.IPv6Unspecified())
		} else if a, err := netip.ParseAddr(b.Address); err == nil {
			all = append(all, a)
		}
	}
	return all
}

// BackendStore is a crud.Store of a backend in the configuration and in the process: an operator can change servers at run time,
// and a server that drains takes its time.
type BackendStore struct {
	*part.Part[Backend]
	name     string
	patience time.Duration
	// known are the servers that state or plan has.
	known    map[string]Server
	warnings []service.Problem
}

// NewBackendPart returns the part of the configuration that a backend is.
func NewBackendPart(of part.Identity) part.Part[Backend] {
	return newProxyPart("backend", of, FindBackend)
}

// NewBackendStore returns the store of a backend whose part is opened. known are the servers that state or plan has, and patience is how
// long an update waits for one that begins to drain.
func NewBackendStore(p *part.Part[Backend], name string, known map[string]Server, patience time.Duration) *BackendStore {
	return &BackendStore{Part: p, name: name, known: known, patience: patience}
}

// Get reads the backend from the configuration, and its servers as the process has them. Of a process that was told of a change which did not
// come to its end nothing counts: the next change undoes that one first.
func (s *BackendStore) Get(ctx context.Context) (Backend, error) {
	b, err := s.Part.Get(ctx)
	if err != nil || len(b.Servers) == 0 {
		return b, err
	}
	if interrupted, err := s.Engine.Interrupted(ctx, s.Host, s.Daemon); err != nil || interrupted {
		return b, err
	}
	_, running, err := transaction.Ask(ctx, s.Engine, s.Host, s.Daemon, AskRunning)
	if err != nil {
		return b, err
	}
	return running.Observe(b, s.known), nil
}

// Update changes the backend and waits for the servers that begin to drain. What is drained meanwhile, by the turn of a rollout for one, is no result
// of the change: the next plan shows it where it lasts.
func (s *BackendStore) Update(ctx context.Context, prior, want Backend) (Backend, error) {
	got, err := s.Part.Update(ctx, prior, want)
	if err != nil {
		return got, err
	}
	if err := s.endDrains(ctx, prior, want); err != nil {
		return got, err
	}
	return got, s.awaitDrained(ctx, prior, want)
}

// endDrains has servers take connections again which somebody drained at run time, as the plan showed.
func (s *BackendStore) endDrains(ctx context.Context, prior, want Backend) error {
	var drained []ServerRef
	for _, name := range sortedKeys(want.Servers) {
		if prior.Servers[name].State == Drain && want.Servers[name].State == Ready {
			drained = append(drained, ServerRef{s.name, name})
		}
	}
	running, err := s.Engine.Running(ctx, s.Host, s.Daemon)
	if err != nil || !running || len(drained) == 0 {
		return err
	}
	tree, err := s.Engine.Snapshot(ctx, s.Host, s.Daemon)
	if err != nil {
		return err
	}
	if err := Undrain(ctx, s.Host, tree, drained); !errors.Is(err, ErrNoSocket) {
		return err
	}
	return nil // nobody could order anything there
}

// awaitDrained waits for the servers that begin to drain.
func (s *BackendStore) awaitDrained(ctx context.Context, prior, want Backend) error {
	tree, err := s.Engine.Snapshot(ctx, s.Host, s.Daemon)
	if err != nil {
		return err
	}
	names := Draining(prior, want)
	left, err := WaitDrained(ctx, s.Host, tree, s.name, names, s.patience)
	if errors.Is(err, ErrNoSocket) {
		s.addWarning(names, "Sessions cannot be counted", "the server gets no new connections, and whether it still has some nobody knows: "+err.Error())
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(left)) {
		s.addWarning([]string{name}, "Server still has sessions", fmt.Sprintf(
			"%d of its sessions had not ended after %s (drain_timeout). They go on undisturbed, and no new ones come: virtcluster_haproxy_status tells when the last one is over.",
			left[name], s.patience))
	}
	return err
}

func (s *BackendStore) addWarning(servers []string, summary, detail string) {
	for _, name := range servers {
		s.warnings = append(s.warnings, service.Warningf([]any{"servers", service.Key(name), "state"}, summary, "%s", detail))
	}
}

// Warnings implements crud.Warner.
func (s *BackendStore) Warnings() []service.Problem { return append(s.Part.Warnings(), s.warnings...) }
