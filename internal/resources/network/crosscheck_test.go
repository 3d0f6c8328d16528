package network

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/planregistry"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/network"
)

func TestNetworksOfOneNameOnTwoHypervisorsHaveRangesOfTheirOwn(t *testing.T) {
	registry := &planregistry.Registry{}
	for host, last := range map[string]string{"": "10.0.0.9", "kvm2": "10.0.1.9", "kvm3": "10.0.2.9"} {
		end := netip.MustParseAddr(last)
		c := check{
			registry: registry, planned: &model{Name: types.StringValue("n"), Hypervisor: types.StringValue(host)},
			want: network.Definition{Name: "n", DHCP: &network.DHCP{Ranges: []network.Range{{Start: end.Prev(), End: end}}}},
			resp: &resource.ModifyPlanResponse{},
		}
		c.layClaims(t.Context())
		if c.resp.Diagnostics.HasError() {
			t.Fatal(c.resp.Diagnostics)
		}
	}
	for _, address := range []string{"10.0.0.9", "10.0.1.9", "10.0.2.9"} {
		if found := registry.Ranges.ReplaceVirtual("a VIP", netip.MustParseAddr(address)); len(found) != 1 {
			t.Errorf("%s is in %v, which is to be one network's range", address, found)
		}
	}
}

func TestALostRouteWarnsOfTheRestartThatPutsItBack(t *testing.T) {
	want := network.Spec{State: network.State{Active: true}, Definition: network.Definition{Name: "n", Mode: network.NAT,
		Routes: []network.StaticRoute{{Destination: netip.MustParsePrefix("10.128.0.0/14"), Via: netip.MustParseAddr("10.0.0.1")}}}}
	was := want
	was.Routes = nil
	for prior, warnings := range map[*network.Spec]int{&was: 1, &want: 0} {
		resp := &resource.ModifyPlanResponse{}
		warnOfRestart(resp, "n", *prior, want)
		if resp.Diagnostics.WarningsCount() != warnings {
			t.Fatalf("%v instead of %d warnings", resp.Diagnostics, warnings)
		}
		if warnings > 0 && !strings.Contains(resp.Diagnostics[0].Detail(), "cannot change routes of a running network") {
			t.Error(resp.Diagnostics)
		}
	}
}
