package haproxyfrontend

import (
	"context"
	"math"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/attrs/haproxyattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/attrs/hostattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/haproxy"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/values"
)

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
