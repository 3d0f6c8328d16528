package network

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/network"
)

// sample is a network with a value in every nested attribute.
func sample() network.Spec {
	lease := int64(3600)
	address := netip.MustParseAddr
	return network.Spec{
		Definition: network.Definition{
			Name: "n", Mode: network.NAT, Bridge: "br0", Subnet: netip.MustParsePrefix("10.0.0.0/24"), Gateway: address("10.0.0.254"),
			Subnet6: netip.MustParsePrefix("fd00::/64"), Gateway6: address("fd00::1"), NAT6: true, Domain: "okd.example", MTU: 1400,
			DHCP: &network.DHCP{Ranges: []network.Range{{Start: address("10.0.0.10"), End: address("10.0.0.20")}, {Start: address("10.0.0.30"), End: address("10.0.0.40")}}, LeaseSeconds: &lease, Options: map[string]string{"42": "10.0.0.1"}},
			DNS: network.DNS{LocalOnly: true, Forwarders: []network.Forwarder{{Domain: "a.example", Address: address("10.0.0.5")}},
				Hosts: map[netip.Addr][]string{address("10.0.0.9"): {"nine"}}},
			Routes: []network.StaticRoute{{Destination: netip.MustParsePrefix("10.128.0.0/14"), Via: address("10.0.0.1")}},
			PXE:    network.PXE{TFTPRoot: "/srv", BootFile: "x", Server: address("10.0.0.2")},
		},
		State: network.State{Autostart: true, Active: true}, UUID: "u", MAC: "52:54:00:00:00:01",
	}
}

func filled(t *testing.T, m *model, got network.Spec) {
	t.Helper()
	if diags := m.fillModel(context.Background(), got); diags.HasError() {
		t.Fatal(diags)
	}
}

func TestWhatIsReadConvertsBackToTheSame(t *testing.T) {
	t.Parallel()
	for name, got := range map[string]network.Spec{"full": sample(), "least": {Definition: network.Definition{Name: "n", Mode: network.Isolated}}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var m model // as in an import
			filled(t, &m, got)
			back, diags := m.toSpec(t.Context())
			if diags.HasError() || !network.Equal(back.Definition, got.Definition) || back.State != got.State {
				t.Errorf("%s: got %+v, %v", name, back, diags)
			}
		})
	}
}

func TestANetworkThatLostMachinesReadsAsNotActive(t *testing.T) {
	t.Parallel()
	var m model
	filled(t, &m, sample())
	got := sample()
	got.CutOff = []string{"worker-1"}
	diags := m.fillModel(t.Context(), got)
	if m.Active.ValueBool() || diags.WarningsCount() != 1 || !strings.Contains(diags[0].Detail(), "worker-1") {
		t.Errorf("active is %v, %v", m.Active, diags)
	}
	filled(t, &m, sample())
	if !m.Active.ValueBool() {
		t.Error("it stays not active")
	}
}

func TestSpellingsThatMeanTheSameStay(t *testing.T) {
	t.Parallel()
	var m model
	filled(t, &m, sample())
	was := m
	reordered := sample()
	slices.Reverse(reordered.DHCP.Ranges)
	filled(t, &m, reordered)
	if !m.DHCP.Equal(was.DHCP) {
		t.Errorf("got %v", m.DHCP)
	}
	changed := sample()
	changed.Gateway6 = netip.MustParseAddr("fd00::2")
	filled(t, &m, changed)
	if m.IPv6Gateway.ValueString() != "fd00::2" {
		t.Errorf("drift is hidden: %v", m.IPv6Gateway)
	}
	for name, c := range map[string][2]string{
		"gateway": {"10.0.0.1", "::ffff:10.0.0.1"}, "ipv6_cidr": {"fd00::/64", "FD00:0::/64"}, "ipv6_gateway": {"fd00::1", "fd00:0:0::1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			req := planmodifier.StringRequest{ConfigValue: types.StringValue(c[0]), PlanValue: types.StringValue(c[0]), StateValue: types.StringValue(c[1])}
			resp := planmodifier.StringResponse{PlanValue: req.PlanValue}
			for _, m := range networkSchema(t.Context()).Attributes[name].(schema.StringAttribute).PlanModifiers {
				m.PlanModifyString(t.Context(), req, &resp)
			}
			if !resp.PlanValue.Equal(req.StateValue) {
				t.Errorf("%s is planned where the state has %s", resp.PlanValue, req.StateValue)
			}
		})
	}
}

func TestDHCPWithoutRangesIsToldFromNone(t *testing.T) {
	t.Parallel()
	var m model
	got := sample()
	for _, dhcp := range []*network.DHCP{nil, {}, nil} {
		t.Run(fmt.Sprint(dhcp), func(t *testing.T) {
			got.DHCP = dhcp
			filled(t, &m, got)
			if m.DHCP.IsNull() != (dhcp == nil) {
				t.Errorf("%v is read as %v", dhcp, m.DHCP)
			}
		})
	}
}

