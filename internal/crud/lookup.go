package crud

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	resourceschema "github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/defaults"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/fleet"
)

// looker is a resource type whose objects can be looked at, whosever they are.
type looker interface {
	resource.ResourceWithConfigure
	listKey() []string
	describeType() (noun string)
	readNamed(ctx context.Context, named map[string]attr.Value) (tfsdk.State, diag.Diagnostics)
}

// Lookup makes the data source of a resource type: an object that something else made, by the attributes that name it, read by the type's own
// store. It has the attributes of the type but for those that are secret, that say how it changes (timeouts), or that are named in without.
func Lookup(name string, of func() resource.Resource, without ...string) func() datasource.DataSource {
	return func() datasource.DataSource {
		return &lookup{name: name, of: of().(looker), without: append(without, "timeouts")}
	}
}

type lookup struct {
	name    string
	of      looker
	without []string
}

// Metadata implements datasource.DataSource.
func (l *lookup) Metadata(_ context.Context, req datasource.MetadataRequest, resp *datasource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_" + l.name
}

// Configure implements datasource.DataSourceWithConfigure.
func (l *lookup) Configure(ctx context.Context, req datasource.ConfigureRequest, resp *datasource.ConfigureResponse) {
	var configured resource.ConfigureResponse
	l.of.Configure(ctx, resource.ConfigureRequest{ProviderData: req.ProviderData}, &configured)
	resp.Diagnostics.Append(configured.Diagnostics...)
}

// resourceSchema returns the schema of the resource.
func (l *lookup) resourceSchema(ctx context.Context) resourceschema.Schema {
	var got resource.SchemaResponse
	l.of.Schema(ctx, resource.SchemaRequest{}, &got)
	return got.Schema
}

// Schema implements datasource.DataSource.
func (l *lookup) Schema(ctx context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "The " + l.of.describeType() + " of a name, whoever made it: another state, another program or a person. Nothing of it is changed.",
		Attributes:          map[string]schema.Attribute{},
	}
	for name, a := range l.resourceSchema(ctx).Attributes {
		if slices.Contains(l.of.listKey(), name) {
			resp.Schema.Attributes[name] = keyAttribute(a.(resourceschema.StringAttribute))
		} else if !slices.Contains(l.without, name) && !hasSecret(a) {
			resp.Schema.Attributes[name] = computedAttribute(a)
		}
	}
}

// keyAttribute is an attribute that names the object: what the resource requires is required.
func keyAttribute(a resourceschema.StringAttribute) schema.Attribute {
	return schema.StringAttribute{
		Required: a.Required, Optional: !a.Required, Computed: a.Default != nil, Validators: a.Validators, MarkdownDescription: withoutChanges(a.MarkdownDescription),
	}
}

// computedAttribute is an attribute of a resource as a data source has it, described by the first sentence alone: all others say what may be
// written.
func computedAttribute(of resourceschema.Attribute) schema.Attribute {
	words, _, cut := strings.Cut(of.GetMarkdownDescription(), ". ")
	if cut {
		words += "."
	}
	inner := func(all map[string]resourceschema.Attribute) schema.NestedAttributeObject {
		nested := schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{}}
		for name, a := range all {
			nested.Attributes[name] = computedAttribute(a)
		}
		return nested
	}
	switch a := of.(type) {
	case resourceschema.StringAttribute:
		return schema.StringAttribute{Computed: true, MarkdownDescription: words}
	case resourceschema.BoolAttribute:
		return schema.BoolAttribute{Computed: true, MarkdownDescription: words}
	case resourceschema.Int64Attribute:
		return schema.Int64Attribute{Computed: true, MarkdownDescription: words}
	case resourceschema.ListAttribute:
		return schema.ListAttribute{Computed: true, MarkdownDescription: words, ElementType: a.ElementType}
	case resourceschema.MapAttribute:
		return schema.MapAttribute{Computed: true, MarkdownDescription: words, ElementType: a.ElementType}
	case resourceschema.SingleNestedAttribute:
		return schema.SingleNestedAttribute{Computed: true, MarkdownDescription: words, Attributes: inner(a.Attributes).Attributes}
	case resourceschema.ListNestedAttribute:
		return schema.ListNestedAttribute{Computed: true, MarkdownDescription: words, NestedObject: inner(a.NestedObject.Attributes)}
	case resourceschema.MapNestedAttribute:
		return schema.MapNestedAttribute{Computed: true, MarkdownDescription: words, NestedObject: inner(a.NestedObject.Attributes)}
	}
	panic(fmt.Sprintf("no data source has an attribute such as %T", of))
}

// withoutChanges is a description without what it says of changes.
func withoutChanges(words string) string {
	words, _, _ = strings.Cut(words, " A change ")
	words, _, _ = strings.Cut(words, " A new name ")
	return words
}

// Read implements datasource.DataSource.
func (l *lookup) Read(ctx context.Context, req datasource.ReadRequest, resp *datasource.ReadResponse) {
	named := map[string]attr.Value{}
	for _, name := range l.of.listKey() {
		var v types.String
		resp.Diagnostics.Append(req.Config.GetAttribute(ctx, path.Root(name), &v)...)
		if a := l.resourceSchema(ctx).Attributes[name].(resourceschema.StringAttribute); v.IsNull() && a.Default != nil {
			var planned defaults.StringResponse
			a.Default.DefaultString(ctx, defaults.StringRequest{Path: path.Root(name)}, &planned)
			v = planned.PlanValue
		}
		named[name] = v
	}
	if resp.Diagnostics.HasError() {
		return
	}
	state, diags := l.of.readNamed(ctx, named)
	resp.Diagnostics.Append(diags...)
	if resp.Diagnostics.HasError() {
		return
	}
	all := map[string]tftypes.Value{}
	if err := state.Raw.As(&all); err != nil {
		resp.Diagnostics.AddError("Cannot read "+l.of.describeType(), err.Error())
		return
	}
	kept := resp.State.Schema.GetAttributes()
	maps.DeleteFunc(all, func(name string, _ tftypes.Value) bool { return kept[name] == nil })
	resp.State.Raw = tftypes.NewValue(resp.State.Schema.Type().TerraformType(ctx), all)
}

func (r *typed[M, S]) listKey() []string { return r.Key }

func (r *typed[M, S]) describeType() string { return r.Noun }

// readNamed reads the object that some attributes name. One that is not there is an error.
func (r *typed[M, S]) readNamed(ctx context.Context, named map[string]attr.Value) (state tfsdk.State, diags diag.Diagnostics) {
	state, diags = r.newState(ctx, named)
	var m M
	diags.Append(state.Get(ctx, &m)...)
	if diags.HasError() {
		return state, diags
	}
	var err error
	switch {
	case r.provided.Fleet == nil:
		err = fleet.ErrUnknown
	case r.provided.Fleet.Offline():
		err = fleet.ErrOffline
	default:
		var more diag.Diagnostics
		_, more, err = r.lookUp(ctx, &state, true)
		diags.Append(more...)
	}
	if err != nil {
		diags.Append(NewFailure("read", r.describeObject(&m), err))
	}
	return state, diags
}
