package crud

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/fleet"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/values"
)

// hypervisorAttribute is what the attribute is called that names a hypervisor.
const hypervisorAttribute = "hypervisor"

// HypervisorAttribute is the attribute that names the hypervisor of a resource: what is on it, and what a change makes anew, as the
// description calls them.
func HypervisorAttribute(what, anew string) schema.StringAttribute {
	return values.Name.Optional("Which of the provider's `hypervisors` the "+what+" is on. Default: the provider's `uri`. A change makes a new "+anew+".", stringplanmodifier.RequiresReplace())
}

// refuseUnknownHypervisor refuses the name of a hypervisor that the provider does not have, and what would be made or changed on a lost one.
func (r *typed[M, S]) refuseUnknownHypervisor(ctx context.Context, plan tfsdk.Plan, state tfsdk.State, diags *diag.Diagnostics) {
	if _, has := plan.Schema.GetAttributes()[hypervisorAttribute]; !has || r.provided.Fleet == nil {
		return
	}
	var name types.String
	diags.Append(plan.GetAttribute(ctx, path.Root(hypervisorAttribute), &name)...)
	if name.IsUnknown() || diags.HasError() {
		return
	}
	_, err := r.provided.Fleet.URI(name.ValueString())
	if lost, is := errors.AsType[*fleet.LostError](err); is && !plan.Raw.Equal(state.Raw) {
		diags.AddAttributeError(path.Root(hypervisorAttribute), "Lost hypervisor", lost.Error()+". Write another one for what is to go on there, and take away what is not")
		return
	}
	if err != nil && !errors.Is(err, fleet.ErrUnknown) {
		diags.AddAttributeError(path.Root(hypervisorAttribute), "Unknown hypervisor", err.Error())
	}
}

// SplitPlace reads an import id of something that a hypervisor has, a name or an id, either of them after "HYPERVISOR/", into a
// model's attributes. It says whether the text is one.
func SplitPlace(text string, isID func(string) bool, hypervisor, id, name *types.String) bool {
	ref := text
	if first, rest, found := strings.Cut(text, "/"); found {
		if first == "" {
			return false
		}
		*hypervisor, ref = types.StringValue(first), rest
	}
	switch {
	case ref == "" || strings.Contains(ref, "/"):
		return false
	case isID(ref):
		*id = types.StringValue(strings.ToLower(ref))
	default:
		// What was written is no id yet: the store would look for something of that name.
		*id, *name = types.StringNull(), types.StringValue(ref)
	}
	return true
}

// NameOrID is what messages call something that a hypervisor has: an import by its id has no name yet.
func NameOrID(name, id types.String) string { return cmp.Or(name.ValueString(), id.ValueString()) }

// ListNamed makes the List of a type whose objects have a name at their place. The place is reached by connect.
func ListNamed[C any](connect func(*fleet.Fleet, context.Context, string) (C, error), names func(context.Context, C) ([]string, error)) func(context.Context, StoreContext, string) ([]map[string]string, error) {
	return func(ctx context.Context, at StoreContext, place string) (keys []map[string]string, err error) {
		c, err := connect(at.Fleet, ctx, place)
		if err != nil {
			return nil, err
		}
		all, err := names(ctx, c)
		for _, name := range all {
			keys = append(keys, map[string]string{"name": name})
		}
		return keys, err
	}
}

// unseenMachineError says that the machine of a hypervisor cannot be looked at: libvirt there may be reached nevertheless.
type unseenMachineError struct{ error }

// Unwrap returns why.
func (e *unseenMachineError) Unwrap() error { return e.error }

// OpenMachine returns the machine that a hypervisor runs on.
func OpenMachine(f *fleet.Fleet, ctx context.Context, hypervisor string) (host.Host, error) { //nolint:revive // as connect of ListNamed has it
	endpoint, err := f.HostOf(hypervisor)
	if err != nil {
		return nil, err
	}
	return f.Host(ctx, endpoint)
}

// ListOnMachine makes the List of a type whose objects the machine of a hypervisor has, by their names.
func ListOnMachine(names func(context.Context, host.Host) ([]string, error)) func(context.Context, StoreContext, string) ([]map[string]string, error) {
	list := ListNamed(OpenMachine, names)
	return func(ctx context.Context, at StoreContext, hypervisor string) ([]map[string]string, error) {
		keys, err := list(ctx, at, hypervisor)
		if err != nil {
			err = &unseenMachineError{err}
		}
		return keys, err
	}
}
