package dnsattr

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// NoneIsNotDefault plans null for a list that is left out. To BIND an empty list is none, and none at all is its default, so that
// an import must not make one of the other (crud.LeftOut). It goes with Computed.
type NoneIsNotDefault struct{}

// Description implements planmodifier.Describer.
func (NoneIsNotDefault) Description(context.Context) string {
	return "empty is none, null is the default"
}

// MarkdownDescription implements planmodifier.Describer.
func (n NoneIsNotDefault) MarkdownDescription(ctx context.Context) string { return n.Description(ctx) }

// PlanModifyList implements planmodifier.List.
func (NoneIsNotDefault) PlanModifyList(ctx context.Context, req planmodifier.ListRequest, resp *planmodifier.ListResponse) {
	if req.ConfigValue.IsNull() {
		resp.PlanValue = types.ListNull(req.PlanValue.ElementType(ctx))
	}
}
