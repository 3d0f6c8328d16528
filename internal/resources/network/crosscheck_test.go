package network

import (
	"net/netip"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/fleet"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor/netspec"
)

func TestNetworksOfOneNameOnTwoHypervisorsHaveRangesOfTheirOwn(t *testing.T) {
	f := fleet.New(fleet.Config{})
	for host, last := range map[string]string{"": "10.0.0.9", "kvm2": "10.0.1.9", "kvm3": "10.0.2.9"} {
		end := netip.MustParseAddr(last)
		c := check{
			fleet: f, planned: &model{Name: types.StringValue("n"), Hypervisor: types.StringValue(host)},
			want: netspec.Network{Name: "n", DHCP: &netspec.DHCP{Ranges: []netspec.Range{{Start: end.Prev(), End: end}}}},
			resp: &resource.ModifyPlanResponse{},
		}
		c.claim(t.Context())
		if c.resp.Diagnostics.HasError() {
			t.Fatal(c.resp.Diagnostics)
		}
	}
	for _, address := range []string{"10.0.0.9", "10.0.1.9", "10.0.2.9"} {
		if found := f.Ranges.ReplaceVirtual("a VIP", netip.MustParseAddr(address)); len(found) != 1 {
			t.Errorf("%s is in %v, which is to be one network's range", address, found)
		}
	}
}
