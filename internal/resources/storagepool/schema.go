package storagepool

import (
	"context"
	"path"
	"regexp"

	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringdefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/values"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/storage"
)

// directory is a path, of which "/a//b/" is another spelling of "/a/b".
var directory = values.Path.Same(path.Clean)

var pathForm = regexp.MustCompile(`^/[^\x00-\x1f]*$`)

func poolSchema(context.Context) schema.Schema {
	replace := []planmodifier.String{stringplanmodifier.RequiresReplace()}
	return schema.Schema{
		MarkdownDescription: "A libvirt storage pool: a directory on the hypervisor that images and volumes are in. " +
			"A directory that exists is adopted and stays when the pool is destroyed; one that had to be made goes with the pool, unless there is still something in it.",
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
			"type": schema.StringAttribute{
				Optional: true, Computed: true, Default: stringdefault.StaticString("dir"), PlanModifiers: replace,
				MarkdownDescription: "Kind of pool: `dir`, a directory. Default: `dir`.",
				Validators:          []validator.String{values.OneOf("dir")},
			},
			"path": schema.StringAttribute{
				Required:            true,
				MarkdownDescription: "Absolute path of the directory on the hypervisor. It is made where it is missing, as are the directories above it, which stay when the pool is destroyed. A change makes a new pool and moves nothing.",
				Validators:          []validator.String{directory, stringvalidator.RegexMatches(pathForm, "must be an absolute path, such as /var/lib/libvirt/okd")},
				PlanModifiers:       []planmodifier.String{directory.KeepSpelling(), stringplanmodifier.RequiresReplace()},
			},
			"autostart":       values.Flag.Default(true, "Whether the pool starts with the hypervisor. Default: `true`."),
			"active":          values.Flag.Default(true, "Whether the pool is started; a pool that was stopped by hand is started again. Default: `true`."),
			"capacity_bytes":  schema.Int64Attribute{Computed: true, MarkdownDescription: "Size of the file system that the pool is in, in bytes, when the pool was made or last started or stopped; 0 while it is stopped."},
			"available_bytes": schema.Int64Attribute{Computed: true, MarkdownDescription: "Free room in that file system, in bytes, when the pool was made or last started or stopped: what is written there since does not show, as it would in every plan; 0 while the pool is stopped."},
		},
	}
}
