// Package provider holds the provider's schema, its configuration and the list of what it offers.
package provider

import (
	"cmp"
	"context"
	"os"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/action"
	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/ephemeral"
	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/list"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/provider/schema"
	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/fleet"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/plan/ledger"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/run"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/values"
)

// defaultURI is libvirt's own choice for root.
const defaultURI = "qemu:///system"

var (
	_ provider.ProviderWithFunctions          = (*virtcluster)(nil)
	_ provider.ProviderWithActions            = (*virtcluster)(nil)
	_ provider.ProviderWithListResources      = (*virtcluster)(nil)
	_ provider.ProviderWithEphemeralResources = (*virtcluster)(nil)
)

type virtcluster struct {
	version string
	// fleet is that of the last configuration; nil before.
	fleet *fleet.Fleet
}

// Server returns the provider as Terraform talks to it.
func Server(version string) tfprotov6.ProviderServer {
	server, _ := Open(version)
	return server
}

// Open returns the provider, and what ends its connections, which else end with the process.
func Open(version string) (server tfprotov6.ProviderServer, end func() error) {
	quietFramework()
	p := &virtcluster{version: version}
	framework := providerserver.NewProtocol6(p)()
	end = func() error {
		if p.fleet == nil {
			return nil
		}
		return p.fleet.Close()
	}
	return framework, end
}

type model struct {
	URI         types.String `tfsdk:"uri"`
	Hypervisors types.Map    `tfsdk:"hypervisors"`
	SSH         types.Object `tfsdk:"ssh"`
	Offline     types.Bool   `tfsdk:"offline"`
}

func (p *virtcluster) Metadata(_ context.Context, _ provider.MetadataRequest, resp *provider.MetadataResponse) {
	resp.TypeName, resp.Version = "virtcluster", p.version
}

func (p *virtcluster) Schema(_ context.Context, _ provider.SchemaRequest, resp *provider.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "Brings up and keeps a whole virtual Kubernetes or OpenShift cluster topology: networks, nodes, DNS, load balancing and virtual addresses, on libvirt and plain Linux machines.",
		Attributes: map[string]schema.Attribute{
			"uri": schema.StringAttribute{
				Validators: []validator.String{values.Line.OrEmpty()},
				Optional:   true,
				MarkdownDescription: "libvirt URI of the hypervisor: `qemu:///system`, `qemu+ssh://[user@]host[:port]/system`, `qemu+tls://host/system`, " +
					"`qemu+tcp://host/system`, `qemu+unix:///system?socket=PATH` or `test:///default`. Default: `$LIBVIRT_DEFAULT_URI`, then `qemu:///system`. " +
					"While it is unknown, nothing is asked anywhere.",
			},
			"hypervisors": schema.MapNestedAttribute{
				Validators:          []validator.Map{values.Objects().Keys(values.Name)},
				Optional:            true,
				MarkdownDescription: "Further hypervisors by name; a resource picks one by its `hypervisor` attribute.",
				NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
					"uri": schema.StringAttribute{Validators: []validator.String{values.Line}, Required: true, MarkdownDescription: "libvirt URI, in the same forms as the provider's `uri`."},
					"lost": schema.BoolAttribute{
						Optional: true,
						MarkdownDescription: "Whether the hypervisor is gone for good, with all that is on it. It is not asked then: what is known of its things stays, and what goes, or goes to another hypervisor, " +
							"is let go of there, with what it has elsewhere, such as a node's ports of OVN. Nobody can find out by asking: make sure that it does not run, as what comes back would run beside what took its place. Default: `false`.",
					},
				}},
			},
			"ssh": sshSchema(),
			"offline": schema.BoolAttribute{
				Optional: true,
				MarkdownDescription: "Whether plans are checked by themselves: resources are compared with each other, and no hypervisor, machine or file is asked. " +
					"Nothing can be applied then, imported or destroyed. It is meant for tests of modules, such as `terraform test` with `command = plan`. Default: `false`.",
			},
		},
	}
}

func (p *virtcluster) Configure(ctx context.Context, req provider.ConfigureRequest, resp *provider.ConfigureResponse) {
	var m model
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() {
		return
	}
	config := fleet.Config{
		URI:         cmp.Or(m.URI.ValueString(), os.Getenv("LIBVIRT_DEFAULT_URI"), defaultURI),
		URIImplied:  m.URI.ValueString() == "" && os.Getenv("LIBVIRT_DEFAULT_URI") == "",
		URIUnknown:  m.URI.IsUnknown(),
		Hypervisors: map[string]string{},
		Lost:        map[string]bool{},
		Offline:     m.Offline.ValueBool() || m.Offline.IsUnknown(), // it is known when something is applied
	}
	if m.Hypervisors.IsUnknown() {
		config.HypervisorsUnknown = true
	} else {
		var named map[string]struct {
			URI  types.String `tfsdk:"uri"`
			Lost types.Bool   `tfsdk:"lost"`
		}
		resp.Diagnostics.Append(convert.SpreadUnknowns(m.Hypervisors).(types.Map).ElementsAs(ctx, &named, false)...)
		for name, h := range named {
			config.Hypervisors[name] = h.URI.ValueString() // unknown is "", as fleet.Config says
			config.Lost[name] = h.Lost.ValueBool()
		}
	}
	if !config.Offline {
		ssh, known, diags := sshOptions(ctx, m.SSH)
		config.SSH, config.SSHUnknown = ssh, !known
		resp.Diagnostics.Append(diags...)
	}
	if resp.Diagnostics.HasError() {
		return
	}
	provided := crud.ProviderData{Fleet: fleet.New(config), Ledger: &ledger.Ledger{}, Run: run.Begin(), Version: p.version}
	resp.ResourceData, resp.DataSourceData, resp.ActionData = provided, provided, provided
	resp.ListResourceData, resp.EphemeralResourceData = provided, provided
	p.fleet = provided.Fleet
}

func (p *virtcluster) Resources(context.Context) []func() resource.Resource { return resources }

func (p *virtcluster) DataSources(context.Context) []func() datasource.DataSource { return dataSources }

func (p *virtcluster) Actions(context.Context) []func() action.Action { return actions }

func (p *virtcluster) EphemeralResources(context.Context) []func() ephemeral.EphemeralResource {
	return ephemerals
}

// ListResources offers a list resource for every resource type that lists.
func (p *virtcluster) ListResources(context.Context) []func() list.ListResource {
	return crud.Lists(resources)
}

func (p *virtcluster) Functions(context.Context) []func() function.Function { return functions }

// quietFramework keeps the plugin framework from sending traces that nobody reads. It sends all it has unless told
// otherwise, and Terraform drops what is below TF_LOG_PROVIDER or TF_LOG; but every line has been made, sent and read
// by then, and each trace of an element in a map attribute walks a context that is one level deeper than the one
// before: a zone of 5,000 records costs ten seconds in every command. TF_LOG_SDK and TF_LOG_SDK_FRAMEWORK still count
// where they are set.
func quietFramework() {
	level := cmp.Or(os.Getenv("TF_LOG_PROVIDER"), os.Getenv("TF_LOG"), "WARN")
	if strings.EqualFold(level, "JSON") || os.Getenv("TF_LOG_SDK") != "" {
		return // JSON is everything, in another form
	}
	_ = os.Setenv("TF_LOG_SDK", level)
}
