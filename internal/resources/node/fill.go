package node

import (
	"context"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/machine"
)

// fillModel writes what was read back into the model, which keeps its own spelling where the meaning is the same. A model without a
// type was just imported, and has nothing to keep.
func (m *model) fillModel(ctx context.Context, got *machine.Spec) diag.Diagnostics {
	v, diags := m.decodeNested(ctx)
	v.fillModel(ctx, got)
	filled, d := v.encodeNested(ctx)
	*m = *filled
	return append(diags, d...)
}

func (v *version) fillModel(ctx context.Context, got *machine.Spec) {
	imported := v.Type.IsNull()
	clear(v.unknown)
	v.ID, v.Name, v.Type = types.StringValue(got.UUID), types.StringValue(got.Name), types.StringValue(got.Type)
	v.MemoryMiB, v.MaxMemoryMiB = types.Int64Value(got.MemoryMiB), types.Int64Value(got.MaxMemoryMiB)
	v.VCPUs, v.MaxVCPUs = types.Int64Value(got.VCPUs), types.Int64Value(got.MaxVCPUs)
	v.Role = keepEmpty(v.Role, got.Role)
	v.fillLabels(got.Labels)
	v.CPU = &cpuModel{Mode: convert.Text(got.CPU.Mode), Model: convert.Text(got.CPU.Model), Nested: types.BoolPointerValue(got.CPU.Nested)}
	v.Machine, v.Firmware, v.Graphics = types.StringValue(got.Chipset), types.StringValue(got.Firmware), types.StringValue(got.Graphics)
	v.GuestAgent, v.RNG = types.BoolValue(got.GuestAgent), types.BoolValue(got.RNG)
	v.Autostart, v.Running, v.State = types.BoolValue(got.Autostart), types.BoolValue(got.Running), types.StringValue(got.State)
	v.Console = &consoleModel{Type: types.StringValue(got.Console.Type), LogFile: convert.Text(got.Console.LogFile)}
	v.fillBoot(got.Boot)
	v.fillDisks(got)
	v.fillInterfaces(got.Interfaces)
	v.Addresses = convert.Map(got.Addresses)
	if imported {
		v.fillImported(ctx, got)
	}
}

// keepEmpty keeps an empty string that was written as such; otherwise nothing is null.
func keepEmpty(was types.String, got string) types.String {
	if got == "" && convert.Known(was) && was.ValueString() == "" {
		return was
	}
	return convert.Text(got)
}

func (v *version) fillLabels(got map[string]string) {
	if len(got) == 0 && (v.Labels.IsNull() || len(v.Labels.Elements()) == 0) {
		if v.Labels.IsUnknown() || v.Labels.ElementType(context.Background()) == nil {
			v.Labels = types.MapNull(types.StringType)
		}
		return
	}
	v.Labels = convert.Map(got)
}

func (v *version) fillBoot(got machine.Boot) {
	b := v.Boot
	if b == nil {
		b = &bootModel{Order: types.ListNull(types.StringType)}
		v.Boot = b
	}
	if len(got.Order) > 0 {
		b.Order = convert.ListOrNull(got.Order)
	}
	b.Kernel, b.Initrd, b.Cmdline = keepEmpty(b.Kernel, got.Kernel), keepEmpty(b.Initrd, got.Initrd), keepEmpty(b.Cmdline, got.Cmdline)
}

// fillDisks writes the disks. The size of one whose volume is missing is null.
func (v *version) fillDisks(got *machine.Spec) {
	size := func(gib int64) types.Int64 {
		if gib == 0 {
			return types.Int64Null()
		}
		return types.Int64Value(gib)
	}
	if r := got.Root; r != nil {
		v.Root = &rootModel{Image: convert.Text(r.Image), SizeGiB: size(r.SizeGiB), Pool: convert.Text(r.Pool), Bus: types.StringValue(r.Bus)}
	} else {
		v.Root = nil
	}
	if len(got.Disks) == 0 {
		if len(v.Disks) > 0 {
			v.Disks = nil
		}
		return
	}
	v.Disks = map[string]diskModel{}
	for key, d := range got.Disks {
		v.Disks[key] = diskModel{SizeGiB: size(d.SizeGiB), Pool: convert.Text(d.Pool), Bus: types.StringValue(d.Bus), Volume: convert.Text(d.Volume)}
	}
}

