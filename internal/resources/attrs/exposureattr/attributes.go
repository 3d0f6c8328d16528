// Package exposureattr is what the resources that expose something have in common: where its address comes from, who may connect,
// and how it is kept on the machine.
package exposureattr

import (
	"context"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/attrs/hostattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/addresspool"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/exposure"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/values"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/network"
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

// DecodePorts reads a map of ports, each as the resource has it; one that is not known at all is a zero one.
func DecodePorts[P any](ctx context.Context, ports types.Map, diags *diag.Diagnostics) map[string]P {
	all := map[string]P{}
	for name, e := range ports.Elements() {
		var p P
		if o, ok := e.(types.Object); ok && convert.Known(o) {
			diags.Append(o.As(ctx, &p, basetypes.ObjectAsOptions{})...)
		}
		all[name] = p
	}
	return all
}

// PoolForm is what the id of a pool looks like.
const PoolForm = "SERVICE_NODE#POOL"

// Pool is the id of a pool.
var Pool = values.New("pool of addresses", "ssh://root@10.0.0.100#lan", func(id string) error {
	if _, _, err := hostattr.SplitID(id, PoolForm); err != nil {
		return fmt.Errorf("write the id of a virtcluster_address_pool: %w", err)
	}
	return nil
}).Same(host.ShortenReferences)

// keysOfExposures is what the keys of addresses begin with that exposures draw.
const keysOfExposures = "exposed/"

// IsKeyOfExposure says whether an exposure drew the address of a key.
func IsKeyOfExposure(key string) bool { return strings.HasPrefix(key, keysOfExposures) }

// OpenAddress opens what a pool, by its id, has drawn or is to draw for a key.
func OpenAddress(ctx context.Context, at crud.StoreContext, id types.String, key string) (*addresspool.Draw, error) {
	node, pool, err := hostattr.SplitID(id.ValueString(), PoolForm)
	if err != nil {
		return nil, service.At([]any{"pool"}, fmt.Errorf("write the id of a virtcluster_address_pool: %w", err))
	}
	d := addresspool.NewDraw(pool, key, func(drawn addresspool.Address) { at.Ledger.Note(addresspool.NewDrawUse(drawn)) })
	d.Part, err = crud.OpenPart(ctx, at, node.ValueString(), d.NewPart(host.ShortenReferences(id.ValueString())+"/"+key, at.Claim.Mark()))
	return d, err
}

// Open returns the store of an exposure; name is its own on the machine, and what names it in messages.
func Open(ctx context.Context, at crud.StoreContext, c *Common, name, what, id string) (crud.Store[exposure.Exposure], error) {
	s := exposure.NewStore(name, at.Claim, &at.Fleet.Turns)
	var err error
	if s.Part, err = crud.OpenPart(ctx, at, c.ServiceNode.ValueString(), s.NewPart(what, id)); err != nil {
		return nil, err
	}
	if convert.Known(c.Pool) {
		// No key that a configuration can have has a # in it.
		pool, err := OpenAddress(ctx, at, c.Pool, keysOfExposures+host.WithoutKey(c.ServiceNode.ValueString())+"#"+name)
		if err != nil {
			return nil, err
		}
		known, _, _ := hostattr.Address(c.Address) // none where it is to be drawn
		s.DrawFrom(pool, known)
	}
	return s, nil
}

// PlanAddress refuses an exposure that has no address to be reached at, and asks for the device anew where the address moves.
func PlanAddress(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse, config *Common) {
	if config.Address.IsNull() && config.Pool.IsNull() {
		resp.Diagnostics.AddAttributeError(path.Root("address"), "No address", "write the address to be reached, or the pool that it is drawn from")
	}
	if req.State.Raw.IsNull() || !config.Interface.IsNull() || config.Address.IsNull() {
		return
	}
	var planned, stored types.String
	resp.Diagnostics.Append(resp.Plan.GetAttribute(ctx, path.Root("address"), &planned)...)
	resp.Diagnostics.Append(req.State.GetAttribute(ctx, path.Root("address"), &stored)...)
	if !planned.Equal(stored) {
		resp.Diagnostics.Append(resp.Plan.SetAttribute(ctx, path.Root("interface"), types.StringUnknown())...)
	}
}

// CrossCheck refuses what somebody has on the machine.
func CrossCheck(ctx context.Context, at crud.StoreContext, c *Common, want exposure.Exposure) diag.Diagnostics {
	var diags diag.Diagnostics
	if at.Fleet == nil || c.ServiceNode.ValueString() == "" || want.Kind != exposure.NodePort && !want.Address.IsValid() || want.Kind == exposure.NodePort && len(want.Targets) == 0 {
		return diags // a port of every address is that of the targets' family
	}
	h, err := at.Fleet.Host(ctx, c.ServiceNode.ValueString())
	if err != nil {
		return diags // the apply says so
	}
	problems, survey, asked := exposure.Check(ctx, &at.Fleet.Engine, h, at.Claim, want)
	if asked {
		diags.Append(crud.Diagnostics(problems)...)
		diags.Append(checkWayBack(ctx, at, h, survey, want)...)
	}
	return diags
}

// checkWayBack warns where what a target answers does not come back by the machine: its network's gateway is another one.
func checkWayBack(ctx context.Context, at crud.StoreContext, h host.Host, survey exposure.Survey, want exposure.Exposure) diag.Diagnostics {
	var diags diag.Diagnostics
	for target, place := range want.SeeWhoConnects() {
		for _, name := range at.Fleet.Names() {
			client, err := at.Fleet.Hypervisor(ctx, name)
			if err != nil {
				continue
			}
			gateway, network, offers, err := network.FindGateway(ctx, client, target)
			if err != nil || !offers || survey.Has(gateway) {
				continue
			}
			where := crud.AttributePath(place)
			diags.AddAttributeWarning(where, "Answers take another way", crud.DetailAt(where, fmt.Sprintf("network %q on hypervisor %s gives %s the gateway %s, which %s is not. "+
				"Unless the guest has another default gateway, nobody gets an answer from it but those beside it: write masquerade = true, or make the machine its gateway", network, client.URI(), target, gateway, h)))
			break
		}
	}
	return diags
}
