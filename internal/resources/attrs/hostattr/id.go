package hostattr

import (
	"context"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/values"
)

// ID is the attribute of the id; form says what that looks like: "HOST#NAME".
func ID(form string) schema.StringAttribute {
	return values.KeptText("`" + form + "`, which is also what import takes.")
}

// Reference is a machine as ids and the plan's registry have it, whichever of its references is given; "" while it is not known.
func Reference(machine types.String) string { return host.ShortenReferences(machine.ValueString()) }

// Endpoint is a reference to a machine as messages have it: without its host key.
func Endpoint(reference string) string {
	endpoint, _, _ := strings.Cut(reference, "?")
	return endpoint
}

// JoinID is the id of a thing on a machine: MACHINE#REST.
func JoinID(machine types.String, rest string) string { return Reference(machine) + "#" + rest }

// SplitID is the inverse of JoinID: no reference to a machine has a number sign. The error says what an id looks like.
func SplitID(id, form string) (machine types.String, rest string, err error) {
	place, rest, ok := strings.Cut(id, "#")
	if !ok || place == "" || rest == "" {
		word, _, _ := strings.Cut(form, "#")
		return types.StringNull(), "", fmt.Errorf("write %s, where %s is the id of a virtcluster_service_node or an endpoint such as ssh://root@10.0.0.100", form, word)
	}
	return types.StringValue(place), rest, nil
}

// SplitName is SplitID into the attributes of a model whose id is a machine and a name, after what the form has before it:
// SERVICE_NODE#backend/NAME.
func SplitName(id, form string, machine, name *types.String) error {
	place, rest, err := SplitID(id, form)
	if err != nil {
		return err
	}
	rest, ok := strings.CutPrefix(rest, fixedWords(form))
	if !ok || rest == "" {
		return fmt.Errorf("write %s", form)
	}
	*machine, *name = place, types.StringValue(rest)
	return nil
}

// FormatID is the id of a thing on a machine, by the form of such ids and its name, if it has one.
func FormatID(form string, machine, name types.String) string {
	return JoinID(machine, fixedWords(form)+name.ValueString())
}

// fixedWords are what all ids of a form have behind the machine: "backend/" of SERVICE_NODE#backend/NAME.
func fixedWords(form string) string {
	_, rest, _ := strings.Cut(form, "#")
	return strings.TrimRight(rest, "ABCDEFGHIJKLMNOPQRSTUVWXYZ")
}

// OtherMachineReplaces are the plan modifiers of an attribute that names a machine, or something on one by its id: another one makes
// a new resource, and another spelling of the same one is no change.
func OtherMachineReplaces() []planmodifier.String {
	return []planmodifier.String{KeepReference(), stringplanmodifier.RequiresReplace()}
}

// KeepReference is the plan modifier of such an attribute where another machine is a change in place.
func KeepReference() planmodifier.String { return keepReference{} }

// keepReference plans the reference that the state has where the configuration has another one to the same machine, such as one
// with all of the host key's fingerprint.
type keepReference struct{ values.Undescribed }

func (keepReference) PlanModifyString(_ context.Context, req planmodifier.StringRequest, resp *planmodifier.StringResponse) {
	if !req.StateValue.IsNull() && convert.Known(req.PlanValue) && host.SameReference(req.StateValue.ValueString(), req.PlanValue.ValueString()) {
		resp.PlanValue = req.StateValue
	}
}
