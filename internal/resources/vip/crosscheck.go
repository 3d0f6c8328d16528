package vip

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-log/tflog"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/fleet"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	planuses "github.com/virtcluster/terraform-provider-virtcluster/internal/plan"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/addressuse"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/keepalived"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/vip"
	virtnetwork "github.com/virtcluster/terraform-provider-virtcluster/internal/virt/network"
)

// crossCheck looks for what a VIP would collide with beyond the plan: the DHCP ranges of networks on the hypervisors, and what its
// machines have. known says that nothing of its configuration is unknown.
func crossCheck(ctx context.Context, at crud.StoreContext, planned, state *model, known bool, diags *diag.Diagnostics) {
	want, d := planned.toSpec(ctx)
	rememberMembers(at, planned.ID.ValueString(), want.VIP)
	if d.HasError() || planned.Name.IsUnknown() || !planned.addressesKnown(ctx) || len(want.Addresses) == 0 {
		return
	}
	mine := vip.OwnInstances(want.VIP, at.Claim.MayTake)
	var prior keepalived.VIP
	if state != nil {
		was, _ := state.toSpec(ctx)
		prior = was.VIP
		if was.Name == want.Name && was.RouterID == want.RouterID && slices.Equal(was.Addresses, want.Addresses) && sameMachines(was.Members, want.Members) && slices.Equal(was.Track, want.Track) {
			return // it stands already, so nobody is asked
		}
		mine = vip.OwnInstances(prior, at.Claim.Owns)
	}
	refuseLeased(want.VIP, listForeignLeased(ctx, at.ProviderData, want.VIP), diags)
	s := vip.New(machinesOf(at), at.Claim, want.Name, want.Members)
	views, problems := s.CheckMachines(ctx, &want.VIP, mine, func(m keepalived.Member) bool { return isPlanned(at.ProviderData, m) })
	diags.Append(crud.Diagnostics(problems)...)
	if !diags.HasError() {
		plannedAnew := func(h addressuse.Holder, machine string) bool { return isPlannedAnew(at.Ledger, h, machine) }
		diags.Append(crud.Diagnostics(s.CheckTaken(ctx, prior, want.VIP, views, plannedAnew))...)
	}
	if known && !diags.HasError() && !at.Run.IsApplying() {
		diags.Append(crud.Diagnostics(vip.TryMachines(ctx, views, want.VIP))...)
	}
}

// sameMachines says whether members mean the same, whatever they are called.
func sameMachines(a, b []keepalived.Member) bool {
	byID := func(members []keepalived.Member) map[string]keepalived.Member {
		all := map[string]keepalived.Member{}
		for _, m := range members {
			m.Name = ""
			all[m.ID] = m
		}
		return all
	}
	return maps.Equal(byID(a), byID(b))
}

// rememberMembers tells the rest of the run, such as data sources, which members the VIP of an id has.
func rememberMembers(at crud.StoreContext, id string, v keepalived.VIP) {
	if id != "" && !slices.Contains(vip.ListServiceNodes(v.Members), "") {
		at.Run.VIPs.Store(id, v.Members)
	}
}

// askLimit bounds what planning asks of hypervisors and machines: what cannot be asked now is told by the apply.
const askLimit = 10 * time.Second

// isPlanned says whether the plan makes a bridge that a member's interface may be: a machine has many names, and the plan knows one of
// its bridges by another one perhaps.
func isPlanned(provided crud.ProviderData, m keepalived.Member) bool {
	return planuses.PlansBridge(provided.Ledger, m.Interface, func(string) bool { return true })
}

// isPlannedAnew says whether the plan says what a holder of this state has from then on. A device that inherits its addresses keeps them.
func isPlannedAnew(plan planuses.View, h addressuse.Holder, machine string) bool {
	if h.Kind != addressuse.Bridge && h.Kind != addressuse.Interface {
		return true
	}
	_, known := plan.Find(planuses.Use{Kind: planuses.KnownAddresses, On: host.WithoutKey(machine), Value: h.Name})
	return known
}

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
