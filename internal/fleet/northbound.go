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
	m, err := f.databaseMachine(ctx, endpoint)
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	n, ok := f.northbound[e.Reference()]
	if !ok {
		n = ovn.NewNorthbound(m, f.databaseMachine)
		f.northbound[e.Reference()] = n
	}
	return n, nil
}

// databaseMachine returns the machine that an endpoint names as one whose databases are asked.
func (f *Fleet) databaseMachine(ctx context.Context, endpoint string) (ovn.Machine, error) {
	h, err := f.Host(ctx, endpoint)
	if err != nil {
		return nil, err
	}
	m, ok := h.(ovn.Machine)
	if !ok {
		return nil, fmt.Errorf("the databases of %s cannot be asked: they are reached by SSH, or on this machine", h)
	}
	return m, nil
}

// Databases returns the endpoints of the machines that have databases of OVN in clusters, as far as they are known, by the reference of the machine by
// which they are.
func (f *Fleet) Databases() map[string][]string {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := map[string][]string{}
	for reference, n := range f.northbound {
		if members := n.Members(); members != nil {
			all[reference] = members
		}
	}
	return all
}

// LearnDatabases notes what Databases returned before, where nothing is known by now.
func (f *Fleet) LearnDatabases(ctx context.Context, known map[string][]string) {
	for reference, members := range known {
		if n, err := f.Northbound(ctx, reference); err == nil {
			n.LearnMembers(members)
		}
	}
}

// NorthboundOnly returns the way to the northbound databases of one machine, by a reference to it that the configuration has, and to none of others: what
// a mark names is not asked, as anybody may have written it.
func (f *Fleet) NorthboundOnly(trusted string) func(ctx context.Context, at string) (*ovn.Northbound, error) {
	return func(ctx context.Context, at string) (*ovn.Northbound, error) {
		if !host.SameReference(at, trusted) {
			return nil, nil
		}
		return f.Northbound(ctx, trusted)
	}
}
