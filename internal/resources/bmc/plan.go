package bmc

import (
	"context"
	"errors"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/fleet"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/plan"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/programs/selfbinary"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/bmc"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/machine"
)

// planControllers completes the nodes, checks the secrets, which are in no plan, and looks at the machine while nothing has happened yet.
func planControllers(ctx context.Context, at crud.StoreContext, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse, m *model) {
	var written model
	resp.Diagnostics.Append(req.Config.Get(ctx, &written)...)
	if resp.Diagnostics.HasError() {
		return
	}
	completeNodes(ctx, &written, m, resp)
	full := *m
	writeOnly(&full, &written)
	want, diags := full.toSpec(ctx)
	resp.Diagnostics.Append(diags...)
	checkSecrets(&written, want, resp)
	keepFingerprint(ctx, req, resp, m, want)
	if at.Fleet == nil || resp.Diagnostics.HasError() || m.Name.IsUnknown() || m.Hypervisor.IsUnknown() {
		return
	}
	store, err := openControllers(ctx, at, m)
	if errors.Is(err, fleet.ErrUnknown) || errors.Is(err, fleet.ErrOffline) {
		return
	}
	var there bmc.Machine
	if err == nil {
		there, err = store.LookAtMachine(ctx)
	}
	if err != nil {
		resp.Diagnostics.Append(crud.NewUnseen(path.Root("name"), "controllers "+m.Name.ValueString(), err))
		return
	}
	if binary := written.Binary; convert.WhollyKnown(ctx, binary) {
		program, err := store.Choose(ctx, there.Platform())
		if err != nil {
			resp.Diagnostics.AddAttributeError(path.Root("binary"), "No program for the hypervisor's machine", err.Error())
			return
		}
		resp.Diagnostics.Append(resp.Plan.SetAttribute(ctx, path.Root("program"), program.Origin)...)
		resp.Diagnostics.Append(resp.Plan.SetAttribute(ctx, path.Root("program_checksum"), sumPrefix+program.Sum)...)
		if !hasProgram(ctx, req.State, program) {
			if err := program.Look(ctx); err != nil {
				resp.Diagnostics.AddAttributeError(path.Root("binary"), "Program that cannot be had", err.Error())
			}
		}
	}
	if resp.Plan.Raw.Equal(req.State.Raw) {
		return
	}
	resp.Diagnostics.Append(crud.Problems(ctx, resp.Plan, there.CheckPlan(want))...)
	for name := range want.Nodes {
		// One that no hypervisor has may come to be in the same apply, and one that another one has may move here.
		if comesHere(at.Ledger, m.Hypervisor.ValueString(), name) {
			continue
		}
		if elsewhere, ok := errors.AsType[*machine.ElsewhereError](store.Exists(ctx, name)); ok {
			resp.Diagnostics.AddAttributeError(path.Root("nodes").AtMapKey(name), "Node of another hypervisor", elsewhere.Error())
		}
	}
}

// comesHere says whether the plan has a node on a hypervisor.
func comesHere(planned plan.View, hypervisor, node string) bool {
	return slices.ContainsFunc(planned.List(plan.NodeCard), func(h plan.Held) bool {
		return h.Value == node && slices.Contains(h.Holder.Places, plan.NameHypervisor(hypervisor))
	})
}

// hasProgram says whether the state has a program already, which is not fetched again then.
func hasProgram(ctx context.Context, state tfsdk.State, program selfbinary.Program) bool {
	var was model
	return !state.Raw.IsNull() && !state.Get(ctx, &was).HasError() && was.Program.ValueString() == program.Origin && was.ProgramChecksum.ValueString() == sumPrefix+program.Sum
}

// completeNodes plans what the configuration leaves out of the nodes.
func completeNodes(ctx context.Context, written, planned *model, resp *resource.ModifyPlanResponse) {
	if written.Nodes.IsUnknown() || written.Address.IsUnknown() || written.SharedPort.IsUnknown() {
		return
	}
	spec, diags := written.toSpec(ctx)
	own := written.decodeNodes(ctx, &diags)
	all := map[string]attr.Value{}
	for name, element := range written.Nodes.Elements() {
		n, known := own[name]
		if !known || !convert.WhollyKnown(ctx, element) {
			all[name] = planned.Nodes.Elements()[name]
			continue
		}
		object, d := types.ObjectValueFrom(ctx, nodeTypes, newNode(spec.Complete(name, n.toNode()), n.Address))
		diags.Append(d...)
		all[name] = object
	}
	nodes, d := types.MapValue(types.ObjectType{AttrTypes: nodeTypes}, all)
	diags.Append(d...)
	resp.Diagnostics.Append(diags...)
	if !diags.HasError() {
		planned.Nodes = nodes
		resp.Diagnostics.Append(resp.Plan.SetAttribute(ctx, path.Root("nodes"), nodes)...)
	}
}

// checkSecrets says what is wrong with what the configuration has and the plan has not.
func checkSecrets(written *model, want bmc.Controllers, resp *resource.ModifyPlanResponse) {
	for _, p := range want.Validate() {
		switch p.Path[0] {
		case "password":
			if !written.PasswordWO.IsNull() {
				p.Path = []any{"password_wo"}
				resp.Diagnostics.Append(crud.Diagnostics([]service.Problem{p})...)
			}
		case "tls":
			if key := written.TLS.Attributes()["key_wo"]; key != nil && !key.IsNull() {
				resp.Diagnostics.Append(crud.Diagnostics([]service.Problem{p})...)
			}
		}
	}
	attributes := written.TLS.Attributes()
	if convert.Known(written.TLS) && attributes["key"].IsNull() && attributes["key_wo"].IsNull() {
		resp.Diagnostics.AddAttributeError(path.Root("tls"), "Certificate without a key", "write key_wo, or key, beside the certificate")
	}
}

// keepFingerprint plans the fingerprint of the certificate where it is known: of the one that is given, and of one that was made for the
// same addresses.
func keepFingerprint(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse, m *model, want bmc.Controllers) {
	at := path.Root("certificate_fingerprint")
	switch {
	case want.Certificate != "":
		resp.Diagnostics.Append(resp.Plan.SetAttribute(ctx, at, bmc.Fingerprint(want.Certificate))...)
		return
	case m.TLS.IsUnknown() || req.State.Raw.IsNull():
		return
	}
	var was model
	resp.Diagnostics.Append(req.State.Get(ctx, &was)...)
	if had, _ := was.toSpec(ctx); was.TLS.IsNull() && slices.Equal(had.Addresses(), want.Addresses()) {
		resp.Diagnostics.Append(resp.Plan.SetAttribute(ctx, at, was.Fingerprint)...)
	}
}
