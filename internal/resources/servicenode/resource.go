// Package servicenode is the resource virtcluster_service_node.
package servicenode

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/fleet"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/provision"
)

// goneForGood is the way out for a machine that will not answer any more.
const goneForGood = "If the machine is gone for good, there is nothing to give back: take it and what lived on it out of the state with `terraform state rm`."

type serviceNode struct{ fleet *fleet.Fleet }

var (
	_ resource.ResourceWithModifyPlan  = (*serviceNode)(nil)
	_ resource.ResourceWithImportState = (*serviceNode)(nil)
	_ resource.ResourceWithIdentity    = (*serviceNode)(nil)
)

// New is the constructor that the provider offers. The resource is written out instead of made by
// crud.New, because its id is known only after the machine answered.
func New() resource.Resource { return &serviceNode{} }

func (r *serviceNode) Metadata(_ context.Context, req resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_service_node"
}

func (r *serviceNode) Schema(ctx context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema = resourceSchema(ctx)
}

func (r *serviceNode) IdentitySchema(_ context.Context, _ resource.IdentitySchemaRequest, resp *resource.IdentitySchemaResponse) {
	resp.IdentitySchema = crud.IdentitySchema("id")
}

func (r *serviceNode) Configure(_ context.Context, req resource.ConfigureRequest, resp *resource.ConfigureResponse) {
	if req.ProviderData == nil {
		return
	}
	f, ok := req.ProviderData.(*fleet.Fleet)
	if !ok {
		resp.Diagnostics.AddError("Unexpected provider data", fmt.Sprintf("got %T", req.ProviderData))
		return
	}
	r.fleet = f
}

// Create waits for the machine, pins its key and prepares it.
func (r *serviceNode) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	var m model
	resp.Diagnostics.Append(req.Plan.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, crud.Timeout(ctx, m.Timeouts, "create", 10*time.Minute, &resp.Diagnostics))
	defer cancel()
	h, err := r.meet(ctx, &m)
	if err != nil {
		resp.Diagnostics.Append(crud.Failure("reach", m.what(), err))
		return
	}
	m.OS, m.Versions = types.StringValue(""), types.MapNull(types.StringType)
	// The key is pinned: from here on state knows the machine, whatever happens.
	claim := owner.New()
	crud.SaveClaim(ctx, claim, resp.Private, &resp.Diagnostics)
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
	resp.Diagnostics.Append(crud.Identify(ctx, resp.State, resp.Identity, "id")...)
	warning, err := provision.Booted(ctx, h)
	if err != nil {
		resp.Diagnostics.Append(crud.Failure("wait for", m.what(), err))
		return
	}
	if warning != "" {
		resp.Diagnostics.AddWarning("cloud-init failed", warning)
	}
	services, diags := m.services(ctx)
	resp.Diagnostics.Append(diags...)
	prepare(ctx, h, &m, claim.Mark(), services, services, &resp.Diagnostics)
	readBack(ctx, h, &m, &resp.State, &resp.Diagnostics)
}

// meet waits until the machine answers.
func (r *serviceNode) meet(ctx context.Context, m *model) (host.Host, error) {
	type met struct {
		id   string
		host host.Host
	}
	got, err := provision.Answering(ctx, m.name(), fleet.Temporary, func(ctx context.Context) (met, error) {
		id, h, err := r.fleet.Meet(ctx, m.Endpoint.ValueString(), m.HostKey.ValueString())
		return met{id, h}, err
	})
	if err != nil {
		return nil, err
	}
	return got.host, m.identify(got.id)
}

// Read looks at the machine; one that cannot be asked is an error and stays in the state.
func (r *serviceNode) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	var m model
	resp.Diagnostics.Append(req.State.Get(ctx, &m)...)
	// The framework wants an identity even where nothing may be asked yet.
	resp.Diagnostics.Append(crud.Identify(ctx, req.State, resp.Identity, "id")...)
	if resp.Diagnostics.HasError() || r.fleet == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, crud.Timeout(ctx, m.Timeouts, "read", 2*time.Minute, &resp.Diagnostics))
	defer cancel()
	h, err := r.fleet.Host(ctx, m.ID.ValueString())
	if err == nil {
		err = look(ctx, h, &m, &resp.Diagnostics)
	}
	if err != nil {
		resp.Diagnostics.Append(crud.Failure("read", m.what(), err))
		return
	}
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
	resp.Diagnostics.Append(crud.Identify(ctx, resp.State, resp.Identity, "id")...)
}

