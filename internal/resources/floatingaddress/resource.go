// Package floatingaddress is the resource virtcluster_floating_address.
package floatingaddress

import (
	"context"
	"maps"
	"net/netip"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/attrs/exposureattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/attrs/hostattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/exposure"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/part"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/values"
)

// form is what an id looks like.
const form = "SERVICE_NODE#TARGET"

// New is the constructor that the provider offers.
func New() resource.Resource {
	return hostattr.NewPart(hostattr.PartType[model, exposure.Exposure]{
		Form: form, Name: "target", Open: openStore, Daemon: exposure.Daemon{}, Names: exposure.ListTargets,
		Type: crud.Type[model, exposure.Exposure]{
			Name:   "floating_address",
			Noun:   "floating address",
			Schema: resourceSchema,
			Spec:   toSpec,
			Fill:   fillModel,
			Plan:   planChange,
		},
	})
}

// exposureName is what the machine keeps it under.
func exposureName(m *model) string {
	target := values.Address.Canonical(m.Target.ValueString())
	return "floating-" + strings.ReplaceAll(strings.TrimSuffix(target, "::"), ":", "-")
}

type model struct {
	exposureattr.Common
	Target types.String `tfsdk:"target"`
	Ports  types.Map    `tfsdk:"ports"`
}

type port struct {
	Port     types.Int64  `tfsdk:"port"`
	Protocol types.String `tfsdk:"protocol"`
}

var portTypes = map[string]attr.Type{"port": types.Int64Type, "protocol": types.StringType}

func toSpec(ctx context.Context, m *model) (exposure.Exposure, diag.Diagnostics) {
	f := exposure.Exposure{Name: exposureName(m), Kind: exposure.Floating}
	diags := exposureattr.ReadExposure(&m.Common, &f)
	if a, known, err := hostattr.Address(m.Target); err != nil {
		diags.AddAttributeError(path.Root("target"), "Invalid address", err.Error())
	} else if known {
		f.Targets = []netip.Addr{a}
	}
	for name, p := range exposureattr.DecodePorts[port](ctx, m.Ports, &diags) {
		if f.Ports == nil {
			f.Ports = map[string]exposure.Port{}
		}
		number := uint16(p.Port.ValueInt64())
		f.Ports[name] = exposure.Port{Port: number, TargetPort: number, Protocol: p.Protocol.ValueString()}
	}
	return f, diags
}

func fillModel(ctx context.Context, m *model, got exposure.Exposure) diag.Diagnostics {
	own, diags := toSpec(ctx, m)
	convert.FillModel(&own, &got, &m.Common)
	ports := map[string]port{}
	for name, p := range got.Ports {
		ports[name] = port{types.Int64Value(int64(p.Port)), types.StringValue(p.Protocol)}
	}
	if len(ports) > 0 || len(m.Ports.Elements()) > 0 {
		var d diag.Diagnostics
		m.Ports, d = types.MapValueFrom(ctx, types.ObjectType{AttrTypes: portTypes}, ports)
		diags.Append(d...)
	}
	return diags
}

func openStore(ctx context.Context, at crud.StoreContext, m *model, of part.Identity) (crud.Store[exposure.Exposure], error) {
	return exposureattr.Open(ctx, at, &m.Common, exposureName(m), "floating address for "+m.Target.ValueString(), of.ImportID)
}

func planChange(ctx context.Context, at crud.StoreContext, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse, m *model) {
	var config model
	resp.Diagnostics.Append(req.Config.Get(ctx, &config)...)
	if resp.Diagnostics.HasError() {
		return
	}
	exposureattr.PlanAddress(ctx, req, resp, &config.Common)
	spec, diags := toSpec(ctx, m)
	resp.Diagnostics.Append(diags...)
	if !resp.Diagnostics.HasError() {
		resp.Diagnostics.Append(exposureattr.CrossCheck(ctx, at, &m.Common, spec)...)
	}
}

func resourceSchema(context.Context) schema.Schema {
	attributes := exposureattr.Attributes(form, values.Flag.Default(true, "Whether to put the address on `interface`, announce it, and put it there again after every start. An address that another machine answers for is refused. Default: `true`; `false` is for an address that the machine has already, such as a `virtcluster_vip`'s."), values.Flag.Default(false, "Whether the inside address sees the machine instead of who connects to it. Default: `false`, for which the machine must be the gateway of the inside address. What the inside address begins to say comes from the outside one all the same, where the machine is its gateway."))
	maps.Copy(attributes, map[string]schema.Attribute{
		"target": values.Address.Required("The inside address: a guest's, or a VIP inside. Another one replaces the resource.", values.Address.KeepSpelling(), stringplanmodifier.RequiresReplace()),
		"ports": values.Objects().Keys(exposureattr.Name).OptionalMapOf("Ports that lead inside, by name; new connections to others are dropped. Default: all, with every protocol.", values.Attributes{
			"port":     values.Port().Required("The port, outside and inside."),
			"protocol": values.OneOf(exposure.TCP, exposure.UDP).Default(exposure.TCP, "`tcp` or `udp`. Default: `tcp`."),
		}),
	})
	return schema.Schema{
		MarkdownDescription: "An outside address for an inside one, both ways: what comes to it goes inside, and what the inside address begins to say comes from it, where it leaves by `interface`. " +
			"Without `masquerade` the machine must be the gateway of the inside address. The rules are in a table of nftables of the provider's own, which is there after a start before the network is; nobody else's rules are changed.",
		Attributes: attributes,
	}
}
