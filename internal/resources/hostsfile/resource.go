// Package hostsfile is the resource virtcluster_hosts_file.
package hostsfile

import (
	"context"
	"errors"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/fleet"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/attrs/hostattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/hostsfile"
)

// form is what an id looks like.
const form = "HOST#NAME"

// New is the constructor that the provider offers.
func New() resource.Resource {
	return crud.New(crud.Type[model, hostsfile.Block]{
		Name:   "hosts_file",
		Noun:   "hosts file block",
		Label:  func(m *model) string { return m.Name.ValueString() },
		Schema: resourceSchema,
		Key:    []string{"host", "name"},
		ID:     formatID,
		Split:  func(m *model, id string) error { return hostattr.SplitName(id, form, &m.Host, &m.Name) },
		Spec:   func(ctx context.Context, m *model) (hostsfile.Block, diag.Diagnostics) { return m.toSpec(ctx) },
		Fill: func(ctx context.Context, m *model, got hostsfile.Block) diag.Diagnostics {
			return m.fillModel(ctx, got)
		},
		Open: openStore,
		Plan: planChange,
	})
}

func formatID(m *model) string { return hostattr.JoinID(m.Host, m.Name.ValueString()) }

func openStore(ctx context.Context, at crud.StoreContext, m *model) (crud.Store[hostsfile.Block], error) {
	return openFile(ctx, at, m)
}

func openFile(ctx context.Context, at crud.StoreContext, m *model) (*hostsfile.Store, error) {
	site, err := hostattr.Open(ctx, at, m.Host)
	if err != nil {
		return nil, err
	}
	return hostsfile.Open(site.Host, m.Name.ValueString(), formatID(m), at.Claim), nil
}

// planChange refuses a block that is somebody else's, and warns of what takes a block away again.
func planChange(ctx context.Context, at crud.StoreContext, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse, m *model) {
	if at.Fleet == nil || m.Host.IsUnknown() || m.Name.IsUnknown() {
		return
	}
	if req.Plan.Raw.Equal(req.State.Raw) || resp.Diagnostics.HasError() {
		return
	}
	what := fmt.Sprintf("hosts file block %q", m.Name.ValueString())
	store, err := openFile(ctx, at, m)
	if err == nil {
		err = store.Plan(ctx, req.State.Raw.IsNull())
	}
	_, placed := errors.AsType[*service.AttributeError](err)
	switch {
	case errors.Is(err, fleet.ErrUnknown):
	case placed:
		resp.Diagnostics.Append(crud.NewFailure("plan", what, err))
	case err != nil:
		resp.Diagnostics.Append(crud.NewUnseen(path.Root("host"), what, err))
	default:
		resp.Diagnostics.Append(crud.Problems(ctx, req.Plan, store.Warn(ctx))...)
	}
}
