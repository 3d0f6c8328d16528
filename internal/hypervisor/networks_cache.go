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
