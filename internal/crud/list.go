package crud

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework-validators/listvalidator"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/list"
	"github.com/hashicorp/terraform-plugin-framework/list/schema"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/fleet"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/part"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/values"
)

// Attributes that say where objects are: one of them is in the key of every type that lists, but of those whose objects are on several machines.
const (
	serviceNodeAttribute = "service_node"
	hostAttribute        = "host"
	ovnAttribute         = "ovn"
	// machinesAttribute is that of a list block of such a type.
	machinesAttribute = "service_nodes"
	// unmanagedAttribute is what leaves out what carries a mark.
	unmanagedAttribute = "unmanaged"
)

var placeAttributes = []string{hypervisorAttribute, serviceNodeAttribute, hostAttribute, ovnAttribute}

// Lists returns the list resources of those resource types that list.
func Lists(of []func() resource.Resource) (all []func() list.ListResource) {
	for _, make := range of {
		if _, lists := make().(list.ListResource); lists {
			all = append(all, func() list.ListResource { return make().(list.ListResource) })
		}
	}
	return all
}

// placeAttribute is the attribute of the key that says where an object is; "" for an object that is at several places.
func (r *typed[M, S]) placeAttribute() string {
	if at := slices.IndexFunc(placeAttributes, func(name string) bool { return slices.Contains(r.Key, name) }); at >= 0 {
		return placeAttributes[at]
	}
	return ""
}

// listing is a resource type that lists.
type listing[M, S any] struct{ *typed[M, S] }

// expression is a regular expression.
var expression = values.New("regular expression", "^okd-", func(text string) error {
	_, err := regexp.Compile(text)
	return err
})

// filters is what a list block says.
type filters struct {
	// at is where to look, null for the provider's own hypervisor, and machines are the places of a type whose objects are on several.
	at       types.String
	machines []string
	// name is what labels must match, and unmanaged says that what carries a mark is left out.
	name      *regexp.Regexp
	unmanaged bool
}

// ListResourceConfigSchema implements list.ListResource.
func (l listing[M, S]) ListResourceConfigSchema(_ context.Context, _ list.ListResourceSchemaRequest, resp *list.ListResourceSchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: fmt.Sprintf("Every %s that is there, whosever it is, by what its import takes. Nothing of it is changed.", l.Noun),
		Attributes: map[string]schema.Attribute{
			"name_matches": schema.StringAttribute{
				Optional: true, Validators: []validator.String{expression},
				MarkdownDescription: "Regular expression ([RE2](https://github.com/google/re2/wiki/Syntax)) that the name must match. Default: any name.",
			},
		},
	}
	if l.ListsMarked {
		resp.Schema.MarkdownDescription = fmt.Sprintf("Every `%s` that a state of this provider has, whichever that is, by what its import takes: what carries no mark of one cannot be told from what a machine has by itself. Nothing of it is changed.", l.typeName())
	} else {
		resp.Schema.Attributes[unmanagedAttribute] = schema.BoolAttribute{
			Optional: true, MarkdownDescription: "Whether to leave out what a state of this provider has: what carries an owner's mark. Default: `false`.",
		}
	}
	endpoint := func(words string) schema.Attribute {
		return schema.StringAttribute{Required: true, Validators: []validator.String{values.Endpoint}, MarkdownDescription: words}
	}
	const machine = "an endpoint such as `ssh://root@10.0.0.100`, or the id of a `virtcluster_service_node`."
	switch name := l.placeAttribute(); name {
	case hypervisorAttribute:
		resp.Schema.Attributes[name] = schema.StringAttribute{
			Optional: true, Validators: []validator.String{values.Name}, MarkdownDescription: "Which of the provider's `hypervisors` to look at. Default: the provider's `uri`.",
		}
	case ovnAttribute:
		resp.Schema.Attributes[name] = endpoint("Where OVN's northbound database is: the id of a `virtcluster_ovn`, or the endpoint of a machine that runs one.")
	case "":
	default:
		resp.Schema.Attributes[name] = endpoint("Machine to look at: " + machine)
	}
	if l.Across == nil {
		return
	}
	machines := schema.ListAttribute{
		Required: true, ElementType: types.StringType, Validators: []validator.List{values.Each(values.Endpoint).Some().Distinct()},
		MarkdownDescription: "Machines to look at, all that an object may be on: each " + machine,
	}
	if place := l.placeAttribute(); place != "" {
		machines.Required, machines.Optional = false, true
		machines.Validators = append(machines.Validators, listvalidator.ConflictsWith(path.MatchRoot(place)))
		machines.MarkdownDescription = fmt.Sprintf("Machines to look at, in place of `%s`: each %s", place, machine)
	}
	resp.Schema.Attributes[machinesAttribute] = machines
}

// List implements list.ListResource.
func (l listing[M, S]) List(ctx context.Context, req list.ListRequest, stream *list.ListResultsStream) {
	stream.Results = func(push func(list.ListResult) bool) {
		f, diags := l.readFilters(ctx, req.Config)
		if diags.HasError() {
			push(list.ListResult{Diagnostics: diags})
			return
		}
		count := int64(0)
		for _, named := range l.listNamed(ctx, f, &diags) {
			result := req.NewListResult(ctx)
			if !l.fillResult(ctx, f, named, req.IncludeResource, &result) {
				continue
			}
			if count++; !push(result) || count == req.Limit {
				return
			}
		}
		if diags.HasError() {
			push(list.ListResult{Diagnostics: diags})
		}
	}
}

