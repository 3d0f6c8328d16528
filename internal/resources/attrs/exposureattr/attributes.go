// Package exposureattr is what the resources that expose something have in common: where its address comes from, who may connect,
// and how it is kept on the machine.
package exposureattr

import (
	"net/netip"

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
		"id": hostattr.ID(form),
		"service_node": schema.StringAttribute{
			Required: true, PlanModifiers: hostattr.OtherMachineReplaces(), Validators: []validator.String{values.Endpoint},
			MarkdownDescription: "Machine that exposes it, and that the guests' answers come back through: the `id` of a `virtcluster_service_node` with the service `nftables`. Another one replaces the resource.",
		},
		"address": schema.StringAttribute{
			Optional: true, Computed: true, Validators: []validator.String{values.Address},
			PlanModifiers:       []planmodifier.String{values.Address.KeepSpelling(), stringplanmodifier.UseStateForUnknown()},
			MarkdownDescription: "The address to be reached. Instead of `pool`.",
		},
		"pool": schema.StringAttribute{
			Optional: true, Validators: []validator.String{Pool, stringvalidator.ConflictsWith(path.MatchRoot("address"))},
			PlanModifiers:       []planmodifier.String{Pool.KeepSpelling(), stringplanmodifier.RequiresReplace()},
			MarkdownDescription: "The `id` of a `virtcluster_address_pool` that the address is drawn from, and given back to. Another one replaces the resource.",
		},
		"interface": schema.StringAttribute{
			Optional: true, Computed: true, Validators: []validator.String{values.Device},
			PlanModifiers:       []planmodifier.String{stringplanmodifier.UseStateForUnknown()},
			MarkdownDescription: "Network device of the machine that the address is on. Default: the one whose subnet has the address in it.",
		},
		"configure_address": configure,
		"masquerade":        masquerade,
		"source_ranges": schema.ListAttribute{
			Optional: true, ElementType: types.StringType, Validators: []validator.List{values.Each(values.Prefix).Distinct()},
			PlanModifiers:       []planmodifier.List{values.Each(values.Prefix).KeepSpelling()},
			MarkdownDescription: "Who may connect, as prefixes such as `10.19.41.0/24`; the machine itself always may. New connections of others are dropped; those that are open go on. Default: everybody.",
		},
		"serving": crud.ServingAttribute("what exposes it (rules, address, HAProxy's sections)"),
	}
}

// Spec reads the attributes into an exposure; an unknown is the zero value.
func (c *Common) Spec(e *exposure.Exposure) diag.Diagnostics {
	var diags diag.Diagnostics
	a, _, err := hostattr.Address(c.Address)
	if err != nil {
		diags.AddAttributeError(path.Root("address"), "Invalid address", err.Error())
	}
	e.Pool = host.ShortenReferences(c.Pool.ValueString())
	e.Address, e.Interface, e.ConfigureAddress = a, c.Interface.ValueString(), c.ConfigureAddress.ValueBool()
	e.Masquerade = c.Masquerade.ValueBool()
	for i, text := range convert.Texts(c.SourceRanges) {
		if text == "" {
			continue // unknown
		}
		p, err := netip.ParsePrefix(text)
		if err != nil {
			diags.AddAttributeError(path.Root("source_ranges").AtListIndex(i), "Invalid prefix", err.Error())
			continue
		}
		e.SourceRanges = append(e.SourceRanges, p.Masked())
	}
	return diags
}

// Fill writes what the machine has into the attributes.
func (c *Common) Fill(got exposure.Exposure) {
	c.Address = types.StringNull()
	if got.Address.IsValid() {
		c.Address = types.StringValue(got.Address.String())
	}
	c.Pool, c.Interface = convert.Text(got.Pool), convert.Text(got.Interface)
	c.ConfigureAddress, c.Masquerade = types.BoolValue(got.ConfigureAddress), types.BoolValue(got.Masquerade)
	c.SourceRanges = types.ListNull(types.StringType)
	if len(got.SourceRanges) > 0 {
		c.SourceRanges = convert.SpellList(got.SourceRanges)
	}
}
