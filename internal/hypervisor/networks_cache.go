package hypervisor

import (
	"context"
	"sync"
	"time"
)

// planFor is how long a plan's answers may be shared among the resources that ask the same within one plan.
const planFor = 3 * time.Second

// planCache holds what a plan's cross-checks ask again and again.
type planCache struct {
	mu           sync.Mutex
	networks     []*Network
	at           time.Time
	routes       []HostRoute
	routesAt     time.Time
	interfaces   []Interface
	interfacesAt time.Time
}

// PlanNetworks is Networks for cross-checks at plan time: an answer is shared for a few seconds, and forgotten
// when this process changes a network.
func (c *Client) PlanNetworks(ctx context.Context) ([]*Network, error) {
	c.plan.mu.Lock()
	defer c.plan.mu.Unlock()
	if time.Since(c.plan.at) < planFor {
		return c.plan.networks, nil
	}
	all, err := c.Networks(ctx)
	if err != nil {
		return nil, err
	}
	c.plan.networks, c.plan.at = all, time.Now()
	return all, nil
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
	c.plan.mu.Lock()
	defer c.plan.mu.Unlock()
	c.plan.networks, c.plan.at, c.plan.routesAt, c.plan.interfacesAt = nil, time.Time{}, time.Time{}, time.Time{}
}
