// Package exposures is the data source virtcluster_exposures.
package exposures

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/exposure"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/values"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/values/computed"
)

// New is the constructor that the provider offers.
func New() datasource.DataSource {
	return crud.NewSource(crud.Source[model]{Name: "exposures", Schema: dataSchema(), Read: readExposures})
}

func readExposures(ctx context.Context, p crud.ProviderData, m *model) diag.Diagnostics {
	m.ID = types.StringValue(m.ServiceNode.ValueString())
	h, err := p.Fleet.Host(ctx, m.ServiceNode.ValueString())
	if err == nil {
		var all []exposure.Status
		var live bool
		if all, live, err = exposure.ReadStatus(ctx, h, &p.Fleet.Engine); err == nil {
			m.fillModel(all, live)
		}
	}
	return crud.NewReadFailures(fmt.Sprintf("what %q exposes", m.ServiceNode.ValueString()), err)
}

type model struct {
	ID          types.String       `tfsdk:"id"`
	ServiceNode types.String       `tfsdk:"service_node"`
	Serving     types.Bool         `tfsdk:"serving"`
	Exposures   map[string]exposed `tfsdk:"exposures"`
}

type exposed struct {
	Type         string          `tfsdk:"type"`
	Address      *string         `tfsdk:"address"`
	Interface    *string         `tfsdk:"interface"`
	Ports        map[string]port `tfsdk:"ports"`
	Targets      []string        `tfsdk:"targets"`
	SourceRanges []string        `tfsdk:"source_ranges"`
	Connections  int64           `tfsdk:"connections"`
	Owner        string          `tfsdk:"owner"`
}

type port struct {
	Port        int64  `tfsdk:"port"`
	TargetPort  int64  `tfsdk:"target_port"`
	Protocol    string `tfsdk:"protocol"`
	Connections int64  `tfsdk:"connections"`
}

func (m *model) fillModel(all []exposure.Status, live bool) {
	m.Serving, m.Exposures = types.BoolValue(live), map[string]exposed{}
	for _, s := range all {
		e := exposed{Type: string(s.Kind), Ports: map[string]port{}, Targets: []string{}, SourceRanges: []string{}, Owner: s.Owner.ID}
		if s.Address.IsValid() {
			text := s.Address.String()
			e.Address = &text
		}
		if s.Interface != "" {
			e.Interface = &s.Interface
		}
		for name, p := range s.Ports {
			e.Ports[name] = port{int64(p.Port), int64(p.TargetPort), p.Protocol, s.Connections[name]}
		}
		for _, n := range s.Connections {
			e.Connections += n
		}
		for _, t := range s.Targets {
			e.Targets = append(e.Targets, t.String())
		}
		for _, r := range s.SourceRanges {
			e.SourceRanges = append(e.SourceRanges, r.String())
		}
		m.Exposures[s.Name] = e
	}
}

func dataSchema() schema.Schema {
	const counted = "Connections since the rules, or HAProxy's process, were read last: with every change of what the machine exposes they begin anew."
	return schema.Schema{
		MarkdownDescription: "What a machine exposes of the guests behind it, to whom, and how many came: exposed services and floating addresses of every state.",
		Attributes: map[string]schema.Attribute{
			"id": computed.Text("The machine, as `service_node` names it."),
			"service_node": schema.StringAttribute{
				Required: true, Validators: []validator.String{values.Endpoint},
				MarkdownDescription: "The `id` of a `virtcluster_service_node`, or an endpoint.",
			},
			"serving": computed.Flag("Whether all of it is live: rules, addresses, forwarding."),
			"exposures": computed.MapOf("What is exposed, by name; a floating address has the name `floating-TARGET`.", computed.Attributes{
				"type":          computed.Text("`load_balancer`, `external_ip`, `node_port` or `floating`."),
				"address":       computed.Text("The address that is reached; null of a `node_port`."),
				"interface":     computed.Text("The device that the address is on."),
				"targets":       computed.Texts("Addresses of the guests."),
				"source_ranges": computed.Texts("Who may connect; none is everybody."),
				"connections":   computed.Number(counted),
				"owner":         computed.Text("The mark of the resource that it belongs to; empty where nobody's is there."),
				"ports": computed.MapOf("Ports by name; none of a floating address is all.", computed.Attributes{
					"port":        computed.Number("The port that is reached."),
					"target_port": computed.Number("The targets' port."),
					"protocol":    computed.Text("`tcp` or `udp`."),
					"connections": computed.Number(counted),
				}),
			}),
		},
	}
}
