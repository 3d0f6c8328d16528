package dhcpserver

import (
	"context"
	"maps"
	"net/netip"
	"reflect"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/attrs/hostattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/kea"
)

type model struct {
	crud.ServingModel
	ID           types.String `tfsdk:"id"`
	ServiceNode  types.String `tfsdk:"service_node"`
	Interface    types.String `tfsdk:"interface"`
	CIDR         types.String `tfsdk:"cidr"`
	Ranges       types.List   `tfsdk:"ranges"`
	Hosts        types.Map    `tfsdk:"hosts"`
	LeaseSeconds types.Int64  `tfsdk:"lease_seconds"`
	Options      types.Map    `tfsdk:"options"`
	Boot         types.Object `tfsdk:"boot"`
	Pair         types.Object `tfsdk:"pair"`
}

type (
	rangeModel struct {
		Start types.String `tfsdk:"start"`
		End   types.String `tfsdk:"end"`
	}
	hostModel struct {
		IP       types.String `tfsdk:"ip"`
		Hostname types.String `tfsdk:"hostname"`
	}
	bootModel struct {
		NextServer types.String `tfsdk:"next_server"`
		BIOS       types.String `tfsdk:"bios"`
		UEFIia32   types.String `tfsdk:"uefi_ia32"`
		UEFIx64    types.String `tfsdk:"uefi_x64"`
		UEFIarm64  types.String `tfsdk:"uefi_arm64"`
		HTTPx64    types.String `tfsdk:"http_x64"`
		HTTParm64  types.String `tfsdk:"http_arm64"`
		IPXE       types.String `tfsdk:"ipxe"`
	}
	pairModel struct {
		Role    types.String `tfsdk:"role"`
		Address types.String `tfsdk:"address"`
		Peer    types.String `tfsdk:"peer"`
		Port    types.Int64  `tfsdk:"port"`
	}
)

// reader gathers what is wrong while values are read. What is unknown becomes the zero value.
type reader struct {
	ctx   context.Context
	diags diag.Diagnostics
}

func (r *reader) readAddress(at path.Path, v types.String) netip.Addr {
	a, _, err := hostattr.Address(v)
	if err != nil {
		r.diags.AddAttributeError(at, "Invalid address", err.Error())
	}
	return a
}

// readObject decodes one that is known, and says whether it did.
func (r *reader) readObject(v types.Object, into any) bool {
	if !convert.Known(v) {
		return false
	}
	r.diags.Append(v.As(r.ctx, into, basetypes.ObjectAsOptions{})...)
	return true
}

func (m *model) toSpec(ctx context.Context) (kea.Server, diag.Diagnostics) {
	r := &reader{ctx: ctx}
	s := kea.Server{Interface: m.Interface.ValueString(), LeaseSeconds: m.LeaseSeconds.ValueInt64(), Hosts: map[string]kea.Host{}, Options: convert.MapTexts(m.Options)}
	if text := m.CIDR.ValueString(); text != "" {
		p, err := netip.ParsePrefix(text)
		if err != nil {
			r.diags.AddAttributeError(path.Root("cidr"), "Invalid subnet", err.Error())
		}
		s.Subnet = p.Masked()
	}
	for i, e := range m.Ranges.Elements() {
		var one rangeModel
		at := path.Root("ranges").AtListIndex(i)
		if o, ok := e.(types.Object); ok && r.readObject(o, &one) {
			s.Ranges = append(s.Ranges, kea.Range{Start: r.readAddress(at.AtName("start"), one.Start), End: r.readAddress(at.AtName("end"), one.End)})
		}
	}
	for _, mac := range slices.Sorted(maps.Keys(m.Hosts.Elements())) {
		var one hostModel
		at := path.Root("hosts").AtMapKey(mac)
		o, ok := m.Hosts.Elements()[mac].(types.Object)
		if !ok || !r.readObject(o, &one) {
			continue
		}
		if _, twice := s.Hosts[canonicalMAC(mac)]; twice {
			r.diags.AddAttributeError(at, "MAC address twice", mac+" is another spelling of one that is there already")
		}
		s.Hosts[canonicalMAC(mac)] = kea.Host{IP: r.readAddress(at.AtName("ip"), one.IP), Hostname: one.Hostname.ValueString()}
	}
	var boot bootModel
	if r.readObject(m.Boot, &boot) {
		s.Boot = &kea.Boot{
			NextServer: r.readAddress(path.Root("boot").AtName("next_server"), boot.NextServer), BIOS: boot.BIOS.ValueString(),
			UEFIia32: boot.UEFIia32.ValueString(), UEFIx64: boot.UEFIx64.ValueString(), UEFIarm64: boot.UEFIarm64.ValueString(),
			HTTPx64: boot.HTTPx64.ValueString(), HTTParm64: boot.HTTParm64.ValueString(), IPXE: boot.IPXE.ValueString(),
		}
		if convert.WhollyKnown(ctx, m.Boot) && len(s.Boot.Files()) == 0 {
			r.diags.AddAttributeError(path.Root("boot"), "Nothing to boot", "write what at least one kind of machine boots, or leave boot out")
		}
	}
	var pair pairModel
	if r.readObject(m.Pair, &pair) {
		s.Pair = &kea.Pair{
			Primary: pair.Role.ValueString() != "standby", Address: r.readAddress(path.Root("pair").AtName("address"), pair.Address),
			Peer: r.readAddress(path.Root("pair").AtName("peer"), pair.Peer), Port: pair.Port.ValueInt64(),
		}
	}
	return s, r.diags
}

