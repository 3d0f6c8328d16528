// Package haproxystatus is the data source virtcluster_haproxy_status.
package haproxystatus

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/fleet"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/haproxy"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/values"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/values/computed"
)

// New is the constructor that the provider offers.
func New() datasource.DataSource {
	return crud.NewSource(crud.Source[model]{Name: "haproxy_status", Schema: dataSchema(), Read: readStatus})
}

func readStatus(ctx context.Context, p crud.ProviderData, m *model) diag.Diagnostics {
	f := p.Fleet
	status, running, err := askStatus(ctx, f, m.ServiceNode.ValueString())
	convert.FromPlain(&status, m)
	m.ID, m.Running = types.StringValue(m.ServiceNode.ValueString()), types.BoolValue(running)
	return crud.NewReadFailures(fmt.Sprintf("the status of HAProxy on %q", m.ServiceNode.ValueString()), err)
}

func askStatus(ctx context.Context, f *fleet.Fleet, node string) (haproxy.Status, bool, error) {
	h, err := f.Host(ctx, node)
	if err != nil {
		return haproxy.Status{}, false, err
	}
	running, err := haproxy.Daemon{}.Running(ctx, h)
	if err != nil || !running {
		return haproxy.Status{}, false, err
	}
	tree, err := f.Engine.Snapshot(ctx, h, haproxy.Daemon{})
	if err != nil {
		return haproxy.Status{}, false, err
	}
	status, err := haproxy.ReadStatus(ctx, h, tree)
	return status, true, err
}

func dataSchema() schema.Schema {
	return schema.Schema{
		MarkdownDescription: "What HAProxy does on a service node now: which servers are up and what their checks say, how many sessions there are, and whether the kernel listens where " +
			"the frontends want it. It is asked anew at every plan.",
		Attributes: map[string]schema.Attribute{
			"id": computed.Text("The service node's id."),
			"service_node": schema.StringAttribute{
				Validators: []validator.String{values.Endpoint},
				Required:   true, MarkdownDescription: "Machine that runs HAProxy: the `id` of a `virtcluster_service_node`.",
			},
			"running":        computed.Flag("Whether HAProxy runs. Where it does not, the maps are empty."),
			"version":        computed.Text("HAProxy's version."),
			"uptime_seconds": computed.Number("How long the serving process has been there; a reload begins a new one."),
			"frontends": computed.MapOf("Frontends and `listen` sections by name.", computed.Attributes{
				"status":         computed.Text("`OPEN`, `FULL` or `STOP`."),
				"sessions":       computed.Number("Sessions now."),
				"total_sessions": computed.Number("Sessions since the process began."),
				"binds": computed.ListOf("The addresses of the configuration.", computed.Attributes{
					"address":   computed.Text("Address, `*` or `::` for all."),
					"port":      computed.Number("TCP port."),
					"listening": computed.Flag("Whether the kernel listens there for HAProxy."),
				}),
			}),
			"backends": computed.MapOf("Backends and `listen` sections by name.", computed.Attributes{
				"status":         computed.Text("`UP` or `DOWN`."),
				"sessions":       computed.Number("Sessions now."),
				"total_sessions": computed.Number("Sessions since the process began."),
				"servers": computed.MapOf("Servers by name.", computed.Attributes{
					"address":             computed.Text("Address that connections go to."),
					"port":                computed.Number("TCP port that connections go to."),
					"state":               computed.Text("`ready`, `drain` or `maint`."),
					"status":              computed.Text("HAProxy's own word: `UP`, `DOWN`, `UP 1/3` (failing), `no check`, …"),
					"up":                  computed.Flag("Whether new connections can go there."),
					"check":               computed.Text("Result of the last check, such as `L7OK/200: OK` or `L4TOUT`; empty without checks."),
					"sessions":            computed.Number("Sessions now."),
					"total_sessions":      computed.Number("Sessions since the process began."),
					"queued":              computed.Number("Connections that wait for the server."),
					"weight":              computed.Number("Weight that is in effect."),
					"backup":              computed.Flag("Whether it is a backup server."),
					"failed_checks":       computed.Number("Checks that failed since the process began."),
					"failed_connects":     computed.Number("Connections to the server that failed since the process began."),
					"last_change_seconds": computed.Number("How long ago the server went up or down."),
				}),
			}),
		},
	}
}

type model struct {
	ID          types.String `tfsdk:"id"`
	ServiceNode types.String `tfsdk:"service_node"`
	Running     types.Bool   `tfsdk:"running"`
	Version     types.String `tfsdk:"version"`
	Uptime      types.Int64  `tfsdk:"uptime_seconds"`
	Frontends   types.Map    `tfsdk:"frontends"`
	Backends    types.Map    `tfsdk:"backends"`
}
