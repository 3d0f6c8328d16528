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
	if h, ok := f.hosts[e.String()]; ok {
		return h, nil
	}
	var h host.Host
	switch e.Scheme {
	case host.Local:
		h = localhost.New()
	case host.Agent:
		h = agenthost.New(e.Machine(), agent)
	default:
		h = f.pool().Host(sshhost.FromEndpoint(e))
	}
	f.hosts[e.String()] = h
	return h, nil
}

// pool is what all SSH connections have in common. The mutex is held.
func (f *Fleet) pool() *sshhost.Pool {
	if f.ssh == nil {
		f.ssh = sshhost.NewPool(f.config.SSH)
	}
	return f.ssh
}

// Close ends all connections to machines.
func (f *Fleet) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	var errs []error
	for _, h := range f.hosts {
		if c, ok := h.(interface{ Close() error }); ok {
			errs = append(errs, c.Close())
		}
	}
	clear(f.hosts)
	if f.ssh != nil {
		errs = append(errs, f.ssh.Close())
	}
	return errors.Join(errs...)
}

// Meet connects to a machine that may not be known yet, and pins it: the id it returns is the endpoint with
// the fingerprint of the host key, and a Host by that id accepts no other key. hostKey is what `host_key`
// takes, "" for whatever known_hosts says or, where it says nothing, the key that the machine shows.
func (f *Fleet) Meet(ctx context.Context, endpoint, hostKey string) (id string, h host.Host, err error) {
	e, err := host.ParseEndpoint(endpoint)
	if err != nil {
		return "", nil, err
	}
	if e.Scheme != host.SSH {
		h, err := f.Host(ctx, endpoint)
		if err == nil {
			_, err = h.Run(ctx, host.Cmd{Argv: []string{"true"}, Repeatable: true})
		}
		return e.String(), h, err
	}
	if hostKey != "" {
		if e.HostKey, err = sshhost.Fingerprint(hostKey); err != nil {
			return "", nil, err
		}
	}
	target := sshhost.FromEndpoint(e)
	target.FirstUse = true
	f.mu.Lock()
	met := f.pool().Host(target)
	f.mu.Unlock()
	if e.HostKey, err = met.Pin(ctx); err == nil {
		_, err = met.Run(ctx, host.Cmd{Argv: []string{"true"}, Repeatable: true})
	}
	if err != nil {
		return "", nil, errors.Join(err, met.Close())
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if known, ok := f.hosts[e.String()]; ok {
		return e.String(), known, met.Close()
	}
	f.hosts[e.String()] = met
	tflog.Info(ctx, fmt.Sprintf("pinned the host key of %s: %s", met, e.HostKey))
	return e.String(), met, nil
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
