// Package provider holds the provider's schema, its configuration and the list of what it offers.
package provider

import (
	"cmp"
	"context"
	"os"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/provider/schema"
	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/fleet"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/largemap"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/dnszone"
)

// defaultURI is libvirt's own choice for root.
const defaultURI = "qemu:///system"

var _ provider.ProviderWithFunctions = (*virtcluster)(nil)

type virtcluster struct{ version string }

// Server returns the provider as Terraform talks to it.
func Server(version string) tfprotov6.ProviderServer {
	quietFramework()
	framework := providerserver.NewProtocol6(&virtcluster{version: version})()
	return largemap.Server(framework, largemap.Attributes{"virtcluster_dns_zone": dnszone.LargeMaps})
}

type model struct {
	URI         types.String `tfsdk:"uri"`
	Hypervisors types.Map    `tfsdk:"hypervisors"`
	SSH         *sshModel    `tfsdk:"ssh"`
}

func (p *virtcluster) Metadata(_ context.Context, _ provider.MetadataRequest, resp *provider.MetadataResponse) {
	resp.TypeName, resp.Version = "virtcluster", p.version
}

func (p *virtcluster) Schema(_ context.Context, _ provider.SchemaRequest, resp *provider.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "Brings up and keeps a whole virtual Kubernetes or OpenShift cluster topology: networks, nodes, DNS, load balancing and virtual addresses, on libvirt and plain Linux machines.",
		Attributes: map[string]schema.Attribute{
			"uri": schema.StringAttribute{
				Optional: true,
				MarkdownDescription: "libvirt URI of the hypervisor: `qemu:///system`, `qemu+ssh://[user@]host[:port]/system`, `qemu+tls://host/system`, " +
					"`qemu+tcp://host/system`, `qemu+unix:///system?socket=PATH` or `test:///default`. Default: `$LIBVIRT_DEFAULT_URI`, then `qemu:///system`. " +
					"While it is unknown, nothing is asked anywhere.",
			},
			"hypervisors": schema.MapNestedAttribute{
				Optional:            true,
				MarkdownDescription: "Further hypervisors by name; a resource picks one by its `hypervisor` attribute.",
				NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
					"uri": schema.StringAttribute{Required: true, MarkdownDescription: "libvirt URI, in the same forms as the provider's `uri`."},
				}},
			},
			"ssh": sshSchema(),
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
		URIUnknown:  m.URI.IsUnknown(),
		Hypervisors: map[string]string{},
	}
	if m.Hypervisors.IsUnknown() {
		config.HypervisorsUnknown = true
	} else {
		var named map[string]struct {
			URI types.String `tfsdk:"uri"`
		}
		resp.Diagnostics.Append(m.Hypervisors.ElementsAs(ctx, &named, false)...)
		for name, h := range named {
			config.Hypervisors[name] = h.URI.ValueString() // unknown is "", as fleet.Config says
		}
	}
	options, diags := m.SSH.options()
	config.SSH = options
	resp.Diagnostics.Append(diags...)
	if resp.Diagnostics.HasError() {
		return
	}
	f := fleet.New(config)
	resp.ResourceData, resp.DataSourceData, resp.ActionData, resp.ListResourceData = f, f, f, f
}

func (p *virtcluster) Resources(context.Context) []func() resource.Resource { return resources }

func (p *virtcluster) DataSources(context.Context) []func() datasource.DataSource { return dataSources }

func (p *virtcluster) Functions(context.Context) []func() function.Function { return functions }
