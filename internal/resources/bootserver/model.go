package bootserver

import (
	"context"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/attrs/hostattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/netboot"
)

type model struct {
	crud.ServingModel
	ID          types.String `tfsdk:"id"`
	ServiceNode types.String `tfsdk:"service_node"`
	HTTP        types.Object `tfsdk:"http"`
	TFTP        types.Bool   `tfsdk:"tftp"`
	Interfaces  types.List   `tfsdk:"interfaces"`
	Loaders     types.String `tfsdk:"loaders"`
	SecureBoot  types.Bool   `tfsdk:"secure_boot"`
	Peers       types.List   `tfsdk:"peers"`
	NextServer  types.String `tfsdk:"next_server"`
	Files       types.Object `tfsdk:"files"`
}

type httpModel struct {
	Address types.String `tfsdk:"address"`
	Port    types.Int64  `tfsdk:"port"`
}

var httpTypes = map[string]attr.Type{"address": types.StringType, "port": types.Int64Type}

func toSpec(ctx context.Context, m *model) (s netboot.Server, diags diag.Diagnostics) {
	s.TFTP, s.Loaders, s.Peers = m.TFTP.ValueBool(), m.Loaders.ValueString(), convert.KnownTexts(m.Peers)
	s.Interfaces, s.SecureBoot = convert.KnownTexts(m.Interfaces), m.SecureBoot.ValueBool()
	var at httpModel
	if convert.Known(m.HTTP) {
		diags.Append(m.HTTP.As(ctx, &at, basetypes.ObjectAsOptions{})...)
	}
	address, _, err := hostattr.Address(at.Address)
	if err != nil {
		diags.AddAttributeError(path.Root("http").AtName("address"), "Invalid address", err.Error())
	}
	s.Address, s.Port = address, at.Port.ValueInt64()
	return s, diags
}

func fillModel(ctx context.Context, m *model, got netboot.Server) diag.Diagnostics {
	own, diags := toSpec(ctx, m)
	if diags.HasError() {
		return diags
	}
	m.TFTP, m.Loaders, m.SecureBoot = types.BoolValue(got.TFTP), types.StringValue(got.Loaders), types.BoolValue(got.SecureBoot)
	if !slices.Equal(own.Interfaces, got.Interfaces) {
		m.Interfaces = convert.List(got.Interfaces)
	}
	if !slices.Equal(own.Peers, got.Peers) {
		m.Peers = convert.List(got.Peers)
	}
	var d diag.Diagnostics
	if own.Address != got.Address || own.Port != got.Port {
		at := httpModel{types.StringValue(""), types.Int64Value(got.Port)}
		if got.Address.IsValid() {
			at.Address = types.StringValue(got.Address.String())
		}
		m.HTTP, d = types.ObjectValueFrom(ctx, httpTypes, at)
		diags.Append(d...)
	}
	m.NextServer = types.StringValue(addressOf(got))
	m.Files, d = types.ObjectValue(fileTypes, listFiles(got))
	return append(diags, d...)
}

func addressOf(s netboot.Server) string {
	if !s.Address.IsValid() {
		return ""
	}
	return s.Address.String()
}

// listFiles lists what machines are told by DHCP.
func listFiles(s netboot.Server) map[string]attr.Value {
	all := map[string]attr.Value{}
	for _, name := range fileNames {
		all[name] = types.StringNull()
	}
	all["next_server"] = types.StringValue(addressOf(s))
	all["ipxe"] = types.StringValue(s.URL() + "/boot.ipxe")
	all["http_x64"] = types.StringValue(s.URL() + "/" + s.ForHTTP())
	if s.TFTP {
		all["bios"], all["uefi_x64"] = types.StringValue(s.ForBIOS()), types.StringValue(s.ForUEFI())
	}
	return all
}

// planFiles plans what follows from what is written.
func planFiles(ctx context.Context, resp *resource.ModifyPlanResponse, m *model) diag.Diagnostics {
	want, diags := toSpec(ctx, m)
	if diags.HasError() || !want.Address.IsValid() || want.Port == 0 || m.TFTP.IsUnknown() || m.SecureBoot.IsUnknown() {
		return diags
	}
	diags.Append(resp.Plan.SetAttribute(ctx, path.Root("next_server"), addressOf(want))...)
	object, d := types.ObjectValue(fileTypes, listFiles(want))
	diags.Append(d...)
	diags.Append(resp.Plan.SetAttribute(ctx, path.Root("files"), object)...)
	return diags
}
