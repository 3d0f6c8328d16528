package haproxystatus

import (
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/values"
)

func dataSchema() schema.Schema {
	text := func(description string) schema.StringAttribute {
		return schema.StringAttribute{Computed: true, MarkdownDescription: description}
	}
	number := func(description string) schema.Int64Attribute {
		return schema.Int64Attribute{Computed: true, MarkdownDescription: description}
	}
	flag := func(description string) schema.BoolAttribute {
		return schema.BoolAttribute{Computed: true, MarkdownDescription: description}
	}
	return schema.Schema{
		MarkdownDescription: "What HAProxy does on a service node now: which servers are up and what their checks say, how many sessions there are, and whether the kernel listens where " +
			"the frontends want it. It is asked anew at every plan.",
		Attributes: map[string]schema.Attribute{
			"id": text("The service node's id."),
			"service_node": schema.StringAttribute{
				Validators: []validator.String{values.Endpoint},
				Required:   true, MarkdownDescription: "Machine that runs HAProxy: the `id` of a `virtcluster_service_node`.",
			},
			"running":        flag("Whether HAProxy runs. Where it does not, the maps are empty."),
			"version":        text("HAProxy's version."),
			"uptime_seconds": number("How long the serving process has been there; a reload begins a new one."),
			"frontends": schema.MapNestedAttribute{
				Computed: true, MarkdownDescription: "Frontends and `listen` sections by name.",
				NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
					"status":         text("`OPEN`, `FULL` or `STOP`."),
					"sessions":       number("Sessions now."),
					"total_sessions": number("Sessions since the process began."),
					"binds": schema.ListNestedAttribute{
						Computed: true, MarkdownDescription: "The addresses of the configuration.",
						NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
							"address":   text("Address, `*` or `::` for all."),
							"port":      number("TCP port."),
							"listening": flag("Whether the kernel listens there for HAProxy."),
						}},
					},
				}},
			},
			"backends": schema.MapNestedAttribute{
				Computed: true, MarkdownDescription: "Backends and `listen` sections by name.",
				NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
					"status":         text("`UP` or `DOWN`."),
					"sessions":       number("Sessions now."),
					"total_sessions": number("Sessions since the process began."),
					"servers": schema.MapNestedAttribute{
						Computed: true, MarkdownDescription: "Servers by name.",
						NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
							"address":             text("Address that connections go to."),
							"port":                number("TCP port that connections go to."),
							"state":               text("`ready`, `drain` or `maint`."),
							"status":              text("HAProxy's own word: `UP`, `DOWN`, `UP 1/3` (failing), `no check`, …"),
							"up":                  flag("Whether new connections can go there."),
							"check":               text("Result of the last check, such as `L7OK/200: OK` or `L4TOUT`; empty without checks."),
							"sessions":            number("Sessions now."),
							"total_sessions":      number("Sessions since the process began."),
							"queued":              number("Connections that wait for the server."),
							"weight":              number("Weight that is in effect."),
							"backup":              flag("Whether it is a backup server."),
							"failed_checks":       number("Checks that failed since the process began."),
							"failed_connects":     number("Connections to the server that failed since the process began."),
							"last_change_seconds": number("How long ago the server went up or down."),
						}},
					},
				}},
			},
		},
	}
}
