package keepalived

import (
	"fmt"
	"net/netip"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/plan"
)

// Uses implements plan.User: the addresses, the virtual router id on their segment, and an instance on each member. It has none of them
// while its name or its addresses are not known.
func (v VIP) Uses() []plan.Use {
	if len(v.Addresses) == 0 {
		return nil
	}
	var uses []plan.Use
	known := []string{"name", "addresses"}
	if where := v.nameSegment(); where != "" && v.RouterID != 0 {
		uses = append(uses, plan.Use{Kind: plan.RouterID, Scope: where, Value: fmt.Sprint(v.RouterID), Path: []any{"virtual_router_id"}, Known: known})
	}
	for i, a := range v.Addresses {
		uses = append(uses, plan.Use{Kind: plan.VirtualAddress, Scope: "its segment", Value: a.Addr().String(), Span: plan.SpanOf(a.Addr()), Path: []any{"addresses", i}, Known: known})
	}
	for i, m := range v.Members {
		if m.ID != "" {
			for n, a := range v.Addresses {
				uses = append(uses, plan.Use{Kind: plan.VIPOnMachine, On: host.WithoutKey(m.ID), Value: a.Addr().String(), Path: []any{"addresses", n}, Known: known})
			}
			uses = append(uses, plan.Use{Kind: plan.VRRPInstance, On: host.WithoutKey(m.ID), Value: v.Name, Path: v.At(i, "service_node"), Known: known})
		}
	}
	return uses
}

// Describe implements plan.Described. A name alone would not tell two VIPs apart of which one is a copy of the other, or another
// cluster's.
func (v VIP) Describe(string) string {
	if len(v.Addresses) == 0 {
		return fmt.Sprintf("VIP %q", v.Name)
	}
	return fmt.Sprintf("VIP %q with %s", v.Name, v.Addresses[0].Addr())
}

// nameSegment names the L2 segment of the addresses that VRRP is spoken for.
func (v VIP) nameSegment() string {
	if a := v.Addresses[0]; !a.IsSingleIP() {
		return "the segment of " + a.Masked().String()
	}
	for _, m := range v.Members {
		if m.Address.IsValid() {
			bits := 24
			if m.Address.Is6() {
				bits = 64
			}
			return "the segment of " + netip.PrefixFrom(m.Address, bits).Masked().String()
		}
	}
	return ""
}