// canonicalMAC is a MAC address in the one spelling that Kea keeps.
func canonicalMAC(text string) string { return strings.ToLower(strings.ReplaceAll(text, "-", ":")) }

// fillModel writes what the machine has, and keeps the model's own spelling where the meaning is the same.
func (m *model) fillModel(ctx context.Context, got kea.Server) diag.Diagnostics {
	own, diags := m.toSpec(ctx)
	if diags.HasError() {
		return diags
	}
	take := func(d diag.Diagnostics) { diags.Append(d...) }
	m.Interface, m.LeaseSeconds = types.StringValue(got.Interface), types.Int64Value(got.LeaseSeconds)
	if own.Subnet != got.Subnet {
		m.CIDR = types.StringValue(spellPrefix(got.Subnet))
	}
	if !slices.Equal(own.Ranges, got.Ranges) || m.Ranges.IsUnknown() {
		all := []rangeModel{}
		for _, one := range got.Ranges {
			all = append(all, rangeModel{types.StringValue(one.Start.String()), types.StringValue(one.End.String())})
		}
		var d diag.Diagnostics
		m.Ranges, d = types.ListValueFrom(ctx, rangeType, all)
		take(d)
	}
	if !maps.Equal(own.Hosts, got.Hosts) || m.Hosts.IsUnknown() {
		all := map[string]hostModel{}
		for mac, one := range got.Hosts {
			all[mac] = hostModel{types.StringValue(one.IP.String()), convert.Text(one.Hostname)}
		}
		var d diag.Diagnostics
		m.Hosts, d = types.MapValueFrom(ctx, hostType, all)
		take(d)
	}
	if !maps.Equal(own.Options, got.Options) || m.Options.IsUnknown() {
		m.Options = convert.Map(got.Options)
	}
	if !reflect.DeepEqual(own.Boot, got.Boot) {
		take(m.fillBoot(ctx, got.Boot))
	}
	if !reflect.DeepEqual(own.Pair, got.Pair) {
		take(m.fillPair(ctx, got.Pair))
	}
	return diags
}

func spellPrefix(p netip.Prefix) string {
	if !p.IsValid() {
		return ""
	}
	return p.String()
}

func (m *model) fillBoot(ctx context.Context, got *kea.Boot) (diags diag.Diagnostics) {
	m.Boot = types.ObjectNull(bootTypes)
	if got != nil {
		m.Boot, diags = types.ObjectValueFrom(ctx, bootTypes, bootModel{
			types.StringValue(got.NextServer.String()), convert.Text(got.BIOS), convert.Text(got.UEFIia32), convert.Text(got.UEFIx64), convert.Text(got.UEFIarm64),
			convert.Text(got.HTTPx64), convert.Text(got.HTTParm64), convert.Text(got.IPXE),
		})
	}
	return diags
}

func (m *model) fillPair(ctx context.Context, got *kea.Pair) (diags diag.Diagnostics) {
	m.Pair = types.ObjectNull(pairTypes)
	if got != nil {
		role := "standby"
		if got.Primary {
			role = "primary"
		}
		m.Pair, diags = types.ObjectValueFrom(ctx, pairTypes, pairModel{
			types.StringValue(role), types.StringValue(got.Address.String()), types.StringValue(got.Peer.String()), types.Int64Value(got.Port),
		})
	}
	return diags
}
