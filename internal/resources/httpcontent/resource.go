// Package httpcontent is the resource virtcluster_http_content.
package httpcontent

import (
	"context"
	"fmt"
	"net/netip"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/attrs/hostattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/httpcontent"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/values"
)

// form is what an id looks like.
const form = "SERVICE_NODE#http/ADDRESS:PORT/PATH"

// New is the constructor that the provider offers.
func New() resource.Resource {
	return crud.New(crud.Type[model, httpcontent.Content]{
		Name:    "http_content",
		Noun:    "content",
		Label:   func(m *model) string { return m.Path.ValueString() },
		Schema:  resourceSchema,
		Key:     []string{"service_node", "listen", "path"},
		ID:      formatID,
		Split:   splitID,
		Listing: crud.Listing{List: listContents},
		Spec:    func(_ context.Context, m *model) (httpcontent.Content, diag.Diagnostics) { return m.toSpec(), nil },
		Fill: func(_ context.Context, m *model, got httpcontent.Content) diag.Diagnostics {
			m.fillModel(got)
			return nil
		},
		Open: func(ctx context.Context, at crud.StoreContext, m *model) (crud.Store[httpcontent.Content], error) {
			spec := m.toSpec()
			return crud.OpenPart(ctx, at, m.ServiceNode.ValueString(), httpcontent.NewPart(spec.Port, spec.Path, formatID(m), at.Claim.Mark(), at.Version))
		},
		Plan: planChange,
	})
}

func formatID(m *model) string {
	return hostattr.JoinID(m.ServiceNode, "http/"+m.Listen.ValueString()+m.Path.ValueString())
}

func splitID(m *model, id string) error {
	var rest types.String
	if err := hostattr.SplitName(id, "SERVICE_NODE#http/NAME", &m.ServiceNode, &rest); err != nil {
		return err
	}
	listen, below, ok := strings.Cut(rest.ValueString(), "/")
	if !ok || httpcontent.CheckListen(listen) != nil || httpcontent.CheckPath("/"+below) != nil {
		return fmt.Errorf("write %s, such as ssh://root@10.0.0.100#http/10.0.0.100:8080/rhcos/kernel", form)
	}
	m.Listen, m.Path = types.StringValue(listen), types.StringValue("/"+below)
	return nil
}

// listContents lists what a machine serves.
func listContents(ctx context.Context, at crud.StoreContext, machine string) (keys []map[string]string, err error) {
	t, err := crud.Snapshot(ctx, at, machine, httpcontent.NewDaemon(""))
	for _, c := range httpcontent.ListContents(t) {
		var m model
		m.fillModel(c)
		keys = append(keys, map[string]string{"listen": m.Listen.ValueString(), "path": c.Path})
	}
	return keys, err
}

// planChange plans the checksum and the URL, and refuses a source that cannot be read or fetched.
func planChange(ctx context.Context, at crud.StoreContext, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse, m *model) {
	want := m.toSpec()
	if url := want.URL(); url != "" && !m.Path.IsUnknown() {
		resp.Diagnostics.Append(resp.Plan.SetAttribute(ctx, path.Root("url"), url)...)
	}
	var written types.String
	resp.Diagnostics.Append(req.Config.GetAttribute(ctx, path.Root("checksum"), &written)...)
	want.Planned = written.ValueString()
	if resp.Diagnostics.HasError() || written.IsUnknown() || m.Content.IsUnknown() || m.Source.IsUnknown() || m.Directory.IsUnknown() || at.Fleet != nil && at.Fleet.Offline() {
		return
	}
	complete, err := want.Complete()
	if err != nil {
		resp.Diagnostics.Append(crud.NewFailure("plan", fmt.Sprintf("content %q", want.Path), err))
		return
	}
	m.Checksum = types.StringValue(complete.Checksum())
	if written.IsNull() {
		resp.Diagnostics.Append(resp.Plan.SetAttribute(ctx, path.Root("checksum"), m.Checksum)...)
	}
	var was types.String
	if !req.State.Raw.IsNull() {
		resp.Diagnostics.Append(req.State.GetAttribute(ctx, path.Root("checksum"), &was)...)
	}
	if httpcontent.IsURL(want.Source) && !strings.EqualFold(was.ValueString(), want.Planned) {
		if err := httpcontent.CheckURL(ctx, want.Source); err != nil {
			resp.Diagnostics.Append(crud.NewFailure("plan", fmt.Sprintf("content %q", want.Path), service.At([]any{"source"}, err)))
		}
	}
}

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
			"listen":       listen.Required("Address of the service node that clients reach it by, and port: `10.0.0.100:8080`. All contents of a port are at one address. Another one replaces the resource.", replace...),
			"path":         servedPath.Required("Path of the file, or of the directory that its files are below: `/rhcos/kernel`. Another one replaces the resource.", replace...),
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

type model struct {
	crud.ServingModel
	ID          types.String `tfsdk:"id"`
	ServiceNode types.String `tfsdk:"service_node"`
	Listen      types.String `tfsdk:"listen"`
	Path        types.String `tfsdk:"path"`
	Content     types.String `tfsdk:"content"`
	Source      types.String `tfsdk:"source"`
	Directory   types.String `tfsdk:"directory"`
	Checksum    types.String `tfsdk:"checksum"`
	URL         types.String `tfsdk:"url"`
}

func (m *model) toSpec() httpcontent.Content {
	c := httpcontent.Content{
		Path: m.Path.ValueString(), Text: m.Content.ValueString(), Source: m.Source.ValueString(), Directory: m.Directory.ValueString(), Planned: m.Checksum.ValueString(),
	}
	if at, err := netip.ParseAddrPort(m.Listen.ValueString()); err == nil {
		c.Address, c.Port = at.Addr(), int64(at.Port())
	}
	return c
}

// fillModel writes what the machine has, and keeps the model's own spelling where the meaning is the same.
func (m *model) fillModel(got httpcontent.Content) {
	m.Path = types.StringValue(got.Path)
	if got.Address.IsValid() {
		m.Listen = types.StringValue(netip.AddrPortFrom(got.Address, uint16(got.Port)).String()) //nolint:gosec // it is a port
	}
	m.Content, m.Source, m.Directory = convert.Text(got.Text), convert.Text(got.Source), convert.Text(got.Directory)
	if !strings.EqualFold(m.Checksum.ValueString(), got.Checksum()) || m.Checksum.IsUnknown() {
		m.Checksum = types.StringValue(got.Checksum())
	}
	m.URL = types.StringValue(got.URL())
}
