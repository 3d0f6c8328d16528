package haproxy

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/part"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

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

// Create makes the backend and looks at its servers as the process has them.
func (s *BackendStore) Create(ctx context.Context, want Backend) (Backend, error) {
	_, err := s.Part.Create(ctx, want)
	return service.ReadBack(ctx, s.Get, err)
}

// Update changes the backend and waits for the servers that begin to drain.
func (s *BackendStore) Update(ctx context.Context, prior, want Backend) (Backend, error) {
	if _, err := s.Part.Update(ctx, prior, want); err != nil {
		return want, err
	}
	return service.ReadBack(ctx, s.Get, s.awaitDrained(ctx, prior, want))
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
