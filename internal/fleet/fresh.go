package fleet

import (
	"context"
	"errors"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/sshhost"
)

// FreshHost makes a new connection to a machine that others may be connected to already: the proof that it
// can still be reached. Where the result is an io.Closer, the caller closes it.
func (f *Fleet) FreshHost(ctx context.Context, endpoint string) (host.Host, error) {
	e, err := host.ParseEndpoint(endpoint)
	if err != nil {
		return nil, err
	}
	if e.Scheme != host.SSH {
		return f.Host(ctx, endpoint) // there is no connection that could be lost
	}
	if f.config.Offline {
		return nil, ErrOffline
	}
	if f.config.SSHUnknown {
		return nil, ErrUnknown
	}
	pool := sshhost.NewPool(f.config.SSH)
	h := &freshHost{Host: pool.Host(sshhost.FromEndpoint(e)), pool: pool}
	if err := h.Connect(ctx); err != nil {
		_ = h.Close()
		return nil, err
	}
	return h, nil
}

// freshHost is the only machine of its pool.
type freshHost struct {
	*sshhost.Host
	pool *sshhost.Pool
}

// Close ends the connection, jumps included.
func (h *freshHost) Close() error { return errors.Join(h.Host.Close(), h.pool.Close()) }
