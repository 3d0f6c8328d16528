package fleet

import (
	"context"
	"fmt"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/ovn"
)

// Northbound returns OVN's northbound database of the machine that an endpoint names: always the same one for the same machine. It
// connects on first use, and again when the connection broke.
func (f *Fleet) Northbound(ctx context.Context, endpoint string) (*ovn.Northbound, error) {
	e, err := host.ParseEndpoint(endpoint)
	if err != nil {
		return nil, err
	}
	h, err := f.Host(ctx, endpoint)
	if err != nil {
		return nil, err
	}
	m, ok := h.(ovn.Machine)
	if !ok {
		return nil, fmt.Errorf("the databases of %s cannot be asked: they are reached by SSH, or on this machine", h)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	n, ok := f.northbound[e.Reference()]
	if !ok {
		n = ovn.NewNorthbound(m)
		f.northbound[e.Reference()] = n
	}
	return n, nil
}
