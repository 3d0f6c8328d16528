package network

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor/netspec"
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
	addresses := func(start string) *netspec.DHCP {
		return &netspec.DHCP{Ranges: []netspec.Range{{Start: netip.MustParseAddr(start), End: netip.MustParseAddr(start)}}}
	}
	tftp := netspec.PXE{TFTPRoot: "/srv/tftp"}
	for name, one := range map[string]struct {
		network netspec.Network
		alone   bool
	}{
		"no TFTP":             {netspec.Network{}, false},
		"no DHCP":             {netspec.Network{PXE: tftp}, true},
		"reservations only":   {netspec.Network{PXE: tftp, DHCP: &netspec.DHCP{}}, true},
		"addresses of IPv6":   {netspec.Network{PXE: tftp, DHCP: addresses("fd00::9")}, true},
		"addresses of IPv4":   {netspec.Network{PXE: tftp, DHCP: addresses("10.0.0.9")}, false},
		"addresses, not TFTP": {netspec.Network{DHCP: addresses("10.0.0.9")}, false},
	} {
		if tftpAlone(one.network) != one.alone {
			t.Errorf("%s: %t", name, !one.alone)
		}
	}
}
