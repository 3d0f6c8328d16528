package dnsview

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/dnsattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/bind"
)

type model struct {
	crud.Served
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

func spec(_ context.Context, m *model) (bind.View, diag.Diagnostics) {
	return bind.View{
		Name: m.Name.ValueString(), Order: m.Order.ValueInt64(),
		MatchClients: dnsattr.Strings(m.MatchClients), MatchDestinations: dnsattr.Strings(m.MatchDestinations),
		Recursion: m.Recursion.ValueBool(), AllowRecursion: dnsattr.Strings(m.AllowRecursion),
		Forwarders: dnsattr.Strings(m.Forwarders), AllowQuery: dnsattr.Strings(m.AllowQuery),
		Options: dnsattr.MapStrings(m.Options),
	}, nil
}

func fill(_ context.Context, m *model, got bind.View) diag.Diagnostics {
	m.Name = types.StringValue(got.Name)
	m.Order = types.Int64Value(got.Order)
	m.Recursion = types.BoolValue(got.Recursion)
	dnsattr.KeepList(&m.MatchClients, got.MatchClients, bind.SameMatches)
	dnsattr.KeepList(&m.MatchDestinations, got.MatchDestinations, bind.SameMatches)
	dnsattr.KeepList(&m.AllowRecursion, got.AllowRecursion, bind.SameMatches)
	dnsattr.KeepList(&m.Forwarders, got.Forwarders, bind.SameServers)
	dnsattr.KeepList(&m.AllowQuery, got.AllowQuery, bind.SameMatches)
	dnsattr.KeepMap(&m.Options, got.Options, bind.SameOptions)
	return nil
}
