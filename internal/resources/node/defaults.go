package node

import (
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/machine"
)

// Defaults of how Terraform treats a node.
const (
	defaultShutdownTimeout = "60s"
	defaultWaitFor         = "none"
)

// version is one of configuration, plan and state, with its nested attributes decoded.
type version struct {
	model
	parts
}

// keep fills in what the configuration leaves open: what the node has already, or else the default.
func keep[T attr.Value](planned *T, config, prior, fallback T) {
	if !config.IsNull() {
		return
	}
	if convert.Known(prior) {
		*planned = prior
		return
	}
	if (*planned).IsUnknown() || (*planned).IsNull() {
		*planned = fallback
	}
}

// otherwise fills in a default, whatever was there before.
func otherwise[T attr.Value](planned *T, config, fallback T) {
	if config.IsNull() {
		*planned = fallback
	}
}

// complete fills in everything the configuration leaves open. A node that does not exist yet has an empty
// prior version.
func complete(planned, config, prior *version) {
	keep(&planned.Type, config.Type, prior.Type, types.StringValue("kvm"))
	keep(&planned.MemoryMiB, config.MemoryMiB, prior.MemoryMiB, types.Int64Value(1024))
	keep(&planned.VCPUs, config.VCPUs, prior.VCPUs, types.Int64Value(1))
	keepMaximum(&planned.MaxMemoryMiB, config.MaxMemoryMiB, prior.MaxMemoryMiB, planned.MemoryMiB)
	keepMaximum(&planned.MaxVCPUs, config.MaxVCPUs, prior.MaxVCPUs, planned.VCPUs)
	keep(&planned.Machine, config.Machine, prior.Machine, types.StringValue("q35"))
	keep(&planned.Firmware, config.Firmware, prior.Firmware, types.StringValue("bios"))
	keep(&planned.Autostart, config.Autostart, prior.Autostart, types.BoolValue(true))
	keep(&planned.Graphics, config.Graphics, prior.Graphics, types.StringValue("none"))
	keep(&planned.GuestAgent, config.GuestAgent, prior.GuestAgent, types.BoolValue(true))
	keep(&planned.RNG, config.RNG, prior.RNG, types.BoolValue(true))
	// A node that stopped is to be started, and leaving the others out takes back what was said before.
	otherwise(&planned.Running, config.Running, types.BoolValue(true))
	otherwise(&planned.AllowRestart, config.AllowRestart, types.BoolValue(false))
	otherwise(&planned.ShutdownTimeout, config.ShutdownTimeout, types.StringValue(defaultShutdownTimeout))
	otherwise(&planned.WaitFor, config.WaitFor, types.StringValue(defaultWaitFor))
	completeCPU(planned, config, prior)
	completeDisks(planned, config, prior)
	completeBoot(planned, config, prior)
	completeConsole(planned, config, prior)
	completeInterfaces(planned, config, prior)
	completeCloudInit(planned, config, prior)
}

// keepMaximum is at least what there is now.
func keepMaximum(planned *types.Int64, config, prior, current types.Int64) {
	switch {
	case !config.IsNull():
	case current.IsUnknown():
		*planned = types.Int64Unknown()
	case convert.Known(prior) && prior.ValueInt64() >= current.ValueInt64():
		*planned = prior
	default:
		*planned = current
	}
}

func completeCPU(planned, config, prior *version) {
	if config.model.CPU.IsUnknown() || planned.Type.IsUnknown() {
		return
	}
	if config.parts.CPU == nil {
		if prior.parts.CPU != nil && prior.Type.Equal(planned.Type) {
			planned.parts.CPU = prior.parts.CPU
			return
		}
		planned.parts.CPU = defaultCPU(planned.Type.ValueString())
		return
	}
	c := planned.parts.CPU
	if c == nil {
		c = &cpuModel{}
		planned.parts.CPU = c
	}
	given := config.parts.CPU
	c.Nested = given.Nested
	usual := defaultCPU(planned.Type.ValueString())
	if was := prior.parts.CPU; was != nil && prior.Type.Equal(planned.Type) {
		usual = was
	}
	switch {
	case given.Mode.IsNull() && given.Model.IsNull():
		c.Mode, c.Model = usual.Mode, usual.Model
	case given.Mode.IsNull():
		c.Mode = types.StringValue("custom")
	case given.Model.IsNull():
		c.Model = types.StringNull()
	}
}

