package machine

import (
	"context"
	"slices"
	"strings"

	"libvirt.org/go/libvirtxml"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
)

// addSecurity adds the filters of an interface's security rules to a blueprint, and refers to them.
func (r *resolver) addSecurity(ctx context.Context, b *blueprint, i *InterfaceSpec, x *Interface) error {
	if len(i.SecurityRules) == 0 {
		return nil
	}
	rules, err := resolveRules(ctx, r.client, i.SecurityRules)
	if err != nil {
		return err
	}
	filters := buildSecurityFilters(r.spec.Name, b.machine.UUID, i.MAC, rules)
	b.filters = append(b.filters, filters...)
	x.Filter = rulesFilterName(r.spec.Name, i.MAC)
	return nil
}

// prependReference has a filter begin with another one.
func prependReference(f *libvirtxml.NWFilter, name string) {
	f.Entries = slices.Insert(f.Entries, 0, libvirtxml.NWFilterEntry{Ref: &libvirtxml.NWFilterRef{Filter: name}})
}

// readSecurity returns the security rules that an interface has: those of its mark that its filters carry out. All are missing where
// the filters pass anything else, or do not drop the rest. guard is what readGuard has returned.
func readSecurity(ctx context.Context, c *hypervisor.Client, m *Machine, x Interface, guard *libvirtxml.NWFilter, marked []SecurityRule) ([]SecurityRule, error) {
	if len(marked) == 0 || !isFilterOf(x.Filter, m.Name, x.MAC) {
		return nil, nil
	}
	carriesRules := func(e libvirtxml.NWFilterEntry) bool { return refersTo(e, rulesFilterName(m.Name, x.MAC)) }
	if x.Filter == filterName(m.Name, x.MAC) && (guard == nil || !slices.ContainsFunc(guard.Entries, carriesRules)) {
		return nil, nil
	}
	rules, err := resolveRules(ctx, c, marked)
	if err != nil {
		return nil, err
	}
	found := map[string]map[string]bool{}
	for _, f := range buildSecurityFilters(m.Name, m.UUID, x.MAC, rules) {
		is, err := c.Filter(ctx, f.Name)
		if hypervisor.IsNotFound(err) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		found[f.Name] = listEntries(is)
	}
	var carried []resolvedRule
	for _, r := range rules {
		// A rule is there where no filter would have fewer entries without it.
		if haveEntries(found, buildSecurityFilters(m.Name, m.UUID, x.MAC, []resolvedRule{r}), r.Direction) {
			carried = append(carried, r)
		}
	}
	for _, f := range buildSecurityFilters(m.Name, m.UUID, x.MAC, carried) {
		if !sameEntries(listEntries(f), found[f.Name]) {
			return nil, nil
		}
	}
	var all []SecurityRule
	for _, r := range carried {
		all = append(all, r.SecurityRule)
	}
	return all, nil
}

// haveEntries says whether filters that are there have all entries of others that are about a direction.
func haveEntries(found map[string]map[string]bool, filters []*libvirtxml.NWFilter, direction string) bool {
	way := map[string]string{Ingress: "in", Egress: "out"}[direction]
	for _, f := range filters {
		for _, e := range f.Entries {
			if e.Rule != nil && e.Rule.Direction == way && !found[f.Name][renderEntry(e)] {
				return false
			}
		}
	}
	return true
}

// listEntries returns the entries of a filter as text.
func listEntries(f *libvirtxml.NWFilter) map[string]bool {
	all := map[string]bool{}
	for _, e := range f.Entries {
		all[renderEntry(e)] = true
	}
	return all
}

func renderEntry(e libvirtxml.NWFilterEntry) string {
	text, err := (&libvirtxml.NWFilter{Entries: []libvirtxml.NWFilterEntry{e}}).Marshal()
	if err != nil {
		return err.Error()
	}
	return numbersAsNames.Replace(text)
}

// numbersAsNames spells protocols as libvirt gives them back.
var numbersAsNames = strings.NewReplacer(`protocol="1"`, `protocol="icmp"`, `protocol="2"`, `protocol="igmp"`, `protocol="6"`, `protocol="tcp"`, `protocol="17"`, `protocol="udp"`,
	`protocol="50"`, `protocol="esp"`, `protocol="51"`, `protocol="ah"`, `protocol="58"`, `protocol="icmpv6"`, `protocol="132"`, `protocol="sctp"`, `protocol="136"`, `protocol="udplite"`)

func sameEntries(a, b map[string]bool) bool {
	if len(a) != len(b) {
		return false
	}
	for text := range a {
		if !b[text] {
			return false
		}
	}
	return true
}
