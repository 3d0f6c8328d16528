package network

import (
	"context"
	"fmt"
	"net/netip"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/network"
)

// planChange fills in what follows from the configuration, keeps spellings that mean the same, warns of a restart
// and looks for what the network would collide with.
func planChange(ctx context.Context, at crud.StoreContext, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse, planned *model) {
	var config model
	resp.Diagnostics.Append(req.Config.Get(ctx, &config)...)
	var prior *model
	if !req.State.Raw.IsNull() {
		prior = &model{}
		resp.Diagnostics.Append(req.State.Get(ctx, prior)...)
	}
	if resp.Diagnostics.HasError() {
		return
	}
	if planned.Mode.ValueString() == network.Bridge && config.Bridge.IsNull() {
		resp.Diagnostics.AddAttributeError(path.Root("bridge"), "Missing bridge", "Mode \"bridge\" needs the name of a bridge that is there already.")
		return
	}
	planned.Gateway = planGateway(planned.CIDR, config.Gateway, planned.Gateway)
	planned.IPv6Gateway = planGateway(planned.IPv6CIDR, config.IPv6Gateway, planned.IPv6Gateway)
	planned.leaveOut(ctx, &config, prior)
	planned.LostRoutes = types.ListNull(types.StringType) // what is lost is back, or struck out, after any apply
	if prior != nil {
		planned.keepOrder(ctx, prior)
		planned.followMode(prior, &config)
	} else if planned.Mode.ValueString() == network.Bridge {
		planned.MAC = types.StringNull()
	}
	resp.Diagnostics.Append(resp.Plan.Set(ctx, planned)...)
	want, _ := planned.toSpec(ctx)
	if prior != nil && planned.Name.Equal(prior.Name) && planned.Hypervisor.Equal(prior.Hypervisor) { // else it is another network
		was, _ := prior.toSpec(ctx)
		warnOfRestart(resp, planned.formatLabel(), was, want)
	}
	if at.Fleet != nil {
		crossCheck(ctx, at, prior, planned, want, resp)
	}
}

// leaveOut plans the objects that the configuration leaves out: what state holds where that means nothing, and else null
// (crud.LeftOut does it for lists and maps).
func (m *model) leaveOut(ctx context.Context, config, prior *model) {
	was := &model{DNS: nullOf[network.DNS](), PXE: nullOf[network.PXE]()}
	if prior != nil {
		said, _ := prior.toSpec(ctx)
		if sameDNS(said.DNS, network.DNS{}) {
			was.DNS = prior.DNS
		}
		if said.PXE == (network.PXE{}) {
			was.PXE = prior.PXE
		}
	}
	if config.DNS.IsNull() {
		m.DNS = was.DNS
	}
	if config.PXE.IsNull() {
		m.PXE = was.PXE
	}
}

// planGateway returns what is planned of a gateway: its default where the configuration leaves it out.
func planGateway(cidr, configured, planned types.String) types.String {
	if !configured.IsNull() {
		return planned
	}
	if cidr.IsUnknown() {
		return types.StringUnknown()
	}
	subnet, _ := netip.ParsePrefix(cidr.ValueString()) // what is wrong with it is said already
	return convert.Value(network.FirstHostAddress(subnet)).(types.String)
}

// keepOrder takes over prior objects and lists that mean the same, whatever their order, so that no difference is planned.
func (m *model) keepOrder(ctx context.Context, prior *model) {
	want, _ := m.toSpec(ctx)
	was, _ := prior.toSpec(ctx)
	if convert.WhollyKnown(ctx, m.DHCP) && sameNulls(m.DHCP, prior.DHCP) && sameDHCP(was.DHCP, want.DHCP) && sameLength(was.DHCP, want.DHCP) {
		m.DHCP = prior.DHCP
	}
	if convert.WhollyKnown(ctx, m.DNS) && sameNulls(m.DNS, prior.DNS) && sameDNS(was.DNS, want.DNS) {
		m.DNS = prior.DNS
	}
	if convert.WhollyKnown(ctx, m.Routes) && m.Routes.IsNull() == prior.Routes.IsNull() && sameRoutes(was.Routes, want.Routes) {
		m.Routes = prior.Routes
	}
	if convert.WhollyKnown(ctx, m.PXE) && sameNulls(m.PXE, prior.PXE) && was.PXE == want.PXE {
		m.PXE = prior.PXE
	}
}

// sameNulls says whether what is null in one object is null in the other: a plan must not have null where something was
// written, though it be empty.
func sameNulls(a, b types.Object) bool {
	other := b.Attributes()
	for name, v := range a.Attributes() {
		if other[name] != nil && v.IsNull() != other[name].IsNull() {
			return false
		}
	}
	return a.IsNull() == b.IsNull()
}

// sameLength says whether two may stand for each other in a plan, which holds lists to their length.
func sameLength(a, b *network.DHCP) bool {
	return a == nil && b == nil || a != nil && b != nil && len(a.Ranges) == len(b.Ranges)
}

// followMode says what a change of mode does to what libvirt chooses.
func (m *model) followMode(prior, config *model) {
	if m.Mode.IsUnknown() || m.Mode.Equal(prior.Mode) {
		return
	}
	switch network.Bridge {
	case m.Mode.ValueString():
		m.MAC = types.StringNull()
	case prior.Mode.ValueString():
		m.MAC = types.StringUnknown()
		if config.Bridge.IsNull() {
			m.Bridge = types.StringUnknown() // the old one is somebody else's
		}
	}
}

// warnOfRestart tells of a restart.
func warnOfRestart(resp *resource.ModifyPlanResponse, name string, was, want network.Spec) {
	change := network.Compare(was, want)
	if !resp.Plan.Raw.IsFullyKnown() || !change.Restarts() {
		return
	}
	resp.Diagnostics.AddWarning(fmt.Sprintf("Network %q will be restarted", name), fmt.Sprintf(
		"libvirt cannot change %s of a running network. The network stops and starts again with the same UUID and bridge MAC address, and every running machine on it is plugged in again; "+
			"its traffic stands still for about five seconds.", strings.Join(change.Restart, ", ")))
}
