// Package storagepool is virtcluster_storage_pool, and what the plans of images and volumes have to know of pools.
package storagepool

import (
	"context"
	"errors"
	slashpath "path"
	"regexp"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/objectplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/fleet"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/peer"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/attrs/poolattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/values"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/storage"
)

// New makes the resource.
func New() resource.Resource {
	return crud.New(crud.Type[model, storage.Pool]{
		Name: "storage_pool", Noun: "storage pool",
		Label:   func(m *model) string { return m.Name.ValueString() },
		Schema:  poolSchema,
		Key:     []string{"hypervisor", "name"},
		Naming:  crud.Naming[model]{Lasts: true, MutableIdentity: true},
		ID:      func(m *model) string { return m.ID.ValueString() },
		Split:   splitID,
		Listing: crud.Listing{List: crud.ListNamed((*fleet.Fleet).Hypervisor, storage.ListPools)},
		Moves: crud.Moves[model]{peer.Pool: func(m *model, from peer.Thing) {
			m.ID, m.Name = types.StringValue(from.UUID), types.StringValue(from.Name)
		}},
		Fill: fillModel, Open: openStore, Plan: planChange,
	})
}

// splitID takes the pool's name, its UUID, or either of them after "hypervisor/".
func splitID(m *model, id string) error {
	m.ID = types.StringNull()
	m.Name = types.StringValue(id)
	if hypervisor, name, found := strings.Cut(id, "/"); found {
		if hypervisor == "" {
			return errors.New("write the pool's name or UUID, after \"HYPERVISOR/\" where it is on a named hypervisor")
		}
		m.Hypervisor, m.Name = types.StringValue(hypervisor), types.StringValue(name)
	}
	return nil
}

func openStore(ctx context.Context, at crud.StoreContext, m *model) (crud.Store[storage.Pool], error) {
	c, err := at.Fleet.Hypervisor(ctx, m.Hypervisor.ValueString())
	if err != nil {
		return nil, err
	}
	return &storage.PoolStore{Client: c, Hypervisor: m.Hypervisor.ValueString(), UUID: m.ID.ValueString(), Name: m.Name.ValueString(), Owner: at.Claim}, nil
}

// directory is a path, of which "/a//b/" is another spelling of "/a/b".
var directory = values.Path.Same(slashpath.Clean)

var pathForm = regexp.MustCompile(`^/[^\x00-\x1f]*$`)

func poolSchema(context.Context) schema.Schema {
	replace := []planmodifier.String{stringplanmodifier.RequiresReplace()}
	return schema.Schema{
		MarkdownDescription: "A libvirt storage pool: a directory on the hypervisor that images and volumes are in, or one that another machine exports, a volume group, a target of iSCSI, a pool of Ceph's or ZFS's. " +
			"A directory that exists is adopted and stays when the pool is destroyed; one that had to be made goes with the pool, unless there is still something in it. " +
			"What pools of the other types are made from has to be there: it is never built, formatted or deleted. A destroy stops the pool, which unmounts it, deactivates its volume group or logs out of its target, and has libvirt forget it. " +
			"It is refused while a domain, or the hypervisor itself, uses a device that would go; and a target that the hypervisor is logged in to already is not taken. " +
			"Two hypervisors of the provider may have one directory: what is in it is deleted once no guest of either uses it.",
		Attributes: map[string]schema.Attribute{
			"id": schema.StringAttribute{
				Computed: true, MarkdownDescription: "The pool's UUID.",
				PlanModifiers: []planmodifier.String{stringplanmodifier.UseStateForUnknown()},
			},
			"name": schema.StringAttribute{
				Required: true, PlanModifiers: replace,
				MarkdownDescription: "Name of the pool on its hypervisor. A change makes a new pool.",
				Validators:          []validator.String{values.Name, stringvalidator.RegexMatches(storage.NameForm, "must not be empty and must hold no slash and no control character")},
			},
			"hypervisor": crud.HypervisorAttribute("pool", "pool"),
			"type": values.OneOf(storage.PoolTypes...).Default("dir", "Kind of pool: `dir`, a directory; `netfs`, a directory that another machine exports (NFS); `logical`, a volume group of LVM; `iscsi`, a target; `rbd`, a pool of Ceph's; `zfs`, a pool of ZFS's. "+
				"Images and volumes need one with files, `dir` or `netfs`. In `logical` and `zfs` nodes have disks of their own; of these and of `iscsi` they attach what is there, by its path. Ceph's images have none, and no node has them yet. A plan finds a type that the hypervisor's libvirt has no driver for. "+
				"Of `dir`, `netfs` (NFS), `logical` and `iscsi` real ones were seen; of the others, what libvirt is told. A change makes a new pool. Default: `dir`.", replace...),
			"source": sourceAttribute(),
			"path": schema.StringAttribute{
				Optional: true, Computed: true,
				MarkdownDescription: "Absolute path of the directory on the hypervisor; required for `dir` and `netfs`, which is mounted there. It is made where it is missing, as are the directories above it, which stay when the pool is destroyed. " +
					"Of the other types it is libvirt's: leave it out. A change makes a new pool and moves nothing.",
				Validators:    []validator.String{directory, stringvalidator.RegexMatches(pathForm, "must be an absolute path, such as /var/lib/libvirt/okd")},
				PlanModifiers: []planmodifier.String{directory.KeepSpelling(), stringplanmodifier.UseStateForUnknown(), stringplanmodifier.RequiresReplace()},
			},
			"autostart":       values.Flag.Default(true, "Whether the pool starts with the hypervisor. Default: `true`."),
			"active":          values.Flag.Default(true, "Whether the pool is started; a pool that was stopped by hand is started again. Default: `true`."),
			"capacity_bytes":  schema.Int64Attribute{Computed: true, MarkdownDescription: "Size of the file system that the pool is in, in bytes, when the pool was made or last started or stopped; 0 while it is stopped."},
			"available_bytes": schema.Int64Attribute{Computed: true, MarkdownDescription: "Free room in that file system, in bytes, when the pool was made or last started or stopped: what is written there since does not show, as it would in every plan; 0 while the pool is stopped."},
		},
	}
}