// readFilters reads a list block.
func (l listing[M, S]) readFilters(ctx context.Context, config tfsdk.Config) (f filters, diags diag.Diagnostics) {
	var name types.String
	var unmanaged types.Bool
	if place := l.placeAttribute(); place != "" {
		diags.Append(config.GetAttribute(ctx, path.Root(place), &f.at)...)
	}
	if l.Across != nil {
		diags.Append(config.GetAttribute(ctx, path.Root(machinesAttribute), &f.machines)...)
	}
	diags.Append(config.GetAttribute(ctx, path.Root("name_matches"), &name)...)
	if !l.ListsMarked {
		diags.Append(config.GetAttribute(ctx, path.Root(unmanagedAttribute), &unmanaged)...)
	}
	f.unmanaged = unmanaged.ValueBool()
	if convert.Known(name) {
		f.name = regexp.MustCompile(name.ValueString()) // the schema has checked it
	}
	return f, diags
}

// named is the state of an object of which no more is known than what names it.
type named struct {
	tfsdk.State
	diags diag.Diagnostics
}

// listNamed lists the objects at the place of a list block.
func (l listing[M, S]) listNamed(ctx context.Context, f filters, diags *diag.Diagnostics) (all []named) {
	err := fleet.ErrUnknown
	switch {
	case l.provided.Fleet == nil:
	case l.provided.Fleet.Offline():
		err = fleet.ErrOffline
	case len(f.machines) > 0:
		var ids []string
		ids, err = l.listAcross(ctx, f.machines)
		for _, id := range ids {
			all = append(all, l.nameByID(ctx, id))
		}
	default:
		var keys []map[string]attr.Value
		keys, err = l.listKeysAt(ctx, f.at)
		for _, key := range keys {
			state, d := l.newState(ctx, key)
			all = append(all, named{state, d})
		}
	}
	if err != nil {
		diags.Append(NewFailure("list", "every "+l.Noun, err))
	}
	return all
}

// listAcross lists what is on several machines, by what an import takes.
func (r *typed[M, S]) listAcross(ctx context.Context, machines []string) ([]string, error) {
	return r.Across(ctx, StoreContext{ProviderData: r.provided, Claim: r.provided.ownerRun().Adopt()}, machines)
}

// nameByID makes the state that an import begins with.
func (r *typed[M, S]) nameByID(ctx context.Context, id string) named {
	state, diags := r.newState(ctx, nil)
	r.beginImport(ctx, &state, &diags, id, func(m *M) error { return r.Split(m, id) })
	return named{state, diags}
}

// listKeysAt lists what names the objects at a place, which the provider's own hypervisor is where it is null. A place without a
// configuration of the kind has none.
func (r *typed[M, S]) listKeysAt(ctx context.Context, place types.String) (keys []map[string]attr.Value, err error) {
	found, err := r.List(ctx, StoreContext{ProviderData: r.provided, Claim: r.provided.ownerRun().Adopt()}, place.ValueString())
	if part.IsAbsent(err) {
		err = nil
	}
	for _, names := range found {
		key := map[string]attr.Value{r.placeAttribute(): place}
		for name, v := range names {
			key[name] = convert.Text(v)
		}
		keys = append(keys, key)
	}
	return keys, err
}

// fillResult makes the result of an object, and says whether the filters want it. Where all of it is asked for, and it cannot be read, a
// warning says why. What is on several machines is read for its identity, which names them.
func (l listing[M, S]) fillResult(ctx context.Context, f filters, of named, whole bool, result *list.ListResult) bool {
	state, diags := of.State, of.diags
	var m M
	diags.Append(state.Get(ctx, &m)...)
	if result.Diagnostics.Append(diags...); diags.HasError() {
		return true
	}
	result.DisplayName = l.Label(&m)
	if f.name != nil && !f.name.MatchString(result.DisplayName) {
		return false
	}
	if whole || f.unmanaged || l.ListsMarked || len(f.machines) > 0 {
		store, diags, err := l.lookUp(ctx, &state, false)
		switch {
		case part.IsAbsent(err):
			return false // gone meanwhile
		case err != nil:
			if f.unmanaged && errors.As(err, new(*owner.ForeignError)) {
				return false
			}
			result.Diagnostics.AddWarning("Cannot read "+l.describeObject(&m), err.Error())
		case f.unmanaged && isMarked(store), l.ListsMarked && !isMarked(store):
			return false
		}
		result.Diagnostics.Append(diags...)
		if whole {
			result.Resource.Raw = state.Raw
		}
		result.Diagnostics.Append(state.Get(ctx, &m)...)
	}
	l.setIdentity(ctx, state, result.Identity, &m, &result.Diagnostics)
	return true
}

// isMarked says whether what a store has read carries an owner's mark.
func isMarked(store any) bool { return findMark(store).ID != "" }

// findMark returns the mark of what a store has read for an import; the zero one where it carries none.
func findMark(store any) owner.Mark {
	if owned, ok := store.(Owned); ok {
		return owned.Claim().TookFrom()
	}
	return owner.Mark{}
}
