package engine

import (
	"context"
	_ "embed"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
)

// firewallScript has a machine's firewall let through what OVN needs there.
//
//go:embed firewall.sh
var firewallScript string

// genevePort is where chassis send tunnelled packets to each other, by UDP (RFC 8926).
const genevePort = 6081

// opening is what comes to a machine in a role: where it is reached, and what is to pass, as firewall.sh has it.
type opening struct {
	role    role
	host    host.Host
	address netip.Addr
	rules   []string
}

// listChassisRules returns what a chassis is to let through: what the others send to it.
func (e Engine) listChassisRules(name string) (rules []string) {
	for _, other := range slices.Sorted(maps.Keys(e.Chassis)) {
		if address := e.Chassis[other].TunnelIP; other != name && address.IsValid() {
			rules = append(rules, fmt.Sprintf("udp %d %s", genevePort, address))
		}
	}
	return rules
}

// listCentralRules returns what a machine with databases is to let through: chassis, and the other machines with databases.
func (e Engine) listCentralRules(address netip.Addr) []string {
	rules := []string{fmt.Sprintf("tcp %d any", southboundPort)}
	for _, p := range e.listPlaces() {
		if p.Address == address {
			continue
		}
		for _, port := range []int{northboundPort, northRaftPort, southRaftPort, trustedPort} {
			rules = append(rules, fmt.Sprintf("tcp %d %s", port, p.Address))
		}
	}
	return rules
}

// listOpenings returns what is to come to the machines of an engine that answer.
func (e Engine) listOpenings(c central, seen map[string]chassisSeen) (all []opening) {
	for _, p := range e.listPlaces() {
		if m, err := c.findMember(p.Endpoint); err == nil && m.err == nil {
			all = append(all, opening{centralRole, m.host, p.Address, e.listCentralRules(p.Address)})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(seen)) {
		all = append(all, opening{chassisRole, seen[name].host, e.Chassis[name].TunnelIP, e.listChassisRules(name)})
	}
	return all
}

func (o opening) run(ctx context.Context, what string) (string, error) {
	out, err := o.host.Run(ctx, host.RepeatableScript("firewall.sh "+what, firewallScript, append([]string{what, string(o.role), o.address.String()}, o.rules...)...))
	return string(out), err
}

// open has the machine's firewall let these rules through, and no others that it was told for the role.
func (o opening) open(ctx context.Context) error {
	if _, err := o.run(ctx, "put"); err != nil {
		return fmt.Errorf("have the firewall of %s let through what OVN needs: %w\n\nThese are to pass there: %s", o.host, err, strings.Join(o.rules, ", "))
	}
	return nil
}

// byHost has the openings of one machine come after each other: a firewall's program is run once at a time.
func byHost(all []opening) map[string][]opening {
	of := map[string][]opening{}
	for _, o := range all {
		of[o.host.String()] = append(of[o.host.String()], o)
	}
	return of
}

func openFirewalls(ctx context.Context, all []opening) error {
	_, failures := each(byHost(all), func(_ string, of []opening) (none struct{}, err error) {
		for _, o := range of {
			if err == nil {
				err = o.open(ctx)
			}
		}
		return none, err
	})
	return joinFailures(failures)
}

// closeFirewall has a machine's firewall forget what it was told for a role.
func closeFirewall(ctx context.Context, h host.Host, of role) error {
	return opening{role: of, host: h, address: netip.IPv4Unspecified()}.open(ctx)
}

// findShut finds what firewalls do not let through. An apply has them do so.
func (s *Store) findShut(ctx context.Context, all []opening) error {
	shut, failures := each(byHost(all), func(_ string, of []opening) (lines []string, err error) {
		for _, o := range of {
			out, err := o.run(ctx, "shut")
			if err != nil {
				return nil, fmt.Errorf("look at the firewall of %s: %w", o.host, err)
			}
			lines = append(lines, strings.Split(strings.TrimSpace(out), "\n")...)
		}
		return slices.DeleteFunc(lines, func(line string) bool { return line == "" }), nil
	})
	for _, machine := range slices.Sorted(maps.Keys(shut)) {
		if lines := shut[machine]; len(lines) > 0 {
			s.serving = false
			s.addWarning("Shut by a firewall", "The firewall of %s does not let through what OVN needs: it lacks %s. The next apply adds that.", machine, strings.Join(lines, "; "))
		}
	}
	return joinFailures(failures)
}
