package hostattr

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
)

// OtherMachineReplaces are the plan modifiers of an attribute that names a machine, or something on one by its id: another one makes
// a new resource, and another spelling of the same one is no change.
func OtherMachineReplaces() []planmodifier.String {
	return []planmodifier.String{KeepReference(), stringplanmodifier.RequiresReplace()}
}

// KeepReference is the plan modifier of such an attribute where another machine is a change in place.
func KeepReference() planmodifier.String { return keepReference{} }

// keepReference plans the reference that the state has where the configuration has another one to the same machine, such as one
// with all of the host key's fingerprint.
type keepReference struct{}

func (keepReference) Description(context.Context) string {
	return "two references to one machine are no change"
}

func (k keepReference) MarkdownDescription(ctx context.Context) string { return k.Description(ctx) }

func (keepReference) PlanModifyString(_ context.Context, req planmodifier.StringRequest, resp *planmodifier.StringResponse) {
	if !req.StateValue.IsNull() && convert.Known(req.PlanValue) && host.SameReference(req.StateValue.ValueString(), req.PlanValue.ValueString()) {
		resp.PlanValue = req.StateValue
	}
}
