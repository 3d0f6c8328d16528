// Package backup is virtcluster_backup: the disks of a node at one moment, in volumes of their own.
package backup

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/boolplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/int64planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/mapplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/objectplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/setplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/fleet"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/attrs/poolattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/values"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/backup"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/guest"
)

// New makes the resource.
func New() resource.Resource {
	return crud.New(crud.Type[model, backup.Backup]{
		Name: "backup", Noun: "backup", Naming: crud.Naming[model]{Lasts: true},
		Label:  func(m *model) string { return m.Name.ValueString() },
		Schema: backupSchema,
		Key:    []string{"name", "node"},
		ID:     (*model).formatID,
		Split:  splitID,
		Open:   openStore,
		Plan:   planLost,
		// Disks are copied at the speed of disks.
		Timeouts: map[string]time.Duration{"create": 2 * time.Hour, "delete": 30 * time.Minute},
	})
}

type model struct {
	ID              types.String   `tfsdk:"id"`
	Name            types.String   `tfsdk:"name"`
	Node            types.String   `tfsdk:"node"`
	Disks           types.Set      `tfsdk:"disks"`
	Target          types.Object   `tfsdk:"target"`
	IncrementalFrom types.String   `tfsdk:"incremental_from"`
	BandwidthMiB    types.Int64    `tfsdk:"bandwidth_mib"`
	Quiesce         types.String   `tfsdk:"quiesce"`
	Generation      types.Int64    `tfsdk:"generation"`
	Volumes         types.Map      `tfsdk:"volumes"`
	Checkpoint      types.String   `tfsdk:"checkpoint"`
	Frozen          types.Bool     `tfsdk:"frozen"`
	Timeouts        timeouts.Value `tfsdk:"timeouts"`
}

func (m *model) formatID() string {
	if m.Generation.IsUnknown() {
		return ""
	}
	return backup.ID(m.Name.ValueString(), m.Node.ValueString(), m.Generation.ValueInt64())
}

func splitID(m *model, id string) error {
	name, node, generation, err := backup.SplitID(id)
	if err != nil {
		return err
	}
	m.Name, m.Node = types.StringValue(name), types.StringValue(node)
	if generation != 0 {
		m.Generation = types.Int64Value(generation)
	}
	return nil
}

func openStore(ctx context.Context, at crud.StoreContext, m *model) (crud.Store[backup.Backup], error) {
	// Default disks and a base that the same apply makes are known by then.
	if m.Node.IsUnknown() || m.Generation.IsUnknown() || !m.Target.IsNull() && !convert.WhollyKnown(ctx, m.Target) {
		return nil, fleet.ErrUnknown
	}
	known, diags := convert.Plain[backup.Backup](m)
	if diags.HasError() {
		return nil, fmt.Errorf("%s: %s", diags.Errors()[0].Summary(), diags.Errors()[0].Detail())
	}
	clients, err := at.Fleet.All(ctx)
	if err != nil {
		return nil, err
	}
	return backup.Open(clients, known, at.Claim, at.Ledger), nil
}

// planLost has a backup made anew that has lost a volume: what it shall hold is nowhere else.
func planLost(ctx context.Context, _ crud.StoreContext, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse, _ *model) {
	if req.State.Raw.IsNull() {
		return
	}
	var was model
	if resp.Diagnostics.Append(req.State.Get(ctx, &was)...); resp.Diagnostics.HasError() || len(was.Volumes.Elements()) >= len(was.Disks.Elements()) {
		return
	}
	resp.Diagnostics.Append(resp.Plan.SetAttribute(ctx, path.Root("volumes"), types.MapUnknown(types.StringType))...)
	resp.Diagnostics.Append(resp.Plan.SetAttribute(ctx, path.Root("checkpoint"), types.StringUnknown())...)
	resp.Diagnostics.Append(resp.Plan.SetAttribute(ctx, path.Root("frozen"), types.BoolUnknown())...)
	resp.RequiresReplace = append(resp.RequiresReplace, path.Root("volumes"))
}

// name is what a backup is called.
var name = values.Matching("name of a backup", "nightly", backup.NameForm, "1 to 40 letters, digits, \"_\" or \"-\", of which the first is a letter or a digit")

