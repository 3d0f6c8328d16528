package nfsexport

import (
	"context"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

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

func toSpec(_ context.Context, m *model) (nfs.Export, diag.Diagnostics) {
	var e nfs.Export
	diags := convert.ToPlain(m, &e, func(...any) {})
	return e, diags
}

// fillModel writes what the machine has, and keeps the model's own spelling where the meaning is the same.
func fillModel(ctx context.Context, m *model, got nfs.Export) diag.Diagnostics {
	own, diags := toSpec(ctx, m)
	if diags.HasError() {
		return diags
	}
	if strings.TrimLeft(own.Permissions, "0") == strings.TrimLeft(got.Permissions, "0") && own.Permissions != "" {
		got.Permissions = own.Permissions
	}
	convert.FillModel(&own, &got, m)
	return nil
}
