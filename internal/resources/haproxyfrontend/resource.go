// Package haproxyfrontend is the resource virtcluster_haproxy_frontend.
package haproxyfrontend

import (
	"context"
	"math"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	planuses "github.com/virtcluster/terraform-provider-virtcluster/internal/plan"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/attrs/haproxyattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/attrs/hostattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/haproxy/crosscheck"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/haproxy"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/part"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/values"
)

// form is what an id looks like.
const form = "SERVICE_NODE#frontend/NAME"

// New is the constructor that the provider offers.
func New() resource.Resource {
	return hostattr.NewPart(hostattr.PartType[model, haproxy.Frontend]{
		Form: form, Name: "name", Open: openStore,
		Daemon: haproxy.Daemon{}, Names: func(t transaction.Tree) []string { return haproxy.ProxyNames(t, "frontend") },
		Type: crud.Type[model, haproxy.Frontend]{
			Name:        "haproxy_frontend",
			Noun:        "HAProxy frontend",
			Schema:      resourceSchema,
			Spec:        toSpec,
			Fill:        fillModel,
			Plan:        planChange,
			Trials:      crud.Trials[model]{Trial: tryFrontend},
			PlanRemoval: planRemoval,
		},
	})
}

// planChange checks the frontend against other resources, the live configuration and the machine.
func planChange(ctx context.Context, opening crud.StoreContext, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse, planned *model) {
	node, ok := crosscheck.On(ctx, opening, planned.ServiceNode, req, resp)
	if !ok {
		return
	}
	spec, diags := toSpec(ctx, planned)
	resp.Diagnostics.Append(diags...)
	var listeners []crosscheck.Listener
	for i, b := range spec.Binds {
		listeners = append(listeners, crosscheck.Listener{Bind: b, At: path.Root("binds").AtListIndex(i)})
	}
	name := planned.Name.ValueString()
	if !planned.Name.IsUnknown() {
		resp.Diagnostics.Append(node.Section(ctx, haproxy.Frontend{Name: name}, hostattr.FormatID(form, planned.ServiceNode, planned.Name))...)
	}
	resp.Diagnostics.Append(node.Listeners(ctx, listeners, "frontend "+name)...)
	resp.Diagnostics.Append(node.Backend(ctx, path.Root("default_backend"), spec.DefaultBackend)...)
	for i, r := range spec.Rules {
		resp.Diagnostics.Append(node.Backend(ctx, path.Root("rules").AtListIndex(i).AtName("backend"), r.Backend)...)
	}
}

// tryFrontend has HAProxy check the frontend with what else is planned.
func tryFrontend(ctx context.Context, at crud.StoreContext, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse, planned *model) {
	if node, ok := crosscheck.On(ctx, at, planned.ServiceNode, req, resp); ok {
		if spec, diags := toSpec(ctx, planned); !diags.HasError() {
			resp.Diagnostics.Append(node.TryProxy(ctx, spec)...)
		}
	}
}

// planRemoval has the VIPs of the plan know that a frontend goes.
func planRemoval(ctx context.Context, at crud.StoreContext, m *model, _ bool) diag.Diagnostics {
	if f, diags := toSpec(ctx, m); !diags.HasError() && !m.ServiceNode.IsUnknown() {
		for _, a := range f.ListListeners() {
			at.Ledger.Note(planuses.Use{Verb: planuses.Gives, Kind: planuses.RemovedListener, On: host.WithoutKey(m.ServiceNode.ValueString()), Value: a.String()})
		}
	}
	return nil
}

func openStore(ctx context.Context, at crud.StoreContext, m *model, of part.Identity) (crud.Store[haproxy.Frontend], error) {
	p, err := crud.OpenPart(ctx, at, m.ServiceNode.ValueString(), haproxy.NewFrontendPart(of))
	if err != nil {
		return nil, err
	}
	return haproxy.NewFrontendStore(p, &at.Run.Frontends, &at.Run.HandOvers), nil
}

