package haproxy

import (
	"context"
	"math"

	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/objectdefault"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/attrs/haproxyattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/attrs/hostattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/haproxy"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/values"
)

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
			values.Line,
			stringvalidator.AlsoRequires(path.MatchRelative().AtParent().AtName("user")),
			stringvalidator.ConflictsWith(path.MatchRelative().AtParent().AtName("password_wo")),
		},
	}
	attributes["password_wo"] = schema.StringAttribute{
		Optional: true, Sensitive: true, WriteOnly: true,
		MarkdownDescription: "Password of the user, never kept in plan or state. It is written when `password_wo_version` changes.",
		Validators: []validator.String{
			values.Line,
			stringvalidator.AlsoRequires(path.MatchRelative().AtParent().AtName("user"), path.MatchRelative().AtParent().AtName("password_wo_version")),
		},
	}
	attributes["password_wo_version"] = values.Between(1, math.MaxInt32).Optional("Version of `password_wo`, 1 or more; a new one writes the password again. A password that was changed in the file shows as another version.")
	attributes["refresh"] = haproxyattr.Time("How often the page reloads itself, with a unit. Default: never.")
	attributes["hide_version"] = values.Flag.Default(false, "Whether the page leaves out HAProxy's version. Default: false.")
	return values.OptionalObject("A listener with HAProxy's statistics page. With a password in it, the configuration file is readable by root only. Default: none.", attributes)
}
