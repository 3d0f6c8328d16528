package fleet

import (
	"context"
	"errors"
	"fmt"

	"github.com/hashicorp/terraform-plugin-log/tflog"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/agenthost"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/localhost"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/sshhost"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
)

// Host returns the machine that an endpoint or a service node's id names: always the same one for the same
// name, so that everything on one machine shares one connection and takes the same locks. It does not
// connect; the machine does, on first use.
func (f *Fleet) Host(ctx context.Context, endpoint string) (host.Host, error) {
	e, err := host.ParseEndpoint(endpoint)
	if err != nil {
		return nil, err
	}
	if e.Scheme == host.SSH && f.config.SSHUnknown {
		return nil, ErrUnknown
	}
	if f.config.Offline {
		return nil, ErrOffline
	}
	var agent agenthost.Agent
	if e.Scheme == host.Agent {
		hv, err := f.Hypervisor(ctx, e.Host)
		if err != nil {
			return nil, fmt.Errorf("endpoint %q: %w", e, err)
		}
		agent = hv.GuestAgent(e.Domain)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if h, ok := f.hosts[e.Reference()]; ok {
		return h, narrowHostKey(h, e)
	}
	if f.coming[e.Reference()] && isPlanning(ctx) {
		return nil, &NotReadyYetError{Machine: e.Machine()}
	}
	var h host.Host
	switch e.Scheme {
	case host.Local:
		h = localhost.New()
	case host.Agent:
		h = agenthost.New(e.Machine(), agent)
	default:
		h = f.sshPool().Host(sshhost.FromEndpoint(e))
	}
	f.hosts[e.Reference()] = h
	return h, nil
}

// narrowHostKey has a machine that is known already show what an endpoint says of its host key, where that says more.
func narrowHostKey(h host.Host, e host.Endpoint) error {
	if pinned, ok := h.(*sshhost.Host); ok && e.HostKey != "" {
		return pinned.Narrow(e.HostKey)
	}
	return nil
}

// sshPool is what all SSH connections have in common. The mutex is held.
func (f *Fleet) sshPool() *sshhost.Pool {
	if f.ssh == nil {
		f.ssh = sshhost.NewPool(f.config.SSH)
	}
	return f.ssh
}

// Close ends all connections, to machines and to hypervisors.
func (f *Fleet) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	var errs []error
	for _, n := range f.northbound {
		n.Close()
	}
	clear(f.northbound)
	for _, h := range f.hosts {
		if c, ok := h.(interface{ Close() error }); ok {
			errs = append(errs, c.Close())
		}
	}
	clear(f.hosts)
	for _, c := range f.hypervisors {
		c.Close()
	}
	clear(f.hypervisors)
	if f.ssh != nil {
		errs = append(errs, f.ssh.Close())
	}
	return errors.Join(errs...)
}

// Meet connects to a machine that may not be known yet, and pins it: the endpoint that it returns has the whole fingerprint of the
// host key, where there is one, and the Host accepts no other key. hostKey is what `host_key` takes, "" for whatever the endpoint
// says, or known_hosts, or, where neither says anything, the key that the machine shows.
func (f *Fleet) Meet(ctx context.Context, endpoint, hostKey string) (e host.Endpoint, h host.Host, err error) {
	if e, err = host.ParseEndpoint(endpoint); err != nil {
		return e, nil, err
	}
	if e.Scheme != host.SSH {
		h, err := f.Host(ctx, endpoint)
		if err == nil {
			_, err = h.Run(ctx, host.Cmd{Argv: []string{"true"}, Repeatable: true})
		}
		return e, h, err
	}
	if f.config.Offline {
		return host.Endpoint{}, nil, ErrOffline
	}
	if f.config.SSHUnknown {
		return host.Endpoint{}, nil, ErrUnknown
	}
	if hostKey != "" {
		if e.HostKey, err = sshhost.WholePin(hostKey); err != nil {
			return e, nil, err
		}
	}
	target := sshhost.FromEndpoint(e)
	target.FirstUse = true
	f.mu.Lock()
	met := f.sshPool().Host(target)
	f.mu.Unlock()
	if e.HostKey, err = met.Pin(ctx); err == nil {
		_, err = met.Run(ctx, host.Cmd{Argv: []string{"true"}, Repeatable: true})
	}
	if err != nil {
		return e, nil, errors.Join(err, met.Close())
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if known, ok := f.hosts[e.Reference()]; ok {
		return e, known, errors.Join(narrowHostKey(known, e), met.Close())
	}
	f.hosts[e.Reference()] = met
	tflog.Info(ctx, fmt.Sprintf("pinned the host key of %s: %s", met, e.HostKey))
	return e, met, nil
}

// Temporary says of an error to reach a machine whether it may pass by itself, and whether soon or never: a
// machine that boots refuses connections first, and logins until its user is made.
func Temporary(err error) (again, brief bool) {
	if _, ok := errors.AsType[*sshhost.HostKeyError](err); ok {
		return false, false
	}
	if _, ok := errors.AsType[*sshhost.AuthError](err); ok {
		return true, true
	}
	if _, ok := errors.AsType[*host.RootError](err); ok {
		return true, true
	}
	if _, ok := errors.AsType[*hypervisor.UnreachableError](err); ok || hypervisor.IsNotFound(err) {
		return false, false
	}
	if _, ok := errors.AsType[*agenthost.AgentError](err); ok {
		return true, false
	}
	if _, ok := errors.AsType[*sshhost.ConnectError](err); ok || errors.Is(err, host.ErrCut) {
		return true, false
	}
	return false, false
}

// ShowsUnknownKey says whether an error is that of a machine which is there and shows a host key that nobody knows.
func ShowsUnknownKey(err error) bool {
	key, shown := errors.AsType[*sshhost.HostKeyError](err)
	return shown && key.Unknown()
}

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
