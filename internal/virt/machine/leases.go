package machine

import (
	"context"

	"github.com/hashicorp/terraform-plugin-log/tflog"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
)

// releaseLeases gives back the addresses that DHCP leased to the interfaces of a machine that is gone. Until a lease runs out,
// DHCP would give another address to the machine that gets the address next. Where a hypervisor cannot release leases, they run
// out.
func releaseLeases(ctx context.Context, c *hypervisor.Client, interfaces []Interface) {
	for _, i := range interfaces {
		if err := c.ReleaseLeases(ctx, i.Network, i.MAC); err != nil {
			tflog.Warn(ctx, "the leases of a machine that is gone run on until their time is over", map[string]any{"network": i.Network, "mac": i.MAC, "reason": err.Error()})
		}
	}
}
