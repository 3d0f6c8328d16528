// Package haproxy is the resource virtcluster_haproxy.
package haproxy

import (
	"cmp"
	"context"
	"math"

	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/objectdefault"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/attrs/haproxyattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/attrs/hostattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/haproxy/crosscheck"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/haproxy"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/values"
)

// form is what an id looks like.
const form = "SERVICE_NODE#haproxy"

// New is the constructor that the provider offers.
func New() resource.Resource {
	return hostattr.NewPart(hostattr.PartType[model, haproxy.Base]{
		Form: form, Part: haproxy.NewBasePart, Leftovers: haproxy.ListUnmodelled,
		Type: crud.Type[model, haproxy.Base]{
			Name:      "haproxy",
			Noun:      crosscheck.BaseName,
			Schema:    resourceSchema,
			Spec:      toSpec,
			Fill:      fillModel,
			WriteOnly: writeOnly,
			Plan:      planChange,
			Trials:    crud.Trials[model]{Trial: tryBase},
		},
	})
}

// planChange checks the listeners against other resources and the live configuration.
func planChange(ctx context.Context, opening crud.StoreContext, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse, planned *model) {
	var config model
	resp.Diagnostics.Append(req.Config.Get(ctx, &config)...)
	if a := config.Stats.Attributes(); len(a) > 0 && !a["user"].IsNull() && a["password"].IsNull() && a["password_wo"].IsNull() {
		resp.Diagnostics.AddAttributeError(path.Root("stats").AtName("user"), "User without a password",
			"write password_wo with password_wo_version, or password, or leave user out so that everyone may see the page")
	}
	node, ok := crosscheck.On(ctx, opening, planned.ServiceNode, req, resp)
	if !ok {
		return
	}
	var listeners []crosscheck.Listener
	spec, diags := toSpec(ctx, planned)
	resp.Diagnostics.Append(diags...)
	if spec.Health != nil {
		listeners = append(listeners, crosscheck.Listener{Bind: spec.Health.Bind, At: path.Root("health")})
	}
	if spec.Stats != nil {
		listeners = append(listeners, crosscheck.Listener{Bind: spec.Stats.Bind, At: path.Root("stats")})
	}
	resp.Diagnostics.Append(node.Base(ctx, hostattr.JoinID(planned.ServiceNode, "haproxy"))...)
	resp.Diagnostics.Append(node.Listeners(ctx, listeners, "")...)
}

// tryBase has HAProxy check the base with what else is planned.
func tryBase(ctx context.Context, at crud.StoreContext, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse, planned *model) {
	node, ok := crosscheck.On(ctx, at, planned.ServiceNode, req, resp)
	var config model
	resp.Diagnostics.Append(req.Config.Get(ctx, &config)...)
	full := *planned
	writeOnly(&full, &config) // so that no message shows its password
	if spec, diags := toSpec(ctx, &full); ok && !diags.HasError() {
		resp.Diagnostics.Append(node.TryBase(ctx, spec)...)
	}
}

// defaultTimeouts are those of the load balancer that OpenShift's installation manual gives as an example.
var defaultTimeouts = map[string]string{
	"connect": "10s", "client": "1m", "server": "1m", "http-request": "10s", "http-keep-alive": "10s", "queue": "1m", "check": "10s",
}

func resourceSchema(context.Context) schema.Schema {
	timeouts := haproxyattr.Timeouts(haproxy.BaseTimeouts, defaultTimeouts)
	timeouts.Computed = true
	timeouts.Default = objectdefault.StaticValue(haproxyattr.WriteTimeouts(defaultTimeouts, haproxy.BaseTimeouts))
	return schema.Schema{
		MarkdownDescription: "What the proxies of one service node have in common: limits, logging, default timeouts and options, and the listeners for statistics and health. " +
			"It is written as sections beside the distribution's own, which what a person configured goes on using; destroying it leaves the file as it was. " +
			"One for each service node, whoever manages it, and frontends and backends work without it.",
		Attributes: map[string]schema.Attribute{
			"id":           hostattr.ID(form),
			"serving":      crud.ServingAttribute("HAProxy"),
			"service_node": hostattr.ServiceNode("HAProxy"),
			"maxconn":      values.Between(1, math.MaxInt32).Optional("Connections of the whole process at once. Default: what the distribution sets, else what HAProxy derives from the limit of open files."),
			"mode":         values.OneOf("tcp", "http").Default("tcp", "Mode of frontends and backends that name none: `tcp` (the default) or `http`."),
			"retries":      values.Between(1, math.MaxInt32).Default(3, "How often a connection to a server is tried again, 1 or more. Default: 3."),
			"options":      haproxyattr.Options("`log-health-checks`, `dontlognull` or `redispatch`"),
			"timeouts":     timeouts,
			"log": haproxyattr.Lines.Optional("Where to log, in HAProxy's words, such as `/dev/log local0` or `10.0.0.254:514 local0 notice`; several lines are several targets. "+
				"They replace the distribution's. Default: these.", haproxyattr.Lines.KeepSpelling()),
			"stats":                 statsAttribute(),
			"health":                healthAttribute(),
			"extra_config":          haproxyattr.Extra("global"),
			"defaults_extra_config": haproxyattr.Extra("defaults"),
		},
	}
}

