// Package exposureattr is what the resources that expose something have in common: where its address comes from, who may connect,
// and how it is kept on the machine.
package exposureattr

import (
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/attrs/hostattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/exposure"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/values"
)

// Common is the part of a resource's model that all of them have.
type Common struct {
	crud.ServingModel
	ID               types.String `tfsdk:"id"`
	ServiceNode      types.String `tfsdk:"service_node"`
	Address          types.String `tfsdk:"address"`
	Pool             types.String `tfsdk:"pool"`
	Interface        types.String `tfsdk:"interface"`
	ConfigureAddress types.Bool   `tfsdk:"configure_address"`
	SourceRanges     types.List   `tfsdk:"source_ranges"`
	Masquerade       types.Bool   `tfsdk:"masquerade"`
}

// Name is what an exposed service, or a port, may be called.
var Name = values.New("name", "https", exposure.CheckName)

// Attributes are those of Common; form is what an id looks like.
func Attributes(form string, configure, masquerade schema.BoolAttribute) map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"id":           hostattr.ID(form),
		"service_node": values.Endpoint.Required("Machine that exposes it, and that the guests' answers come back through: the `id` of a `virtcluster_service_node` with the service `nftables`. Another one replaces the resource.", hostattr.OtherMachineReplaces()...),
		"address":      values.Address.OptionalComputed("The address to be reached. Instead of `pool`.", values.Address.KeepSpelling(), stringplanmodifier.UseStateForUnknown()),
		"pool": schema.StringAttribute{
			Optional: true, Validators: []validator.String{Pool, stringvalidator.ConflictsWith(path.MatchRoot("address"))},
			PlanModifiers:       []planmodifier.String{Pool.KeepSpelling(), stringplanmodifier.RequiresReplace()},
			MarkdownDescription: "The `id` of a `virtcluster_address_pool` that the address is drawn from, and given back to. Another one replaces the resource.",
		},
		"interface":         values.Device.OptionalComputed("Network device of the machine that the address is on. Default: the one whose subnet has the address in it.", stringplanmodifier.UseStateForUnknown()),
		"configure_address": configure,
		"masquerade":        masquerade,
		"source_ranges":     values.Each(values.Prefix).Distinct().OptionalList("Who may connect, as prefixes such as `10.19.41.0/24`; the machine itself always may. New connections of others are dropped; those that are open go on. Default: everybody.", values.Each(values.Prefix).KeepSpelling()),
		"serving":           crud.ServingAttribute("what exposes it (rules, address, HAProxy's sections)"),
	}
}

// ReadExposure reads a model, with Common in it, into an exposure; an unknown is the zero value.
func ReadExposure(model any, e *exposure.Exposure) diag.Diagnostics {
	diags := convert.ToPlain(model, e, func(...any) {})
	e.Pool = host.ShortenReferences(e.Pool)
	for i, p := range e.SourceRanges {
		e.SourceRanges[i] = p.Masked()
	}
	return diags
}