// sourceAttribute is what a pool is made from.
func sourceAttribute() schema.Attribute {
	a := values.OptionalObject("What the pool is made from, of every type but `dir`. A change makes a new pool.", values.Attributes{
		"hosts":       values.Each(values.Word).Some().Distinct().OptionalList("Machines that serve it, each with `:PORT` where that is not the usual one (`san.example:3261`, `fd00::6`, `[fd00::6]:3261`): one of `netfs` and `iscsi`, Ceph's monitors of `rbd`."),
		"path":        values.Path.Optional("Directory that the host exports, of `netfs`."),
		"name":        values.Word.Optional("Name of the volume group of `logical`, and of the pool of `rbd` and `zfs` (`tank/machines`)."),
		"target":      values.Word.Optional("Name of the target, of `iscsi`: `iqn.2013-06.com.example:storage`."),
		"format":      values.OneOf("nfs", "glusterfs", "cifs").Optional("How `netfs` is mounted. Default: as libvirt finds out."),
		"username":    values.Word.Optional("User to authenticate as, of `iscsi` (CHAP) and `rbd` (cephx). Default: none."),
		"secret_uuid": values.UUID.Optional("UUID of the secret that libvirt has for that user (`virsh secret-list`), in small letters."),
	})
	a.PlanModifiers = []planmodifier.Object{objectplanmodifier.RequiresReplace()}
	return a
}

type model struct {
	ID             types.String `tfsdk:"id"`
	Name           types.String `tfsdk:"name"`
	Hypervisor     types.String `tfsdk:"hypervisor"`
	Type           types.String `tfsdk:"type"`
	Path           types.String `tfsdk:"path"`
	Source         types.Object `tfsdk:"source"`
	Autostart      types.Bool   `tfsdk:"autostart"`
	Active         types.Bool   `tfsdk:"active"`
	CapacityBytes  types.Int64  `tfsdk:"capacity_bytes"`
	AvailableBytes types.Int64  `tfsdk:"available_bytes"`
}

// fillModel writes what the hypervisor says into the model. How much room is free changes with whatever is written there, and
// would show in every plan: the sizes are those of when the pool was last made, started or stopped.
func fillModel(_ context.Context, m *model, got storage.Pool) diag.Diagnostics {
	was := *m
	convert.FromPlain(&got, m)
	if convert.Known(was.AvailableBytes) && was.Active.ValueBool() == got.Active {
		m.CapacityBytes, m.AvailableBytes = was.CapacityBytes, was.AvailableBytes
	}
	return nil
}

// planChange keeps the sizes where nothing changes them, and looks for what the pool would collide with.
func planChange(ctx context.Context, at crud.StoreContext, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse, m *model) {
	resp.Diagnostics.Append(planPath(ctx, req, resp, m)...)
	resp.Diagnostics.Append(keepSizes(ctx, req, resp, m)...)
	if resp.Diagnostics.HasError() || at.Fleet == nil || m.Name.IsUnknown() || m.Hypervisor.IsUnknown() {
		return
	}
	if !req.State.Raw.IsNull() || m.Path.IsUnknown() {
		return
	}
	want, _ := convert.Plain[storage.Pool](m)
	resp.Diagnostics.Append(poolattr.Check(ctx, at.ProviderData, m.Hypervisor, func(k storage.Checker) []service.Problem {
		return k.CheckNewPool(ctx, want, at.Claim)
	})...)
}

// planPath plans the path where it is not written: what follows from the source, or none.
func planPath(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse, m *model) diag.Diagnostics {
	var written types.String
	diags := req.Config.GetAttribute(ctx, path.Root("path"), &written)
	if diags.HasError() || !written.IsNull() || !convert.WhollyKnown(ctx, m.Source) || m.Type.IsUnknown() {
		return diags
	}
	want, _ := convert.Plain[storage.Pool](m)
	if want.NeedsPath() {
		diags.AddAttributeError(path.Root("path"), "No directory", "a pool of type \""+want.Type+"\" needs the absolute path of a directory: write it")
		return diags
	}
	m.Path = convert.Text(want.DefaultPath())
	diags.Append(resp.Plan.SetAttribute(ctx, path.Root("path"), m.Path)...)
	return diags
}

// keepSizes takes back that the sizes are unknown, which the framework decides by the spelling of the other
// attributes before anyone can tell it that two spellings mean the same.
func keepSizes(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse, planned *model) diag.Diagnostics {
	var diags diag.Diagnostics
	if req.State.Raw.IsNull() {
		return diags
	}
	var prior model
	diags.Append(req.State.Get(ctx, &prior)...)
	if diags.HasError() || !prior.Active.Equal(planned.Active) || !prior.Path.Equal(planned.Path) {
		return diags
	}
	diags.Append(resp.Plan.SetAttribute(ctx, path.Root("capacity_bytes"), prior.CapacityBytes)...)
	diags.Append(resp.Plan.SetAttribute(ctx, path.Root("available_bytes"), prior.AvailableBytes)...)
	return diags
}
