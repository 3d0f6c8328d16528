package httpcontent

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/attrs/hostattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/httpcontent"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/values"
)

// What the attributes may hold.
var (
	servedPath = values.New("path", "/rhcos/kernel", httpcontent.CheckPath)
	listen     = values.New("address and port", "10.0.0.100:8080", httpcontent.CheckListen)
	checksum   = values.New("checksum", "sha256:…", httpcontent.CheckChecksum)
)

func resourceSchema(context.Context) schema.Schema {
	replace := []planmodifier.String{stringplanmodifier.RequiresReplace()}
	return schema.Schema{
		MarkdownDescription: "A text, a file or a directory that a service node serves by HTTP, to whoever asks: kernels, RAM disks, images, Ignition. " +
			"The provider's own program serves it, in a unit for each port, which runs as a user of its own; files come to the machine piece by piece, are compared with their checksum there, and answered whole or in parts, with that as their tag (`ETag`). " +
			"The program is copied to the service node; for another platform than the provider's own it is that of the release. A destroy leaves nothing.",
		Attributes: map[string]schema.Attribute{
			"id":           hostattr.ID(form),
			"service_node": hostattr.ServiceNode("the server"),
			"listen": schema.StringAttribute{
				Required: true, Validators: []validator.String{listen}, PlanModifiers: replace,
				MarkdownDescription: "Address of the service node that clients reach it by, and port: `10.0.0.100:8080`. All contents of a port are at one address. Another one replaces the resource.",
			},
			"path": schema.StringAttribute{
				Required: true, Validators: []validator.String{servedPath}, PlanModifiers: replace,
				MarkdownDescription: "Path of the file, or of the directory that its files are below: `/rhcos/kernel`. Another one replaces the resource.",
			},
			"content": schema.StringAttribute{
				Optional: true, Validators: []validator.String{values.Text, stringvalidator.ExactlyOneOf(path.MatchRoot("content"), path.MatchRoot("source"), path.MatchRoot("directory"))},
				MarkdownDescription: "The text of the file, a mebibyte at the most. Anybody may read it who reaches the server.",
			},
			"source":    values.Line.Optional("Path of a file where Terraform runs, or URL that it is fetched from there; with a URL, write `checksum`."),
			"directory": values.Line.Optional("Path of a directory where Terraform runs: each file in it, and below it, is served at its path below `path`."),
			"checksum":  checksum.OptionalComputed("SHA-256 of the file, as `sha256:` and 64 hexadecimal digits; of a directory, that of what `sha256sum` prints of its files in the order of their paths. Default: what the text, the file or the directory has, read while planning. It is empty where a file on the service node is missing or damaged, and an apply brings it again."),
			"url":       schema.StringAttribute{Computed: true, MarkdownDescription: "Where clients get it."},
			"serving":   crud.ServingAttribute("the server"),
		},
	}
}
