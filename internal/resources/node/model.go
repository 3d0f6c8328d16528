package node

import (
	"context"
	"sync"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/machine"
)

// model is the resource as configuration, plan and state hold it.
type model struct {
	ID                types.String   `tfsdk:"id"`
	Name              types.String   `tfsdk:"name"`
	Hypervisor        types.String   `tfsdk:"hypervisor"`
	Role              types.String   `tfsdk:"role"`
	Labels            types.Map      `tfsdk:"labels"`
	Type              types.String   `tfsdk:"type"`
	MemoryMiB         types.Int64    `tfsdk:"memory_mib"`
	MaxMemoryMiB      types.Int64    `tfsdk:"max_memory_mib"`
	VCPUs             types.Int64    `tfsdk:"vcpus"`
	MaxVCPUs          types.Int64    `tfsdk:"max_vcpus"`
	CPU               types.Object   `tfsdk:"cpu"`
	Machine           types.String   `tfsdk:"machine"`
	Firmware          types.String   `tfsdk:"firmware"`
	RootDisk          types.Object   `tfsdk:"root_disk"`
	Disks             types.Map      `tfsdk:"disks"`
	Boot              types.Object   `tfsdk:"boot"`
	NetworkInterfaces types.List     `tfsdk:"network_interfaces"`
	CloudInit         types.Object   `tfsdk:"cloud_init"`
	Ignition          types.String   `tfsdk:"ignition"`
	Butane            types.String   `tfsdk:"butane"`
	Autostart         types.Bool     `tfsdk:"autostart"`
	Running           types.Bool     `tfsdk:"running"`
	AllowRestart      types.Bool     `tfsdk:"allow_restart"`
	ShutdownTimeout   types.String   `tfsdk:"shutdown_timeout"`
	WaitFor           types.String   `tfsdk:"wait_for"`
	Console           types.Object   `tfsdk:"console"`
	Graphics          types.String   `tfsdk:"graphics"`
	GuestAgent        types.Bool     `tfsdk:"guest_agent"`
	RNG               types.Bool     `tfsdk:"rng"`
	Addresses         types.Map      `tfsdk:"addresses"`
	State             types.String   `tfsdk:"state"`
	Timeouts          timeouts.Value `tfsdk:"timeouts"`
}

type cpuModel struct {
	Mode   types.String `tfsdk:"mode"`
	Model  types.String `tfsdk:"model"`
	Nested types.Bool   `tfsdk:"nested"`
}

type rootModel struct {
	Image   types.String `tfsdk:"image"`
	SizeGiB types.Int64  `tfsdk:"size_gib"`
	Pool    types.String `tfsdk:"pool"`
	Bus     types.String `tfsdk:"bus"`
}

type diskModel struct {
	SizeGiB types.Int64  `tfsdk:"size_gib"`
	Pool    types.String `tfsdk:"pool"`
	Bus     types.String `tfsdk:"bus"`
	Volume  types.String `tfsdk:"volume"`
}

type bootModel struct {
	Order   types.List   `tfsdk:"order"`
	Kernel  types.String `tfsdk:"kernel"`
	Initrd  types.String `tfsdk:"initrd"`
	Cmdline types.String `tfsdk:"cmdline"`
}

type interfaceModel struct {
	Network          types.String `tfsdk:"network"`
	Bridge           types.String `tfsdk:"bridge"`
	Name             types.String `tfsdk:"name"`
	MAC              types.String `tfsdk:"mac"`
	IP               types.String `tfsdk:"ip"`
	IPv6             types.String `tfsdk:"ipv6"`
	Hostname         types.String `tfsdk:"hostname"`
	Addresses        types.List   `tfsdk:"addresses"`
	Gateway          types.String `tfsdk:"gateway"`
	Routes           types.List   `tfsdk:"routes"`
	Nameservers      types.List   `tfsdk:"nameservers"`
	MTU              types.Int64  `tfsdk:"mtu"`
	Model            types.String `tfsdk:"model"`
	PortSecurity     types.Bool   `tfsdk:"port_security"`
	AllowedAddresses types.List   `tfsdk:"allowed_addresses"`
}

