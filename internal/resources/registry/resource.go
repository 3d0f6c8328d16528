// Package registry is the resource virtcluster_registry.
package registry

import (
	"context"
	"math"

	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/attrs/hostattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/registry"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/values"
)

// form is what an id looks like.
const form = "SERVICE_NODE#registry/NAME"

// New is the constructor that the provider offers.
func New() resource.Resource {
	return hostattr.NewPart(hostattr.PartType[model, registry.Registry]{
		Form: form, Name: "name", Part: registry.NewPart, Names: registry.Daemon.ListInstances,
		Type: crud.Type[model, registry.Registry]{
			Name:      "registry",
			Noun:      "registry",
			Schema:    resourceSchema,
			Spec:      toSpec,
			Fill:      fillModel,
			WriteOnly: writeOnly,
			Plan:      planChange,
		},
	})
}

// planChange plans where the images are.
func planChange(ctx context.Context, _ crud.StoreContext, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse, m *model) {
	var written types.String
	resp.Diagnostics.Append(req.Config.GetAttribute(ctx, path.Root("storage"), &written)...)
	if written.IsNull() && !m.Name.IsUnknown() {
		resp.Diagnostics.Append(resp.Plan.SetAttribute(ctx, path.Root("storage"), "/var/lib/virtcluster-registry/"+m.Name.ValueString())...)
	}
}

// What the attributes may hold.
var (
	registryName = values.New("name of a registry", "images", registry.CheckName)
	mirrored     = values.New("URL of a registry", "https://registry-1.docker.io", registry.CheckMirrored)
	user         = values.New("user", "builder", registry.CheckUser)
	hash         = values.New("bcrypt hash", "$2y$10$…", registry.CheckHash)
)

var tlsTypes = map[string]attr.Type{"certificate": types.StringType, "key": types.StringType, "key_wo": types.StringType, "key_wo_version": types.Int64Type}

func resourceSchema(context.Context) schema.Schema {
	beside := path.MatchRelative().AtParent()
	return schema.Schema{
		MarkdownDescription: "A registry of container images on a service node: one that images are pushed to, or a mirror that fetches what it lacks from another one and keeps it (`mirror_of`), so that it serves with the uplink cut. " +
			"docker-registry runs it in a unit of its own; the package's own configuration stays as it is. A destroy ends the registry; its images stay in `storage`.",
		Attributes: map[string]schema.Attribute{
			"id":           hostattr.ID(form),
			"service_node": hostattr.ServiceNode("the registry"),
			"name":         registryName.Default("registry", "Name of the registry: a service node may have several, each at a port of its own. Another one replaces the resource. Default: `registry`.", stringplanmodifier.RequiresReplace()),
			"address":      values.Address.Optional("Address that it listens at. Default: every address of the service node."),
			"port":         values.Between(1024, values.MostPort).Default(5000, "Port that it listens at, 1024 to 65535. Default: 5000."),
			"storage":      values.Path.OptionalComputed("Directory of the images, which is made where it is missing and stays with what is in it. Default: `/var/lib/virtcluster-registry/NAME`."),
			"mirror_of":    mirrored.Optional("URL of the registry that this one is a mirror of; nothing can be pushed to a mirror. What was pulled through it is served while that one does not answer, after a restart too (for which it asks by `curl`). docker-registry forgets what it fetched seven days later, and fetches it again when it is pulled. Default: none."),
			"tls": values.OptionalObject("Certificate for HTTPS. Default: plain HTTP.", values.Attributes{
				"certificate": values.Text.Required("The certificate with its chain, as PEM."),
				"key": schema.StringAttribute{
					Optional: true, Sensitive: true, Validators: []validator.String{values.Text, stringvalidator.ExactlyOneOf(beside.AtName("key_wo"))},
					MarkdownDescription: "The certificate's key, as PEM. It is kept in state: prefer `key_wo` where the CLI has write-only attributes.",
				},
				"key_wo": schema.StringAttribute{
					Optional: true, Sensitive: true, WriteOnly: true, Validators: []validator.String{values.Text, stringvalidator.AlsoRequires(beside.AtName("key_wo_version"))},
					MarkdownDescription: "The certificate's key, as PEM, never kept in plan or state. It is written when `key_wo_version` changes.",
				},
				"key_wo_version": values.Between(1, math.MaxInt32).Optional("Version of `key_wo`, 1 or more; a new one writes the key again. A key that no longer fits the certificate shows as another version."),
			}),
			"users": schema.MapAttribute{
				Optional: true, Sensitive: true, ElementType: types.StringType, Validators: []validator.Map{values.Each(hash).Keys(user)},
				MarkdownDescription: "Users who may pull and push, each with the bcrypt hash of the password. Default: everybody may.",
			},
			"serving": crud.ServingAttribute("the registry"),
		},
	}
}

type model struct {
	crud.ServingModel
	ID          types.String `tfsdk:"id"`
	ServiceNode types.String `tfsdk:"service_node"`
	Name        types.String `tfsdk:"name"`
	Address     types.String `tfsdk:"address"`
	Port        types.Int64  `tfsdk:"port"`
	Storage     types.String `tfsdk:"storage"`
	MirrorOf    types.String `tfsdk:"mirror_of"`
	TLS         types.Object `tfsdk:"tls"`
	Users       types.Map    `tfsdk:"users"`
}

type tlsModel struct {
	Certificate  types.String `tfsdk:"certificate"`
	Key          types.String `tfsdk:"key"`
	KeyWO        types.String `tfsdk:"key_wo"`
	KeyWOVersion types.Int64  `tfsdk:"key_wo_version"`
}

func toSpec(ctx context.Context, m *model) (registry.Registry, diag.Diagnostics) {
	r, diags := convert.Plain[registry.Registry](m)
	if convert.Known(m.TLS) {
		var t tlsModel
		diags.Append(m.TLS.As(ctx, &t, basetypes.ObjectAsOptions{})...)
		r.Certificate, r.Key, r.KeyVersion = t.Certificate.ValueString(), t.Key.ValueString(), t.KeyWOVersion.ValueInt64()
		if wo := t.KeyWO.ValueString(); wo != "" {
			r.Key = wo
		}
	}
	return r, diags
}

// writeOnly brings the key from the configuration into the model that is written.
func writeOnly(planned, config *model) {
	planned.TLS = convert.TakeAttribute(planned.TLS, config.TLS, "key_wo")
}

func fillModel(ctx context.Context, m *model, got registry.Registry) diag.Diagnostics {
	own, diags := toSpec(ctx, m)
	if diags.HasError() {
		return diags
	}
	convert.FillModel(&own, &got, m)
	if got.Certificate == "" {
		m.TLS = types.ObjectNull(tlsTypes)
		return diags
	}
	t := tlsModel{Certificate: types.StringValue(got.Certificate), Key: types.StringNull(), KeyWO: types.StringNull(), KeyWOVersion: types.Int64Null()}
	if version, ok := m.TLS.Attributes()["key_wo_version"]; ok && !version.IsNull() || got.KeyVersion != 0 {
		t.KeyWOVersion = types.Int64Value(got.KeyVersion)
	} else {
		t.Key = types.StringValue(got.Key)
	}
	var d diag.Diagnostics
	m.TLS, d = types.ObjectValueFrom(ctx, tlsTypes, t)
	return append(diags, d...)
}
