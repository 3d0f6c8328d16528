// Package topology is the data source virtcluster_topology: a topology as a picture.
package topology

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/topology"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/values"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/values/computed"
)

// New makes the data source.
func New() datasource.DataSource {
	return crud.NewSource(crud.Source[model]{Name: "topology", Schema: topologySchema(), Within: true, Read: drawTopology})
}

type model struct {
	Title     types.String        `tfsdk:"title"`
	Networks  map[string]network  `tfsdk:"networks"`
	Machines  map[string]machine  `tfsdk:"machines"`
	VIPs      map[string]vip      `tfsdk:"vips"`
	Frontends map[string]frontend `tfsdk:"frontends"`
	Views     map[string]view     `tfsdk:"views"`
	Exposures map[string]exposure `tfsdk:"exposures"`
	JSON      types.String        `tfsdk:"json"`
	Mermaid   types.String        `tfsdk:"mermaid"`
	SVG       types.String        `tfsdk:"svg"`
	HTML      types.String        `tfsdk:"html"`
}

type network struct {
	CIDR       types.String `tfsdk:"cidr"`
	Gateway    types.String `tfsdk:"gateway"`
	Mode       types.String `tfsdk:"mode"`
	Hypervisor types.String `tfsdk:"hypervisor"`
	Outside    types.Bool   `tfsdk:"outside"`
}

type machine struct {
	Role       types.String      `tfsdk:"role"`
	Addresses  map[string]string `tfsdk:"addresses"`
	Hypervisor types.String      `tfsdk:"hypervisor"`
	State      types.String      `tfsdk:"state"`
}

type vip struct {
	Network types.String `tfsdk:"network"`
	Address types.String `tfsdk:"address"`
	Members []string     `tfsdk:"members"`
	Owner   types.String `tfsdk:"owner"`
}

type frontend struct {
	Machines []string `tfsdk:"machines"`
	Binds    []string `tfsdk:"binds"`
	Servers  []string `tfsdk:"servers"`
}

type view struct {
	Network  types.String `tfsdk:"network"`
	Machines []string     `tfsdk:"machines"`
	Clients  []string     `tfsdk:"clients"`
	Zones    []string     `tfsdk:"zones"`
}

type exposure struct {
	Machine types.String `tfsdk:"machine"`
	Address types.String `tfsdk:"address"`
	Ports   []string     `tfsdk:"ports"`
	Targets []string     `tfsdk:"targets"`
}

// drawTopology draws.
func drawTopology(_ context.Context, _ crud.ProviderData, m *model) diag.Diagnostics {
	t := m.toTopology()
	diags := crud.Diagnostics(t.Validate())
	if diags.HasError() {
		return diags
	}
	text, err := t.JSON()
	if err != nil {
		return crud.NewReadFailures("the topology", err)
	}
	page, err := t.HTML()
	if err != nil {
		return crud.NewReadFailures("the topology", err)
	}
	m.JSON, m.HTML = types.StringValue(text), types.StringValue(page)
	m.Mermaid, m.SVG = types.StringValue(t.Mermaid()), types.StringValue(t.SVG())
	return diags
}

// toTopology is the model in plain values.
func (m *model) toTopology() topology.Topology {
	return topology.Topology{
		Title: m.Title.ValueString(),
		Networks: convertMap(m.Networks, func(n network) topology.Network {
			return topology.Network{CIDR: n.CIDR.ValueString(), Gateway: n.Gateway.ValueString(), Mode: n.Mode.ValueString(), Hypervisor: n.Hypervisor.ValueString(), Outside: n.Outside.ValueBool()}
		}),
		Machines: convertMap(m.Machines, func(c machine) topology.Machine {
			return topology.Machine{Role: c.Role.ValueString(), Addresses: c.Addresses, Hypervisor: c.Hypervisor.ValueString(), State: c.State.ValueString()}
		}),
		VIPs: convertMap(m.VIPs, func(v vip) topology.VIP {
			return topology.VIP{Network: v.Network.ValueString(), Address: v.Address.ValueString(), Members: v.Members, Owner: v.Owner.ValueString()}
		}),
		Frontends: convertMap(m.Frontends, func(f frontend) topology.Frontend { return topology.Frontend(f) }),
		Views: convertMap(m.Views, func(v view) topology.View {
			return topology.View{Network: v.Network.ValueString(), Machines: v.Machines, Clients: v.Clients, Zones: v.Zones}
		}),
		Exposures: convertMap(m.Exposures, func(e exposure) topology.Exposure {
			return topology.Exposure{Machine: e.Machine.ValueString(), Address: e.Address.ValueString(), Ports: e.Ports, Targets: e.Targets}
		}),
	}
}

