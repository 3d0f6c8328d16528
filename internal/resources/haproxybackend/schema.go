package haproxybackend

import (
	"context"
	"maps"
	"math"

	"github.com/hashicorp/terraform-plugin-framework/resource/schema"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/attrs/haproxyattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/attrs/hostattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/haproxy"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/values"
)

const defaultDrainTimeout = "30s"

var serverAddress = values.Word.Same(haproxy.CanonicalAddress)

func resourceSchema(context.Context) schema.Schema {
	return schema.Schema{
		MarkdownDescription: "A backend of HAProxy on a service node: the servers that get a frontend's connections. Servers come, go, drain and change weight at run time where the " +
			"balance algorithm allows it, by a reload otherwise; neither drops a connection. A `listen` section that a person wrote is not managed: its name is taken, and it goes on serving.",
		Attributes: map[string]schema.Attribute{
			"id":           hostattr.ID(form),
			"serving":      crud.ServingAttribute("HAProxy"),
			"service_node": hostattr.ServiceNode("HAProxy"),
			"name":         haproxyattr.Name("backend"),
			"mode":         values.OneOf("tcp", "http").Optional("`tcp` or `http`, the same as in the frontends that lead here. Default: the mode of the defaults section (`virtcluster_haproxy`; Debian's own is `http`)."),
			"balance": values.Line.Optional("How servers are chosen: `roundrobin`, `leastconn`, `source`, `random`, `first`, `uri`, … with their arguments. "+
				"With `source` one client keeps its server, and every change of servers takes a reload. Default: that of the defaults section, else HAProxy's, which is `roundrobin` up to 3.2.", haproxyattr.Words.KeepSpelling()),
			"hash_type": values.Line.Optional("For algorithms that hash: `consistent` moves few clients when a server comes or goes. Default: HAProxy's `map-based`.", haproxyattr.Words.KeepSpelling()),
			"options":   haproxyattr.Options("`redispatch` or `log-health-checks`"),
			"timeouts":  haproxyattr.Timeouts(haproxy.BackendTimeouts, nil),
			"http_check": values.OptionalObject("Health checks by an HTTP request, in mode `tcp` too. Default: none, and a check is a connection.", values.Attributes{
				"method":  values.Word.Default("GET", "Method of the request. Default: `GET`."),
				"uri":     values.Word.Default("/", "Path that is asked for, such as `/readyz`. Default: `/`."),
				"version": values.Line.Optional("Version of HTTP, such as `HTTP/1.1`. Default: HAProxy's `HTTP/1.0`. Headers go by `http-check send hdr NAME VALUE` in `extra_config`.", haproxyattr.Words.KeepSpelling()),
				"expect":  values.Line.Optional("What the answer has to be, in HAProxy's words: `status 200`, `string ok`. It is the check's last step, after an `http-check send` in `extra_config`; a check with several such steps goes there as a whole. Default: a status of 2xx or 3xx.", haproxyattr.Words.KeepSpelling()),
			}),
			"default_server": values.OptionalObject("What all servers inherit.", paramAttributes("HAProxy's")),
			"servers":        values.Objects().Keys(values.Word).OptionalMapOf("Servers by name.", serverAttributes()),
			"drain_timeout":  haproxyattr.Duration.Default(defaultDrainTimeout, "How long an apply that sets a server to `drain` waits for its last session to end, with a unit. What is left then goes on undisturbed, and a warning says how many sessions that are. Default: `30s`; `0s` does not wait, `8m` is the most.", haproxyattr.Duration.KeepSpelling()),
			"extra_config":   haproxyattr.Extra("backend"),
		},
	}
}

func serverAttributes() map[string]schema.Attribute {
	a := map[string]schema.Attribute{
		"address": serverAddress.Required("IPv4 or IPv6 address, or a host name that HAProxy resolves when it starts.", serverAddress.KeepSpelling()),
		"port":    values.Port().Required("TCP port, 1 to 65535."),
		"state":   values.Word.Default(haproxy.Ready, "`ready` (the default), `drain` (no new connections, those that are there go on) or `maint` (out of everything, checks included)."),
	}
	maps.Copy(a, paramAttributes("that of `default_server`"))
	return a
}

func paramAttributes(inherited string) map[string]schema.Attribute {
	flag := func(text string) schema.BoolAttribute {
		return values.Flag.Optional(text + " Default: " + inherited + ", which is no otherwise.")
	}
	number := func(text string) schema.Int64Attribute {
		return values.Between(1, math.MaxInt32).Optional(text + " Default: " + inherited + ".")
	}
	if inherited == "HAProxy's" {
		flag = func(text string) schema.BoolAttribute {
			return values.Flag.Optional(text + " Default: no.")
		}
	}
	return map[string]schema.Attribute{
		"weight":     values.Between(0, 256).Optional("Share of the connections, 0 to 256, beside the other servers' weights (HAProxy's own is 1). Default: " + inherited + "."),
		"maxconn":    number("Connections at once; more wait in the queue (HAProxy's own is no limit; `\"maxconn 0\"` in `options` says so for one server)."),
		"backup":     flag("Whether the server is used only while all others are down."),
		"check":      flag("Whether the server's health is checked."),
		"check_ssl":  flag("Whether health checks speak TLS where the traffic itself does not or is passed on."),
		"verify":     values.OneOf("none", "required").Optional("Whether the server's certificate is verified: `none` or `required` (which needs a `ca-file` in `options`). Default: " + inherited + "."),
		"inter":      haproxyattr.Time("Time between two health checks, with a unit (HAProxy's own is 2s). Default: " + inherited + "."),
		"fall":       number("How many failed checks take the server out (HAProxy's own is 3)."),
		"rise":       number("How many good checks bring it back (HAProxy's own is 2)."),
		"send_proxy": flag("Whether connections begin with a PROXY protocol header that names the client."),
		"options":    values.Each(values.Line).OptionalList("Further options of the server line, such as `\"ssl\"`, `\"ca-file /etc/ssl/ca.pem\"` or `\"send-proxy-v2\"`. Default: none.", haproxyattr.LineOptions),
	}
}
