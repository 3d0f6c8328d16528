// Package dnsserver is virtcluster_dns_server: the options of a BIND server.
package dnsserver

import (
	"context"
	"errors"

	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/bind"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/bind/bindattr"
)

// name is what the server is called in ids: a machine has one.
const name = "server"

// New makes the resource.
func New() resource.Resource {
	return crud.New(crud.Type[model, bind.Server]{
		Name:   "dns_server",
		Noun:   "DNS server",
		Label:  func(m *model) string { return m.ServiceNode.ValueString() },
		Schema: serverSchema,
		Key:    []string{"service_node"},
		ID:     func(m *model) string { return bindattr.ID(m.ServiceNode, name) },
		SetID:  func(m *model, id string) { m.ID = types.StringValue(id) },
		Split: func(m *model, id string) error {
			node, part, err := bindattr.SplitID(id, "SERVICE_NODE#"+name)
			if err == nil && part != name {
				err = errors.New("write SERVICE_NODE#" + name)
			}
			m.ServiceNode = node
			return err
		},
		Spec: spec,
		Fill: fill,
		Open: open,
		Plan: plan,
	})
}

func open(ctx context.Context, at crud.Opening, m *model) (crud.Store[bind.Server], error) {
	return crud.OpenPart(ctx, at, m.ServiceNode.ValueString(), crud.Part[bind.Server]{
		Daemon: bind.Daemon{},
		Owner:  "DNS server",
		Find:   bind.FindServer,
		Add:    bind.SetServer, // the distribution's options are there to be replaced
		Set:    bind.SetServer,
		Drop:   bind.DropServer,
	})
}

// plan makes no change of what only is spelled differently.
func plan(ctx context.Context, _ crud.Opening, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse, m *model) {
	if req.State.Raw.IsNull() {
		return
	}
	var prior model
	resp.Diagnostics.Append(req.State.Get(ctx, &prior)...)
	if resp.Diagnostics.HasError() {
		return
	}
	list := func(at string, planned *types.List, state types.List, same func(a, b []string) bool) {
		resp.Diagnostics.Append(bindattr.Keep(ctx, resp, at, planned, state, same(bindattr.Strings(*planned), bindattr.Strings(state)))...)
	}
	list("listen_on", &m.ListenOn, prior.ListenOn, bind.SameListen)
	list("forwarders", &m.Forwarders, prior.Forwarders, bind.SameServers)
	list("allow_query", &m.AllowQuery, prior.AllowQuery, bind.SameMatches)
	list("allow_recursion", &m.AllowRecursion, prior.AllowRecursion, bind.SameMatches)
	resp.Diagnostics.Append(bindattr.Keep(ctx, resp, "options", &m.Options, prior.Options,
		bind.SameOptions(bindattr.MapStrings(m.Options), bindattr.MapStrings(prior.Options)))...)
}
