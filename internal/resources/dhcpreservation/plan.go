package dhcpreservation

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-log/tflog"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/fleet"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/planregistry"
	virtnetwork "github.com/virtcluster/terraform-provider-virtcluster/internal/virt/network"
)

// plan compares a reservation with those of the plan and with the network that is there. One that stays as
// it is asks nobody.
func plan(ctx context.Context, opening crud.Opening, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse, planned *model) {
	f := opening.Fleet
	var prior *model
	if !req.State.Raw.IsNull() {
		prior = &model{}
		resp.Diagnostics.Append(req.State.Get(ctx, prior)...)
		if prior.MAC.IsNull() && prior.DUID.IsNull() && !prior.Hostname.Equal(planned.Hostname) {
			resp.RequiresReplace = append(resp.RequiresReplace, path.Root("hostname")) // it is what the machine is known by
		}
	}
	if f == nil || resp.Diagnostics.HasError() || !req.Plan.Raw.IsFullyKnown() && (planned.Network.IsUnknown() || planned.MAC.IsUnknown() || planned.IP.IsUnknown() || planned.Hypervisor.IsUnknown()) {
		return
	}
	want, _ := planned.spec(ctx)
	anew := prior != nil && f.Claims.Holder(planregistry.NewNetworkClaim(planned.Hypervisor.ValueString(), planned.Network.ValueString())) != ""
	if anew { // it goes with its network, and has to be put into the new one
		planned.ID = types.StringUnknown()
		resp.Diagnostics.Append(resp.Plan.Set(ctx, planned)...)
	}
	stays := prior != nil && !anew && canonicalAddress(prior.IP.ValueString()) == want.IP.String()
	claim(f, planned, want, stays, resp)
	moves := f.Claims.Holder(planregistry.NetworkClaim(planned.Hypervisor.ValueString(), planned.Network.ValueString())) != ""
	if stays && prior.Hostname.Equal(planned.Hostname) && !moves {
		return
	}
	c, err := f.Hypervisor(ctx, planned.Hypervisor.ValueString())
	if err != nil {
		return
	}
	networks, err := c.PlanNetworks(ctx)
	if err != nil {
		tflog.Warn(ctx, "cannot cross-check the reservation with its network", map[string]any{"error": err.Error()})
		return
	}
	host, name := planned.Hypervisor.ValueString(), planned.Network.ValueString()
	at := slices.IndexFunc(networks, func(n *hypervisor.Network) bool { return n.Name == name || n.UUID == name })
	switch {
	case at >= 0 && f.Claims.Holder(planregistry.NetworkClaim(host, networks[at].Name)) == "":
		mine := virtnetwork.Reservations{Client: c, Network: name, Owner: opening.Claim}
		if named(networks[at], mine, want, resp); !stays {
			against(networks[at], mine, want, prior == nil, resp)
		}
	case at >= 0 && !several(networks[at], want.IP):
		outside(f, host, networks[at].Name, want, resp)
	case f.Claims.Holder(planregistry.NetworkClaim(host, name)) != "":
		outside(f, host, name, want, resp)
	case at < 0:
		resp.Diagnostics.AddAttributeError(path.Root("network"), "Unknown network", fmt.Sprintf(
			"Hypervisor %s has no network %q. If a resource of this configuration makes it, refer to that resource's name, so that it is made first.", c.URI(), name))
	}
}

// several says whether a network has several subnets of an address's family, as an imported one may: the plan knows one.
func several(n *hypervisor.Network, ip netip.Addr) bool {
	count := 0
	for _, x := range n.Current().IPs {
		if p, err := hypervisor.Subnet(x); err == nil && p.Addr().Is6() == ip.Is6() {
			count++
		}
	}
	return count > 1
}

// noHost refuses the address of a subnet itself and the one that broadcasts in it.
func noHost(subnet netip.Prefix, want virtnetwork.Reservation, resp *resource.ModifyPlanResponse) bool {
	if !virtnetwork.ReservedIn(subnet, want.IP) {
		return false
	}
	resp.Diagnostics.AddAttributeError(path.Root("ip"), "No host address", fmt.Sprintf("%s is the network or broadcast address of %s: write another.", want.IP, subnet))
	return true
}

// outside refuses an address that is in no subnet that a network of the plan will have.
func outside(f *fleet.Fleet, host, network string, want virtnetwork.Reservation, resp *resource.ModifyPlanResponse) {
	subnets, ok := f.Subnets.Of(host, network)
	for _, subnet := range subnets {
		noHost(subnet, want, resp)
	}
	if ok && !slices.ContainsFunc(subnets, func(p netip.Prefix) bool { return p.Contains(want.IP) }) {
		resp.Diagnostics.AddAttributeError(path.Root("ip"), "Address outside the network", fmt.Sprintf(
			"Network %q will have %s: write an address in there, not %s.", network, cmp.Or(strings.Trim(fmt.Sprint(subnets), "[]"), "no subnet"), want.IP))
	}
}

