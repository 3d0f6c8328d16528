package node

import (
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/values"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/machine"
)

// patchPath is a place of a domain's XML.
var patchPath = values.New("place in a domain's XML", "/domain/title", func(text string) error {
	if strings.Contains(strings.ToLower(text), "/@passw") {
		return fmt.Errorf("%q is a secret, which everybody would read in the state and in the domain's metadata", text)
	}
	return machine.CheckPatchPath(text)
})

// deviceAttributes are those of devices that a node has or has not. A node that exists keeps what the configuration leaves out, so that one
// which somebody else made keeps what it has; the model "none" takes it away.
func deviceAttributes() map[string]schema.Attribute {
	object := func(description string, attributes values.Attributes) schema.Attribute {
		return values.OptionalComputedObject(description, attributes)
	}
	return map[string]schema.Attribute{
		"tpm": object("Trusted platform module, emulated by swtpm on the hypervisor, which is looked for when planning. What is in it stays with the node until that is destroyed. A change needs a restart. Default: none.", values.Attributes{
			"model":   values.OneOf("tpm-crb", "tpm-tis", "none").Default("tpm-crb", "Interface that the guest sees: `tpm-crb` or `tpm-tis`; `none` is no TPM. Default: `tpm-crb`."),
			"version": values.OneOf("2.0", "1.2").Default(machine.DefaultTPM.Version, "Version of the TPM's specification: `2.0`, or `1.2` with `tpm-tis`. Default: `2.0`."),
		}),
		"watchdog": object("Device that the guest has to tell that it is alive, beside the one that a `q35` machine has of its own. A change needs a restart. Default: none.", values.Attributes{
			"model":  values.OneOf("i6300esb", "ib700", "none").Default("i6300esb", "Device that the guest sees: `i6300esb` or `ib700`; `none` is no watchdog. Default: `i6300esb`."),
			"action": values.OneOf("reset", "shutdown", "poweroff", "pause", "none", "dump", "inject-nmi").Default(machine.DefaultWatchdog.Action, "What becomes of a guest that said nothing for too long: `reset`, `shutdown`, `poweroff`, `pause`, `none`, `dump` or `inject-nmi`. Default: `reset`."),
		}),
		"filesystems": values.Objects().OptionalComputedListOf("Directories of the hypervisor that the guest can mount, as `mount -t virtiofs TARGET /mnt` or `mount -t 9p TARGET /mnt`. A node that exists keeps what is left out; `[]` takes all away. Those of `virtiofs` are plugged in and out while the node runs, where its memory was shared when it started: a node that has one such share has, and one with `xml_patch = { \"/domain/memoryBacking/access/@mode\" = \"shared\", \"/domain/memoryBacking/source/@type\" = \"memfd\" }`. Any other change needs a restart.", values.Attributes{
			"source":   values.Path.Required("Directory of the hypervisor. It must be there when planning, unless a storage pool of the plan makes it."),
			"target":   values.Word.Required("Name by which the guest mounts it."),
			"driver":   values.OneOf("virtiofs", "9p").Default("virtiofs", "`virtiofs`, for which the guest's memory is shared with a program on the hypervisor (virtiofsd), or `9p`, which QEMU serves itself. Default: `virtiofs`."),
			"readonly": values.Flag.Default(false, "Whether the guest can only read it; with `virtiofs` from libvirt 11.0 on. Default: `false`."),
		}, crud.ListLeftOut()...),
		"host_devices": values.Objects().OptionalComputedListOf("Devices of the hypervisor that the guest has to itself, each named by one of `pci`, `usb` and `mdev`. A plan finds those that are not there, that another domain has, that the hypervisor uses itself (a disk, a network card whose interface is up, the screen that its firmware chose), and that share an IOMMU group with what the hypervisor would lose. A node that exists keeps what is left out; `[]` takes all away. They are plugged in and out while the node runs, where it has a port for them (for `usb`: a USB controller), and the plan says where that needs a restart.", values.Attributes{
			"pci":  values.New("PCI device", "0000:03:00.0", machine.CheckPCI).Optional("PCI device by its address, such as `0000:03:00.0`, or by vendor and product, such as `8086:1572`, where the hypervisor has one of them. Its driver is taken from it while the node runs."),
			"usb":  values.New("USB device", "046d:c52b", machine.CheckUSB).Optional("USB device by vendor and product, such as `046d:c52b`, or by bus and device, such as `1.4`."),
			"mdev": values.UUID.Optional("Mediated device by its UUID."),
		}, crud.ListLeftOut()...),
		"xml_patch": values.Each(values.Free).Keys(patchPath).OptionalComputedMap("What libvirt's domain has that no other attribute says: values by their places, which are paths (a part of XPath) to an element, whose text it is, or to an attribute: "+
			"`{ \"/domain/title\" = \"Build server\", \"/domain/devices/sound[@model='ich9']\" = \"\", \"/domain/features/hyperv/relaxed/@state\" = \"on\" }`. `[@name='value']` is the element with such an attribute, `[2]` the second one of the name, and neither the first. "+
			"What leads there and is missing is made. Every value is read back, and drift shows at its place. A place that another attribute of the node speaks of, or that libvirt ignores, is refused. What is left out again is put back as it was before. A change needs a restart.", crud.MapLeftOut()...),
		"smbios": object("What the firmware says of the machine, where `dmidecode` and cloud-init look. `{}` has it say what QEMU does. A change needs a restart. Default: that.", values.Attributes{
			"manufacturer": values.Line.Optional("Maker of the machine."),
			"product":      values.Line.Optional("Name of the product."),
			"version":      values.Line.Optional("Version of the product."),
			"serial":       values.Line.Optional("Serial number of the machine."),
			"sku":          values.Line.Optional("Number by which the product is ordered."),
			"family":       values.Line.Optional("Family of the product."),
			"oem_strings":  values.Each(values.Line).OptionalList("Texts for programs in the guest (SMBIOS type 11), such as `io.systemd.credential:…`."),
		}),
	}
}

