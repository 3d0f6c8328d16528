package network

import (
	"context"
	"fmt"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/network"
)

// tftpAlone says that the network serves TFTP and gives out no addresses of that family by itself.
func tftpAlone(n network.Definition) bool {
	return n.PXE.TFTPRoot != "" && (n.DHCP == nil || !slices.ContainsFunc(n.DHCP.Ranges, func(r network.Range) bool { return r.Start.Is4() }))
}

// unservedTFTP warns where the hypervisor's libvirt would leave the network's TFTP server out and not say so. A
// reservation is enough for it to serve, and may come from anywhere, so this is no error.
func (c *check) unservedTFTP(ctx context.Context, client *hypervisor.Client) error {
	if !tftpAlone(c.want) || tftpAlone(c.was) || !known(ctx, c.planned.PXE) || !known(ctx, c.planned.DHCP) {
		return nil
	}
	host, err := client.Host(ctx)
	if err != nil {
		return err
	}
	c.warnOfTFTP(host)
	return nil
}

func (c *check) warnOfTFTP(host hypervisor.Host) {
	if host.HasLibvirt(8, 5) {
		return
	}
	c.resp.Diagnostics.AddAttributeWarning(path.Root("pxe").AtName("tftp_root"), "TFTP without DHCP", fmt.Sprintf(
		"libvirt %s on %s serves TFTP only on a network that gives out IPv4 addresses; before version 8.5 it leaves out the TFTP server of any other, and says nothing. Write dhcp.ranges, reserve an address on the network, or use a newer libvirt.",
		host.Libvirt, host.Hostname))
}