// claim lays claim to the address and to the machine's one reservation on the network. A new address must not be one
// that a network of the plan gives to any machine.
func claim(f *fleet.Fleet, m *model, want virtnetwork.Reservation, stays bool, resp *resource.ModifyPlanResponse) {
	host, network := m.Hypervisor.ValueString(), m.Network.ValueString()
	address := planregistry.AddressClaim(host, network, want.IP)
	machine := planregistry.ReservationClaim(host, network, m.machine())
	// The address is part of the name: of two reservations for one machine, neither is the other planned again.
	owner := planregistry.On(host, fmt.Sprintf("the reservation of %s for %s on network %q", want.IP, m.machine(), network))
	claims := []planregistry.Claim{address, machine}
	if want.Name != "" {
		claims = append(claims, planregistry.NameClaim(host, network, want.Name, want.IP))
	}
	for _, conflict := range f.Claims.Replace(owner, claims...) {
		switch conflict.Claim {
		case address:
			resp.Diagnostics.AddAttributeError(path.Root("ip"), "Address taken by another resource", fmt.Sprintf("%s belongs to %s: write another address.", conflict.Claim, conflict.Holder))
		case machine:
			resp.Diagnostics.AddAttributeError(path.Root(m.key()), "Machine has a reservation already", fmt.Sprintf("The %s is %s: a machine can have one on a network.", conflict.Claim, conflict.Holder))
		default:
			resp.Diagnostics.AddAttributeError(path.Root("hostname"), "Name taken by another resource", fmt.Sprintf("%s belongs to %s, and libvirt takes a name once: write another.", conflict.Claim, conflict.Holder))
		}
	}
	if mac := f.Listed.MAC(host, network, want.IP); mac != "" && mac != want.MAC {
		resp.Diagnostics.AddAttributeError(path.Root("ip"), "Address listed by the network", fmt.Sprintf("The dhcp.hosts of network %q keeps %s for %s: write another address.", network, want.IP, mac))
	}
	if stays {
		f.Ranges.ReplaceReserved(owner, host, network)
		return
	}
	for _, r := range f.Ranges.ReplaceReserved(owner, host, network, want.IP) {
		dynamic(network, want, r.Range.Start, r.Range.End, resp)
	}
}

// dynamic refuses an address of a DHCP range.
func dynamic(network string, want virtnetwork.Reservation, start, end netip.Addr, resp *resource.ModifyPlanResponse) {
	resp.Diagnostics.AddAttributeError(path.Root("ip"), "Address in a DHCP range", fmt.Sprintf(
		"Network %q gives %s to %s to any machine, so another one could have %s already: write an address outside of it, or end the range before it.", network, start, end, want.IP))
}

// key is the attribute that the machine is known by.
func (m *model) key() string {
	switch {
	case !m.MAC.IsNull():
		return "mac"
	case !m.DUID.IsNull():
		return "duid"
	}
	return "hostname"
}

// named refuses a name that another reservation of the network has: libvirt takes it once.
func named(n *hypervisor.Network, mine virtnetwork.Reservations, want virtnetwork.Reservation, resp *resource.ModifyPlanResponse) {
	for _, h := range hypervisor.DHCPHosts(n.Current()) {
		if virtnetwork.SameName(want.DHCPHost, h) && !mine.MakesRoom(n, h) {
			resp.Diagnostics.AddAttributeError(path.Root("hostname"), "Name reserved already", fmt.Sprintf(
				"Network %q keeps %s (%s), and libvirt takes a name once: write another, or remove that reservation or rename it in an apply of its own.", n.Name, h, h.Name))
		}
	}
}

// against compares with the network as it is.
func against(n *hypervisor.Network, mine virtnetwork.Reservations, want virtnetwork.Reservation, fresh bool, resp *resource.ModifyPlanResponse) {
	spec, err := virtnetwork.Parse(n.ConfigXML)
	if err != nil {
		return // the network's own resource or the apply tells
	}
	subnet, gateway := spec.Subnet, spec.Gateway
	if want.IP.Is6() {
		subnet, gateway = spec.Subnet6, spec.Gateway6
	}
	problem := func(summary, format string, args ...any) {
		resp.Diagnostics.AddAttributeError(path.Root("ip"), summary, fmt.Sprintf(format, args...))
	}
	switch {
	case !subnet.IsValid():
		problem("Address outside the network", "Network %q has no subnet of the family of %s.", n.Name, want.IP)
	case !subnet.Contains(want.IP):
		problem("Address outside the network", "%s is not inside %s, the subnet of network %q: write an address in there.", want.IP, subnet, n.Name)
	case noHost(subnet, want, resp):
	case want.IP == gateway:
		problem("Address of the gateway", "%s is the hypervisor's own address on network %q: write another one.", want.IP, n.Name)
	}
	for _, r := range hypervisor.DHCPRanges(n.Current()) {
		if (planregistry.Range{Start: r.Start, End: r.End}).Contains(want.IP) {
			dynamic(n.Name, want, r.Start, r.End, resp)
		}
	}
	for _, h := range hypervisor.DHCPHosts(n.Current()) {
		switch {
		case h.Key() == want.Key() && h.IP != want.IP && virtnetwork.Lists(n, h):
			problem("Address listed by the network", "The dhcp.hosts of network %q keeps %s: write that address, or change it there.", n.Name, h)
		case h.IP == want.IP && h.Key() != want.Key() && !mine.MakesRoom(n, h):
			problem("Address reserved already", "Network %q keeps %s: write another address, or remove that reservation.", n.Name, h)
		// One that is there and that this resource owns is not looked at: its address is what changes.
		case fresh && h.IP != want.IP && h.IP.Is4() && want.IP.Is4() && h.MAC == want.MAC && !mine.MakesRoom(n, h):
			resp.Diagnostics.AddAttributeError(path.Root("mac"), "MAC address reserved already", fmt.Sprintf("Network %q keeps %s: write that address, or remove that reservation.", n.Name, h))
		}
	}
}