// defaultCPU is the hypervisor's own processor, or for emulation the oldest one that today's distributions
// run on (x86-64-v2): emulating more, such as AVX, makes guests boot at half the speed.
func defaultCPU(virtualisation string) *cpuModel {
	if virtualisation == "kvm" {
		return &cpuModel{Mode: types.StringValue("host-passthrough")}
	}
	return &cpuModel{Mode: types.StringValue("custom"), Model: types.StringValue("Nehalem")}
}

func completeDisks(planned, config, prior *version) {
	virtio := types.StringValue("virtio")
	if r, given := planned.Root, config.Root; r != nil && given != nil {
		was := rootModel{}
		if prior.Root != nil {
			was = *prior.Root
		}
		keep(&r.Bus, given.Bus, was.Bus, virtio)
		switch {
		case !given.SizeGiB.IsNull():
		case was.SizeGiB.ValueInt64() != 0:
			r.SizeGiB = was.SizeGiB
		case given.Image.IsNull(): // nothing says how large it is
			r.SizeGiB = types.Int64Null()
		default:
			r.SizeGiB = types.Int64Unknown()
		}
		keep(&r.Pool, given.Pool, was.Pool, types.StringUnknown())
	}
	for key, d := range planned.parts.Disks {
		given, was := config.parts.Disks[key], prior.parts.Disks[key]
		keep(&d.Bus, given.Bus, was.Bus, virtio)
		if !given.Volume.IsNull() { // a volume that is known later is attached too
			// An attached volume has its own size and pool.
			d.SizeGiB, d.Pool = given.SizeGiB, given.Pool
		} else {
			rootPool := types.StringValue("default")
			if planned.Root != nil {
				rootPool = planned.Root.Pool
			}
			keep(&d.Pool, given.Pool, was.Pool, rootPool)
			keep(&d.SizeGiB, given.SizeGiB, was.SizeGiB, types.Int64Null())
		}
		planned.parts.Disks[key] = d
	}
}

func completeBoot(planned, config, prior *version) {
	if config.model.Boot.IsNull() {
		switch was := prior.parts.Boot; {
		case config.RootDisk.IsUnknown():
		case was != nil && was.usual(!config.RootDisk.IsNull()):
			planned.parts.Boot = was
		default:
			planned.parts.Boot = &bootModel{Order: textList(machine.DefaultOrder(!config.RootDisk.IsNull()))}
		}
		return
	}
	b, given := planned.parts.Boot, config.parts.Boot
	if b == nil || given == nil || !given.Order.IsNull() {
		return
	}
	if prior.parts.Boot != nil && convert.Known(prior.parts.Boot.Order) {
		b.Order = prior.parts.Boot.Order
		return
	}
	b.Order = textList(machine.DefaultOrder(!config.RootDisk.IsNull()))
}

// usual says that a node boots as one does whose configuration says nothing about it.
func (b *bootModel) usual(root bool) bool {
	direct := b.Kernel.ValueString() != "" || b.Initrd.ValueString() != "" || b.Cmdline.ValueString() != ""
	return !direct && (b.Order.IsNull() || slices.Equal(texts(b.Order), machine.DefaultOrder(root)))
}

// completeCloudInit keeps a prior version that says nothing where the node has its disk without it, too.
func completeCloudInit(planned, config, prior *version) {
	if !config.model.CloudInit.IsNull() {
		return
	}
	planned.parts.CloudInit, planned.model.CloudInit = nil, types.ObjectNull(attributeTypes()["cloud_init"].(types.ObjectType).AttrTypes)
	if was := prior.parts.CloudInit; was != nil && *was == (cloudInitModel{}) && planned.spec().Seeded() {
		planned.parts.CloudInit = was
	}
}

func completeConsole(planned, config, prior *version) {
	if config.model.Console.IsUnknown() {
		return
	}
	if config.parts.Console == nil {
		planned.parts.Console = prior.parts.Console
		if prior.parts.Console == nil {
			planned.parts.Console = &consoleModel{Type: types.StringValue("pty")}
		}
		return
	}
	if planned.parts.Console != nil && config.parts.Console.Type.IsNull() {
		planned.parts.Console.Type = types.StringValue("pty")
	}
}
