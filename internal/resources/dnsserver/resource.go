// Package dnsserver is virtcluster_dns_server: the options of a BIND server.
package dnsserver

import (
	"context"
	"errors"

	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/dnsattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/hostattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/bind"
)

// name is what the server is called in ids: a machine has one.
const name = "server"

// form is what an id looks like.
const form = "SERVICE_NODE#" + name

// New makes the resource.
func New() resource.Resource {
	return crud.New(crud.Type[model, bind.Server]{
		Name:   "dns_server",
		Noun:   "DNS server",
		Label:  func(m *model) string { return m.ServiceNode.ValueString() },
		Schema: serverSchema,
		Key:    []string{"service_node"},
		ID:     func(m *model) string { return hostattr.JoinID(m.ServiceNode, name) },
		SetID:  func(m *model, id string) { m.ID = types.StringValue(id) },
		Split: func(m *model, id string) error {
			node, part, err := hostattr.SplitID(id, form)
			if err == nil && part != name {
				err = errors.New("write " + form)
			}
			m.ServiceNode = node
			return err
		},
		Spec:      toSpec,
		Fill:      fillModel,
		Open:      openStore,
		TryAtPlan: func(bool) bool { return true },
		Plan:      planChange,
	})
}

func openStore(ctx context.Context, at crud.StoreContext, m *model) (crud.Store[bind.Server], error) {
	return crud.OpenPart(ctx, at, m.ServiceNode.ValueString(), bind.NewServerPart(hostattr.JoinID(m.ServiceNode, name), at.Claim.Mark()))
}

// planChange makes no change of what only is spelled differently.
func planChange(ctx context.Context, _ crud.StoreContext, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse, m *model) {
	if req.State.Raw.IsNull() {
		return
	}
	var prior model
	resp.Diagnostics.Append(req.State.Get(ctx, &prior)...)
	if resp.Diagnostics.HasError() {
		return
	}
	dnsattr.KeepList(ctx, resp, "listen_on", &m.ListenOn, prior.ListenOn, bind.SameListen)
	dnsattr.KeepList(ctx, resp, "forwarders", &m.Forwarders, prior.Forwarders, bind.SameServers)
	dnsattr.KeepList(ctx, resp, "allow_query", &m.AllowQuery, prior.AllowQuery, bind.SameMatches)
	dnsattr.KeepList(ctx, resp, "allow_recursion", &m.AllowRecursion, prior.AllowRecursion, bind.SameMatches)
	dnsattr.KeepOptions(ctx, resp, "options", &m.Options, prior.Options)
}
