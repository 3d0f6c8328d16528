// Package bootserver is the resource virtcluster_boot_server.
package bootserver

import (
	"context"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/attrs/hostattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/netboot"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/values"
)

// form is what an id looks like.
const form = "SERVICE_NODE#boot"

// New is the constructor that the provider offers.
func New() resource.Resource {
	return hostattr.NewPart(hostattr.PartType[model, netboot.Server]{
		Form: form, Part: netboot.NewServerPart,
		Type: crud.Type[model, netboot.Server]{
			Name:   "boot_server",
			Noun:   "boot server",
			Schema: resourceSchema,
			Spec:   toSpec,
			Fill:   fillModel,
			Plan:   planChange,
		},
	})
}

// planChange plans what machines boot from the server.
func planChange(ctx context.Context, _ crud.StoreContext, _ resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse, m *model) {
	resp.Diagnostics.Append(planFiles(ctx, resp, m)...)
}

// fileNames are the attributes of files, with what virtcluster_dhcp_server has under the same names.
var fileNames = []string{"next_server", "bios", "uefi_ia32", "uefi_x64", "uefi_arm64", "http_x64", "http_arm64", "ipxe"}

var fileTypes = func() map[string]attr.Type {
	all := map[string]attr.Type{}
	for _, name := range fileNames {
		all[name] = types.StringType
	}
	return all
}()

func resourceSchema(context.Context) schema.Schema {
	file := func(description string) schema.Attribute {
		return schema.StringAttribute{Computed: true, MarkdownDescription: description}
	}
	return schema.Schema{
		MarkdownDescription: "What machines boot from on the network: TFTP with the loaders of Debian's `ipxe` for a BIOS and for UEFI, or with shim and GRUB under Secure Boot, and HTTP for all else, by the provider's own program in a unit of its own, which runs as a user of its own. " +
			"What each machine boots is said by its `virtcluster_boot_profile`; one without a profile is told at once to boot from its disk. What is known of machines survives restarts and is shared with `peers`. " +
			"The program is copied to the service node, which has to be of the same system and processor as the machine that runs the provider. A destroy leaves nothing.",
		Attributes: map[string]schema.Attribute{
			"id":           hostattr.ID("SERVICE_NODE#boot"),
			"service_node": hostattr.ServiceNode("the boot server"),
			"http": values.RequiredObject("Where machines reach it.", values.Attributes{
				"address": values.Address.Required("IPv4 address of the service node, for HTTP and TFTP."),
				"port":    values.Port().Default(8090, "Port for HTTP. Default: 8090."),
			}),
			"tftp":        values.Flag.Default(true, "Whether to serve loaders by TFTP too, which firmware without HTTP needs. Default: `true`."),
			"interfaces":  values.Each(values.Device).Distinct().OptionalList("Interfaces of the service node that machines, and `peers`, come in by: what comes in by another one gets no answer. Default: any."),
			"loaders":     values.Path.Default(netboot.DefaultLoaders, "Directory on the service node that has `ipxe.pxe` and `snponly.efi`, and under `secure_boot` `shimx64.efi` and `grubx64.efi`. Default: `/usr/lib/ipxe`, that of Debian's `ipxe`, which a service node with the service `ipxe` has; the other two are then those of Debian's `shim-signed` and `grub-efi-amd64-signed`, which one with the service `shim` has."),
			"secure_boot": values.Flag.Default(false, "Whether machines with UEFI get shim and GRUB in place of iPXE, as Secure Boot takes only what its vendor signed: the kernel of each profile has to be signed too, by whom shim trusts. GRUB fetches all by TFTP, which is slower than HTTP; firmware that boots by HTTP gets a disc (`boot.img`) with shim, GRUB, kernel and RAM disks, of at most 2 GiB, by its MAC address, which the server knows of machines on its own segments. Machines with a BIOS get iPXE as before. Default: `false`."),
			"peers":       values.Each(values.Word).Distinct().OptionalList("Boot servers of the same machines on other service nodes, as `ADDRESS:PORT`: what one knows of a machine all know, so that none installs it again. Each names the others. Default: none."),
			"next_server": schema.StringAttribute{Computed: true, MarkdownDescription: "The address, as DHCP has it."},
			"files": schema.SingleNestedAttribute{
				Computed: true, MarkdownDescription: "What machines are to be told by DHCP, as `boot` of `virtcluster_dhcp_server` has it.",
				Attributes: map[string]schema.Attribute{
					"next_server": file("Address of the TFTP server."), "bios": file("For a BIOS."), "uefi_ia32": file("For 32-bit UEFI: none."), "uefi_x64": file("For 64-bit UEFI."),
					"uefi_arm64": file("For UEFI on ARM: none."), "http_x64": file("URL for 64-bit UEFI that boots by HTTP."), "http_arm64": file("For UEFI on ARM by HTTP: none."), "ipxe": file("URL of iPXE's first script."),
				},
			},
			"serving": crud.ServingAttribute("the boot server"),
		},
	}
}