type cloudInitModel struct {
	UserData      types.String `tfsdk:"user_data"`
	MetaData      types.String `tfsdk:"meta_data"`
	VendorData    types.String `tfsdk:"vendor_data"`
	NetworkConfig types.String `tfsdk:"network_config"`
}

type consoleModel struct {
	Type    types.String `tfsdk:"type"`
	LogFile types.String `tfsdk:"log_file"`
}

// parts are the model's nested attributes, decoded. One that is null or unknown as a whole is nil.
type parts struct {
	CPU        *cpuModel
	Root       *rootModel
	Disks      map[string]diskModel
	Boot       *bootModel
	Interfaces []interfaceModel
	CloudInit  *cloudInitModel
	Console    *consoleModel
}

// split decodes the nested attributes.
func (m *model) split(ctx context.Context) (parts, diag.Diagnostics) {
	var p parts
	var diags diag.Diagnostics
	p.CPU = object[cpuModel](ctx, m.CPU, &diags)
	p.Root = object[rootModel](ctx, m.RootDisk, &diags)
	p.Boot = object[bootModel](ctx, m.Boot, &diags)
	p.CloudInit = object[cloudInitModel](ctx, m.CloudInit, &diags)
	p.Console = object[consoleModel](ctx, m.Console, &diags)
	if convert.Known(m.Disks) {
		diags.Append(m.Disks.ElementsAs(ctx, &p.Disks, false)...)
	}
	if convert.Known(m.NetworkInterfaces) {
		diags.Append(m.NetworkInterfaces.ElementsAs(ctx, &p.Interfaces, false)...)
	}
	return p, diags
}

// join encodes the nested attributes; what is nil in parts keeps what the model has, so that an unknown
// stays unknown.
func (m *model) join(ctx context.Context, p parts) diag.Diagnostics {
	var diags diag.Diagnostics
	put(ctx, &m.CPU, "cpu", p.CPU, &diags)
	put(ctx, &m.RootDisk, "root_disk", p.Root, &diags)
	put(ctx, &m.Boot, "boot", p.Boot, &diags)
	put(ctx, &m.CloudInit, "cloud_init", p.CloudInit, &diags)
	put(ctx, &m.Console, "console", p.Console, &diags)
	if p.Disks != nil {
		v, d := types.MapValueFrom(ctx, attributeTypes()["disks"].(types.MapType).ElemType, p.Disks)
		diags.Append(d...)
		m.Disks = v
	}
	if p.Interfaces != nil {
		v, d := types.ListValueFrom(ctx, attributeTypes()["network_interfaces"].(types.ListType).ElemType, p.Interfaces)
		diags.Append(d...)
		m.NetworkInterfaces = v
	}
	return diags
}

// attributeTypes are the types of the schema's attributes.
var attributeTypes = sync.OnceValue(func() map[string]attr.Type {
	types := map[string]attr.Type{}
	for name, attribute := range nodeSchema(context.Background()).Attributes {
		types[name] = attribute.GetType()
	}
	return types
})

// routeType is the type of one route of an interface.
func routeType() attr.Type {
	element := attributeTypes()["network_interfaces"].(types.ListType).ElemType.(types.ObjectType)
	return element.AttrTypes["routes"].(types.ListType).ElemType
}

func object[T any](ctx context.Context, v types.Object, diags *diag.Diagnostics) *T {
	if !convert.Known(v) {
		return nil
	}
	t := new(T)
	diags.Append(v.As(ctx, t, basetypes.ObjectAsOptions{})...)
	return t
}

func put[T any](ctx context.Context, into *types.Object, name string, v *T, diags *diag.Diagnostics) {
	if v == nil {
		return
	}
	o, d := types.ObjectValueFrom(ctx, attributeTypes()[name].(types.ObjectType).AttrTypes, v)
	diags.Append(d...)
	*into = o
}

// texts converts a list of strings; null and unknown have none, and unknown elements are left out.
func texts(l types.List) []string { return (&reader{unknown: machine.Places{}}).texts(l) }

func textList(all []string) types.List {
	if len(all) == 0 {
		return types.ListNull(types.StringType)
	}
	elements := make([]attr.Value, len(all))
	for i, s := range all {
		elements[i] = types.StringValue(s)
	}
	return types.ListValueMust(types.StringType, elements)
}
