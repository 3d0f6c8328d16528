package network

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-log/tflog"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
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

// crossCheck looks for what a network would collide with on its hypervisor: other networks, and the routes and devices of the machine.
// A network that stays as it is asks nobody.
func crossCheck(ctx context.Context, at crud.StoreContext, prior, planned *model, want network.Spec, resp *resource.ModifyPlanResponse) {
	if planned.Name.IsUnknown() || planned.Hypervisor.IsUnknown() {
		return
	}
	client, err := at.Fleet.Hypervisor(ctx, planned.Hypervisor.ValueString())
	if err != nil {
		return // it is not known yet, or crud has refused it
	}
	k := network.Checker{
		Client: client, Want: want.Definition, Plan: at.Ledger, Hypervisors: at.Fleet.Known(ctx),
		DHCPUnknown: !convert.WhollyKnown(ctx, planned.DHCP), PXEUnknown: !convert.WhollyKnown(ctx, planned.PXE),
	}
	if prior != nil {
		was, _ := prior.toSpec(ctx)
		k.UUID, k.Was = prior.ID.ValueString(), was.Definition
	}
	if err := k.NoteSuccession(ctx, at.Claim.Replaces()); err != nil {
		tflog.Warn(ctx, "cannot look for the network that is replaced", map[string]any{"network": planned.Name.ValueString(), "error": err.Error()})
	}
	for _, look := range []struct {
		cannot string
		check  func(context.Context) ([]service.Problem, error)
	}{
		{"cannot look for the network's reservations", k.CheckReservations},
		{"cannot ask for libvirt's version", k.CheckTFTP},
		// An existing network's refresh has told of it already, and a new one's apply will.
		{"cannot cross-check the network with its hypervisor", k.CheckSurroundings},
	} {
		problems, err := look.check(ctx)
		resp.Diagnostics.Append(crud.Diagnostics(problems)...)
		if err != nil {
			tflog.Warn(ctx, look.cannot, map[string]any{"network": planned.Name.ValueString(), "error": err.Error()})
		}
	}
}

// refuseUnmanaged refuses an import of a network that the schema has no words for: any configuration would change it.
func refuseUnmanaged(n network.Definition) diag.Diagnostics {
	var what string
	switch {
	case !slices.Contains(network.Modes, n.Mode):
		what = fmt.Sprintf("has forward mode %q", n.Mode)
	case n.Mode == network.Bridge && n.Bridge == "":
		what = "plugs machines into a device without a bridge (macvtap)"
	default:
		return nil
	}
	return diag.Diagnostics{diag.NewAttributeErrorDiagnostic(path.Root("mode"), "Network of another kind", fmt.Sprintf(
		"Network %q %s, which virtcluster_network does not manage. Leave it to what made it, and read it by data \"virtcluster_network\".", n.Name, what))}
}
