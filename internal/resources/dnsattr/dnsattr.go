// Package dnsattr holds what the DNS resources have in common as Terraform sees them: ids, lists, messages.
package dnsattr

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/fleet"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/bind"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

// liveLimit bounds a look at a machine during planning: what it cannot say is checked at apply.
const liveLimit = 20 * time.Second

// ID is a resource's id from its service node's and its name there.
func ID(serviceNode types.String, name string) string {
	return serviceNode.ValueString() + "#" + name
}

// SplitID is the inverse of ID; form says what the id looks like: "SERVICE_NODE#VIEW".
func SplitID(id, form string) (serviceNode types.String, name string, err error) {
	at := strings.LastIndex(id, "#")
	if at <= 0 || at == len(id)-1 {
		return types.StringNull(), "", fmt.Errorf("write %s, where SERVICE_NODE is the id of a virtcluster_service_node", form)
	}
	return types.StringValue(id[:at]), id[at+1:], nil
}

// ViewName is a view's name as models have it: null for a zone without a view.
func ViewName(view string) types.String {
	if view == "" {
		return types.StringNull()
	}
	return types.StringValue(view)
}

// Strings are the elements of a list: nil where it is null or unknown, "" for an unknown element.
func Strings(list types.List) []string {
	if list.IsNull() || list.IsUnknown() {
		return nil
	}
	all := make([]string, 0, len(list.Elements()))
	for _, e := range list.Elements() {
		s, _ := e.(types.String)
		all = append(all, s.ValueString())
	}
	return all
}

// List is the inverse of Strings.
func List(all []string) types.List {
	if all == nil {
		return types.ListNull(types.StringType)
	}
	elements := make([]attr.Value, len(all))
	for i, s := range all {
		elements[i] = types.StringValue(s)
	}
	return types.ListValueMust(types.StringType, elements)
}

// KeepList stores what was read back, in the model's own spelling where that means the same.
func KeepList(own *types.List, got []string, same func(a, b []string) bool) {
	if own.IsUnknown() || !same(Strings(*own), got) {
		*own = List(got)
	}
}

// Map is a map of strings; nil is null.
func Map(all map[string]string) types.Map {
	if len(all) == 0 {
		return types.MapNull(types.StringType)
	}
	elements := map[string]attr.Value{}
	for k, v := range all {
		elements[k] = types.StringValue(v)
	}
	return types.MapValueMust(types.StringType, elements)
}

// MapStrings is the inverse of Map; unknown elements are "".
func MapStrings(m types.Map) map[string]string {
	if m.IsNull() || m.IsUnknown() {
		return nil
	}
	all := map[string]string{}
	for k, e := range m.Elements() {
		s, _ := e.(types.String)
		all[k] = s.ValueString()
	}
	return all
}

// KeepMap stores what was read back, in the model's own spelling where that means the same.
func KeepMap(own *types.Map, got map[string]string, same func(a, b map[string]string) bool) {
	if own.IsUnknown() || !same(MapStrings(*own), got) {
		*own = Map(got)
	}
}

// IDAttribute is the computed id.
func IDAttribute(form string) schema.Attribute {
	return schema.StringAttribute{
		Computed: true, MarkdownDescription: "`" + form + "`, which is also what import takes.",
		PlanModifiers: []planmodifier.String{stringplanmodifier.UseStateForUnknown()},
	}
}

// ServiceNodeAttribute is the machine that BIND runs on.
func ServiceNodeAttribute() schema.Attribute {
	return schema.StringAttribute{
		Required: true, MarkdownDescription: "Machine that BIND runs on: the `id` of a `virtcluster_service_node`. Another one makes a new resource.",
		PlanModifiers: []planmodifier.String{stringplanmodifier.RequiresReplace()},
	}
}

// MatchList is an optional address match list.
func MatchList(text string) schema.Attribute {
	return schema.ListAttribute{
		Optional: true, ElementType: types.StringType,
		MarkdownDescription: text + " An address match list: addresses, prefixes, `any`, `none`, `localhost`, `localnets`, `key NAME` or the name of an `acl`, each with `!` before it for the opposite; the first element that matches decides.",
	}
}

// Keep replaces a planned value by the one in state where both mean the same, so that another spelling is no
// change.
func Keep[T attr.Value](ctx context.Context, resp *resource.ModifyPlanResponse, at string, planned *T, state T, same bool) diag.Diagnostics {
	if (*planned).IsUnknown() || !same || (*planned).Equal(state) {
		return nil
	}
	*planned = state
	return resp.Plan.SetAttribute(ctx, path.Root(at), state)
}

// Live is BIND's configuration as it is on a machine, for checks at plan; readers share one look.
func Live(ctx context.Context, f *fleet.Fleet, serviceNode string) (transaction.Tree, error) {
	ctx, cancel := context.WithTimeout(ctx, liveLimit)
	defer cancel()
	h, err := f.Host(ctx, serviceNode)
	if err != nil {
		return nil, err
	}
	return f.Engine.Snapshot(ctx, h, bind.Daemon{})
}

// ForStrangers asks the plan, and then the machine, whether a view answers clients from anywhere. What the machine
// cannot say now, the apply of the view will.
func ForStrangers(ctx context.Context, f *fleet.Fleet, serviceNode, view string) bool {
	if v, ok := f.DNS.View(serviceNode, view); ok {
		return v.ForStrangers
	}
	if serviceNode == "" {
		return false
	}
	t, err := Live(ctx, f, serviceNode)
	if err != nil {
		return false
	}
	v, err := bind.FindView(t, view)
	return err == nil && v.ForStrangers()
}
