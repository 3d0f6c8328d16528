package dhcpserver

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/int64default"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/attrs/hostattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/kea"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/values"
)

var bootFile = values.New("file or URL to boot", "http://10.0.0.100:8090/boot.ipxe", kea.CheckBootFile)

func resourceSchema(context.Context) schema.Schema {
	file := func(who string) schema.Attribute {
		return schema.StringAttribute{Optional: true, Validators: []validator.String{bootFile}, MarkdownDescription: "What " + who + " boots. Default: nothing."}
	}
	return schema.Schema{
		MarkdownDescription: "A DHCP server for a segment that libvirt does not serve: Kea, in a unit of its own for each interface, so that what a package or a person configures stays as it is. " +
			"Machines that boot from the network are told what to boot by their firmware (option 93) and, once iPXE runs, by that (option 175 or its user class). " +
			"Where another server gives out addresses on the segment, which is asked on the wire, the plan refuses; two of them are a pair by `pair`. A destroy leaves nothing, and leases are forgotten.",
		Attributes: map[string]schema.Attribute{
			"id":           hostattr.ID(form),
			"service_node": hostattr.ServiceNode("the DHCP server"),
			"interface": schema.StringAttribute{
				Required: true, Validators: []validator.String{values.Device}, PlanModifiers: []planmodifier.String{stringplanmodifier.RequiresReplace()},
				MarkdownDescription: "Interface on the segment, which has an address in `cidr`. Another one replaces the resource.",
			},
			"cidr": schema.StringAttribute{
				Required: true, Validators: []validator.String{values.Prefix}, PlanModifiers: []planmodifier.String{values.Prefix.KeepSpelling()},
				MarkdownDescription: "IPv4 subnet of the segment.",
			},
			"ranges": schema.ListNestedAttribute{
				Validators: []validator.List{values.Objects()},
				Optional:   true, Computed: true, PlanModifiers: crud.ListLeftOut(), MarkdownDescription: "Ranges that machines without an address of their own get one from. Default: none, so that only `hosts` are served.",
				NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
					"start": schema.StringAttribute{Validators: []validator.String{values.Address}, Required: true, MarkdownDescription: "First address."},
					"end":   schema.StringAttribute{Validators: []validator.String{values.Address}, Required: true, MarkdownDescription: "Last address."},
				}},
			},
			"hosts": schema.MapNestedAttribute{
				Validators: []validator.Map{values.Objects().Keys(values.MAC)},
				Optional:   true, Computed: true, PlanModifiers: crud.MapLeftOut(), MarkdownDescription: "Machines with an address of their own, by MAC address. Default: none.",
				NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
					"ip":       schema.StringAttribute{Validators: []validator.String{values.Address}, Required: true, MarkdownDescription: "IPv4 address, in `cidr` and outside of the ranges."},
					"hostname": schema.StringAttribute{Optional: true, Validators: []validator.String{values.HostName}, MarkdownDescription: "Name that the machine is told. Default: none."},
				}},
			},
			"lease_seconds": schema.Int64Attribute{
				Optional: true, Computed: true, Default: int64default.StaticInt64(3600), Validators: []validator.Int64{values.Seconds(60)},
				MarkdownDescription: "How long a lease lasts, in seconds: 60 or more. Default: 3600.",
			},
			"options": schema.MapAttribute{
				Validators: []validator.Map{values.Each(values.Line).Keys(values.Word)},
				Optional:   true, Computed: true, PlanModifiers: crud.MapLeftOut(), ElementType: types.StringType,
				MarkdownDescription: "DHCP options by Kea's names, such as `{ routers = \"10.0.0.1\", \"domain-name-servers\" = \"10.0.0.1, 10.0.0.2\", \"ntp-servers\" = \"10.0.0.1\" }`. Default: none.",
			},
			"boot": schema.SingleNestedAttribute{
				Optional: true, MarkdownDescription: "What machines that boot from the network are told. Default: nothing.",
				Attributes: map[string]schema.Attribute{
					"next_server": schema.StringAttribute{Required: true, Validators: []validator.String{values.Address}, MarkdownDescription: "IPv4 address of the TFTP server."},
					"bios":        file("a BIOS (architecture 0)"),
					"uefi_ia32":   file("32-bit UEFI (6)"),
					"uefi_x64":    file("64-bit UEFI (7 and 9)"),
					"uefi_arm64":  file("UEFI on ARM (11)"),
					"http_x64":    file("64-bit UEFI by HTTP (15 and 16), a URL that answers without a redirect,"),
					"http_arm64":  file("UEFI on ARM by HTTP (19), a URL that answers without a redirect,"),
					"ipxe":        file("iPXE, the URL of a script,"),
				},
			},
			"pair": schema.SingleNestedAttribute{
				Optional: true, MarkdownDescription: "The server on another service node that takes over within ten seconds when this one is gone, with all leases. Each of the two has a resource, with the same subnet, ranges, hosts and options. Default: none.",
				Attributes: map[string]schema.Attribute{
					"role":    schema.StringAttribute{Required: true, Validators: []validator.String{values.OneOf(kea.Primary, kea.Standby)}, MarkdownDescription: "`primary` for the one that answers while both run, `standby` for the other one."},
					"address": schema.StringAttribute{Required: true, Validators: []validator.String{values.Address}, MarkdownDescription: "This machine's own address, where the other one reaches it."},
					"peer":    schema.StringAttribute{Required: true, Validators: []validator.String{values.Address}, MarkdownDescription: "The other machine's address."},
					"port":    schema.Int64Attribute{Required: true, Validators: []validator.Int64{values.Port()}, MarkdownDescription: "TCP port at which they tell each other of leases, on both, such as 8067."},
				},
			},
			"serving": crud.ServingAttribute("the DHCP server"),
		},
	}
}
