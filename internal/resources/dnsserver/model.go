package dnsserver

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
	ID               types.String `tfsdk:"id"`
	ServiceNode      types.String `tfsdk:"service_node"`
	ListenOn         types.List   `tfsdk:"listen_on"`
	Forwarders       types.List   `tfsdk:"forwarders"`
	AllowQuery       types.List   `tfsdk:"allow_query"`
	AllowRecursion   types.List   `tfsdk:"allow_recursion"`
	DNSSECValidation types.String `tfsdk:"dnssec_validation"`
	Options          types.Map    `tfsdk:"options"`
}

func toSpec(_ context.Context, m *model) (bind.Server, diag.Diagnostics) {
	return bind.Server{
		ListenOn: convert.Texts(m.ListenOn), Forwarders: convert.Texts(m.Forwarders),
		AllowQuery: convert.Texts(m.AllowQuery), AllowRecursion: convert.Texts(m.AllowRecursion),
		DNSSECValidation: m.DNSSECValidation.ValueString(), Options: convert.MapTexts(m.Options),
	}, nil
}

func fillModel(_ context.Context, m *model, got bind.Server) diag.Diagnostics {
	m.ListenOn = values.Keep(dnsattr.Listen, m.ListenOn, convert.List(got.ListenOn))
	m.Forwarders = values.Keep(dnsattr.Servers, m.Forwarders, convert.List(got.Forwarders))
	m.AllowQuery = values.Keep(dnsattr.Matches, m.AllowQuery, convert.List(got.AllowQuery))
	m.AllowRecursion = values.Keep(dnsattr.Matches, m.AllowRecursion, convert.List(got.AllowRecursion))
	m.DNSSECValidation, m.Options = types.StringValue(got.DNSSECValidation), convert.MapOrNull(got.Options)
	return nil
}
