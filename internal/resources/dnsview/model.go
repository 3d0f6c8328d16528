package dnsview

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
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

var spelling = values.NewSpeller(viewSchema)

func fillModel(_ context.Context, m *model, got bind.View) diag.Diagnostics {
	read := *m
	read.Name, read.Order, read.Recursion = types.StringValue(got.Name), types.Int64Value(got.Order), types.BoolValue(got.Recursion)
	read.MatchClients, read.MatchDestinations = convert.List(got.MatchClients), convert.List(got.MatchDestinations)
	read.AllowRecursion, read.Forwarders = convert.List(got.AllowRecursion), convert.List(got.Forwarders)
	read.AllowQuery, read.Options = convert.List(got.AllowQuery), convert.MapOrNull(got.Options)
	spelling.Keep(m, read)
	return nil
}
