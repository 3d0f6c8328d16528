package network

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/network"
)

func TestTFTPNeedsDHCPOnAnOldLibvirt(t *testing.T) {
	for version, warns := range map[string]bool{"8.0.0": true, "8.4.9": true, "8.5.0": false, "9.0.0": false, "11.3.0": false} {
		c := check{resp: &resource.ModifyPlanResponse{}}
		c.warnOfTFTP(hypervisor.Host{Hostname: "kvm1", Libvirt: version})
		found := c.resp.Diagnostics.Warnings()
		if len(found) > 0 != warns || warns && !strings.Contains(found[0].Detail(), "libvirt "+version+" on kvm1") {
			t.Errorf("libvirt %s: %v", version, found)
		}
	}
}

func TestTFTPAlone(t *testing.T) {
	addresses := func(start string) *network.DHCP {
		return &network.DHCP{Ranges: []network.Range{{Start: netip.MustParseAddr(start), End: netip.MustParseAddr(start)}}}
	}
	tftp := network.PXE{TFTPRoot: "/srv/tftp"}
	for name, one := range map[string]struct {
		network network.Definition
		alone   bool
	}{
		"no TFTP":             {network.Definition{}, false},
		"no DHCP":             {network.Definition{PXE: tftp}, true},
		"reservations only":   {network.Definition{PXE: tftp, DHCP: &network.DHCP{}}, true},
		"addresses of IPv6":   {network.Definition{PXE: tftp, DHCP: addresses("fd00::9")}, true},
		"addresses of IPv4":   {network.Definition{PXE: tftp, DHCP: addresses("10.0.0.9")}, false},
		"addresses, not TFTP": {network.Definition{DHCP: addresses("10.0.0.9")}, false},
	} {
		if tftpAlone(one.network) != one.alone {
			t.Errorf("%s: %t", name, !one.alone)
		}
	}
}