// convertMap converts the elements of a map.
func convertMap[A, B any](all map[string]A, convert func(A) B) map[string]B {
	converted := map[string]B{}
	for name, a := range all {
		converted[name] = convert(a)
	}
	return converted
}

// textAttribute is a text that an element may have.
func textAttribute(required bool, description string) schema.StringAttribute {
	rule := validator.String(values.Line.OrEmpty())
	if required {
		rule = values.Line
	}
	return schema.StringAttribute{Required: required, Optional: !required, Validators: []validator.String{rule}, MarkdownDescription: description}
}

// textsAttribute are texts that an element has.
func textsAttribute(description string) schema.ListAttribute {
	return schema.ListAttribute{Optional: true, ElementType: types.StringType, Validators: []validator.List{values.Each(values.Line)}, MarkdownDescription: description}
}

// elementsAttribute are elements by their names.
func elementsAttribute(description string, attributes map[string]schema.Attribute) schema.MapNestedAttribute {
	return schema.MapNestedAttribute{
		Optional: true, Validators: []validator.Map{values.Objects().Keys(values.Line)}, MarkdownDescription: description,
		NestedObject: schema.NestedAttributeObject{Attributes: attributes},
	}
}

func topologySchema() schema.Schema {
	const onMachines = "Names of the machines that have it."
	return schema.Schema{
		MarkdownDescription: "A topology as a picture: networks as lanes, machines by role with their addresses, virtual addresses with their owner, frontends, DNS views and what is exposed. " +
			"It draws what it is told, which is what the configuration's resources say, and asks nobody: it is there offline too. What it refers to is there before it; Terraform reads it while planning where it refers to `locals` instead, and those hold nothing that is known after the apply only, such as the owner of a new virtual address.",
		Attributes: map[string]schema.Attribute{
			"title": textAttribute(true, "What the picture is called, such as the cluster's domain."),
			"networks": elementsAttribute("Networks by name, each of them a lane.", map[string]schema.Attribute{
				"cidr": textAttribute(false, "Subnet."), "gateway": textAttribute(false, "Gateway."), "mode": textAttribute(false, "Mode, as that of `virtcluster_network`."), "hypervisor": textAttribute(false, "Hypervisor that it is on."),
				"outside": schema.BoolAttribute{Optional: true, MarkdownDescription: "Whether it is the outside, which is drawn above the others. Default: `false`."},
			}),
			"machines": elementsAttribute("Machines by name.", map[string]schema.Attribute{
				"role": textAttribute(false, "Role: `service`, `bootstrap`, `master`, `worker` or another. Machines of one role are drawn together."),
				"addresses": schema.MapAttribute{Optional: true, ElementType: types.StringType, Validators: []validator.Map{values.Each(values.Line).Keys(values.Line)},
					MarkdownDescription: "Address in each network that the machine is in, by the network's name."},
				"hypervisor": textAttribute(false, "Hypervisor that it is on. Machines of a network that reaches over several are drawn in rows of each."), "state": textAttribute(false, "State, as that of `virtcluster_node`."),
			}),
			"vips": elementsAttribute("Virtual addresses by name.", map[string]schema.Attribute{
				"network": textAttribute(true, "Name of the network that it is in."), "address": textAttribute(true, "The address."),
				"members": textsAttribute("Names of the machines that it moves between."), "owner": textAttribute(false, "Name of the machine that has it, as `owner` of `virtcluster_vip` says."),
			}),
			"frontends": elementsAttribute("Balanced services by name.", map[string]schema.Attribute{
				"machines": textsAttribute(onMachines), "binds": textsAttribute("Where it listens: `ADDRESS:PORT`. It is drawn in the network of each address."), "servers": textsAttribute("Names of the machines that answer."),
			}),
			"views": elementsAttribute("DNS views by name.", map[string]schema.Attribute{
				"network": textAttribute(false, "Name of the network that it is drawn in. Default: the lowest lane."), "machines": textsAttribute(onMachines), "clients": textsAttribute("Who is answered from it."), "zones": textsAttribute("Its zones."),
			}),
			"exposures": elementsAttribute("What is exposed, by name.", map[string]schema.Attribute{
				"machine": textAttribute(true, "Name of the machine that exposes it."), "address": textAttribute(true, "The address outside."), "ports": textsAttribute("Ports."), "targets": textsAttribute("Where they lead."),
			}),
			"json":    computed.Text("The topology as JSON, with its keys in order."),
			"mermaid": computed.Text("A flowchart in Mermaid's language."),
			"svg":     computed.Text("The picture, light or dark as its reader has it."),
			"html":    computed.Text("One page that needs nothing beside it: the picture, each of whose elements leads to a table."),
		},
	}
}