func TestANoteThatOnlyTheConfigurationHasIsNoDrift(t *testing.T) {
	t.Parallel()
	var m model
	got := sample()
	got.DHCP = &network.DHCP{}
	live := got.Definition
	live.DHCP = nil
	live = network.AlignRunning(live, got.Definition)
	got.Live = &live
	filled(t, &m, got)
	if m.DHCP.IsNull() {
		t.Error("dhcp = {} that was written under a running network is read as null")
	}
}

func TestDriftOfTheRunningNetworkShowsWhereTheConfigurationIsAsAsked(t *testing.T) {
	t.Parallel()
	var m model
	filled(t, &m, sample())
	got, live := sample(), sample().Definition
	live.MTU = 9000
	got.Live = &live
	filled(t, &m, got)
	if m.MTU.ValueInt64() != 9000 {
		t.Errorf("mtu %v", m.MTU)
	}
}

func TestImportIDs(t *testing.T) {
	t.Parallel()
	for id, want := range map[string][3]string{
		"net":                                  {"", "net", ""},
		"kvm2/n":                               {"kvm2", "n", ""},
		"5E1A64AE-0000-4000-8000-00000000A1B2": {"", "", "5e1a64ae-0000-4000-8000-00000000a1b2"},
		"kvm2/5e1a64ae-0000-4000-8000-00000000a1b2": {"kvm2", "", "5e1a64ae-0000-4000-8000-00000000a1b2"},
	} {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			m := model{ID: types.StringValue(id)} // as an import begins
			if err := splitID(&m, id); err != nil {
				t.Error(err)
			}
			if got := [3]string{m.Hypervisor.ValueString(), m.Name.ValueString(), m.ID.ValueString()}; got != want {
				t.Errorf("%s: %q", id, got)
			}
		})
	}
	for _, id := range []string{"", "a/", "a/b/c"} {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			if err := splitID(&model{}, id); err == nil {
				t.Errorf("%q was taken", id)
			}
		})
	}
}

func TestWhatTheKindsOfANetworkRefuse(t *testing.T) {
	attributes := networkSchema(t.Context()).Attributes
	dhcp, dns := attributes["dhcp"].(schema.SingleNestedAttribute).Attributes, attributes["dns"].(schema.SingleNestedAttribute).Attributes
	text := func(of schema.Attribute, v string) diag.Diagnostics {
		var resp validator.StringResponse
		for _, kind := range of.(schema.StringAttribute).Validators {
			kind.ValidateString(t.Context(), validator.StringRequest{ConfigValue: types.StringValue(v)}, &resp)
		}
		return resp.Diagnostics
	}
	number := func(of schema.Attribute, v int64) diag.Diagnostics {
		var resp validator.Int64Response
		for _, kind := range of.(schema.Int64Attribute).Validators {
			kind.ValidateInt64(t.Context(), validator.Int64Request{ConfigValue: types.Int64Value(v)}, &resp)
		}
		return resp.Diagnostics
	}
	collection := func(of schema.Attribute, v types.Map) diag.Diagnostics {
		var resp validator.MapResponse
		for _, kind := range of.(schema.MapAttribute).Validators {
			kind.ValidateMap(t.Context(), validator.MapRequest{ConfigValue: v}, &resp)
		}
		return resp.Diagnostics
	}
	names := types.MapValueMust(types.ListType{ElemType: types.StringType}, map[string]attr.Value{"10.0.0.3": convert.List([]string{"a b"})})
	for name, c := range map[string]struct {
		got  diag.Diagnostics
		want string
	}{
		"unknown mode":            {text(attributes["mode"], "vepa"), `"nat", "route", "open", "isolated", "bridge"`},
		"long bridge":             {text(attributes["bridge"], "abcdefghijklmnop"), "at most 15"},
		"bridge with a space":     {text(attributes["bridge"], "a b"), "name of a network device"},
		"short lease":             {number(dhcp["lease_seconds"], 60), "120"},
		"long lease":              {number(dhcp["lease_seconds"], 1<<32), "write"},
		"option that ends a line": {collection(dhcp["options"], convert.Map(map[string]string{"26": "1\ndhcp-script=/x"})), "one line"},
		"domain":                  {text(attributes["domain"], "a b"), "labels"},
		"host name":               {collection(dns["hosts"], names), "labels"},
		"tiny MTU":                {number(attributes["mtu"], 60), "68"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if !c.got.HasError() || !strings.Contains(c.got[0].Detail(), c.want) {
				t.Errorf("%v", c.got)
			}
		})
	}
}
