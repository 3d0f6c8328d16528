package machine

import (
	"context"
	"fmt"
	"slices"

	"pgregory.net/rapid"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
)

// DrawRules makes up rules that are valid, without machines' names.
func DrawRules(r *rapid.T) []SecurityRule {
	var rules []SecurityRule
	for range rapid.IntRange(1, 8).Draw(r, "rules") {
		rule := SecurityRule{Direction: rapid.SampledFrom([]string{Ingress, Egress}).Draw(r, "direction"), Protocol: rapid.SampledFrom(SecurityProtocols).Draw(r, "protocol")}
		if protocols[rule.Protocol].ports && rapid.Bool().Draw(r, "ports") {
			first := rapid.IntRange(1, 65535).Draw(r, "first")
			rule.Ports = fmt.Sprint(first)
			if last := rapid.IntRange(first, 65535).Draw(r, "last"); last > first {
				rule.Ports += fmt.Sprint("-", last)
			}
		}
		byte4 := func(label string) int { return rapid.IntRange(1, 223).Draw(r, label) }
		switch four := fmt.Sprintf("%d.%d.%d", byte4("a"), byte4("b"), byte4("c")); {
		case rapid.IntRange(0, 3).Draw(r, "remote") == 0:
		case rule.Protocol != "icmp" && (rule.Protocol == "icmpv6" || rapid.Bool().Draw(r, "six")):
			rule.Remote = fmt.Sprintf("2001:db8:%x::/%d", byte4("net"), rapid.IntRange(48, 64).Draw(r, "bits"))
		case rapid.Bool().Draw(r, "one"):
			rule.Remote = fmt.Sprintf("%s.%d", four, byte4("d"))
		default:
			rule.Remote = four + ".0/24"
		}
		if !slices.Contains(rules, rule) {
			rules = append(rules, rule)
		}
	}
	return rules
}

// KeepRules has a hypervisor keep the filters of an interface's rules, and returns the rules that it reads of them.
func KeepRules(ctx context.Context, c *hypervisor.Client, node, mac string, rules []SecurityRule) ([]SecurityRule, error) {
	spec := &Spec{Name: node, Interfaces: []InterfaceSpec{{MAC: mac, SecurityRules: rules}}}
	if problems := spec.validateSecurity(&spec.Interfaces[0], []any{"network_interfaces", 0}); len(problems) > 0 {
		return nil, fmt.Errorf("%v", problems)
	}
	resolved, err := resolveRules(ctx, c, rules)
	if err != nil {
		return nil, err
	}
	for _, f := range buildSecurityFilters(node, someUUID, mac, resolved) {
		if err := c.DefineFilter(ctx, f); err != nil {
			return nil, err
		}
	}
	return readSecurity(ctx, c, &Machine{Name: node, UUID: someUUID}, Interface{MAC: mac, Filter: rulesFilterName(node, mac)}, nil, rules)
}

// DropRules removes what KeepRules had it keep.
func DropRules(ctx context.Context, c *hypervisor.Client, node, mac string) error {
	for _, name := range []string{filterName(node, mac) + rulesSuffix, filterName(node, mac) + ipv4Suffix, filterName(node, mac) + ipv6Suffix} {
		if err := c.UndefineFilter(ctx, name); err != nil {
			return err
		}
	}
	return nil
}
