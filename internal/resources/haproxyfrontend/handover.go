package haproxyfrontend

import (
	"context"
	"net/netip"
	"sync"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-log/tflog"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	planuses "github.com/virtcluster/terraform-provider-virtcluster/internal/plan"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/haproxy"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/keepalived"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/part"
)

// announced is a frontend that virtual addresses may lead to. Terraform removes what a service node runs before it changes the
// VIP whose member that node was, so the addresses are handed over first. Where the frontends come back in the same run, so do the
// addresses.
type announced struct{ *part.Part[haproxy.Frontend] }

// planRemoval has the VIPs of the plan know that a frontend goes.
func planRemoval(ctx context.Context, at crud.Opening, m *model, _ bool) diag.Diagnostics {
	if f, diags := m.toSpec(ctx); !diags.HasError() && !m.ServiceNode.IsUnknown() {
		for _, a := range listenAddresses(f) {
			at.Ledger.Note(planuses.Use{Verb: planuses.Gives, Kind: planuses.RemovedListener, On: host.WithoutKey(m.ServiceNode.ValueString()), Value: a.String()})
		}
	}
	return nil
}

// Delete implements crud.Store.
func (a announced) Delete(ctx context.Context) error {
	if f, err := a.Get(ctx); err == nil {
		ordered, err := keepalived.Yield(ctx, a.Host, listenAddresses(f))
		if err != nil {
			tflog.Warn(ctx, "Virtual addresses were not handed over before a frontend goes", map[string]any{"frontend": f.Name, "error": err.Error()})
		}
		removed.noteRemoval(a.Host.String(), f.Name, ordered)
	}
	return a.Part.Delete(ctx)
}

// Create implements crud.Store.
func (a announced) Create(ctx context.Context, want haproxy.Frontend) (haproxy.Frontend, error) {
	got, err := a.Part.Create(ctx, want)
	if err == nil && removed.noteReturn(a.Host.String(), want.Name) {
		if err := keepalived.Resume(ctx, a.Host); err != nil { // it ends by itself later
			tflog.Warn(ctx, "Virtual addresses were not taken back after frontends came back", map[string]any{"frontend": want.Name, "error": err.Error()})
		}
	}
	return got, err
}

// removed are the frontends that this run has removed.
var removed removals

// removals are frontends that are gone, by machine.
type removals struct {
	sync.Mutex
	machines map[string]*removal
}

type removal struct {
	names map[string]bool
	// handsOver is set where the machine handed virtual addresses over for one of them.
	handsOver bool
}

// noteRemoval notes that a frontend goes, and whether its machine hands addresses over for that.
func (r *removals) noteRemoval(machine, name string, handsOver bool) {
	r.Lock()
	defer r.Unlock()
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
func (r *removals) noteReturn(machine, name string) bool {
	r.Lock()
	defer r.Unlock()
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

// listenAddresses are the addresses that a frontend listens on.
func listenAddresses(f haproxy.Frontend) []netip.Addr {
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