type model struct {
	crud.ServingModel
	ID          types.String `tfsdk:"id"`
	ServiceNode types.String `tfsdk:"service_node"`
	HTTP        types.Object `tfsdk:"http"`
	TFTP        types.Bool   `tfsdk:"tftp"`
	Interfaces  types.List   `tfsdk:"interfaces"`
	Loaders     types.String `tfsdk:"loaders"`
	SecureBoot  types.Bool   `tfsdk:"secure_boot"`
	Peers       types.List   `tfsdk:"peers"`
	NextServer  types.String `tfsdk:"next_server"`
	Files       types.Object `tfsdk:"files"`
}

type httpModel struct {
	Address types.String `tfsdk:"address"`
	Port    types.Int64  `tfsdk:"port"`
}

var httpTypes = map[string]attr.Type{"address": types.StringType, "port": types.Int64Type}

func toSpec(ctx context.Context, m *model) (s netboot.Server, diags diag.Diagnostics) {
	s.TFTP, s.Loaders, s.Peers = m.TFTP.ValueBool(), m.Loaders.ValueString(), convert.KnownTexts(m.Peers)
	s.Interfaces, s.SecureBoot = convert.KnownTexts(m.Interfaces), m.SecureBoot.ValueBool()
	var at httpModel
	if convert.Known(m.HTTP) {
		diags.Append(m.HTTP.As(ctx, &at, basetypes.ObjectAsOptions{})...)
	}
	address, _, err := hostattr.Address(at.Address)
	if err != nil {
		diags.AddAttributeError(path.Root("http").AtName("address"), "Invalid address", err.Error())
	}
	s.Address, s.Port = address, at.Port.ValueInt64()
	return s, diags
}

func fillModel(ctx context.Context, m *model, got netboot.Server) diag.Diagnostics {
	own, diags := toSpec(ctx, m)
	if diags.HasError() {
		return diags
	}
	m.TFTP, m.Loaders, m.SecureBoot = types.BoolValue(got.TFTP), types.StringValue(got.Loaders), types.BoolValue(got.SecureBoot)
	if !slices.Equal(own.Interfaces, got.Interfaces) {
		m.Interfaces = convert.List(got.Interfaces)
	}
	if !slices.Equal(own.Peers, got.Peers) {
		m.Peers = convert.List(got.Peers)
	}
	var d diag.Diagnostics
	if own.Address != got.Address || own.Port != got.Port {
		at := httpModel{types.StringValue(""), types.Int64Value(got.Port)}
		if got.Address.IsValid() {
			at.Address = types.StringValue(got.Address.String())
		}
		m.HTTP, d = types.ObjectValueFrom(ctx, httpTypes, at)
		diags.Append(d...)
	}
	m.NextServer = types.StringValue(addressOf(got))
	m.Files, d = types.ObjectValue(fileTypes, listFiles(got))
	return append(diags, d...)
}

func addressOf(s netboot.Server) string {
	if !s.Address.IsValid() {
		return ""
	}
	return s.Address.String()
}

// listFiles lists what machines are told by DHCP.
func listFiles(s netboot.Server) map[string]attr.Value {
	all := map[string]attr.Value{}
	for _, name := range fileNames {
		all[name] = types.StringNull()
	}
	all["next_server"] = types.StringValue(addressOf(s))
	all["ipxe"] = types.StringValue(s.URL() + "/boot.ipxe")
	all["http_x64"] = types.StringValue(s.URL() + "/" + s.ForHTTP())
	if s.TFTP {
		all["bios"], all["uefi_x64"] = types.StringValue(s.ForBIOS()), types.StringValue(s.ForUEFI())
	}
	return all
}

// planFiles plans what follows from what is written.
func planFiles(ctx context.Context, resp *resource.ModifyPlanResponse, m *model) diag.Diagnostics {
	want, diags := toSpec(ctx, m)
	if diags.HasError() || !want.Address.IsValid() || want.Port == 0 || m.TFTP.IsUnknown() || m.SecureBoot.IsUnknown() {
		return diags
	}
	diags.Append(resp.Plan.SetAttribute(ctx, path.Root("next_server"), addressOf(want))...)
	object, d := types.ObjectValue(fileTypes, listFiles(want))
	diags.Append(d...)
	diags.Append(resp.Plan.SetAttribute(ctx, path.Root("files"), object)...)
	return diags
}