// completeDevices fills in the devices that the configuration leaves open.
func completeDevices(planned, config, prior *version) {
	keepOrDefault(&planned.TPM, config.TPM, prior.TPM, asObject(machine.DefaultTPM))
	keepOrDefault(&planned.Watchdog, config.Watchdog, prior.Watchdog, asObject(machine.DefaultWatchdog))
	keepOrDefault(&planned.Filesystems, config.Filesystems, prior.Filesystems, nullList("filesystems"))
	keepOrDefault(&planned.HostDevices, config.HostDevices, prior.HostDevices, nullList("host_devices"))
	keepOrDefault(&planned.SMBIOS, config.SMBIOS, prior.SMBIOS, asObject(machine.SMBIOS{}))
}

// asObject returns a plain struct as an object.
func asObject(plain any) types.Object { return convert.Value(plain).(types.Object) }

// diskTuningModel is what all disks have that a node has: how QEMU treats them.
type diskTuningModel struct {
	Cache     types.String `tfsdk:"cache"`
	IO        types.String `tfsdk:"io"`
	Discard   types.String `tfsdk:"discard"`
	IOThread  types.Int64  `tfsdk:"iothread"`
	ReadOnly  types.Bool   `tfsdk:"readonly"`
	Shareable types.Bool   `tfsdk:"shareable"`
	Limits    types.Object `tfsdk:"limits"`
}

// addTuning adds the attributes of diskTuningModel to those of a disk.
func addTuning(disk values.Attributes) values.Attributes {
	limit := func(what string) schema.Attribute {
		return values.Between(1, 1<<50).Optional("Most " + what + " in a second. Default: no limit.")
	}
	disk["cache"] = values.OneOf("default", "none", "writethrough", "writeback", "directsync", "unsafe").OptionalComputed("How the hypervisor caches the disk: `none`, `writethrough`, `writeback`, `directsync`, `unsafe`, or `default`, which leaves it to QEMU. Another one needs a restart. Default: `default`.")
	disk["io"] = values.OneOf("default", "native", "threads", "io_uring").OptionalComputed("How QEMU reads and writes: `native`, with `cache` `none` or `directsync`, `threads`, `io_uring`, or `default`, which leaves it to QEMU. Another one needs a restart. Default: `default`.")
	disk["discard"] = values.OneOf("unmap", "ignore").OptionalComputed("What becomes of what the guest trims: `unmap` gives it back to the pool, and `ignore` keeps it. Another one needs a restart. Default: `unmap`.")
	disk["iothread"] = values.Between(1, 64).OrZero().OptionalComputed("Number, from 1, of the thread that serves the disk, on the bus `virtio`: disks with a number of their own do not wait for each other. `0` is QEMU's main loop. The node has as many threads as the highest number. Another one needs a restart. Default: `0`.")
	disk["readonly"] = values.Flag.OptionalComputed("Whether the guest can only read an attached `volume`; several nodes can then have it. Another value needs a restart. Default: `false`.")
	disk["shareable"] = values.Flag.OptionalComputed("Whether several nodes may have an attached `volume`, of format `raw`, and write to it at the same time, as cluster file systems do. Another value needs a restart. Default: `false`.")
	disk["limits"] = values.OptionalComputedObject("Limits of what the guest may ask of the disk; they change while the node runs, and `{}` takes them away. A limit of both does not go with one of reads or of writes. Default: none.", values.Attributes{
		"total_bytes_sec": limit("bytes read and written"), "read_bytes_sec": limit("bytes read"), "write_bytes_sec": limit("bytes written"),
		"total_iops_sec": limit("reads and writes"), "read_iops_sec": limit("reads"), "write_iops_sec": limit("writes"),
	})
	return disk
}

// completeTuning fills in what the configuration leaves open of a disk on a bus.
func (d *diskTuningModel) completeTuning(given, was diskTuningModel, bus types.String) {
	if convert.Known(bus) && bus.ValueString() != "virtio" {
		was.IOThread = types.Int64Null() // no other bus has one
	}
	word := func(planned *types.String, given, was types.String, fallback string) {
		keepOrDefault(planned, given, was, types.StringValue(fallback))
	}
	word(&d.Cache, given.Cache, was.Cache, "default")
	word(&d.IO, given.IO, was.IO, "default")
	word(&d.Discard, given.Discard, was.Discard, "unmap")
	keepOrDefault(&d.IOThread, given.IOThread, was.IOThread, types.Int64Value(0))
	keepOrDefault(&d.ReadOnly, given.ReadOnly, was.ReadOnly, types.BoolValue(false))
	keepOrDefault(&d.Shareable, given.Shareable, was.Shareable, types.BoolValue(false))
	keepOrDefault(&d.Limits, given.Limits, was.Limits, asObject(machine.DiskLimits{}))
}
