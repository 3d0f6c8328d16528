package externalbridge

import (
	"context"
	"reflect"

	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/bridge"
)

// keepMembers plans what the state has where the configuration has the same members in another type: `["eno1"]` is a tuple, a
// variable of list(string) is a list, and so is what states of version 0 had. Terraform would plan a change that shows nothing.
type keepMembers struct{}

func (keepMembers) Description(context.Context) string {
	return "A list of names and a tuple of them are the same."
}

func (k keepMembers) MarkdownDescription(ctx context.Context) string { return k.Description(ctx) }

// PlanModifyDynamic implements planmodifier.Dynamic.
func (keepMembers) PlanModifyDynamic(ctx context.Context, req planmodifier.DynamicRequest, resp *planmodifier.DynamicResponse) {
	if !convert.Known(req.StateValue) || req.PlanValue.IsNull() || !convert.WhollyKnown(ctx, req.PlanValue) {
		return
	}
	var was, want bridge.Bridge
	if readMembers(req.StateValue, &was).HasError() || readMembers(req.PlanValue, &want).HasError() {
		return
	}
	if reflect.DeepEqual(was, want) {
		resp.PlanValue = req.StateValue
	}
}
