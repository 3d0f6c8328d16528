// Package exposedservice is the resource virtcluster_exposed_service.
package exposedservice

import (
	"context"
	"fmt"
	"maps"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/attrs/exposureattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/attrs/hostattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/exposure"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/part"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/values"
)

// form is what an id looks like.
const form = "SERVICE_NODE#NAME"

// New is the constructor that the provider offers.
func New() resource.Resource {
	return hostattr.NewPart(hostattr.PartType[model, exposure.Exposure]{
		Form: form, Name: "name", Open: openStore, Daemon: exposure.Daemon{}, Names: exposure.ListNames,
		Type: crud.Type[model, exposure.Exposure]{
			Name:   "exposed_service",
			Noun:   "exposed service",
			Schema: resourceSchema,
			Spec:   toSpec,
			Plan:   planChange,
		},
	})
}

func openStore(ctx context.Context, at crud.StoreContext, m *model, of part.Identity) (crud.Store[exposure.Exposure], error) {
	return exposureattr.Open(ctx, at, &m.Common, of.Name, fmt.Sprintf("exposed service %q", of.Name), of.ImportID)
}

func resourceSchema(context.Context) schema.Schema {
	attributes := exposureattr.Attributes(form, values.Flag.Default(false, "Whether to put the address on `interface`, announce it, and put it there again after every start. An address that another machine answers for is refused. Default: `false`, for an address that the machine has already, such as a `virtcluster_vip`'s."), values.Flag.OptionalComputed("Whether the targets see the machine instead of who connects, in what the rules carry: an answer comes back this way then, wherever the targets' gateway is, as behind libvirt's NAT. "+
		"Without it the machine must be the targets' gateway. Default: `true` for a `node_port`, otherwise `false`. What HAProxy carries comes from the machine in any case.", masqueradeOfType{}))
	for _, name := range []string{"address", "interface"} {
		a := attributes[name].(schema.StringAttribute)
		a.PlanModifiers = append(a.PlanModifiers, nullForNodePort{})
		attributes[name] = a
	}
	maps.Copy(attributes, map[string]schema.Attribute{
		"name": exposureattr.Name.Required("Name on the machine: letters, digits, dots, dashes and underscores. Another one replaces the resource.", stringplanmodifier.RequiresReplace()),
		"type": values.OneOf(string(exposure.LoadBalancer), string(exposure.ExternalIP), string(exposure.NodePort)).Required("`load_balancer`: ports of an address lead to several targets; TCP by HAProxy, which checks the targets and speaks to them in its own name, UDP by rules, in turns. "+
			"`external_ip`: ports of an address lead to one target, which sees who asks; the machine must be the target's gateway, or `masquerade`. "+
			"`node_port`: ports of every address that the machine has lead to the targets. Another type replaces the resource.", stringplanmodifier.RequiresReplace()),
		"ports": values.Objects().Keys(exposureattr.Name).Some().RequiredMapOf("Ports by name.", values.Attributes{
			"port":        values.Port().OptionalComputed("The port that is reached. Of a `node_port` one of 30000 to 32767; default there: the lowest that is free, which stays.", keepPortOfType{}),
			"target_port": values.Port().OptionalComputed("The targets' port. Default: `port`."),
			"protocol":    values.OneOf(exposure.TCP, exposure.UDP).Default(exposure.TCP, "`tcp` or `udp`. Default: `tcp`."),
		}),
		"targets": values.Each(values.Address).Some().Distinct().RequiredList("Addresses of the guests: one, or several of a `load_balancer` or a `node_port`.", values.Each(values.Address).KeepSpelling()),
	})
	return schema.Schema{
		MarkdownDescription: "Ports of a guest, or of several, on an address that others can reach. The rules are in a table of nftables of the provider's own, which is there after a start before the network is; nobody else's rules are changed. " +
			"A connection that is open stays with its target when the rules change. The machine forwards (`net.ipv4.ip_forward`) for as long as something is exposed by rules, and until its next start where others may have come to need that meanwhile, which the destroy warns of.",
		Attributes: attributes,
	}
}

type model struct {
	exposureattr.Common
	Name    types.String `tfsdk:"name"`
	Type    types.String `tfsdk:"type"`
	Ports   types.Map    `tfsdk:"ports"`
	Targets types.List   `tfsdk:"targets"`
}

