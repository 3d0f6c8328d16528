// Package dhcpserver is the resource virtcluster_dhcp_server.
package dhcpserver

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/attrs/hostattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/kea"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/values"
)

// form is what an id looks like.
const form = "SERVICE_NODE#dhcp/NAME"

// New is the constructor that the provider offers.
func New() resource.Resource {
	return hostattr.NewPart(hostattr.PartType[model, kea.Server]{
		Form: form, Name: "interface", Part: kea.NewPart, Names: kea.Daemon.ListInstances,
		Type: crud.Type[model, kea.Server]{
			Name:   "dhcp_server",
			Noun:   "DHCP server",
			Schema: resourceSchema,
			Spec:   toSpec,
			Trials: crud.Trials[model]{TryAtPlan: func(bool) bool { return true }},
		},
	})
}

var bootFile = values.New("file or URL to boot", "http://10.0.0.100:8090/boot.ipxe", kea.CheckBootFile)

func resourceSchema(context.Context) schema.Schema {
	file := func(who string) schema.Attribute {
		return bootFile.Optional("What " + who + " boots. Default: nothing.")
	}
	return schema.Schema{
		MarkdownDescription: "A DHCP server for a segment that libvirt does not serve: Kea, in a unit of its own for each interface, so that what a package or a person configures stays as it is. " +
			"Machines that boot from the network are told what to boot by their firmware (option 93) and, once iPXE runs, by that (option 175 or its user class). " +
			"Where another server gives out addresses on the segment, which is asked on the wire, the plan refuses; two of them are a pair by `pair`. A destroy leaves nothing, and leases are forgotten.",
		Attributes: map[string]schema.Attribute{
			"id":           hostattr.ID(form),
			"service_node": hostattr.ServiceNode("the DHCP server"),
			"interface":    values.Device.Required("Interface on the segment, which has an address in `cidr`. Another one replaces the resource.", stringplanmodifier.RequiresReplace()),
			"cidr":         values.Prefix.Required("IPv4 subnet of the segment.", values.Prefix.KeepSpelling()),
			"ranges": values.Objects().OptionalComputedListOf("Ranges that machines without an address of their own get one from. Default: none, so that only `hosts` are served.", values.Attributes{
				"start": values.Address.Required("First address."),
				"end":   values.Address.Required("Last address."),
			}, crud.ListLeftOut()...),
			"hosts": values.Objects().Keys(values.MAC).OptionalComputedMapOf("Machines with an address of their own, by MAC address. Default: none.", values.Attributes{
				"ip":       values.Address.Required("IPv4 address, in `cidr` and outside of the ranges."),
				"hostname": values.HostName.Optional("Name that the machine is told. Default: none."),
			}, crud.MapLeftOut()...),
			"lease_seconds": values.Seconds(60).Default(3600, "How long a lease lasts, in seconds: 60 or more. Default: 3600."),
			"options":       values.Each(values.Line).Keys(values.Word).OptionalComputedMap("DHCP options by Kea's names, such as `{ routers = \"10.0.0.1\", \"domain-name-servers\" = \"10.0.0.1, 10.0.0.2\", \"ntp-servers\" = \"10.0.0.1\" }`. Default: none.", crud.MapLeftOut()...),
			"boot": values.OptionalObject("What machines that boot from the network are told. Default: nothing.", values.Attributes{
				"next_server": values.Address.Required("IPv4 address of the TFTP server."),
				"bios":        file("a BIOS (architecture 0)"),
				"uefi_ia32":   file("32-bit UEFI (6)"),
				"uefi_x64":    file("64-bit UEFI (7 and 9)"),
				"uefi_arm64":  file("UEFI on ARM (11)"),
				"http_x64":    file("64-bit UEFI by HTTP (15 and 16), a URL that answers without a redirect,"),
				"http_arm64":  file("UEFI on ARM by HTTP (19), a URL that answers without a redirect,"),
				"ipxe":        file("iPXE, the URL of a script,"),
			}),
			"pair": values.OptionalObject("The server on another service node that takes over within ten seconds when this one is gone, with all leases. Each of the two has a resource, with the same subnet, ranges, hosts and options. Default: none.", values.Attributes{
				"role":    values.OneOf(kea.Primary, kea.Standby).Required("`primary` for the one that answers while both run, `standby` for the other one."),
				"address": values.Address.Required("This machine's own address, where the other one reaches it."),
				"peer":    values.Address.Required("The other machine's address."),
				"port":    values.Port().Required("TCP port at which they tell each other of leases, on both, such as 8067."),
			}),
			"serving": crud.ServingAttribute("the DHCP server"),
		},
	}
}

type model struct {
	crud.ServingModel
	ID           types.String `tfsdk:"id"`
	ServiceNode  types.String `tfsdk:"service_node"`
	Interface    types.String `tfsdk:"interface"`
	CIDR         types.String `tfsdk:"cidr"`
	Ranges       types.List   `tfsdk:"ranges"`
	Hosts        types.Map    `tfsdk:"hosts"`
	LeaseSeconds types.Int64  `tfsdk:"lease_seconds"`
	Options      types.Map    `tfsdk:"options"`
	Boot         types.Object `tfsdk:"boot"`
	Pair         types.Object `tfsdk:"pair"`
}

func toSpec(ctx context.Context, m *model) (kea.Server, diag.Diagnostics) {
	s, diags := convert.Plain[kea.Server](m)
	s.Subnet = s.Subnet.Masked()
	if s.Boot != nil && convert.WhollyKnown(ctx, m.Boot) && len(s.Boot.Files()) == 0 {
		diags.AddAttributeError(path.Root("boot"), "Nothing to boot", "write what at least one kind of machine boots, or leave boot out")
	}
	return s, diags
}
