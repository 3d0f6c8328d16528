// Package topology is the data source virtcluster_topology: a topology as a picture.
package topology

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/topology"
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