func (v *version) fillInterfaces(got []machine.InterfaceSpec) {
	was := v.Interfaces
	if len(was) > 0 || len(got) > 0 {
		v.Interfaces = nil
	}
	for n := range got {
		i := newInterfaceModel(&got[n])
		at := slices.IndexFunc(was, func(w interfaceModel) bool { return machine.CanonicalMAC(w.MAC.ValueString()) == got[n].MAC })
		if at >= 0 {
			keepSpelling(&i, &was[at])
			keepEmptyLists(&i, &was[at])
		}
		v.Interfaces = append(v.Interfaces, i)
	}
}

func newInterfaceModel(s *machine.InterfaceSpec) interfaceModel {
	i := interfaceModel{
		Network: convert.Text(s.Network), Bridge: convert.Text(s.Bridge), Name: convert.Text(s.Name), MAC: types.StringValue(s.MAC), IP: convert.Text(s.IP), IPv6: convert.Text(s.IPv6),
		Hostname: types.StringValue(s.Hostname), Addresses: convert.ListOrNull(s.Addresses), Gateway: convert.Text(s.Gateway), Routes: types.ListNull(routeType()),
		Nameservers: convert.ListOrNull(s.Nameservers), Model: types.StringValue(s.Model), PortSecurity: types.BoolValue(s.PortSecurity), AllowedAddresses: convert.ListOrNull(s.AllowedAddresses),
		SecurityRules: listSecurityRules(s.SecurityRules),
	}
	if s.MTU != 0 {
		i.MTU = types.Int64Value(s.MTU)
	}
	var routes []attr.Value
	for _, r := range s.Routes {
		routes = append(routes, types.ObjectValueMust(routeType().(types.ObjectType).AttrTypes, map[string]attr.Value{
			"cidr": types.StringValue(r.CIDR), "via": types.StringValue(r.Via),
		}))
	}
	if len(routes) > 0 {
		i.Routes = types.ListValueMust(routeType(), routes)
	}
	return i
}

// keepEmptyLists keeps lists that were written empty: nothing on the hypervisor tells them from none.
func keepEmptyLists(i, was *interfaceModel) {
	for _, pair := range []struct{ got, was *types.List }{
		{&i.Addresses, &was.Addresses}, {&i.Nameservers, &was.Nameservers}, {&i.AllowedAddresses, &was.AllowedAddresses}, {&i.Routes, &was.Routes}, {&i.SecurityRules, &was.SecurityRules},
	} {
		if pair.got.IsNull() && convert.Known(*pair.was) && len(pair.was.Elements()) == 0 {
			*pair.got = *pair.was
		}
	}
}

// fillImported writes what an import alone reads: the settings of how Terraform treats the node, and its first-boot configuration.
// A machine that this provider did not make, or that an older version of it made, gets the defaults of the settings.
func (v *version) fillImported(ctx context.Context, got *machine.Spec) {
	or := func(text, usual string) types.String {
		if text == "" {
			text = usual
		}
		return types.StringValue(text)
	}
	v.AllowRestart = types.BoolValue(got.AllowRestart)
	v.ShutdownTimeout, v.WaitFor = or(got.ShutdownTimeout, defaultShutdownTimeout), or(got.WaitFor, defaultWaitFor)
	if t := got.Timeouts; t != nil {
		v.Timeouts = timeouts.Value{Object: types.ObjectValueMust(v.Timeouts.AttributeTypes(ctx), map[string]attr.Value{
			"create": convert.Text(t.Create), "read": convert.Text(t.Read), "update": convert.Text(t.Update), "delete": convert.Text(t.Delete),
		})}
	}
	v.Ignition, v.Butane = convert.Text(got.Ignition), convert.Text(got.Butane)
	if c := got.CloudInit; c != nil {
		v.CloudInit = &cloudInitModel{
			UserData: convert.Text(c.UserData), MetaData: convert.Text(c.MetaData), VendorData: convert.Text(c.VendorData), NetworkConfig: convert.Text(c.NetworkConfig),
		}
	}
	v.emptyCollections()
}

// emptyCollections replaces null collections by empty ones, as an import does: see crud.LeftOut.
func (v *version) emptyCollections() {
	list := func(into *types.List, element attr.Type) {
		if into.IsNull() {
			*into = types.ListValueMust(element, nil)
		}
	}
	if v.Labels.IsNull() {
		v.Labels = convert.Map(nil)
	}
	if v.Disks == nil {
		v.Disks = map[string]diskModel{}
	}
	if v.Interfaces == nil {
		v.Interfaces = []interfaceModel{}
	}
	for n := range v.Interfaces {
		i := &v.Interfaces[n]
		for _, l := range []*types.List{&i.Addresses, &i.Nameservers, &i.AllowedAddresses} {
			list(l, types.StringType)
		}
		list(&i.Routes, routeType())
		list(&i.SecurityRules, ruleType())
	}
}
