// Package dhcpserver is the resource virtcluster_dhcp_server.
package dhcpserver

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/attrs/hostattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/kea"
)

// form is what an id looks like.
const form = "SERVICE_NODE#dhcp/NAME"

// New is the constructor that the provider offers.
func New() resource.Resource {
	return crud.New(crud.Type[model, kea.Server]{
		Name:   "dhcp_server",
		Noun:   "DHCP server",
		Label:  func(m *model) string { return m.Interface.ValueString() },
		Schema: resourceSchema,
		Key:    []string{"service_node", "interface"},
		ID:     formatID,
		Split:  func(m *model, id string) error { return hostattr.SplitName(id, form, &m.ServiceNode, &m.Interface) },
		Spec:   func(ctx context.Context, m *model) (kea.Server, diag.Diagnostics) { return m.toSpec(ctx) },
		Fill:   func(ctx context.Context, m *model, got kea.Server) diag.Diagnostics { return m.fillModel(ctx, got) },
		Open: func(ctx context.Context, at crud.StoreContext, m *model) (crud.Store[kea.Server], error) {
			return openStore(ctx, at, m)
		},
		Plan:      planChange,
		TryAtPlan: func(bool) bool { return true },
	})
}

func formatID(m *model) string {
	return hostattr.JoinID(m.ServiceNode, "dhcp/"+m.Interface.ValueString())
}

func openStore(ctx context.Context, at crud.StoreContext, m *model) (*kea.Store, error) {
	p, err := crud.OpenPart(ctx, at, m.ServiceNode.ValueString(), kea.NewPart(m.Interface.ValueString(), formatID(m), at.Claim.Mark()))
	return &kea.Store{Part: p}, err
}

// planChange refuses a server where there is no such interface, or where another one answers already.
func planChange(ctx context.Context, at crud.StoreContext, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse, m *model) {
	if at.Fleet == nil || !req.State.Raw.IsNull() || m.ServiceNode.IsUnknown() || m.Interface.IsUnknown() {
		return
	}
	want, diags := m.toSpec(ctx)
	if diags.HasError() {
		return
	}
	hostattr.LookFirst("service_node", `DHCP server "`+want.Interface+`"`, resp, func() error {
		store, err := openStore(ctx, at, m)
		if err == nil {
			err = store.Look(ctx, want)
		}
		return err
	})
}
