package node

import (
	"context"
	"reflect"
	"sync"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

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
	CDROM             types.Object `tfsdk:"cdrom"`
	CloudInit         types.Object `tfsdk:"cloud_init"`
	Console           types.Object `tfsdk:"console"`
	Rollout           types.Object `tfsdk:"rollout"`
	Migration         types.Object `tfsdk:"migration"`
}

// version is one of configuration, plan and state, with its nested attributes decoded.
type version struct {
	plain
	nested
}

// plain are the attributes that hold no others, and those whose objects nobody looks into while planning.
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
	Power           types.String   `tfsdk:"power"`
	Graphics        types.String   `tfsdk:"graphics"`
	GuestAgent      types.Bool     `tfsdk:"guest_agent"`
	RNG             types.Bool     `tfsdk:"rng"`
	TPM             types.Object   `tfsdk:"tpm"`
	Watchdog        types.Object   `tfsdk:"watchdog"`
	SMBIOS          types.Object   `tfsdk:"smbios"`
	Filesystems     types.List     `tfsdk:"filesystems"`
	HostDevices     types.List     `tfsdk:"host_devices"`
	XMLPatch        types.Map      `tfsdk:"xml_patch"`
	Hugepages       types.String   `tfsdk:"hugepages"`
	NUMA            types.List     `tfsdk:"numa"`
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
	CDROM      *cdromModel          `tfsdk:"cdrom"`
	CloudInit  *cloudInitModel      `tfsdk:"cloud_init"`
	Console    *consoleModel        `tfsdk:"console"`
	Rollout    *rolloutModel        `tfsdk:"rollout"`
	Migration  *migrationModel      `tfsdk:"migration"`
	// unknown has the names of those that are nil because they are unknown.
	unknown map[string]bool
	// rolloutLater is the rollout as it was encoded, where some of it is unknown: what is in it is planned as it is written, and an object in
	// it that is unknown as a whole cannot be told from one of unknown attributes.
	rolloutLater types.Object
}

type cpuModel struct {
	Mode     types.String `tfsdk:"mode"`
	Model    types.String `tfsdk:"model"`
	Nested   types.Bool   `tfsdk:"nested"`
	Topology types.Object `tfsdk:"topology"`
	Pinning  types.Map    `tfsdk:"pinning"`
}

type rootModel struct {
	Image   types.String `tfsdk:"image"`
	SizeGiB types.Int64  `tfsdk:"size_gib"`
	Pool    types.String `tfsdk:"pool"`
	Bus     types.String `tfsdk:"bus"`
	Volume  types.String `tfsdk:"volume"`
	Format  types.String `tfsdk:"format"`
	diskTuningModel
}

type diskModel struct {
	SizeGiB types.Int64  `tfsdk:"size_gib"`
	Pool    types.String `tfsdk:"pool"`
	Bus     types.String `tfsdk:"bus"`
	Volume  types.String `tfsdk:"volume"`
	Format  types.String `tfsdk:"format"`
	diskTuningModel
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
	OVNNetwork       types.String `tfsdk:"ovn_network"`
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
	SecurityGroups   types.List   `tfsdk:"security_groups"`
	Bandwidth        types.Object `tfsdk:"bandwidth"`
	VirtualPort      types.String `tfsdk:"virtual_port"`
	InterfaceID      types.String `tfsdk:"interface_id"`
	VLAN             types.Object `tfsdk:"vlan"`
	Direct           types.Object `tfsdk:"direct"`
	Trust            types.Bool   `tfsdk:"trust"`
}

type cdromModel struct {
	Image types.String `tfsdk:"image"`
	URL   types.String `tfsdk:"url"`
}

type cloudInitModel struct {
	UserData      types.String `tfsdk:"user_data"`
	MetaData      types.String `tfsdk:"meta_data"`
	VendorData    types.String `tfsdk:"vendor_data"`
	NetworkConfig types.String `tfsdk:"network_config"`
}

