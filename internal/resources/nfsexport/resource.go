// Package nfsexport is the resource virtcluster_nfs_export.
package nfsexport

import (
	"context"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/attrs/hostattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/nfs"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/values"
)

// form is what an id looks like.
const form = "SERVICE_NODE#PATH"

// New is the constructor that the provider offers.
func New() resource.Resource {
	return hostattr.NewPart(hostattr.PartType[model, nfs.Export]{
		Form: form, Name: "path", Part: nfs.NewPart, Names: nfs.ListPaths, Besides: nfs.ListOthers,
		Type: crud.Type[model, nfs.Export]{
			Name:   "nfs_export",
			Noun:   "NFS export",
			Schema: resourceSchema,
			Fill:   fillModel,
		},
	})
}

// What the attributes may hold.
var (
	directory   = values.New("directory", "/srv/nfs", nfs.CheckPath)
	client      = values.New("client", "10.0.0.0/24", nfs.CheckClient)
	option      = values.New("option of exports(5)", "rw", nfs.CheckOption)
	user        = values.New("name or number", "nobody", nfs.CheckUser)
	permissions = values.New("octal permissions", "0755", nfs.CheckPermissions)
)

func resourceSchema(context.Context) schema.Schema {
	// of is an attribute of the directory that stays as it is found where nobody writes it.
	of := func(kind values.Kind, description string) schema.Attribute {
		return kind.OptionalComputed(description+" Default: as it is.", stringplanmodifier.UseStateForUnknown())
	}
	return schema.Schema{
		MarkdownDescription: "A directory that others mount by NFS: version 4, and 3 where the machine's server speaks it. It is in a file of its own in `/etc/exports.d`; what is in `/etc/exports` and in others' files there stays as it is, and a directory that one of these exports is refused. " +
			"A destroy ends the export; the directory and what is in it stay.",
		Attributes: map[string]schema.Attribute{
			"id":           hostattr.ID(form),
			"service_node": values.Endpoint.Required("Machine that serves it: the `id` of a `virtcluster_service_node` with the service `nfs`. Its kernel must serve NFS; that of a container may not. Another one replaces the resource.", hostattr.OtherMachineReplaces()...),
			"path":         directory.Required("The directory, as an absolute path; by NFSv4 it is mounted by the same path. Another one replaces the resource.", stringplanmodifier.RequiresReplace()),
			"clients": values.Objects().Some().RequiredListOf("Who may mount it.", values.Attributes{
				"match":   client.Required("An address, a prefix, a host name, a pattern of host names such as `*.okd.example`, `@netgroup`, or `*` for everybody."),
				"options": values.Each(option).OptionalComputedList("Options of exports(5), such as `rw`, `sync`, `no_root_squash`. Default: those of exports(5): read only, with the client's root as nobody. `no_root_squash` for everybody is warned of.", crud.ListLeftOut()...),
			}),
			"create":      values.Flag.Default(true, "Whether to make the directory where it is missing. Default: `true`."),
			"owner":       of(user, "User that the directory belongs to, by name or number."),
			"group":       of(user, "Group that the directory belongs to, by name or number."),
			"permissions": of(permissions, "Permissions of the directory in octal digits, such as `0770`."),
			"serving":     crud.ServingAttribute("the NFS server"),
		},
	}
}

type model struct {
	crud.ServingModel
	ID          types.String `tfsdk:"id"`
	ServiceNode types.String `tfsdk:"service_node"`
	Path        types.String `tfsdk:"path"`
	Clients     types.List   `tfsdk:"clients"`
	Create      types.Bool   `tfsdk:"create"`
	Owner       types.String `tfsdk:"owner"`
	Group       types.String `tfsdk:"group"`
	Permissions types.String `tfsdk:"permissions"`
}

// fillModel writes what the machine has, and keeps the model's own spelling where the meaning is the same.
func fillModel(_ context.Context, m *model, got nfs.Export) diag.Diagnostics {
	own, diags := convert.Plain[nfs.Export](m)
	if diags.HasError() {
		return diags
	}
	if strings.TrimLeft(own.Permissions, "0") == strings.TrimLeft(got.Permissions, "0") && own.Permissions != "" {
		got.Permissions = own.Permissions
	}
	convert.FillModel(&own, &got, m)
	return nil
}
