package vip

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-log/tflog"
	"libvirt.org/go/libvirtxml"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/fleet"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/planregistry"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/keepalived"
	virtnetwork "github.com/virtcluster/terraform-provider-virtcluster/internal/virt/network"
)

// refuseLeased refuses virtual addresses that a network hands out too.
func refuseLeased(v keepalived.VIP, all []planregistry.Leased, diags *diag.Diagnostics) {
	for _, l := range all {
		i := slices.Index(hosts(v.Addresses), l.Address)
		diags.Append(crud.Diagnostic("Virtual address in a DHCP range", service.At([]any{"addresses", max(i, 0)}, fmt.Errorf(
			"%s is in the range %s to %s that %s hands out, so a guest could be given it too: choose an address outside of it", l.Address, l.Range.Start, l.Range.End, l.Network))))
	}
}

// foreignLeased lists the addresses that networks hand out which this plan leaves as they are, and which can be the
// members' network. Those of the plan itself are compared by address alone: their ranges are this configuration's to
// choose, and members that are made by the same apply cannot be asked where they are.
func foreignLeased(ctx context.Context, f *fleet.Fleet, v keepalived.VIP) []planregistry.Leased {
	all := offered(ctx, f, v)
	if len(all) == 0 {
		return nil
	}
	plugs := memberPlugs(ctx, f, v)
	return slices.DeleteFunc(all, func(l planregistry.Leased) bool { return elsewhere(plugs, l.Network) })
}

// offered lists the addresses that networks on the hypervisors hand out which this plan leaves as they are.
func offered(ctx context.Context, f *fleet.Fleet, v keepalived.VIP) []planregistry.Leased {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	var all []planregistry.Leased
	for _, name := range f.Names() {
		client, err := f.Hypervisor(ctx, name)
		var networks []*hypervisor.Network
		if err == nil {
			networks, err = client.PlanNetworks(ctx)
		}
		if err != nil {
			tflog.Debug(ctx, "cannot compare virtual addresses with the hypervisor's networks", map[string]any{"hypervisor": name, "error": err.Error()})
			continue
		}
		for _, n := range networks {
			parsed, err := virtnetwork.Parse(n.ConfigXML)
			if err != nil || parsed.DHCP == nil || f.Claims.Holder(planregistry.NetworkClaim(name, n.Name)) != "" {
				continue
			}
			for _, run := range parsed.DHCP.Ranges {
				for _, a := range hosts(v.Addresses) {
					if span := (planregistry.Range{Start: run.Start, End: run.End}); span.Contains(a) {
						all = append(all, planregistry.Leased{Address: a, Range: span, Network: networkName(n.Name, client)})
					}
				}
			}
		}
	}
	return all
}

// networkName is a network in messages.
func networkName(name string, on *hypervisor.Client) string {
	return fmt.Sprintf("network %q on hypervisor %s", name, on.URI())
}

// elsewhere says whether every member is a guest that is plugged into other networks than the one that is named: it
// hands out the same addresses on another segment then, as hypervisors do whose default networks are all alike.
func elsewhere(plugs [][]string, network string) bool {
	return len(plugs) > 0 && !slices.ContainsFunc(plugs, func(names []string) bool {
		return len(names) == 0 || slices.Contains(names, network)
	})
}

// memberPlugs names for each member the networks that its interface is plugged into: none where it cannot be asked,
// or is no guest of these hypervisors.
func memberPlugs(ctx context.Context, f *fleet.Fleet, v keepalived.VIP) [][]string {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	plugs := make([][]string, len(v.Members))
	for _, name := range f.Names() {
		client, err := f.Hypervisor(ctx, name)
		if err != nil {
			continue
		}
		domains, err := client.Domains(ctx)
		if err != nil {
			continue
		}
		networks, err := client.PlanNetworks(ctx)
		if err != nil {
			continue
		}
		for i, m := range v.Members {
			for _, n := range pluggedInto(domains, networks, macOf(ctx, f, m)) {
				plugs[i] = append(plugs[i], networkName(n, client))
			}
		}
	}
	return plugs
}

// macOf is the address of a member's interface; "" where the machine cannot be asked.
func macOf(ctx context.Context, f *fleet.Fleet, m keepalived.Member) string {
	if m.ID == "" || m.Interface == "" {
		return ""
	}
	h, err := f.Host(ctx, m.ID)
	if err != nil {
		return ""
	}
	mac, err := keepalived.ReadMAC(ctx, h, m.Interface)
	if err != nil {
		return ""
	}
	return mac
}

// pluggedInto names the networks that a MAC address is plugged into, by their names or their bridges.
func pluggedInto(domains []*hypervisor.Domain, networks []*hypervisor.Network, mac string) []string {
	var names []string
	for _, d := range domains {
		for _, x := range d.Config.Devices.Interfaces {
			if mac == "" || x.MAC == nil || !strings.EqualFold(x.MAC.Address, mac) || x.Source == nil {
				continue
			}
			if n := networkOf(x.Source, networks); n != "" {
				names = append(names, n)
			}
		}
	}
	return names
}

func networkOf(source *libvirtxml.DomainInterfaceSource, networks []*hypervisor.Network) string {
	switch {
	case source.Network != nil:
		return source.Network.Network
	case source.Bridge != nil:
		for _, n := range networks {
			if n.Bridge() == source.Bridge.Bridge {
				return n.Name
			}
		}
		return "the bridge " + source.Bridge.Bridge // which no network has
	}
	return ""
}
