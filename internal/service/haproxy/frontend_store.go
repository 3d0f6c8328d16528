package haproxy

import (
	"context"
	"net/netip"
	"sync"

	"github.com/hashicorp/terraform-plugin-log/tflog"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/keepalived"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/part"
)

// FrontendStore is a crud.Store of a frontend that virtual addresses may lead to. Terraform removes what a service node runs before it
// changes the VIP whose member that node was, so the addresses are handed over first. Where the frontends come back in the same run, so do
// the addresses.
type FrontendStore struct {
	*part.Part[Frontend]
	removals  *Removals
	handOvers *keepalived.HandOvers
}

// NewFrontendPart returns the part of the configuration that a frontend is.
func NewFrontendPart(of part.Identity) part.Part[Frontend] {
	return newProxyPart("frontend", of, FindFrontend)
}

// NewFrontendStore returns the store of a frontend whose part is opened, with what its run has removed and handed over.
func NewFrontendStore(p *part.Part[Frontend], removals *Removals, handOvers *keepalived.HandOvers) *FrontendStore {
	return &FrontendStore{Part: p, removals: removals, handOvers: handOvers}
}

// Delete implements crud.Store.
func (s *FrontendStore) Delete(ctx context.Context) error {
	if f, err := s.Get(ctx); err == nil {
		ordered, err := s.handOvers.Yield(ctx, s.Host, f.ListListeners())
		if err != nil {
			tflog.Warn(ctx, "Virtual addresses were not handed over before a frontend goes", map[string]any{"frontend": f.Name, "error": err.Error()})
		}
		s.removals.noteRemoval(s.Host.String(), f.Name, ordered)
	}
	return s.Part.Delete(ctx)
}

// Create implements crud.Store.
func (s *FrontendStore) Create(ctx context.Context, want Frontend) (Frontend, error) {
	got, err := s.Part.Create(ctx, want)
	if err == nil && s.removals.noteReturn(s.Host.String(), want.Name) {
		if err := s.handOvers.Resume(ctx, s.Host); err != nil { // it ends by itself later
			tflog.Warn(ctx, "Virtual addresses were not taken back after frontends came back", map[string]any{"frontend": want.Name, "error": err.Error()})
		}
	}
	return got, err
}

// Removals are the frontends that a run has removed, by machine. The zero value has none.
type Removals struct {
	mu       sync.Mutex
	machines map[string]*removal
}

type removal struct {
	names map[string]bool
	// handsOver is set where the machine handed virtual addresses over for one of them.
	handsOver bool
}

// noteRemoval notes that a frontend goes, and whether its machine hands addresses over for that.
func (r *Removals) noteRemoval(machine, name string, handsOver bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.machines == nil {
		r.machines = map[string]*removal{}
	}
	if r.machines[machine] == nil {
		r.machines[machine] = &removal{names: map[string]bool{}}
	}
	gone := r.machines[machine]
	gone.names[name] = true
	gone.handsOver = gone.handsOver || handsOver
}

// noteReturn notes that a frontend is there, and says whether it was the last one that a machine missed which handed addresses over.
func (r *Removals) noteReturn(machine, name string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	gone := r.machines[machine]
	if gone == nil {
		return false
	}
	if delete(gone.names, name); len(gone.names) > 0 {
		return false
	}
	delete(r.machines, machine)
	return gone.handsOver
}

// ListListeners returns the addresses that a frontend listens on.
func (f Frontend) ListListeners() []netip.Addr {
	var all []netip.Addr
	for _, b := range f.Binds {
		if b.Wildcard() {
			all = append(all, netip.IPv6Unspecified())
		} else if a, err := netip.ParseAddr(b.Address); err == nil {
			all = append(all, a)
		}
	}
	return all
}
