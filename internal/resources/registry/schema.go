package registry

import (
	"context"
	"math"

	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/attrs/hostattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/registry"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/values"
)

// What the attributes may hold.
var (
	registryName = values.New("name of a registry", "images", registry.CheckName)
	mirrored     = values.New("URL of a registry", "https://registry-1.docker.io", registry.CheckMirrored)
	user         = values.New("user", "builder", registry.CheckUser)
	hash         = values.New("bcrypt hash", "$2y$10$…", registry.CheckHash)
)

var tlsTypes = map[string]attr.Type{"certificate": types.StringType, "key": types.StringType, "key_wo": types.StringType, "key_wo_version": types.Int64Type}

func resourceSchema(context.Context) schema.Schema {
	beside := path.MatchRelative().AtParent()
	return schema.Schema{
		MarkdownDescription: "A registry of container images on a service node: one that images are pushed to, or a mirror that fetches what it lacks from another one and keeps it (`mirror_of`), so that it serves with the uplink cut. " +
			"docker-registry runs it in a unit of its own; the package's own configuration stays as it is. A destroy ends the registry; its images stay in `storage`.",
		Attributes: map[string]schema.Attribute{
			"id":           hostattr.ID(form),
			"service_node": hostattr.ServiceNode("the registry"),
			"name":         registryName.Default("registry", "Name of the registry: a service node may have several, each at a port of its own. Another one replaces the resource. Default: `registry`.", stringplanmodifier.RequiresReplace()),
			"address":      values.Address.Optional("Address that it listens at. Default: every address of the service node."),
			"port":         values.Between(1024, values.MostPort).Default(5000, "Port that it listens at, 1024 to 65535. Default: 5000."),
			"storage":      values.Path.OptionalComputed("Directory of the images, which is made where it is missing and stays with what is in it. Default: `/var/lib/virtcluster-registry/NAME`."),
			"mirror_of":    mirrored.Optional("URL of the registry that this one is a mirror of; nothing can be pushed to a mirror. What was pulled through it is served while that one does not answer, after a restart too (for which it asks by `curl`). docker-registry forgets what it fetched seven days later, and fetches it again when it is pulled. Default: none."),
			"tls": values.OptionalObject("Certificate for HTTPS. Default: plain HTTP.", values.Attributes{
				"certificate": values.Text.Required("The certificate with its chain, as PEM."),
				"key": schema.StringAttribute{
					Optional: true, Sensitive: true, Validators: []validator.String{values.Text, stringvalidator.ExactlyOneOf(beside.AtName("key_wo"))},
					MarkdownDescription: "The certificate's key, as PEM. It is kept in state: prefer `key_wo` where the CLI has write-only attributes.",
				},
				"key_wo": schema.StringAttribute{
					Optional: true, Sensitive: true, WriteOnly: true, Validators: []validator.String{values.Text, stringvalidator.AlsoRequires(beside.AtName("key_wo_version"))},
					MarkdownDescription: "The certificate's key, as PEM, never kept in plan or state. It is written when `key_wo_version` changes.",
				},
				"key_wo_version": values.Between(1, math.MaxInt32).Optional("Version of `key_wo`, 1 or more; a new one writes the key again. A key that no longer fits the certificate shows as another version."),
			}),
			"users": schema.MapAttribute{
				Optional: true, Sensitive: true, ElementType: types.StringType, Validators: []validator.Map{values.Each(hash).Keys(user)},
				MarkdownDescription: "Users who may pull and push, each with the bcrypt hash of the password. Default: everybody may.",
			},
			"serving": crud.ServingAttribute("the registry"),
		},
	}
}
