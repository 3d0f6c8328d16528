package dnsrecordset

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/bind"
)

type model struct {
	crud.ServingModel
	ID          types.String `tfsdk:"id"`
	ServiceNode types.String `tfsdk:"service_node"`
	View        types.String `tfsdk:"view"`
	Zone        types.String `tfsdk:"zone"`
	Name        types.String `tfsdk:"name"`
	Type        types.String `tfsdk:"type"`
	TTL         types.Int64  `tfsdk:"ttl"`
	Values      types.List   `tfsdk:"values"`
}

func toSpec(_ context.Context, m *model) (bind.RecordSet, diag.Diagnostics) {
	r := bind.RecordSet{
		View: m.View.ValueString(), Zone: m.Zone.ValueString(), Name: m.Name.ValueString(), Type: m.Type.ValueString(),
		TTL: bind.InheritTTL, Values: convert.Texts(m.Values),
	}
	if convert.Known(m.TTL) {
		r.TTL = m.TTL.ValueInt64()
	}
	return r, nil
}

func fillModel(ctx context.Context, m *model, got bind.RecordSet) diag.Diagnostics {
	own, diags := toSpec(ctx, m)
	m.TTL = types.Int64Null()
	if got.TTL != bind.InheritTTL {
		m.TTL = types.Int64Value(got.TTL)
	}
	m.Values = convert.List(bind.SpellValues(own.Values, got.Values, got.Type, got.Zone))
	return diags
}

// recordKey is what names the record set, in canonical form where it is known.
func (m *model) recordKey() (zone, name, rrType string) {
	r, _ := toSpec(context.Background(), m)
	return r.Key()
}
