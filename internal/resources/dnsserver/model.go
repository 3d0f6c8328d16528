package dnsserver

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
	convert.KeepList(&m.ListenOn, got.ListenOn, bind.SameListen)
	convert.KeepList(&m.Forwarders, got.Forwarders, bind.SameServers)
	convert.KeepList(&m.AllowQuery, got.AllowQuery, bind.SameMatches)
	convert.KeepList(&m.AllowRecursion, got.AllowRecursion, bind.SameMatches)
	m.DNSSECValidation = types.StringValue(got.DNSSECValidation)
	convert.KeepMap(&m.Options, got.Options, bind.SameOptions)
	return nil
}
