package machine

import (
	"context"

	"github.com/hashicorp/terraform-plugin-log/tflog"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
)

// releaseLeases gives back what a network's DHCP gave to the interfaces of a machine that is gone: until its lease runs out,
// whoever gets its address next is given another one. A hypervisor on which that cannot be done lets them run out.
func releaseLeases(ctx context.Context, c *hypervisor.Client, interfaces []Interface) {
	for _, i := range interfaces {
		if err := c.ReleaseLeases(ctx, i.Network, i.MAC); err != nil {
			tflog.Warn(ctx, "the leases of a machine that is gone run on until their time is over", map[string]any{"network": i.Network, "mac": i.MAC, "reason": err.Error()})
		}
	}
}
