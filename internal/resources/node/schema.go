package node

import (
	"context"
	"maps"
	"regexp"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/values"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/machine"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/storage"
)

// nodeName is what a machine, its volumes and its host name may be called.
var nodeName = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$`)

// discURL is a URL of http or https without a password.
var discURL = values.Matching("URL", "https://mirror.example/disc.iso", regexp.MustCompile(`^https?://[^/@\s]+/\S*$`), "a URL of http or https with a host and a path and without a password, such as https://mirror.example/disc.iso")

// ignition and butane are texts of which those are the same that hand the same over to the guest.
var (
	ignition = values.Text.Same(machine.CanonicalIgnition)
	butane   = values.Text.Same(machine.CanonicalButane)
)

// nodeSchema describes the node. Where an attribute is both optional and computed, what the configuration
// leaves open is chosen when the node is made and stays as it is from then on, so that a machine that was
// imported keeps what it has.
func nodeSchema(ctx context.Context) schema.Schema {
	s := schema.Schema{
		MarkdownDescription: "A virtual machine: its disks, its network interfaces with their addresses and reservations, what it is told at its first boot. " +
			"Memory and vCPUs within their maxima, disks, interfaces, sizes, labels and addresses change while it runs; what needs a restart is refused unless `allow_restart` says otherwise. " +
			"Where an optional attribute is left out, the value is chosen when the node is made and then kept. " +
			"What libvirt has no place for, such as `labels`, `shutdown_timeout`, `wait_for`, `allow_restart` and `timeouts`, is in the domain's metadata too, where an import finds it.",
		Attributes: map[string]schema.Attribute{
			"id": schema.StringAttribute{Computed: true, MarkdownDescription: "The domain's UUID."},
			"name": schema.StringAttribute{
				Required: true, MarkdownDescription: "Name of the domain, and the guest's host name unless cloud-init says otherwise. Its volumes are called after it. A new name is a new node: the old one is destroyed with its disks, and so is one whose `for_each` key changes.",
				PlanModifiers: []planmodifier.String{stringplanmodifier.RequiresReplace()},
				Validators:    []validator.String{values.Name, stringvalidator.LengthBetween(1, 63), stringvalidator.RegexMatches(nodeName, "write letters, digits, \".\", \"-\" and \"_\", with a letter or digit at both ends")},
			},
			"hypervisor":         hypervisorAttribute(),
			"role":               values.Line.Optional("What the node is: `bootstrap`, `master`, `worker`, `service` or any other word. Kept in the domain's metadata; the data source `virtcluster_nodes` selects by it."),
			"labels":             values.Each(values.Free).Keys(values.Name).OptionalComputedMap("Labels, kept in the domain's metadata; the data source `virtcluster_nodes` selects by them.", crud.MapLeftOut()...),
			"type":               values.OneOf("kvm", "qemu").OptionalComputed("`kvm` for hardware virtualisation or `qemu` for emulation, which works everywhere and is slow. Default: `kvm`."),
			"memory_mib":         values.MiB(16).OptionalComputed("Memory that the guest has, in MiB; changes live up to `max_memory_mib`. What is taken from the running guest by hand is drift and given back; what it was given beyond is left to it. Default: 1024."),
			"max_memory_mib":     values.MiB(16).OptionalComputed("Memory that the guest can be given without a restart, in MiB. Default: `memory_mib`."),
			"vcpus":              values.Between(1, 1024).OptionalComputed("Number of virtual processors; changes live up to `max_vcpus`. The guest agent brings new ones online; in a guest without one, its own rules do (Fedora's and RHEL's) or you do (Debian's kernel leaves them offline: write `1` to `/sys/devices/system/cpu/cpuN/online`). Taking one away needs the guest's consent; with `allow_restart`, a node whose guest does not give it is restarted. QEMU's emulation (`type = \"qemu\"`) keeps every vCPU until then. Default: 1."),
			"max_vcpus":          values.Between(1, 1024).OptionalComputed("Number of virtual processors that the guest can be given without a restart. Default: `vcpus`."),
			"machine":            values.Word.OptionalComputed("Machine type: `q35`, `pc`, or one of their versions that the hypervisor offers, such as `pc-q35-7.2`; not one without PCI, such as `microvm`. Default: `q35`."),
			"firmware":           values.OneOf("bios", "uefi", "uefi-secure").OptionalComputed("`bios`, `uefi` or `uefi-secure` (Secure Boot with the usual keys enrolled, and without the programs that network cards bring, which nobody signed). The hypervisor chooses the files. Default: `bios`."),
			"network_interfaces": values.Objects().OptionalComputedListOf("Network interfaces in the order the guest finds them. Adding and removing one works while the node runs, as long as its machine has a free place: a new node has eight for further interfaces and `virtio` disks, and where they are taken, the plan asks for a restart.", interfaceAttributes(), crud.ListLeftOut()...),
			"ignition":           schema.StringAttribute{Validators: []validator.String{ignition}, PlanModifiers: []planmodifier.String{ignition.KeepSpelling()}, Optional: true, Sensitive: true, MarkdownDescription: "Ignition configuration as JSON, checked when planning and handed over by QEMU's fw_cfg. It matters at the first boot only. Where an interface has `addresses`, `gateway`, `routes` or `nameservers`, a keyfile of NetworkManager for each interface is added (`/etc/NetworkManager/system-connections/<name>.nmconnection`); a file of the configuration's own at that path wins."},
			"butane":             schema.StringAttribute{Validators: []validator.String{butane}, PlanModifiers: []planmodifier.String{butane.KeepSpelling()}, Optional: true, Sensitive: true, MarkdownDescription: "The same as a Butane configuration (YAML), translated to Ignition. Variant `openshift` becomes plain Ignition too; its section `openshift`, which only a MachineConfig has a place for, is refused. Only one of `ignition` and `butane` can be set."},
			"autostart":          values.Flag.OptionalComputed("Whether the node starts with its hypervisor. Default: `true`."),
			"running":            values.Flag.OptionalComputed("Whether the node runs. It is enforced: a node that stopped, crashed or was paused is started by the next apply. Default: `true`."),
			"power":              values.OneOf(machine.Managed, machine.External).OptionalComputed("Who switches the node: `managed`, Terraform, as `running` says, or `external`, an operator or a controller such as those of `virtcluster_bmc`. These may switch an external node, boot it once from elsewhere, put media into its drive and plug in a USB stick, and none of it is drift; `running` says then whether it is started when it is made. Default: `managed`."),
			"allow_restart":      values.Flag.OptionalComputed("Whether an apply may restart the node for changes that cannot be made while it runs, and where its guest does not let go of a device within a minute. Default: `false`: such a change is an error when planning."),
			"shutdown_timeout":   values.Duration(0, 24*time.Hour).OptionalComputed("How long the guest may take to shut down before its power is cut, as a duration; `\"0s\"` cuts it at once. Default: `60s`."),
			"wait_for":           values.OneOf("none", "lease", "guest_agent").OptionalComputed("What creating the node waits for: `none`, `lease` (every interface that asks a network's DHCP got an address, and the one in `ip` where there is one; one with static IPv4 `addresses` alone does not ask) or `guest_agent` (the agent answers and every interface has an address). Default: `none`."),
			"graphics":           values.OneOf("none", "vnc", "spice").OptionalComputed("Graphical console: `none`, `vnc` or `spice`, on the hypervisor's loopback address. Default: `none`."),
			"guest_agent":        values.Flag.OptionalComputed("Whether the node has the channel of QEMU's guest agent. A change needs a restart. Default: `true`."),
			"rng":                values.Flag.OptionalComputed("Whether the node has a paravirtual random number generator, which is plugged in and out while it runs. Default: `true`."),
			"addresses": schema.MapAttribute{
				Computed: true, ElementType: types.StringType,
				MarkdownDescription: "Address of each interface by the interface's name: its lease, its reservation where the guest has no other address, the first of its `addresses`, or what the guest agent says. IPv4 goes before IPv6. An interface whose address nobody knows is missing. A guest that runs and does not heed its link keeps the address that it has until it asks DHCP again, whatever `ip` says by then.",
			},
			"state":     schema.StringAttribute{Computed: true, MarkdownDescription: "What the hypervisor says about the node: `running`, `paused`, `shutoff`, `crashed`, `in shutdown` or `pmsuspended`; and `moving`, where a run ended while the node was on its way to another hypervisor, which the next apply brings to its end; and `outdated`, where a run ended between a change of the configuration and the restart that it needs, which the next apply makes."},
			"rollout":   rolloutAttribute(),
			"migration": migrationAttribute(),
			"timeouts":  crud.TimeoutsAttribute(ctx, timeouts.Opts{Create: true, Read: true, Update: true, Delete: true}),
		},
	}
	maps.Copy(s.Attributes, blockAttributes())
	maps.Copy(s.Attributes, deviceAttributes())
	maps.Copy(s.Attributes, memoryAttributes())
	return s
}