type consoleModel struct {
	Type     types.String `tfsdk:"type"`
	LogFile  types.String `tfsdk:"log_file"`
	Address  types.String `tfsdk:"address"`
	Port     types.Int64  `tfsdk:"port"`
	Protocol types.String `tfsdk:"protocol"`
}

// listFields returns pointers to the nested attributes as the framework has them, by their names.
func (m *model) listFields() map[string]any {
	return map[string]any{
		"cpu": &m.CPU, "root_disk": &m.RootDisk, "disks": &m.Disks, "boot": &m.Boot, "network_interfaces": &m.NetworkInterfaces, "cdrom": &m.CDROM, "cloud_init": &m.CloudInit, "console": &m.Console, "rollout": &m.Rollout, "migration": &m.Migration,
	}
}

// listFields returns pointers to the nested attributes decoded, by their names.
func (n *nested) listFields() map[string]any {
	return map[string]any{
		"cpu": &n.CPU, "root_disk": &n.Root, "disks": &n.Disks, "boot": &n.Boot, "network_interfaces": &n.Interfaces, "cdrom": &n.CDROM, "cloud_init": &n.CloudInit, "console": &n.Console, "rollout": &n.Rollout, "migration": &n.Migration,
	}
}

// isUnknown says whether a nested attribute is unknown as a whole.
func (n *nested) isUnknown(name string) bool {
	return n.unknown[name] && reflect.ValueOf(n.listFields()[name]).Elem().IsNil()
}

// decodeNested decodes the nested attributes. An element that is unknown is one of unknown attributes.
func (m *model) decodeNested(ctx context.Context) (*version, diag.Diagnostics) {
	v, diags := &version{plain: m.plain}, diag.Diagnostics{}
	v.unknown = map[string]bool{}
	encoded := m.listFields()
	for name, into := range v.listFields() {
		from := reflect.ValueOf(encoded[name]).Elem().Interface().(attr.Value)
		if v.unknown[name] = from.IsUnknown(); convert.Known(from) {
			diags.Append(tfsdk.ValueAs(ctx, convert.SpreadUnknowns(from, listObjects(into)...), into)...)
		}
	}
	if convert.Known(m.Rollout) && !convert.WhollyKnown(ctx, m.Rollout) {
		v.rolloutLater = m.Rollout
	}
	return v, diags
}

// listObjects lists the attributes of a model that it has as they are, and not decoded.
func listObjects(into any) (names []string) {
	of := reflect.TypeOf(into)
	for of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	if of.Kind() != reflect.Struct {
		return nil
	}
	for _, field := range reflect.VisibleFields(of) {
		if field.Type == reflect.TypeFor[types.Object]() {
			names = append(names, field.Tag.Get("tfsdk"))
		}
	}
	return names
}

// encodeNested encodes the nested attributes. What is nil becomes null.
func (v *version) encodeNested(ctx context.Context) (*model, diag.Diagnostics) {
	m, diags := &model{plain: v.plain}, diag.Diagnostics{}
	encoded := m.listFields()
	for name, from := range v.listFields() {
		plain, of := reflect.ValueOf(from).Elem().Interface(), attributeTypes()[name]
		if v.isUnknown(name) {
			unknown, err := of.ValueFromTerraform(ctx, tftypes.NewValue(of.TerraformType(ctx), tftypes.UnknownValue))
			if err != nil {
				diags.AddError("Cannot plan "+name, err.Error())
			}
			plain = unknown
		}
		diags.Append(tfsdk.ValueFrom(ctx, plain, of, encoded[name])...)
	}
	if convert.Known(v.rolloutLater) {
		m.Rollout = v.rolloutLater
	}
	return m, diags
}

// attributeTypes are the types of the schema's attributes.
var attributeTypes = sync.OnceValue(func() map[string]attr.Type {
	types := map[string]attr.Type{}
	for name, attribute := range nodeSchema(context.Background()).Attributes {
		types[name] = attribute.GetType()
	}
	return types
})
