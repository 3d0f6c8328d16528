package nfsexport

import (
	"context"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/nfs"
)

type model struct {
	crud.ServingModel
	ID          types.String `tfsdk:"id"`
	ServiceNode types.String `tfsdk:"service_node"`
	Path        types.String `tfsdk:"path"`
	Clients     types.List   `tfsdk:"clients"`
	Create      types.Bool   `tfsdk:"create"`
	Owner       types.String `tfsdk:"owner"`
	Group       types.String `tfsdk:"group"`
	Permissions types.String `tfsdk:"permissions"`
}

type clientModel struct {
	Match   types.String `tfsdk:"match"`
	Options types.List   `tfsdk:"options"`
}

var clientTypes = map[string]attr.Type{"match": types.StringType, "options": types.ListType{ElemType: types.StringType}}

func (m *model) decodeClients(ctx context.Context, diags *diag.Diagnostics) []clientModel {
	var all []clientModel
	for _, e := range m.Clients.Elements() {
		var c clientModel
		if o, ok := e.(types.Object); ok && convert.Known(o) {
			diags.Append(o.As(ctx, &c, basetypes.ObjectAsOptions{})...)
		}
		all = append(all, c)
	}
	return all
}

func (m *model) toSpec(ctx context.Context) (nfs.Export, diag.Diagnostics) {
	var diags diag.Diagnostics
	e := nfs.Export{
		Path: m.Path.ValueString(), Create: m.Create.ValueBool(), Owner: m.Owner.ValueString(), Group: m.Group.ValueString(), Permissions: m.Permissions.ValueString(),
	}
	for _, c := range m.decodeClients(ctx, &diags) {
		e.Clients = append(e.Clients, nfs.Client{Match: c.Match.ValueString(), Options: convert.Texts(c.Options)})
	}
	return e, diags
}

func (m *model) fillModel(ctx context.Context, got nfs.Export) diag.Diagnostics {
	own, diags := m.toSpec(ctx)
	if diags.HasError() {
		return diags
	}
	m.Path, m.Create = types.StringValue(got.Path), types.BoolValue(got.Create)
	m.Owner, m.Group = types.StringValue(got.Owner), types.StringValue(got.Group)
	if strings.TrimLeft(m.Permissions.ValueString(), "0") != strings.TrimLeft(got.Permissions, "0") || m.Permissions.ValueString() == "" {
		m.Permissions = types.StringValue(got.Permissions)
	}
	same := slices.EqualFunc(own.Clients, got.Clients, func(a, b nfs.Client) bool { return a.Match == b.Match && slices.Equal(a.Options, b.Options) })
	if same && !m.Clients.IsNull() {
		return diags
	}
	all := []clientModel{}
	for _, c := range got.Clients {
		all = append(all, clientModel{types.StringValue(c.Match), convert.List(c.Options)})
	}
	var d diag.Diagnostics
	m.Clients, d = types.ListValueFrom(ctx, types.ObjectType{AttrTypes: clientTypes}, all)
	return append(diags, d...)
}