func backupSchema(ctx context.Context) schema.Schema {
	beside := path.MatchRelative().AtParent()
	return schema.Schema{
		MarkdownDescription: "The disks of a node at one moment, copied while it runs into volumes of their own, with nothing left upon the node's disks: libvirt's backup job. " +
			"A guest whose agent answers holds its file systems for the moment at which the copying begins. A node that is off is started for it without letting its guest run. " +
			"Each copy is a qcow2 volume `NODE-DISK-NAME.qcow2` in the target, or `NODE-DISK-NAME.GENERATION.qcow2`, that is a whole disk to whoever uses it: the guide on backups has a node made of one. " +
			"Disks that are qcow2 files keep from then on which of their parts are written to (`checkpoint`), and a later backup copies only those (`incremental_from`): its volumes are overlays of the ones that it is incremental from, which can only go after it. " +
			"A backup outlives its node where `node` is its name; by its `id` it goes with it. One that has lost a volume is made anew. Destroying it removes its volumes and its checkpoint. " + poolattr.OwnershipDescription,
		Attributes: map[string]schema.Attribute{
			"id":    values.KeptText("`NAME/NODE`, or `NAME.GENERATION/NODE`, with the node as it is written."),
			"name":  name.Required("Name of the backup, which the node has once: 1 to 40 letters, digits, `_` or `-`. Another one makes a new backup.", stringplanmodifier.RequiresReplace()),
			"node":  values.Name.Required("The node, by its `id` or its name. It must be one of this state. Another one makes a new backup.", stringplanmodifier.RequiresReplace()),
			"disks": values.Each(values.Name).Some().OptionalComputedSet("The disks that are copied: `root`, and the keys of the node's `disks`. They must be files in storage pools that are started. Others make a new backup. Default: all that the guest writes to.", setplanmodifier.UseStateForUnknown(), setplanmodifier.RequiresReplaceIfConfigured()),
			"target": schema.SingleNestedAttribute{
				Required: true, PlanModifiers: []planmodifier.Object{objectplanmodifier.RequiresReplace()},
				MarkdownDescription: "Where the copies go, on the node's hypervisor: one of the two. Another one makes a new backup.",
				Attributes: map[string]schema.Attribute{
					"pool": schema.StringAttribute{
						Optional: true, Validators: []validator.String{values.Name, stringvalidator.ExactlyOneOf(beside.AtName("path"))},
						MarkdownDescription: "Name of a storage pool of files.",
					},
					"path": values.Path.Optional("A directory that is there already. libvirt shows it as a storage pool `virtcluster-backup…` for as long as a backup is in it, unless it is that of a pool already."),
				},
			},
			"incremental_from": values.Word.OptionalComputed("The `checkpoint` of another backup of the node, as in `virtcluster_backup.NAME.checkpoint`: what was written since is copied, and disks that it does not know are copied as a whole. Another one makes a new backup; removing it leaves the backup as it is. "+
				"Disks forget what was written where QEMU ends without writing it down, as in a power failure of the hypervisor, and in a revert to a snapshot: then the apply refuses, and a whole backup is to be made. Default: all is copied.",
				stringplanmodifier.UseStateForUnknown(), stringplanmodifier.RequiresReplaceIfConfigured()),
			"bandwidth_mib": values.Between(1, math.MaxInt32).Optional("The most that is copied in a second, in MiB, shared out evenly among the disks. libvirt is told as soon as the copying has begun, so that more is copied at first: a fast disk has 100 MiB copied by then. It counts when the backup is taken. Default: as much as the disks can."),
			"quiesce":       values.OneOf(guest.Auto, guest.Required, guest.None).Default(guest.Auto, "Whether the guest agent holds the file systems as the copying begins: `auto`, where it answers within five seconds and holds them within ten more; `required`, or there is no backup; `none`. Without it disks are as after a power failure. It counts when the backup is taken. Default: `auto`."),
			"generation": values.Between(1, math.MaxInt32).Optional("A number that stands for the moment: another one makes a new backup, and the one before goes first. To keep that one until the new one is there, make the new one as another resource. Default: none.",
				int64planmodifier.RequiresReplace()),
			"volumes": schema.MapAttribute{
				ElementType: types.StringType, Computed: true, PlanModifiers: []planmodifier.Map{mapplanmodifier.UseStateForUnknown()},
				MarkdownDescription: "Paths of the copies, by the keys of their disks: what `image` of a `virtcluster_volume` and of a node's `root_disk` takes.",
			},
			"checkpoint": values.KeptText("What `incremental_from` of a later backup takes: the name, and the generation. Null where no disk keeps what is written to it, and where somebody deleted it: raw files do not, nor qcow2 files of version 0.10 (`qemu-img amend -o compat=1.1`)."),
			"frozen": schema.BoolAttribute{
				Computed: true, PlanModifiers: []planmodifier.Bool{boolplanmodifier.UseStateForUnknown()}, MarkdownDescription: "Whether the guest agent held the file systems.",
			},
			"timeouts": crud.TimeoutsAttribute(ctx, timeouts.Opts{
				Create: true, CreateDescription: "How long the copying may take, as a duration: then it is cancelled, and what was copied goes. Default: `2h`.",
				Delete: true, DeleteDescription: "How long the removal may take, as a duration. Default: `30m`.",
			}),
		},
	}
}
