package dnsserver

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

var spelling = values.NewSpeller(serverSchema)

func fillModel(_ context.Context, m *model, got bind.Server) diag.Diagnostics {
	read := *m
	read.ListenOn, read.Forwarders = convert.List(got.ListenOn), convert.List(got.Forwarders)
	read.AllowQuery, read.AllowRecursion = convert.List(got.AllowQuery), convert.List(got.AllowRecursion)
	read.DNSSECValidation, read.Options = types.StringValue(got.DNSSECValidation), convert.MapOrNull(got.Options)
	spelling.Keep(m, read)
	return nil
}
