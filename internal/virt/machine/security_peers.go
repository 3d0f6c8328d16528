package machine

import (
	"context"
	"errors"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"sync"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
)

// resolveRules returns the rules with the addresses of the machines that they name. A machine that is not there has no addresses,
// so nobody passes by a rule that names it.
func resolveRules(ctx context.Context, c *hypervisor.Client, rules []SecurityRule) ([]resolvedRule, error) {
	resolved := make([]resolvedRule, 0, len(rules))
	for _, r := range rules {
		one := resolvedRule{SecurityRule: r}
		if p, ok := parseRemote(r.Remote); ok {
			one.remotes = []netip.Prefix{p}
		} else if r.Remote != "" {
			var err error
			if one.remotes, err = findMachineAddresses(ctx, c, r.Remote); err != nil {
				return nil, err
			}
		}
		resolved = append(resolved, one)
	}
	return resolved, nil
}

// findMachineAddresses returns the addresses that a machine was given, in their order; an empty list where there is no such machine.
func findMachineAddresses(ctx context.Context, c *hypervisor.Client, name string) ([]netip.Prefix, error) {
	all := []netip.Prefix{}
	d, err := c.DomainByName(ctx, name)
	if hypervisor.IsNotFound(err) {
		return all, nil
	}
	if err != nil {
		return nil, err
	}
	m := Read(d.Config)
	for _, x := range m.Interfaces {
		marked := m.Mark.Interface(x.MAC)
		i := marked.toSpec()
		i.MAC, i.Network = x.MAC, x.Network
		if x.Network != "" {
			if err := i.readReservations(ctx, c, nil, marked); err != nil {
				return nil, err
			}
		}
		i.AllowedAddresses = nil
		all = append(all, listSendableAddresses(&i)...)
	}
	slices.SortFunc(all, netip.Prefix.Compare)
	return slices.Compact(all), nil
}

// renewingKey is what a client has the lock of lockFilters under.
type renewingKey struct{}

// lockFilters returns what gives back a lock that is held while filters are written anew because another machine changed, and while a machine's are
// removed: the last of several changes then sees all machines, and none has filters made again that go with their machine.
func lockFilters(c *hypervisor.Client) (unlock func()) {
	renewing := c.Shared(renewingKey{}, new(sync.Mutex)).(*sync.Mutex)
	renewing.Lock()
	return renewing.Unlock
}

// renewPeers writes the filters anew that follow from the addresses of the named machine: its own, and those of the machines of
// the same workspace whose rules name it. Machines of other workspaces follow when they are planned next.
func (s *Store) renewPeers(ctx context.Context, name string) error {
	filters, err := s.client.FilterUUIDs(ctx)
	rules := func(name string) bool {
		return strings.HasPrefix(name, FilterPrefix) && strings.HasSuffix(name, rulesSuffix)
	}
	if err != nil || !slices.ContainsFunc(slices.Collect(maps.Keys(filters)), rules) {
		return err
	}
	defer lockFilters(s.client)()
	domains, err := s.client.Domains(ctx)
	if err != nil {
		return err
	}
	var failed error
	for _, d := range domains {
		m := Read(d.Config)
		if mark := m.Mark.ownerMark(); !m.Mark.IsPresent() || mark.Workspace != s.claim.Mark().Workspace {
			continue
		}
		for _, x := range m.Interfaces {
			rules := m.Mark.Interface(x.MAC).Rules
			if isFilterOf(x.Filter, m.Name, x.MAC) && slices.ContainsFunc(rules, func(r SecurityRule) bool { return r.namesMachine() && (m.Name == name || r.Remote == name) }) {
				failed = errors.Join(failed, renewSecurity(ctx, s.client, m, x.MAC, rules))
			}
		}
	}
	return failed
}

// renewSecurity defines those filters of an interface anew that differ from what follows from its rules.
func renewSecurity(ctx context.Context, c *hypervisor.Client, m *Machine, mac string, rules []SecurityRule) error {
	resolved, err := resolveRules(ctx, c, rules)
	if err != nil {
		return err
	}
	for _, f := range buildSecurityFilters(m.Name, m.UUID, mac, resolved) {
		is, err := c.Filter(ctx, f.Name)
		if hypervisor.IsNotFound(err) {
			continue // its machine is being changed or removed
		}
		if err != nil {
			return err
		}
		if sameEntries(listEntries(is), listEntries(f)) {
			continue
		}
		if _, err := defineFilter(ctx, c, m.UUID, f); err != nil {
			return err
		}
	}
	return nil
}
