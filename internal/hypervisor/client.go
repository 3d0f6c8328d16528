// Package hypervisor is libvirt in typed calls: networks, domains, pools, volumes. go-libvirt is imported
// here and nowhere else; the rest of the provider speaks libvirtxml.
package hypervisor

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/digitalocean/go-libvirt"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/sshhost"
)

// Client is one hypervisor. It connects on first use and again when the connection broke, and is safe for
// concurrent use. All calls share one connection, on which libvirt answers several at a time.
type Client struct {
	uri    string
	target target
	ssh    sshhost.Options
	remote *sshhost.Host // the machine, for qemu+ssh; else nil

	mu      sync.Mutex
	live    *libvirt.Libvirt
	attempt *attempt // the running attempt to connect, which everyone waits for
	// connected is set once a connection was made: from then on an absent daemon is taken for one that is
	// being restarted, and waited for.
	connected bool

	refusals refusals

	networkLocks sync.Map // network's UUID → *sync.Mutex
	// bridgeNames is held where libvirt chooses the name of a bridge: it gives two networks that are defined at one time
	// the same.
	bridgeNames sync.Mutex
	plan        planCache
	shared      sync.Map // see Shared
	others      func(context.Context) []*Client
}

// New parses the URI; it does not connect.
func New(uri string, ssh sshhost.Options) (*Client, error) {
	t, err := parseURI(uri)
	if err != nil {
		return nil, err
	}
	remote, err := t.parseRemoteMachine(ssh)
	if err != nil {
		return nil, fmt.Errorf("invalid libvirt URI %q: %w", uri, err)
	}
	return &Client{uri: uri, target: t, ssh: ssh, remote: remote}, nil
}

// Shared returns what those who use the client have in common for a purpose: fresh, where nobody asked for it before. key is of a type that
// a package keeps to itself.
func (c *Client) Shared(key, fresh any) any {
	v, _ := c.shared.LoadOrStore(key, fresh)
	return v
}

// Among has the client know how to list the other hypervisors of its provider.
func (c *Client) Among(others func(context.Context) []*Client) { c.others = others }

// ListOthers lists the other hypervisors of the client's provider, but those that are lost. Two of them, or one and the client, may be one machine by two names.
func (c *Client) ListOthers(ctx context.Context) []*Client {
	if c.others == nil {
		return nil
	}
	return c.others(ctx)
}

// URI is the hypervisor's URI as it was given.
func (c *Client) URI() string { return c.uri }

// Local says whether the hypervisor's own machine is this one.
func (c *Client) Local() bool { return c.target.transport == "unix" }

// Close ends the connection; the next call makes a new one.
func (c *Client) Close() {
	c.mu.Lock()
	l := c.live
	c.live = nil
	c.mu.Unlock()
	if l != nil {
		// The daemon may be gone already, and then there is nobody to say goodbye to.
		_ = l.Disconnect()
	}
}

// TestDriver says whether the hypervisor is libvirt's test driver, which has no machine and no devices.
func (c *Client) TestDriver() bool { return strings.HasPrefix(c.target.remoteURI, "test:") }

// planFor is how long a plan's answers may be shared among the resources that ask the same within one plan.
const planFor = 3 * time.Second

// planCache holds what a plan's cross-checks ask again and again.
type planCache struct {
	networks   shared[[]*Network]
	routes     shared[[]HostRoute]
	interfaces shared[[]Interface]
}

// shared is an answer that those who ask within a few seconds share.
type shared[T any] struct {
	mu  sync.Mutex
	got T
	at  time.Time
}

// askAgain returns the answer, asked for anew where it is old.
func (s *shared[T]) askAgain(ask func() (T, error)) (T, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Since(s.at) < planFor {
		return s.got, nil
	}
	got, err := ask()
	if err == nil {
		s.got, s.at = got, time.Now()
	}
	return got, err
}

func (s *shared[T]) forgetAnswer() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.at = time.Time{}
}

// PlanNetworks is Networks for cross-checks at plan time: an answer is shared for a few seconds, and forgotten
// when this process changes a network.
func (c *Client) PlanNetworks(ctx context.Context) ([]*Network, error) {
	return c.plan.networks.askAgain(func() ([]*Network, error) { return c.Networks(ctx) })
}

// PlanInterfaces is RunningInterfaces for checks that many resources make at one time; the answer is shared as
// PlanNetworks' is.
func (c *Client) PlanInterfaces(ctx context.Context) ([]Interface, error) {
	return c.plan.interfaces.askAgain(func() ([]Interface, error) { return c.RunningInterfaces(ctx) })
}

// SharedNetwork is Network for what many resources read at one time; the answer is shared as PlanNetworks' is, and not to be
// changed.
func (c *Client) SharedNetwork(ctx context.Context, nameOrUUID string) (*Network, error) {
	all, err := c.PlanNetworks(ctx)
	if err != nil {
		return nil, err
	}
	for _, n := range all {
		if n.Name == nameOrUUID || n.UUID == nameOrUUID {
			return n, nil
		}
	}
	return c.Network(ctx, nameOrUUID) // made since, or not there at all
}

// ForgetPlan drops the answers that are shared: something was changed.
func (c *Client) ForgetPlan() {
	c.plan.networks.forgetAnswer()
	c.plan.routes.forgetAnswer()
	c.plan.interfaces.forgetAnswer()
}
