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
)

// model is the resource as the framework reads and writes it in configuration, plan and state. Below this file a version takes its
// place.
type model struct {
	plain
	CPU               types.Object `tfsdk:"cpu"`
	RootDisk          types.Object `tfsdk:"root_disk"`
	Disks             types.Map    `tfsdk:"disks"`
	Boot              types.Object `tfsdk:"boot"`
	NetworkInterfaces types.List   `tfsdk:"network_interfaces"`
	CloudInit         types.Object `tfsdk:"cloud_init"`
	Console           types.Object `tfsdk:"console"`
}

// version is one of configuration, plan and state, with its nested attributes decoded.
type version struct {
	plain
	nested
}

// plain are the attributes that hold no others.
type plain struct {
	ID              types.String   `tfsdk:"id"`
	Name            types.String   `tfsdk:"name"`
	Hypervisor      types.String   `tfsdk:"hypervisor"`
	Role            types.String   `tfsdk:"role"`
	Labels          types.Map      `tfsdk:"labels"`
	Type            types.String   `tfsdk:"type"`
	MemoryMiB       types.Int64    `tfsdk:"memory_mib"`
	MaxMemoryMiB    types.Int64    `tfsdk:"max_memory_mib"`
	VCPUs           types.Int64    `tfsdk:"vcpus"`
	MaxVCPUs        types.Int64    `tfsdk:"max_vcpus"`
	Machine         types.String   `tfsdk:"machine"`
	Firmware        types.String   `tfsdk:"firmware"`
	Ignition        types.String   `tfsdk:"ignition"`
	Butane          types.String   `tfsdk:"butane"`
	Autostart       types.Bool     `tfsdk:"autostart"`
	Running         types.Bool     `tfsdk:"running"`
	AllowRestart    types.Bool     `tfsdk:"allow_restart"`
	ShutdownTimeout types.String   `tfsdk:"shutdown_timeout"`
	WaitFor         types.String   `tfsdk:"wait_for"`
	Graphics        types.String   `tfsdk:"graphics"`
	GuestAgent      types.Bool     `tfsdk:"guest_agent"`
	RNG             types.Bool     `tfsdk:"rng"`
	Addresses       types.Map      `tfsdk:"addresses"`
	State           types.String   `tfsdk:"state"`
	Timeouts        timeouts.Value `tfsdk:"timeouts"`
}

// nested are the attributes that hold others. One that is null or unknown as a whole is nil.
type nested struct {
	CPU        *cpuModel            `tfsdk:"cpu"`
	Root       *rootModel           `tfsdk:"root_disk"`
	Disks      map[string]diskModel `tfsdk:"disks"`
	Boot       *bootModel           `tfsdk:"boot"`
	Interfaces []interfaceModel     `tfsdk:"network_interfaces"`
	CloudInit  *cloudInitModel      `tfsdk:"cloud_init"`
	Console    *consoleModel        `tfsdk:"console"`
	// unknown has the names of those that are nil because they are unknown.
	unknown map[string]bool
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
	SecurityRules    types.List   `tfsdk:"security_rules"`
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

// decodeNested decodes the nested attributes.
func (m *model) decodeNested(ctx context.Context) (*version, diag.Diagnostics) {
	v, diags := &version{plain: m.plain}, diag.Diagnostics{}
	v.unknown = map[string]bool{}
	decode := func(name string, from attr.Value, as func() diag.Diagnostics) {
		if v.unknown[name] = from.IsUnknown(); convert.Known(from) {
			diags.Append(as()...)
		}
	}
	object := func(name string, from types.Object, into any) {
		decode(name, from, func() diag.Diagnostics { return from.As(ctx, into, basetypes.ObjectAsOptions{}) })
	}
	object("cpu", m.CPU, &v.CPU)
	object("root_disk", m.RootDisk, &v.Root)
	object("boot", m.Boot, &v.Boot)
	object("cloud_init", m.CloudInit, &v.CloudInit)
	object("console", m.Console, &v.Console)
	// An element that is unknown is one of unknown attributes.
	decode("disks", m.Disks, func() diag.Diagnostics {
		return convert.SpreadUnknowns(m.Disks).(types.Map).ElementsAs(ctx, &v.Disks, false)
	})
	decode("network_interfaces", m.NetworkInterfaces, func() diag.Diagnostics {
		return convert.SpreadUnknowns(m.NetworkInterfaces).(types.List).ElementsAs(ctx, &v.Interfaces, false)
	})
	return v, diags
}

// encodeNested encodes the nested attributes.
func (v *version) encodeNested(ctx context.Context) (*model, diag.Diagnostics) {
	m, diags := &model{plain: v.plain}, diag.Diagnostics{}
	object := func(into *types.Object, name string, value any, is bool) {
		kind, _ := attributeTypes()[name].(types.ObjectType)
		switch {
		case is:
			encoded, d := types.ObjectValueFrom(ctx, kind.AttrTypes, value)
			diags.Append(d...)
			*into = encoded
		case v.unknown[name]:
			*into = types.ObjectUnknown(kind.AttrTypes)
		default:
			*into = types.ObjectNull(kind.AttrTypes)
		}
	}
	object(&m.CPU, "cpu", v.CPU, v.CPU != nil)
	object(&m.RootDisk, "root_disk", v.Root, v.Root != nil)
	object(&m.Boot, "boot", v.Boot, v.Boot != nil)
	object(&m.CloudInit, "cloud_init", v.CloudInit, v.CloudInit != nil)
	object(&m.Console, "console", v.Console, v.Console != nil)
	var d diag.Diagnostics
	// A nil map or slice becomes null.
	disk := attributeTypes()["disks"].(types.MapType).ElemType
	if m.Disks, d = types.MapValueFrom(ctx, disk, v.Disks); v.isUnknown("disks") {
		m.Disks = types.MapUnknown(disk)
	}
	diags.Append(d...)
	plug := attributeTypes()["network_interfaces"].(types.ListType).ElemType
	if m.NetworkInterfaces, d = types.ListValueFrom(ctx, plug, v.Interfaces); v.isUnknown("network_interfaces") {
		m.NetworkInterfaces = types.ListUnknown(plug)
	}
	diags.Append(d...)
	return m, diags
}

// isUnknown says whether a nested attribute is unknown as a whole.
func (n *nested) isUnknown(name string) bool {
	decoded := map[string]bool{
		"cpu": n.CPU != nil, "root_disk": n.Root != nil, "disks": n.Disks != nil, "boot": n.Boot != nil,
		"network_interfaces": n.Interfaces != nil, "cloud_init": n.CloudInit != nil, "console": n.Console != nil,
	}
	return n.unknown[name] && !decoded[name]
}

// attributeTypes are the types of the schema's attributes.
var attributeTypes = sync.OnceValue(func() map[string]attr.Type {
	types := map[string]attr.Type{}
	for name, attribute := range nodeSchema(context.Background()).Attributes {
		types[name] = attribute.GetType()
	}
	return types
})
