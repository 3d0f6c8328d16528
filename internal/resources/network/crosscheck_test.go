package network

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/network"
)

func TestALostRouteWarnsOfTheRestartThatPutsItBack(t *testing.T) {
	t.Parallel()
	want := network.Spec{State: network.State{Active: true}, Definition: network.Definition{Name: "n", Mode: network.NAT,
		Routes: []network.StaticRoute{{Destination: netip.MustParsePrefix("10.128.0.0/14"), Via: netip.MustParseAddr("10.0.0.1")}}}}
	was := want
	was.Routes = nil
	for prior, warnings := range map[*network.Spec]int{&was: 1, &want: 0} {
		t.Run(fmt.Sprintf("%d routes", len(prior.Routes)), func(t *testing.T) {
			resp := &resource.ModifyPlanResponse{}
			warnOfRestart(resp, "n", *prior, want)
			if resp.Diagnostics.WarningsCount() != warnings {
				t.Fatalf("%v instead of %d warnings", resp.Diagnostics, warnings)
			}
			if warnings > 0 && !strings.Contains(resp.Diagnostics[0].Detail(), "cannot change routes of a running network") {
				t.Error(resp.Diagnostics)
			}
		})
	}
}