func resourceSchema(context.Context) schema.Schema {
	return schema.Schema{
		MarkdownDescription: "A frontend of HAProxy on a service node: where it listens and which backend gets what. Changes are made by a reload that drops no connection; " +
			"a configuration that HAProxy refuses changes nothing. A `listen` section that a person wrote is not managed: its name is taken, and it goes on serving.",
		Attributes: map[string]schema.Attribute{
			"id":           hostattr.ID(form),
			"serving":      crud.ServingAttribute("HAProxy"),
			"service_node": hostattr.ServiceNode("HAProxy"),
			"name":         haproxyattr.Name("frontend"),
			"mode":         values.OneOf("tcp", "http").Optional("`tcp` passes connections on, `http` reads requests. Default: the mode of the defaults section (`virtcluster_haproxy`; Debian's own is `http`)."),
			"binds": values.Objects().OptionalListOf("Where the frontend listens, each an address and a port. Ranges of ports, lists and variables go into `extra_config` as `bind` lines; "+
				"a frontend has at least one in either. OpenShift's machine config server (22623) gives every node's configuration, secrets included, to whoever asks: "+
				"bind it to an address of the cluster's own network only.", haproxyattr.BindAttributes()),
			"default_backend": values.Line.Optional("Name of the backend for what no rule takes. Write a reference, `virtcluster_haproxy_backend.api.name`, so that the backend is there first. " +
				"Default: none, and what no rule takes is refused."),
			"rules": values.Objects().OptionalListOf("Which backend gets what: the first rule that applies decides. Default: none.", values.Attributes{
				"backend": values.Line.Required("Name of the backend, best as a reference, or a log-format expression such as `%[req.ssl_sni,lower]`."),
				"if": schema.StringAttribute{
					Optional: true, PlanModifiers: []planmodifier.String{haproxyattr.Words.KeepSpelling()},
					MarkdownDescription: "Condition that must hold: names of `acls` or anonymous ones, such as `is_api !blocked` or `{ req.ssl_sni -i api.okd.example }`.",
					Validators:          []validator.String{haproxyattr.Words, stringvalidator.ConflictsWith(path.MatchRelative().AtParent().AtName("unless"))},
				},
				"unless": values.Line.Optional("Condition that must not hold.", haproxyattr.Words.KeepSpelling()),
			}),
			"acls": values.Each(criteria).Keys(values.Word).OptionalMap("Conditions by name for `rules` and `extra_config`: a fetch and what it must match, such as `hdr(host) -i api.okd.example`. "+
				"A value of several lines matches when one of them does. Default: none.", values.Each(criteria).KeepElements()),
			"options":      haproxyattr.Options("`tcplog` or `forwardfor`"),
			"timeouts":     haproxyattr.Timeouts(haproxy.FrontendTimeouts, nil),
			"maxconn":      values.Between(1, math.MaxInt32).Optional("Connections at once; more wait in the kernel's queue. Default: the limit of the process."),
			"monitor_uri":  values.Word.Optional("Path that HAProxy itself answers with 200, for a monitor in front of it; mode `http` only. Default: none."),
			"extra_config": haproxyattr.Extra("frontend"),
		},
	}
}

// criteria are what an ACL holds: lines of which one has to match.
var criteria = values.Text.Same(func(text string) string { return strings.Join(splitCriteria(text), "\n") })

// splitCriteria are the lines of an ACL, with single blanks.
func splitCriteria(text string) []string {
	var out []string
	for line := range strings.Lines(text) {
		if line = haproxy.OneLine(line); line != "" {
			out = append(out, line)
		}
	}
	return out
}

type model struct {
	crud.ServingModel
	ID             types.String `tfsdk:"id"`
	ServiceNode    types.String `tfsdk:"service_node"`
	Name           types.String `tfsdk:"name"`
	Mode           types.String `tfsdk:"mode"`
	Binds          types.List   `tfsdk:"binds"`
	DefaultBackend types.String `tfsdk:"default_backend"`
	Rules          types.List   `tfsdk:"rules"`
	ACLs           types.Map    `tfsdk:"acls"`
	Options        types.Set    `tfsdk:"options"`
	Timeouts       types.Object `tfsdk:"timeouts"`
	Maxconn        types.Int64  `tfsdk:"maxconn"`
	MonitorURI     types.String `tfsdk:"monitor_uri"`
	Extra          types.String `tfsdk:"extra_config"`
}

func toSpec(_ context.Context, m *model) (haproxy.Frontend, diag.Diagnostics) {
	f, diags := convert.Plain[haproxy.Frontend](m)
	f.Options, f.Extra = haproxyattr.SortWords(f.Options), haproxy.Lines(m.Extra.ValueString())
	f.Timeouts = haproxyattr.ReadTimeouts(m.Timeouts, haproxy.FrontendTimeouts)
	for i, b := range f.Binds {
		f.Binds[i] = b.Canonical()
	}
	for i, r := range f.Rules {
		f.Rules[i].If, f.Rules[i].Unless = haproxy.OneLine(r.If), haproxy.OneLine(r.Unless)
	}
	f.ACLs = map[string][]string{}
	for name, text := range convert.MapTexts(m.ACLs) {
		f.ACLs[name] = splitCriteria(text)
	}
	return f, diags
}

func fillModel(ctx context.Context, m *model, got haproxy.Frontend) diag.Diagnostics {
	was, diags := toSpec(ctx, m)
	convert.FillModel(&was, &got, m)
	m.Timeouts, m.Extra = haproxyattr.WriteTimeouts(got.Timeouts, haproxy.FrontendTimeouts), haproxyattr.JoinLines(got.Extra)
	acls := map[string]string{}
	for name, criteria := range got.ACLs {
		acls[name] = strings.Join(criteria, "\n")
	}
	m.ACLs = convert.MapOrNull(acls)
	return diags
}