// Update makes services ready that are new and gives back those that are no longer wanted.
func (r *serviceNode) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	var m, prior model
	resp.Diagnostics.Append(req.Plan.Get(ctx, &m)...)
	resp.Diagnostics.Append(req.State.Get(ctx, &prior)...)
	services, diags := m.services(ctx)
	resp.Diagnostics.Append(diags...)
	before, diags := prior.services(ctx)
	resp.Diagnostics.Append(diags...)
	if resp.Diagnostics.HasError() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, crud.Timeout(ctx, m.Timeouts, "update", 10*time.Minute, &resp.Diagnostics))
	defer cancel()
	h, err := r.fleet.Host(ctx, m.ID.ValueString())
	if err != nil {
		resp.Diagnostics.Append(crud.Failure("reach", m.what(), err))
		return
	}
	claim := crud.RestoreClaim(ctx, req.Private, &resp.Diagnostics).Written()
	crud.SaveClaim(ctx, claim, resp.Private, &resp.Diagnostics)
	all := slices.Clone(services)
	added := slices.DeleteFunc(services, func(name string) bool { return slices.Contains(before, name) })
	prepare(ctx, h, &m, claim.Mark(), all, added, &resp.Diagnostics)
	wanted, _ := m.services(ctx)
	dropped := slices.DeleteFunc(before, func(name string) bool { return slices.Contains(wanted, name) })
	if len(dropped) > 0 && !resp.Diagnostics.HasError() {
		warnings, err := provision.GiveBack(ctx, h, &r.fleet.Engine, claim.Mark(), dropped)
		warn(&resp.Diagnostics, &m, warnings)
		if err != nil {
			resp.Diagnostics.Append(crud.Failure("give back", m.what(), err))
		}
	}
	if resp.Diagnostics.HasError() {
		return // the state keeps what it was, and the next plan shows the rest
	}
	readBack(ctx, h, &m, &resp.State, &resp.Diagnostics)
	resp.Diagnostics.Append(crud.Identify(ctx, resp.State, resp.Identity, "id")...)
}

// Delete gives the machine back. A machine that cannot be asked is an error: nobody knows whether it is gone
// or its configuration still serves.
func (r *serviceNode) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	var m model
	resp.Diagnostics.Append(req.State.Get(ctx, &m)...)
	services, diags := m.services(ctx)
	resp.Diagnostics.Append(diags...)
	if resp.Diagnostics.HasError() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, crud.Timeout(ctx, m.Timeouts, "delete", 5*time.Minute, &resp.Diagnostics))
	defer cancel()
	h, err := r.fleet.Host(ctx, m.ID.ValueString())
	if err == nil {
		var warnings []string
		warnings, err = provision.Leave(ctx, h, &r.fleet.Engine, crud.MarkOf(ctx, req.Private, &resp.Diagnostics), services)
		warn(&resp.Diagnostics, &m, warnings)
	}
	if err != nil {
		resp.Diagnostics.AddError(fmt.Sprintf("Cannot give back %s", m.what()), err.Error()+"\n\n"+goneForGood)
	}
}

// warn passes on what a machine that was given back does not do.
func warn(diags *diag.Diagnostics, m *model, warnings []string) {
	for _, text := range warnings {
		diags.AddWarning(fmt.Sprintf("Not all of %s is as it was", m.what()), text)
	}
}

// ImportState takes an id, or an endpoint whose key is then pinned.
func (r *serviceNode) ImportState(ctx context.Context, req resource.ImportStateRequest, resp *resource.ImportStateResponse) {
	name := req.ID
	if name == "" && req.Identity != nil {
		var v types.String
		resp.Diagnostics.Append(req.Identity.GetAttribute(ctx, idPath, &v)...)
		name = v.ValueString()
	}
	resp.Diagnostics.Append(resp.State.SetAttribute(ctx, idPath, name)...)
	var m model
	resp.Diagnostics.Append(resp.State.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() {
		return
	}
	id, _, err := r.fleet.Meet(ctx, name, "")
	if err == nil {
		err = m.identify(id)
	}
	if err != nil {
		resp.Diagnostics.AddError(fmt.Sprintf("Cannot import service node %q", name), err.Error())
		return
	}
	m.InstallPackages = types.BoolValue(true)
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
}

func (m *model) what() string { return fmt.Sprintf("service node %q", m.name()) }

func prepare(ctx context.Context, h host.Host, m *model, user owner.Mark, all, services []string, diags *diag.Diagnostics) {
	warnings, err := provision.Prepare(ctx, h, user, all, services, m.InstallPackages.ValueBool())
	for _, w := range warnings {
		diags.AddWarning("A daemon did not start", w)
	}
	var missing *provision.MissingError
	switch {
	case errors.As(err, &missing):
		diags.AddAttributeError(servicesPath, "Services are not installed", err.Error())
	case err != nil:
		diags.Append(crud.Failure("prepare", m.what(), err))
	}
}

func look(ctx context.Context, h host.Host, m *model, diags *diag.Diagnostics) error {
	inv, err := provision.Look(ctx, h)
	if err != nil {
		return err
	}
	diags.Append(m.fill(ctx, inv)...)
	return nil
}

// readBack makes state what the machine says, even after a failure half way.
func readBack(ctx context.Context, h host.Host, m *model, state *tfsdk.State, diags *diag.Diagnostics) {
	if err := look(ctx, h, m, diags); err != nil {
		diags.Append(crud.Failure("read back", m.what(), err))
		return
	}
	diags.Append(state.Set(ctx, m)...)
}
