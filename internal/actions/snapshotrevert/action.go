// Package snapshotrevert is the action virtcluster_snapshot_revert: the nodes of a snapshot go back to its moment.
package snapshotrevert

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/action"
	"github.com/hashicorp/terraform-plugin-framework/action/schema"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/values"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/snapshot"
)

// New makes the action.
func New() action.Action {
	return crud.NewAction(crud.Action[model]{Name: "snapshot_revert", Schema: revertSchema(), Check: checkSnapshot, Do: revertSnapshot})
}

type model struct {
	Snapshot types.String `tfsdk:"snapshot"`
}

func revertSchema() schema.Schema {
	return schema.Schema{
		MarkdownDescription: "Takes all nodes of a `virtcluster_snapshot` back to its moment, together: by `terraform apply -invoke=action.virtcluster_snapshot_revert.NAME`, or from an `action_trigger` of a resource. Terraform 1.14 and later; elsewhere, another number for `revert` of the snapshot does the same. " +
			"All nodes are switched off before the first goes back, and what they wrote since is lost. Those that ran start again, or go on with their memory where the snapshot has it. The snapshot stays. One that lies below a later one is refused, as is one of another state.",
		Attributes: map[string]schema.Attribute{
			"snapshot": schema.StringAttribute{
				Required: true, Validators: []validator.String{values.Name},
				MarkdownDescription: "The `id` of a `virtcluster_snapshot`, or its name where no other snapshot of the provider's hypervisors is called so.",
			},
		},
	}
}

// checkSnapshot refuses a snapshot that cannot be reverted to. One that is not there yet may be taken by the same apply.
func checkSnapshot(ctx context.Context, p crud.ProviderData, m *model) diag.Diagnostics {
	if !convert.Known(m.Snapshot) {
		return nil
	}
	all, err := p.Fleet.All(ctx)
	if err != nil {
		return nil // which may be because it is not known yet
	}
	err = snapshot.MayRevert(ctx, all, m.Snapshot.ValueString())
	if hypervisor.IsNotFound(err) {
		return nil
	}
	return m.newFailures(err)
}

func revertSnapshot(ctx context.Context, p crud.ProviderData, m *model, report func(string)) diag.Diagnostics {
	all, err := p.Fleet.All(ctx)
	if err != nil {
		return m.newFailures(err)
	}
	return m.newFailures(snapshot.Revert(ctx, all, m.Snapshot.ValueString(), report))
}

// newFailures is an error as diagnostics; none for no error.
func (m *model) newFailures(err error) diag.Diagnostics {
	if err == nil {
		return nil
	}
	summary := fmt.Sprintf("Cannot revert to snapshot %q", m.Snapshot.ValueString())
	return diag.Diagnostics{diag.NewAttributeErrorDiagnostic(path.Root("snapshot"), summary, err.Error())}
}
