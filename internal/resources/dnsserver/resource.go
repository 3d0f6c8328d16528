// Package dnsserver is virtcluster_dns_server: the options of a BIND server.
package dnsserver

import (
	"context"
	"errors"

	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/attrs/hostattr"
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
	})
}

func openStore(ctx context.Context, at crud.StoreContext, m *model) (crud.Store[bind.Server], error) {
	return crud.OpenPart(ctx, at, m.ServiceNode.ValueString(), bind.NewServerPart(hostattr.JoinID(m.ServiceNode, name), at.Claim.Mark()))
}
