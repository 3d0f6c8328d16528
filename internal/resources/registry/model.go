package registry

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/registry"
)

type model struct {
	crud.ServingModel
	ID          types.String `tfsdk:"id"`
	ServiceNode types.String `tfsdk:"service_node"`
	Name        types.String `tfsdk:"name"`
	Address     types.String `tfsdk:"address"`
	Port        types.Int64  `tfsdk:"port"`
	Storage     types.String `tfsdk:"storage"`
	MirrorOf    types.String `tfsdk:"mirror_of"`
	TLS         types.Object `tfsdk:"tls"`
	Users       types.Map    `tfsdk:"users"`
}

type tlsModel struct {
	Certificate  types.String `tfsdk:"certificate"`
	Key          types.String `tfsdk:"key"`
	KeyWO        types.String `tfsdk:"key_wo"`
	KeyWOVersion types.Int64  `tfsdk:"key_wo_version"`
}

func toSpec(ctx context.Context, m *model) (registry.Registry, diag.Diagnostics) {
	var r registry.Registry
	diags := convert.ToPlain(m, &r, func(...any) {})
	if convert.Known(m.TLS) {
		var t tlsModel
		diags.Append(m.TLS.As(ctx, &t, basetypes.ObjectAsOptions{})...)
		r.Certificate, r.Key, r.KeyVersion = t.Certificate.ValueString(), t.Key.ValueString(), t.KeyWOVersion.ValueInt64()
		if wo := t.KeyWO.ValueString(); wo != "" {
			r.Key = wo
		}
	}
	return r, diags
}

// writeOnly brings the key from the configuration into the model that is written.
func writeOnly(planned, config *model) {
	planned.TLS = convert.TakeAttribute(planned.TLS, config.TLS, "key_wo")
}

func fillModel(ctx context.Context, m *model, got registry.Registry) diag.Diagnostics {
	own, diags := toSpec(ctx, m)
	if diags.HasError() {
		return diags
	}
	convert.FillModel(&own, &got, m)
	if got.Certificate == "" {
		m.TLS = types.ObjectNull(tlsTypes)
		return diags
	}
	t := tlsModel{Certificate: types.StringValue(got.Certificate), Key: types.StringNull(), KeyWO: types.StringNull(), KeyWOVersion: types.Int64Null()}
	if version, ok := m.TLS.Attributes()["key_wo_version"]; ok && !version.IsNull() || got.KeyVersion != 0 {
		t.KeyWOVersion = types.Int64Value(got.KeyVersion)
	} else {
		t.Key = types.StringValue(got.Key)
	}
	var d diag.Diagnostics
	m.TLS, d = types.ObjectValueFrom(ctx, tlsTypes, t)
	return append(diags, d...)
}
