// Package snapshot is virtcluster_snapshot: one moment of a set of nodes.
package snapshot

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/boolplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/setplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/fleet"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/values"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/guest"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/snapshot"
)

// New makes the resource.
func New() resource.Resource {
	return crud.New(crud.Type[model, snapshot.Snapshot]{
		Name: "snapshot", Noun: "snapshot",
		Label:  func(m *model) string { return m.Name.ValueString() },
		Schema: snapshotSchema,
		Key:    []string{"name"},
		Naming: crud.Naming[model]{Names: listNames},
		ID:     func(m *model) string { return snapshot.ID(m.Name.ValueString(), m.listNodes()) },
		Split:  splitID,
		Open:   openStore,
		// A machine's memory is written down, and layers are merged, at the speed of disks.
		Timeouts: defaultTimeouts,
	})
}

type model struct {
	ID        types.String `tfsdk:"id"`
	Name      types.String `tfsdk:"name"`
	Nodes     types.Set    `tfsdk:"nodes"`
	Memory    types.Bool   `tfsdk:"memory"`
	Quiesce   types.String `tfsdk:"quiesce"`
	Revert    types.Int64  `tfsdk:"revert"`
	CreatedAt types.String `tfsdk:"created_at"`
	PerNode   types.Map    `tfsdk:"per_node"`
}

// listNodes lists the nodes; none while one is not known.
func (m *model) listNodes() []string {
	var all []string
	for _, v := range m.Nodes.Elements() {
		text, ok := v.(types.String)
		if !ok || !convert.Known(text) {
			return nil
		}
		all = append(all, text.ValueString())
	}
	return all
}

// listNames lists what no other snapshot of a plan may be called: two may have one name where they are of different nodes.
func listNames(_ context.Context, m *model) []string {
	var names []string
	for _, node := range m.listNodes() {
		names = append(names, snapshot.ID(m.Name.ValueString(), []string{node}))
	}
	return names
}

func splitID(m *model, id string) error {
	name, nodes, err := snapshot.SplitID(id)
	if err != nil {
		return err
	}
	m.Name = types.StringValue(name)
	if len(nodes) > 0 {
		m.Nodes = types.SetValueMust(types.StringType, convert.Elements(nodes))
	}
	return nil
}

func openStore(ctx context.Context, at crud.StoreContext, m *model) (crud.Store[snapshot.Snapshot], error) {
	if !m.Nodes.IsNull() && !convert.WhollyKnown(ctx, m.Nodes) {
		return nil, fleet.ErrUnknown
	}
	known, diags := convert.Plain[snapshot.Snapshot](m)
	if diags.HasError() {
		return nil, fmt.Errorf("%s: %s", diags.Errors()[0].Summary(), diags.Errors()[0].Detail())
	}
	clients, err := at.Fleet.All(ctx)
	if err != nil {
		return nil, err
	}
	return snapshot.Open(clients, known, at.Claim).NoteLost(at.Fleet.ListLost()), nil
}

// defaultTimeouts bound what takes as long as disks are slow: memory that is written down, and layers that are merged.
var defaultTimeouts = map[string]time.Duration{"create": 30 * time.Minute, "update": 30 * time.Minute, "delete": 60 * time.Minute}

// name is what a snapshot is called.
var name = values.Matching("name of a snapshot", "before-upgrade", snapshot.NameForm, "1 to 40 letters, digits, \"_\" or \"-\", of which the first is a letter or a digit")

func snapshotSchema(context.Context) schema.Schema {
	return schema.Schema{
		MarkdownDescription: "One moment of a set of nodes, which all of them can go back to together: of the disks that their guests write to and, where `memory` says so, of what is in their memory. " +
			"Guests whose agents answer write down and hold their file systems, then all nodes stand still at one time, for a moment or, with memory, until it is written; then all go on. " +
			"From then on each disk is in a file of its own upon the one that it was in, a layer, in the same storage pool; destroying the snapshot merges the layers, while the nodes run, and keeps what was written since. " +
			"`virsh snapshot-list` lists it. Nodes with a snapshot can be changed: disks grow, and others are plugged in; a disk that the snapshot is of cannot be unplugged, and a `virtcluster_volume` that it is of cannot grow. " +
			"While another volume or domain lies upon a layer, the snapshot is neither reverted to nor destroyed; upon the file that the layer is merged into, it is not destroyed. " +
			"A node that is destroyed takes its part of the snapshot along, and leaves what it wrote since in volumes that stay. Reverting takes the action `virtcluster_snapshot_revert`, or another number for `revert`.",
		Attributes: map[string]schema.Attribute{
			"id":   values.KeptText("`NAME/NODE,NODE,…`, with the nodes as they are written."),
			"name": name.Required("Name of the snapshot, which each of the nodes has once: 1 to 40 letters, digits, `_` or `-`. Another one makes a new snapshot.", stringplanmodifier.RequiresReplace()),
			"nodes": values.Each(values.Name).Some().RequiredSet("The nodes, by their `id` or their names: `[for n in virtcluster_node.master : n.id]`. They may be on several hypervisors. Others make a new snapshot, as does one that has lost its part. "+
				"Only nodes of this state are taken; their disks must be files in storage pools that are started, and raw disks need room for all of them a second time.", setplanmodifier.RequiresReplace()),
			"memory":  values.Flag.Default(false, "Whether what is in the memory of nodes that run is kept too, so that they go on where they were instead of booting. The nodes stand still while it is written, into the pool of their first disk. Default: `false`. A change makes a new snapshot.", boolplanmodifier.RequiresReplace()),
			"quiesce": values.OneOf(guest.Auto, guest.Required, guest.None).Default(guest.Auto, "Whether guest agents hold the file systems: `auto`, where they answer within five seconds and hold them within ten more; `required`, or there is no snapshot; `none`. Without it disks are as after a power failure. It counts when the snapshot is taken. Default: `auto`."),
			"revert": values.Between(1, math.MaxInt32).Optional("A number that stands for the last revert: another one takes all nodes back to the snapshot, once, as the action does. They are switched off, lose what they wrote since, and those that ran start again, or go on with their memory. " +
				"The snapshot stays. One that lies below a later one is refused. Removing it does nothing; with a new snapshot the number is only noted. Default: none."),
			"created_at": values.KeptText("When the snapshot was taken, as of RFC 3339."),
			"per_node": schema.MapNestedAttribute{
				Computed: true, MarkdownDescription: "What was taken of each node, by what `nodes` calls it.",
				NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
					"frozen":      schema.BoolAttribute{Computed: true, MarkdownDescription: "Whether its guest agent held the file systems."},
					"layers":      schema.ListAttribute{ElementType: types.StringType, Computed: true, MarkdownDescription: "Paths of the files that its disks are in since."},
					"memory_file": schema.StringAttribute{Computed: true, MarkdownDescription: "Path of the file with its memory; null where it was off, or `memory` is `false`."},
				}},
			},
		},
	}
}
