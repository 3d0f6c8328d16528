package dnsview

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
	m.Name = types.StringValue(got.Name)
	m.Order = types.Int64Value(got.Order)
	m.Recursion = types.BoolValue(got.Recursion)
	convert.KeepList(&m.MatchClients, got.MatchClients, bind.SameMatches)
	convert.KeepList(&m.MatchDestinations, got.MatchDestinations, bind.SameMatches)
	convert.KeepList(&m.AllowRecursion, got.AllowRecursion, bind.SameMatches)
	convert.KeepList(&m.Forwarders, got.Forwarders, bind.SameServers)
	convert.KeepList(&m.AllowQuery, got.AllowQuery, bind.SameMatches)
	convert.KeepMap(&m.Options, got.Options, bind.SameOptions)
	return nil
}
