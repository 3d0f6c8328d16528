package haproxybackend

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/haproxy/crosscheck"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/haproxy"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/part"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

// store is a backend in the configuration and in the process: an operator can change servers at run time,
// and a server that drains takes its time.
type store struct {
	*part.Part[haproxy.Backend]
	name     string
	patience time.Duration
	// known are the servers that state or plan has.
	known    map[string]haproxy.Server
	warnings []service.Problem
}

func open(ctx context.Context, at crud.Opening, m *model) (crud.Store[haproxy.Backend], error) {
	name := m.Name.ValueString()
	part, err := crud.OpenPart(ctx, at, m.ServiceNode.ValueString(), part.Part[haproxy.Backend]{
		Daemon:   haproxy.Daemon{},
		Owner:    crosscheck.Proxy("backend", name),
		Place:    haproxy.ConfigPath,
		ImportID: id(m),
		Mark:     func(t transaction.Tree) (owner.Mark, bool) { return haproxy.ProxyMark(t, "backend", name) },
		Find:     func(t transaction.Tree) (haproxy.Backend, error) { return haproxy.FindBackend(t, name) },
		Add: func(t transaction.Tree, want haproxy.Backend) error {
			return haproxy.AddBackend(t, want, at.Claim.Mark())
		},
		Set: func(t transaction.Tree, want haproxy.Backend) error {
			return haproxy.SetBackend(t, want, at.Claim.Mark())
		},
		Drop: func(t transaction.Tree) error { return haproxy.DropBackend(t, name) },
	})
	if err != nil {
		return nil, err
	}
	spec, _ := m.spec(ctx)
	patience, _ := haproxy.Duration(m.DrainTimeout.ValueString())
	return &store{Part: part, name: name, patience: patience, known: spec.Servers}, nil
}

// Get reads the backend from the configuration, and its servers as the process has them.
func (s *store) Get(ctx context.Context) (haproxy.Backend, error) {
	b, err := s.Part.Get(ctx)
	if err != nil || len(b.Servers) == 0 {
		return b, err
	}
	_, running, err := transaction.Ask(ctx, s.Engine, s.Host, s.Daemon, haproxy.AskRunning)
	if err != nil {
		return b, err
	}
	return running.Observe(b, s.known), nil
}

// Create makes the backend and looks at its servers as the process has them.
func (s *store) Create(ctx context.Context, want haproxy.Backend) (haproxy.Backend, error) {
	_, err := s.Part.Create(ctx, want)
	return service.ReadBack(ctx, s.Get, err)
}

// Update changes the backend and waits for the servers that begin to drain.
func (s *store) Update(ctx context.Context, prior, want haproxy.Backend) (haproxy.Backend, error) {
	if _, err := s.Part.Update(ctx, prior, want); err != nil {
		return want, err
	}
	return service.ReadBack(ctx, s.Get, s.drain(ctx, prior, want))
}

// drain waits for the servers that begin to drain.
func (s *store) drain(ctx context.Context, prior, want haproxy.Backend) error {
	tree, err := s.Engine.Snapshot(ctx, s.Host, s.Daemon)
	if err != nil {
		return err
	}
	names := haproxy.Draining(prior, want)
	left, err := haproxy.WaitDrained(ctx, s.Host, tree, s.name, names, s.patience)
	if errors.Is(err, haproxy.ErrNoSocket) {
		s.warn(names, "Sessions cannot be counted", "the server gets no new connections, and whether it still has some nobody knows: "+err.Error())
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(left)) {
		s.warn([]string{name}, "Server still has sessions", fmt.Sprintf(
			"%d of its sessions had not ended after %s (drain_timeout). They go on undisturbed, and no new ones come: virtcluster_haproxy_status tells when the last one is over.",
			left[name], s.patience))
	}
	return err
}

func (s *store) warn(servers []string, summary, detail string) {
	for _, name := range servers {
		s.warnings = append(s.warnings, service.Warningf([]any{"servers", service.Key(name), "state"}, summary, "%s", detail))
	}
}

// Warnings implements crud.Warner.
func (s *store) Warnings() []service.Problem { return append(s.Part.Warnings(), s.warnings...) }
