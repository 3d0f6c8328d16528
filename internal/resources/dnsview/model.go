package dnsview

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/attrs/dnsattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/bind"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/values"
)

type model struct {
	crud.ServingModel
	ID                types.String `tfsdk:"id"`
	ServiceNode       types.String `tfsdk:"service_node"`
	Name              types.String `tfsdk:"name"`
	Order             types.Int64  `tfsdk:"order"`
	MatchClients      types.List   `tfsdk:"match_clients"`
	MatchDestinations types.List   `tfsdk:"match_destinations"`
	Recursion         types.Bool   `tfsdk:"recursion"`
	AllowRecursion    types.List   `tfsdk:"allow_recursion"`
	Forwarders        types.List   `tfsdk:"forwarders"`
	AllowQuery        types.List   `tfsdk:"allow_query"`
	Options           types.Map    `tfsdk:"options"`
}

func toSpec(_ context.Context, m *model) (bind.View, diag.Diagnostics) {
	return bind.View{
		Name: m.Name.ValueString(), Order: m.Order.ValueInt64(),
		MatchClients: convert.Texts(m.MatchClients), MatchDestinations: convert.Texts(m.MatchDestinations),
		Recursion: m.Recursion.ValueBool(), AllowRecursion: convert.Texts(m.AllowRecursion),
		Forwarders: convert.Texts(m.Forwarders), AllowQuery: convert.Texts(m.AllowQuery),
		Options: convert.MapTexts(m.Options),
	}, nil
}

func fillModel(_ context.Context, m *model, got bind.View) diag.Diagnostics {
	m.Name, m.Order, m.Recursion = types.StringValue(got.Name), types.Int64Value(got.Order), types.BoolValue(got.Recursion)
	m.MatchClients = values.Keep(dnsattr.Matches, m.MatchClients, convert.List(got.MatchClients))
	m.MatchDestinations = values.Keep(dnsattr.Matches, m.MatchDestinations, convert.List(got.MatchDestinations))
	m.AllowRecursion = values.Keep(dnsattr.Matches, m.AllowRecursion, convert.List(got.AllowRecursion))
	m.Forwarders = values.Keep(dnsattr.Servers, m.Forwarders, convert.List(got.Forwarders))
	m.AllowQuery = values.Keep(dnsattr.Matches, m.AllowQuery, convert.List(got.AllowQuery))
	m.Options = convert.MapOrNull(got.Options)
	return nil
}