func healthAttribute() schema.Attribute {
	attributes := haproxyattr.BindAttributes()
	attributes["uri"] = values.Word.Default("/healthz", "Path that is answered. Default: `/healthz`.")
	return values.OptionalObject("A listener that answers 200 while HAProxy runs, for keepalived or a monitor. Default: none.", attributes)
}

func statsAttribute() schema.Attribute {
	attributes := haproxyattr.BindAttributes()
	attributes["uri"] = values.Word.Default("/stats", "Path of the page. Default: `/stats`.")
	attributes["user"] = values.Word.Optional("User who may see the page; needs a password. Default: everyone may.")
	attributes["password"] = schema.StringAttribute{
		Optional: true, Sensitive: true,
		MarkdownDescription: "Password of the user. It is kept in state: prefer `password_wo` where the CLI has write-only attributes.",
		Validators: []validator.String{
			values.Secret,
			stringvalidator.AlsoRequires(path.MatchRelative().AtParent().AtName("user")),
			stringvalidator.ConflictsWith(path.MatchRelative().AtParent().AtName("password_wo")),
		},
	}
	attributes["password_wo"] = schema.StringAttribute{
		Optional: true, Sensitive: true, WriteOnly: true,
		MarkdownDescription: "Password of the user, never kept in plan or state. It is written when `password_wo_version` changes.",
		Validators: []validator.String{
			values.Secret,
			stringvalidator.AlsoRequires(path.MatchRelative().AtParent().AtName("user"), path.MatchRelative().AtParent().AtName("password_wo_version")),
		},
	}
	attributes["password_wo_version"] = values.Between(1, math.MaxInt32).Optional("Version of `password_wo`, 1 or more; a new one writes the password again. A password that was changed in the file shows as another version.")
	attributes["refresh"] = haproxyattr.Time("How often the page reloads itself, with a unit. Default: never.")
	attributes["hide_version"] = values.Flag.Default(false, "Whether the page leaves out HAProxy's version. Default: false.")
	return values.OptionalObject("A listener with HAProxy's statistics page. With a password in it, the configuration file is readable by root only. Default: none.", attributes)
}

type model struct {
	crud.ServingModel
	ID            types.String `tfsdk:"id"`
	ServiceNode   types.String `tfsdk:"service_node"`
	Maxconn       types.Int64  `tfsdk:"maxconn"`
	Mode          types.String `tfsdk:"mode"`
	Retries       types.Int64  `tfsdk:"retries"`
	Options       types.Set    `tfsdk:"options"`
	Timeouts      types.Object `tfsdk:"timeouts"`
	Log           types.String `tfsdk:"log"`
	Stats         types.Object `tfsdk:"stats"`
	Health        types.Object `tfsdk:"health"`
	Extra         types.String `tfsdk:"extra_config"`
	DefaultsExtra types.String `tfsdk:"defaults_extra_config"`
}

// attributes are those of a Base, of which the model has one more: the password that is not kept.
type attributes struct {
	haproxy.Base
	Stats *stats `attr:"stats"`
}

type stats struct {
	haproxy.Stats
	PasswordWO string `attr:"password_wo"`
}

func readAttributes(m *model) (attributes, diag.Diagnostics) {
	a, diags := convert.Plain[attributes](m)
	a.Options, a.Timeouts = haproxyattr.SortWords(a.Options), haproxyattr.ReadTimeouts(m.Timeouts, haproxy.BaseTimeouts)
	a.Log, a.Extra, a.DefaultsExtra = haproxy.Lines(m.Log.ValueString()), haproxy.Lines(m.Extra.ValueString()), haproxy.Lines(m.DefaultsExtra.ValueString())
	if a.Health != nil {
		a.Health.Bind = a.Health.Canonical()
	}
	if a.Stats != nil {
		a.Stats.Bind = a.Stats.Canonical()
	}
	return a, diags
}

func toSpec(_ context.Context, m *model) (haproxy.Base, diag.Diagnostics) {
	a, diags := readAttributes(m)
	if s := a.Stats; s != nil {
		s.Password = cmp.Or(s.Password, s.PasswordWO)
		a.Base.Stats = &s.Stats
	}
	return a.Base, diags
}

// writeOnly brings the password from the configuration into the model that is written.
func writeOnly(planned, config *model) {
	planned.Stats = convert.TakeAttribute(planned.Stats, config.Stats, "password_wo")
}

// fillModel writes what was read back into the model. A password goes into state only where the configuration put one there or, on import,
// where the file says that it was not a write-only one.
func fillModel(_ context.Context, m *model, got haproxy.Base) diag.Diagnostics {
	importing := m.Mode.IsNull()
	was, diags := readAttributes(m)
	is := attributes{Base: got}
	if got.Stats != nil {
		is.Stats = &stats{Stats: *got.Stats}
		own := cmp.Or(was.Stats, &stats{})
		if own.Password == "" && (!importing || got.Stats.PasswordVersion != 0) {
			is.Stats.Password = ""
		}
		if own.PasswordVersion == 0 && !importing {
			is.Stats.PasswordVersion = 0
		}
	}
	convert.FillModel(&was, &is, m)
	m.Timeouts = haproxyattr.WriteTimeouts(got.Timeouts, haproxy.BaseTimeouts)
	m.Log, m.Extra, m.DefaultsExtra = haproxyattr.JoinLines(got.Log), haproxyattr.JoinLines(got.Extra), haproxyattr.JoinLines(got.DefaultsExtra)
	return diags
}
