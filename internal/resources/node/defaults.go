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

// keepOrDefault fills in what the configuration leaves open: what the node has already, or else the default.
func keepOrDefault[T attr.Value](planned *T, config, prior, fallback T) {
	if config.IsUnknown() {
		*planned = config // as a whole, and not what is in it
	}
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

// fillDefault fills in a default, whatever was there before.
func fillDefault[T attr.Value](planned *T, config, fallback T) {
	if config.IsNull() {
		*planned = fallback
	}
}

// completeVersion fills in everything the configuration leaves open. A node that does not exist yet has an empty
// prior version.
func completeVersion(planned, config, prior *version) {
	keepOrDefault(&planned.Type, config.Type, prior.Type, types.StringValue("kvm"))
	keepOrDefault(&planned.MemoryMiB, config.MemoryMiB, prior.MemoryMiB, types.Int64Value(1024))
	keepOrDefault(&planned.VCPUs, config.VCPUs, prior.VCPUs, types.Int64Value(1))
	keepMaximum(&planned.MaxMemoryMiB, config.MaxMemoryMiB, prior.MaxMemoryMiB, planned.MemoryMiB)
	keepMaximum(&planned.MaxVCPUs, config.MaxVCPUs, prior.MaxVCPUs, planned.VCPUs)
	keepOrDefault(&planned.Machine, config.Machine, prior.Machine, types.StringValue("q35"))
	keepOrDefault(&planned.Firmware, config.Firmware, prior.Firmware, types.StringValue("bios"))
	keepOrDefault(&planned.Autostart, config.Autostart, prior.Autostart, types.BoolValue(true))
	keepOrDefault(&planned.Graphics, config.Graphics, prior.Graphics, types.StringValue("none"))
	keepOrDefault(&planned.GuestAgent, config.GuestAgent, prior.GuestAgent, types.BoolValue(true))
	keepOrDefault(&planned.RNG, config.RNG, prior.RNG, types.BoolValue(true))
	// A node that stopped is to be started, and leaving the others out takes back what was said before.
	fillDefault(&planned.Power, config.Power, types.StringValue(machine.Managed))
	if planned.Power.ValueString() == machine.External {
		keepOrDefault(&planned.Running, config.Running, prior.Running, types.BoolValue(true))
	} else {
		fillDefault(&planned.Running, config.Running, types.BoolValue(true))
	}
	fillDefault(&planned.AllowRestart, config.AllowRestart, types.BoolValue(false))
	fillDefault(&planned.ShutdownTimeout, config.ShutdownTimeout, types.StringValue(defaultShutdownTimeout))
	fillDefault(&planned.WaitFor, config.WaitFor, types.StringValue(defaultWaitFor))
	completeCPU(planned, config, prior)
	completeDisks(planned, config, prior)
	completeBoot(planned, config, prior)
	completeConsole(planned, config, prior)
	completeDevices(planned, config, prior)
	completeMemory(planned, config, prior)
	completeInterfaces(planned, config, prior)
	completeCloudInit(planned, config, prior)
}

// keepMaximum fills in a maximum that the configuration leaves open: the prior one, and at least the current value.
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
	if config.unknown["cpu"] || planned.Type.IsUnknown() {
		return
	}
	if config.CPU == nil {
		if prior.CPU != nil && prior.Type.Equal(planned.Type) {
			planned.CPU = prior.CPU
			return
		}
		planned.CPU = defaultCPU(planned.Type.ValueString())
		return
	}
	c := planned.CPU
	if c == nil {
		c = &cpuModel{}
		planned.CPU = c
	}
	given := config.CPU
	c.Nested = given.Nested
	completeLayout(c, given, prior.CPU)
	usual := defaultCPU(planned.Type.ValueString())
	if was := prior.CPU; was != nil && prior.Type.Equal(planned.Type) {
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

// defaultCPU returns the hypervisor's own processor, or for emulation the oldest one that today's distributions run on
// (x86-64-v2): emulating more, such as AVX, makes guests boot at half the speed.
func defaultCPU(virtualisation string) *cpuModel {
	if virtualisation == "kvm" {
		return &cpuModel{Mode: types.StringValue("host-passthrough"), Topology: asObject(machine.Topology{}), Pinning: types.MapNull(types.StringType)}
	}
	return &cpuModel{Mode: types.StringValue("custom"), Model: types.StringValue("Nehalem"), Topology: asObject(machine.Topology{}), Pinning: types.MapNull(types.StringType)}
}

func completeDisks(planned, config, prior *version) {
	virtio := types.StringValue("virtio")
	if r, given := planned.Root, config.Root; r != nil && given != nil {
		was := rootModel{}
		if prior.Root != nil {
			was = *prior.Root
		}
		keepOrDefault(&r.Bus, given.Bus, was.Bus, virtio)
		r.completeTuning(given.diskTuningModel, was.diskTuningModel, r.Bus)
		completeFormat(&r.Format, given.Format, was.Format, given.Volume, was.Volume)
		switch {
		case given.isAttached():
			completeAttachedRoot(r, given, &was)
		case !given.SizeGiB.IsNull():
		case was.SizeGiB.ValueInt64() != 0:
			r.SizeGiB = was.SizeGiB
		case given.Image.IsNull(): // nothing says how large it is
			r.SizeGiB = types.Int64Null()
		default:
			r.SizeGiB = types.Int64Unknown()
		}
		if !given.isAttached() {
			keepOrDefault(&r.Pool, given.Pool, was.Pool, types.StringUnknown())
		}
	}
	for key, d := range planned.Disks {
		given, was := config.Disks[key], prior.Disks[key]
		keepOrDefault(&d.Bus, given.Bus, was.Bus, virtio)
		d.completeTuning(given.diskTuningModel, was.diskTuningModel, d.Bus)
		completeFormat(&d.Format, given.Format, was.Format, given.Volume, was.Volume)
		switch {
		case given.Volume.IsUnknown(): // it may be none, and then the disk is the node's own
			fillDefault(&d.SizeGiB, given.SizeGiB, types.Int64Unknown())
			fillDefault(&d.Pool, given.Pool, types.StringUnknown())
		case !given.Volume.IsNull():
			// An attached volume has its own size and pool.
			d.SizeGiB, d.Pool = given.SizeGiB, given.Pool
		default:
			rootPool := types.StringValue("default")
			if planned.Root != nil {
				rootPool = planned.Root.Pool
			}
			keepOrDefault(&d.Pool, given.Pool, was.Pool, rootPool)
			keepOrDefault(&d.SizeGiB, given.SizeGiB, was.SizeGiB, types.Int64Null())
		}
		planned.Disks[key] = d
	}
}

func completeBoot(planned, config, prior *version) {
	if config.Boot == nil && !config.unknown["boot"] {
		switch was := prior.Boot; {
		case config.unknown["root_disk"]:
		case was != nil && was.bootsByDefault(config.Root != nil):
			planned.Boot = was
		default:
			planned.Boot = &bootModel{Order: convert.ListOrNull(machine.DefaultOrder(config.Root != nil))}
		}
		return
	}
	b, given := planned.Boot, config.Boot
	if b == nil || given == nil || !given.Order.IsNull() {
		return
	}
	if prior.Boot != nil && convert.Known(prior.Boot.Order) {
		b.Order = prior.Boot.Order
		return
	}
	b.Order = convert.ListOrNull(machine.DefaultOrder(config.Root != nil))
}

// bootsByDefault says that a node boots as one does whose configuration says nothing about it.
func (b *bootModel) bootsByDefault(root bool) bool {
	direct := b.Kernel.ValueString() != "" || b.Initrd.ValueString() != "" || b.Cmdline.ValueString() != ""
	return !direct && (b.Order.IsNull() || slices.Equal(convert.Texts(b.Order), machine.DefaultOrder(root)))
}

// completeCloudInit keeps a prior cloud_init that says nothing where the node has its cloud-init disk without it too.
func completeCloudInit(planned, config, prior *version) {
	if config.CloudInit != nil || config.unknown["cloud_init"] {
		return
	}
	planned.CloudInit = nil
	delete(planned.unknown, "cloud_init")
	if was := prior.CloudInit; was != nil && *was == (cloudInitModel{}) && planned.toSpec().HasSeed() {
		planned.CloudInit = was
	}
}

func completeConsole(planned, config, prior *version) {
	if config.unknown["console"] {
		return
	}
	if config.Console == nil {
		planned.Console = prior.Console
		if prior.Console == nil {
			planned.Console = &consoleModel{Type: types.StringValue("pty")}
		}
		return
	}
	c, given := planned.Console, config.Console
	if c == nil {
		return
	}
	fillDefault(&c.Type, given.Type, types.StringValue("pty"))
	address, protocol := types.StringNull(), types.StringNull()
	switch {
	case c.Type.IsUnknown():
		address, protocol = types.StringUnknown(), types.StringUnknown()
	case c.Type.ValueString() == "tcp":
		address, protocol = types.StringValue("127.0.0.1"), types.StringValue("raw")
	}
	fillDefault(&c.Address, given.Address, address)
	fillDefault(&c.Protocol, given.Protocol, protocol)
}