// blockAttributes are the attributes that hold others.
func blockAttributes() map[string]schema.Attribute {
	bus := func() schema.Attribute {
		return values.OneOf("virtio", "scsi", "sata", "usb").OptionalComputed("How the disk is attached: `virtio`, `scsi` (virtio-scsi), `sata` or `usb`. Default: `virtio`.")
	}
	return map[string]schema.Attribute{
		"cpu": values.OptionalComputedObject("Processor as the guest sees it. Default: the hypervisor's own for `kvm`, and `Nehalem` (x86-64-v2) for `qemu`, because emulating more is slow.", addLayout(values.Attributes{
			"mode":   values.OneOf("host-passthrough", "host-model", "maximum", "custom").OptionalComputed("`host-passthrough`, `host-model`, `maximum` or `custom`. Default: `custom` with a `model`, else `host-passthrough` for `kvm` and `custom` for `qemu`."),
			"model":  values.Word.OptionalComputed("libvirt's name of a processor, for mode `custom`: `Skylake-Server`, `EPYC`. Default: `Nehalem` for `qemu`."),
			"nested": values.Flag.Optional("Whether the guest can run virtual machines itself; checked against the hypervisor when planning. Default: as the mode has it."),
		})),
		"root_disk": values.OptionalObject("The disk that the node boots from, `vda`: a volume `<name>-root.qcow2` that goes with the node, or a `volume` that is there.", addTuning(values.Attributes{
			"image":    values.Name.Optional("The `id` of a `virtcluster_image`, or any volume's path: the disk holds what differs from it. Default: none, an empty disk. Another image makes another node.", replacedImage),
			"size_gib": values.Between(1, storage.MaxSizeGiB).OptionalComputed("Size in GiB, rounded up; it can grow, also while the node runs. Null in state where the volume is missing, which has the node replaced. Default: the image's."),
			"pool":     values.Name.OptionalComputed("Storage pool, by name or id. Default: the image's pool, or `default`; an attached volume's own. Another pool makes another node."),
			"bus":      bus(),
			"volume":   rootVolumeAttribute(),
			"format":   formatAttribute(),
		})),
		"disks": values.Objects().Keys(values.Word).OptionalComputedMapOf("Further disks. The key, at most 20 characters, is the disk's serial number in the guest: `/dev/disk/by-id/virtio-<key>`. Adding and removing one works while the node runs, as with `network_interfaces`; a `sata` disk needs a restart, and so does the first `usb` disk.", addTuning(values.Attributes{
			"size_gib": values.Between(1, storage.MaxSizeGiB).OptionalComputed("Size in GiB of a new volume `<name>-<key>.qcow2`, which goes with the node. It can grow, also while the node runs."),
			"pool":     values.Name.OptionalComputed("Storage pool of the new volume, by name or id. Default: the root disk's."),
			"bus":      bus(),
			"volume":   values.Name.Optional("The `id` of a `virtcluster_volume` to attach instead, or the path of a block device of the hypervisor, such as `/dev/disk/by-id/…`; it outlives the node, which makes, marks and deletes nothing there. A plan finds a device that is missing, that the hypervisor uses by itself (mounted, swap, in a volume group), that a storage pool is made from, or that another domain has."),
			"format":   formatAttribute(),
		}), crud.MapLeftOut()...),
		"boot": values.OptionalComputedObject("How the node boots. Default: from its root disk, or else from the network.", values.Attributes{
			"order":   values.Each(values.OneOf("hd", "network", "cdrom", "fd")).Some().Distinct().OptionalComputedList("What is tried in which order: `hd`, `network`, `cdrom`, `fd`. Default: `[\"hd\"]`, with a root disk, else `[\"network\"]`."),
			"kernel":  values.Path.Optional("Path on the hypervisor of a kernel to boot directly."),
			"initrd":  values.Path.Optional("Path on the hypervisor of that kernel's initial RAM disk."),
			"cmdline": values.Line.Optional("That kernel's command line."),
		}),
		"cdrom": values.OptionalObject("What is in the drive for media, which the node shares with its controller (`virtcluster_bmc`). It is put in, changed and ejected while the node runs, and a guest that holds it is not asked. "+
			"`{}` is an empty drive. A node that began without a drive gets one at a SCSI bus while it runs, with something in it; the drive of one that is off, or new, is at the SATA or IDE bus that every installer knows. "+
			"Left out, nothing is said of the drive: what was in it because of the configuration is ejected, and what others put in stays. With `power = \"external\"` what others put in is no drift. `boot.order` with `cdrom` boots from it.", values.Attributes{
			"image": values.Name.Optional("The `id` of a `virtcluster_image` that was made of an ISO image, or any volume's path. Drift shows here too: what somebody else put in, by its path on the hypervisor."),
			"url":   discURL.Optional("URL of an ISO image, http or https, asked for when planning and fetched by the machine that runs Terraform into a volume of the node's own, beside its root disk. It is fetched once: other content needs another URL. The URL is kept in the domain's metadata: leave passwords out of it."),
		}),
		"cloud_init": values.OptionalComputedObject("What cloud-init does at the first boot, on a NoCloud disk. A change is written to the disk, but a guest that booted once does not read it again.", values.Attributes{
			"user_data":      schema.StringAttribute{Validators: []validator.String{values.Text}, Optional: true, Sensitive: true, MarkdownDescription: "User data: `#cloud-config` and YAML, a script that begins with `#!`, or another of cloud-init's forms."},
			"meta_data":      values.Text.Optional("Metadata as YAML. `instance-id` and `local-hostname` are added where they are missing."),
			"vendor_data":    schema.StringAttribute{Validators: []validator.String{values.Text}, Optional: true, Sensitive: true, MarkdownDescription: "Vendor data, in the same forms as `user_data`."},
			"network_config": values.Text.Optional("Network configuration as YAML, version 1 or 2. Default: derived from `network_interfaces`."),
		}),
		"console": values.OptionalComputedObject("Serial console. Default: one that `virsh console` shows.", values.Attributes{
			"type":     values.OneOf("pty", "tcp", "none").OptionalComputed("`pty`, `tcp`, which listens at a port of the hypervisor, or `none`. Default: `pty`."),
			"log_file": values.Path.Optional("Path on the hypervisor of a file that everything the guest writes to it is appended to."),
			"address":  values.Address.OptionalComputed("Address of the hypervisor at which a console of type `tcp` listens. Nobody is asked for a password there. Default: `127.0.0.1`.", values.Address.KeepSpelling()),
			"port":     values.Port().Optional("Port at which a console of type `tcp` listens; required for it."),
			"protocol": values.OneOf("raw", "telnet").OptionalComputed("What is spoken there: `raw` or `telnet`. Default: `raw`."),
		}),
	}
}