type port struct {
	Port       types.Int64  `tfsdk:"port"`
	TargetPort types.Int64  `tfsdk:"target_port"`
	Protocol   types.String `tfsdk:"protocol"`
}

func toSpec(_ context.Context, m *model) (exposure.Exposure, diag.Diagnostics) {
	var e exposure.Exposure
	diags := exposureattr.ReadExposure(m, &e)
	return e, diags
}

func (m *model) decodePorts(ctx context.Context, diags *diag.Diagnostics) map[string]port {
	return exposureattr.DecodePorts[port](ctx, m.Ports, diags)
}

// planChange completes the ports, and refuses what something else exposes.
func planChange(ctx context.Context, at crud.StoreContext, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse, m *model) {
	var config model
	resp.Diagnostics.Append(req.Config.Get(ctx, &config)...)
	if resp.Diagnostics.HasError() || m.Type.IsUnknown() {
		return
	}
	planPorts(ctx, resp, m, &config)
	if m.Type.ValueString() != string(exposure.NodePort) {
		exposureattr.PlanAddress(ctx, req, resp, &config.Common)
	}
	if !resp.Diagnostics.HasError() {
		spec, diags := toSpec(ctx, m)
		resp.Diagnostics.Append(diags...)
		resp.Diagnostics.Append(exposureattr.CrossCheck(ctx, at, &m.Common, spec)...)
	}
}

// planPorts completes ports that the configuration leaves out.
func planPorts(ctx context.Context, resp *resource.ModifyPlanResponse, m, config *model) {
	written := config.decodePorts(ctx, &resp.Diagnostics)
	elements := config.Ports.Elements()
	for name, p := range m.decodePorts(ctx, &resp.Diagnostics) {
		at := path.Root("ports").AtMapKey(name)
		if element, there := elements[name]; there && element.IsUnknown() {
			continue
		}
		if written[name].Port.IsNull() && m.Type.ValueString() != string(exposure.NodePort) && !config.Ports.IsUnknown() {
			resp.Diagnostics.AddAttributeError(at.AtName("port"), "No port", "write the port that is to be reached: only a node_port chooses one")
		}
		if !written[name].TargetPort.IsNull() || config.Ports.IsUnknown() {
			continue
		}
		follows := p.Port
		if follows.IsUnknown() {
			follows = types.Int64Unknown()
		}
		resp.Diagnostics.Append(resp.Plan.SetAttribute(ctx, at.AtName("target_port"), follows)...)
	}
}

// nullForNodePort plans null for what a node_port does not have and the configuration leaves out, whatever the state has of the type before.
type nullForNodePort struct{ values.Undescribed }

func (nullForNodePort) PlanModifyString(ctx context.Context, req planmodifier.StringRequest, resp *planmodifier.StringResponse) {
	var kind types.String
	resp.Diagnostics.Append(req.Plan.GetAttribute(ctx, path.Root("type"), &kind)...)
	if kind.ValueString() == string(exposure.NodePort) && req.ConfigValue.IsNull() {
		resp.PlanValue = types.StringNull()
	}
}

// keepPortOfType keeps a port that nobody writes while the type stays: one of another type may not have it.
type keepPortOfType struct{ values.Undescribed }

func (keepPortOfType) PlanModifyInt64(ctx context.Context, req planmodifier.Int64Request, resp *planmodifier.Int64Response) {
	if req.StateValue.IsNull() || !req.PlanValue.IsUnknown() || req.ConfigValue.IsUnknown() {
		return
	}
	var planned, stored types.String
	resp.Diagnostics.Append(req.Plan.GetAttribute(ctx, path.Root("type"), &planned)...)
	resp.Diagnostics.Append(req.State.GetAttribute(ctx, path.Root("type"), &stored)...)
	if planned.Equal(stored) {
		resp.PlanValue = req.StateValue
	}
}

// masqueradeOfType is the default that follows from the type: a node_port is reached behind whatever gateway its targets have.
type masqueradeOfType struct{ values.Undescribed }

func (masqueradeOfType) PlanModifyBool(ctx context.Context, req planmodifier.BoolRequest, resp *planmodifier.BoolResponse) {
	var kind types.String
	resp.Diagnostics.Append(req.Plan.GetAttribute(ctx, path.Root("type"), &kind)...)
	if req.ConfigValue.IsNull() && !kind.IsUnknown() {
		resp.PlanValue = types.BoolValue(kind.ValueString() == string(exposure.NodePort))
	}
}
