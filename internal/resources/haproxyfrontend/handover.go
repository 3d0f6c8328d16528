package haproxyfrontend

import (
	"context"
	"net/netip"

	"github.com/hashicorp/terraform-plugin-log/tflog"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/haproxy"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/keepalived"
)

// announced is a frontend that virtual addresses may lead to. Terraform removes what a service node runs before it changes the
// VIP whose member that node was, so the addresses are handed over first.
type announced struct{ *crud.Part[haproxy.Frontend] }

// Delete implements crud.Store.
func (a announced) Delete(ctx context.Context) error {
	if f, err := a.Get(ctx); err == nil {
		if err := keepalived.Yield(ctx, a.Host, listeners(f)); err != nil {
			tflog.Warn(ctx, "Virtual addresses were not handed over before a frontend goes", map[string]any{"frontend": f.Name, "error": err.Error()})
		}
	}
	return a.Part.Delete(ctx)
}

// listeners are the addresses that a frontend listens on.
func listeners(f haproxy.Frontend) []netip.Addr {
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
