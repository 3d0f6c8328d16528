package network

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
)

func TestTFTPNeedsDHCPOnAnOldLibvirt(t *testing.T) {
	for version, warns := range map[string]bool{"8.0.0": true, "8.4.9": true, "8.5.0": false, "9.0.0": false, "11.3.0": false} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			found := warnOfUnservedTFTP(hypervisor.Host{Hostname: "kvm1", Libvirt: version})
			if len(found) > 0 != warns || warns && (!found[0].Warning || !strings.Contains(found[0].Detail, "libvirt "+version+" on kvm1")) {
				t.Errorf("libvirt %s: %v", version, found)
			}
		})
	}
}

func TestTFTPAlone(t *testing.T) {
	addresses := func(start string) *DHCP {
		return &DHCP{Ranges: []Range{{Start: netip.MustParseAddr(start), End: netip.MustParseAddr(start)}}}
	}
	tftp := PXE{TFTPRoot: "/srv/tftp"}
	for name, one := range map[string]struct {
		network Definition
		alone   bool
	}{
		"no TFTP":             {Definition{}, false},
		"no DHCP":             {Definition{PXE: tftp}, true},
		"reservations only":   {Definition{PXE: tftp, DHCP: &DHCP{}}, true},
		"addresses of IPv6":   {Definition{PXE: tftp, DHCP: addresses("fd00::9")}, true},
		"addresses of IPv4":   {Definition{PXE: tftp, DHCP: addresses("10.0.0.9")}, false},
		"addresses, not TFTP": {Definition{DHCP: addresses("10.0.0.9")}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if one.network.servesTFTPAlone() != one.alone {
				t.Errorf("%s: %t", name, !one.alone)
			}
		})
	}
}
