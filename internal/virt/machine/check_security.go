package machine

import (
	"context"
	"slices"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

// checkRemotes warns of rules that are there already and name no machine: nobody passes by them. A rule that is new may name a node
// that is made later in the same apply.
func (k networkChecker) checkRemotes(ctx context.Context) error {
	var there []SecurityRule
	for _, i := range k.Was.Interfaces {
		there = append(there, i.SecurityRules...)
	}
	for n, i := range k.Want.Interfaces {
		for m, rule := range i.SecurityRules {
			if k.Fresh || !rule.namesMachine() || !slices.Contains(there, rule) {
				continue
			}
			all, err := k.Cache.listDomains(ctx, k.Client)
			if err != nil {
				return err
			}
			if !slices.ContainsFunc(all, func(d *hypervisor.Domain) bool { return d.Name == rule.Remote }) {
				k.problems = append(k.problems, service.Warningf(pathTo("network_interfaces", n, "security_rules", m, "remote"), "Rule for nobody",
					"hypervisor %s has no machine %q, so nobody passes by this rule: write the name of a node, an address or a prefix", k.Client.URI(), rule.Remote))
			}
		}
	}
	return nil
}
