// Package exposures is the data source virtcluster_exposures.
package exposures

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/exposure"
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
