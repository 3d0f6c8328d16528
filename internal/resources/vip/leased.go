package vip

import (
	"context"
	"fmt"
	"net/netip"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-log/tflog"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/fleet"
	planuses "github.com/virtcluster/terraform-provider-virtcluster/internal/plan"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/keepalived"
	virtnetwork "github.com/virtcluster/terraform-provider-virtcluster/internal/virt/network"
)

// leased is a virtual address that a network hands out too.
type leased struct {
	address netip.Addr
	span    planuses.Span
	network string
}

// refuseLeased refuses virtual addresses that a network hands out too.
func refuseLeased(v keepalived.VIP, all []leased, diags *diag.Diagnostics) {
	for _, l := range all {
		i := slices.Index(v.ListAddresses(), l.address)
		diags.Append(crud.Diagnostic("Virtual address in a DHCP range", service.At([]any{"addresses", max(i, 0)}, fmt.Errorf(
			"%s is in the range %s to %s that %s hands out, so a guest could be given it too: choose an address outside of it", l.address, l.span.First, l.span.Last, l.network))))
	}
}

// listForeignLeased lists the addresses that networks hand out which this plan leaves as they are, and which can be the
// members' network. Those of the plan itself are compared by address alone: their ranges are this configuration's to
// choose, and members that are made by the same apply cannot be asked where they are.
func listForeignLeased(ctx context.Context, provided crud.ProviderData, v keepalived.VIP) []leased {
	all := listHandedOut(ctx, provided, v)
	if len(all) == 0 {
		return nil
	}
	plugs := memberPlugs(ctx, provided.Fleet, v)
	return slices.DeleteFunc(all, func(l leased) bool { return arePluggedElsewhere(plugs, l.network) })
}

// listHandedOut lists the addresses that networks on the hypervisors hand out which this plan leaves as they are.
func listHandedOut(ctx context.Context, provided crud.ProviderData, v keepalived.VIP) []leased {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	var all []leased
	for _, name := range provided.Fleet.Names() {
		client, err := provided.Fleet.Hypervisor(ctx, name)
		var runs []virtnetwork.HandedOut
		if err == nil {
			runs, err = virtnetwork.ListHandedOut(ctx, client)
		}
		if err != nil {
			tflog.Debug(ctx, "cannot compare virtual addresses with the hypervisor's networks", map[string]any{"hypervisor": name, "error": err.Error()})
			continue
		}
		for _, run := range runs {
			if run.For != "" || virtnetwork.Changes(provided.Ledger, name, run.Network) {
				continue
			}
			for _, a := range v.ListAddresses() {
				if span := (planuses.Span{First: run.Range.Start, Last: run.Range.End}); span.Contains(a) {
					all = append(all, leased{address: a, span: span, network: networkName(run.Network, client.URI())})
				}
			}
		}
	}
	return all
}

// networkName is a network in messages.
func networkName(name, uri string) string {
	return fmt.Sprintf("network %q on hypervisor %s", name, uri)
}

// arePluggedElsewhere says whether every member is a guest that is plugged into other networks than the one that is named: it
// hands out the same addresses on another segment then, as hypervisors do whose default networks are all alike.
func arePluggedElsewhere(plugs [][]string, network string) bool {
	return len(plugs) > 0 && !slices.ContainsFunc(plugs, func(names []string) bool {
		return len(names) == 0 || slices.Contains(names, network)
	})
}

// memberPlugs names for each member the networks that its interface is plugged into: none where it cannot be asked,
// or is no guest of these hypervisors.
func memberPlugs(ctx context.Context, f *fleet.Fleet, v keepalived.VIP) [][]string {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	macs := make([]string, len(v.Members))
	for i, m := range v.Members {
		macs[i] = readMAC(ctx, f, m)
	}
	plugs := make([][]string, len(v.Members))
	for _, client := range f.Known(ctx) {
		byMAC, err := virtnetwork.ListPlugs(ctx, client, macs)
		if err != nil {
			continue
		}
		for i, mac := range macs {
			for _, n := range byMAC[mac] {
				plugs[i] = append(plugs[i], networkName(n, client.URI()))
			}
		}
	}
	return plugs
}

// readMAC returns the address of a member's interface; "" where the machine cannot be asked.
func readMAC(ctx context.Context, f *fleet.Fleet, m keepalived.Member) string {
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
