package node

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/machine"
)

// fill writes what the hypervisor says into a version, which keeps its own spelling where the meaning is the
// same. A version without a type was just imported: then what nobody can ask for is guessed.
func (n *node) fill(ctx context.Context, c *hypervisor.Client, v *version, d *hypervisor.Domain) error {
	m, err := located(ctx, c, d)
	if err != nil {
		return err
	}
	imported := v.Type.IsNull()
	v.ID, v.Name = types.StringValue(d.UUID), types.StringValue(d.Name)
	v.Type = types.StringValue(m.Type)
	v.MemoryMiB, v.MaxMemoryMiB = types.Int64Value(m.Memory), types.Int64Value(m.MaxMemory)
	v.VCPUs, v.MaxVCPUs = types.Int64Value(m.VCPUs), types.Int64Value(m.MaxVCPUs)
	v.Role = keepEmpty(v.Role, m.Mark.Role)
	v.fillLabels(m)
	v.fillCPU(m)
	v.fillChipset(m)
	v.Firmware, v.Graphics = types.StringValue(m.Firmware), types.StringValue(m.Graphics)
	v.GuestAgent, v.RNG = types.BoolValue(m.GuestAgent), types.BoolValue(m.RNG)
	v.Autostart, v.Running, v.State = types.BoolValue(d.Autostart), types.BoolValue(d.State == "running"), types.StringValue(d.State)
	v.parts.Console = &consoleModel{Type: types.StringValue(m.Console.Type), LogFile: optional(m.Console.LogFile)}
	v.fillBoot(m)
	if err := n.fillDisks(ctx, c, v, d, m, imported); err != nil {
		return err
	}
	if err := n.fillInterfaces(ctx, c, v, d, m); err != nil {
		return err
	}
	if imported {
		if err := n.fillImported(ctx, c, v, m); err != nil {
			return err
		}
		v.emptyCollections()
	}
	return n.fillAddresses(ctx, c, v, d)
}

// keepEmpty keeps an empty string that was written as such; otherwise nothing is null.
func keepEmpty(was types.String, got string) types.String {
	if got == "" && known(was) && was.ValueString() == "" {
		return was
	}
	return optional(got)
}

func (v *version) fillLabels(m *machine.Machine) {
	if len(m.Mark.Labels) == 0 && (v.Labels.IsNull() || len(v.Labels.Elements()) == 0) {
		if v.Labels.IsUnknown() || v.Labels.ElementType(context.Background()) == nil {
			v.Labels = types.MapNull(types.StringType)
		}
		return
	}
	labels := map[string]attr.Value{}
	for _, l := range m.Mark.Labels {
		labels[l.Name] = types.StringValue(l.Value)
	}
	v.Labels = types.MapValueMust(types.StringType, labels)
}

func (v *version) fillCPU(m *machine.Machine) {
	c := &cpuModel{Mode: types.StringValue(m.CPU.Mode), Model: optional(m.CPU.Model), Nested: types.BoolPointerValue(m.CPU.Nested)}
	if m.CPU.Mode == "" {
		c.Mode = types.StringNull()
	}
	v.parts.CPU = c
}

func (v *version) fillChipset(m *machine.Machine) {
	if machine.SameChipset(v.Machine.ValueString(), m.Chipset) {
		return
	}
	for _, short := range []string{"q35", "pc"} {
		if v.Machine.IsNull() && machine.SameChipset(short, m.Chipset) {
			v.Machine = types.StringValue(short)
			return
		}
	}
	v.Machine = types.StringValue(m.Chipset)
}

// fillBoot keeps an empty string that was written as such.
func (v *version) fillBoot(m *machine.Machine) {
	b := v.parts.Boot
	if b == nil {
		b = &bootModel{Order: types.ListNull(types.StringType)}
		v.parts.Boot = b
	}
	if len(m.Boot.Order) > 0 {
		b.Order = textList(m.Boot.Order)
	}
	b.Kernel, b.Initrd, b.Cmdline = keepEmpty(b.Kernel, m.Boot.Kernel), keepEmpty(b.Initrd, m.Boot.Initrd), keepEmpty(b.Cmdline, m.Boot.Cmdline)
}

// fillDisks reads the disks and their sizes; a disk that is gone is gone from state.
func (n *node) fillDisks(ctx context.Context, c *hypervisor.Client, v *version, d *hypervisor.Domain, m *machine.Machine, imported bool) error {
	wasRoot, was := v.Root, v.parts.Disks
	v.Root, v.parts.Disks = nil, map[string]diskModel{}
	for _, disk := range m.Disks {
		if disk.Key == machine.Seed {
			continue
		}
		own := m.Mark.Disk(disk.Key)
		if disk.Key != machine.Root && own.Key != "" && !own.Leaving && d.Active() && machine.FindDisk(d.Live, disk.Target) == nil {
			continue // somebody took it from what runs
		}
		if disk.Key == machine.Root {
			r, err := n.readRoot(ctx, c, wasRoot, d, disk, own)
			if err != nil {
				return err
			}
			v.Root = r
			continue
		}
		x := was[disk.Key]
		x.Bus = types.StringValue(disk.Bus)
		if own.Volume == "" && (known(x.Volume) || imported || x.Pool.IsNull()) {
			x.Volume, x.SizeGiB, x.Pool = types.StringValue(disk.Path), types.Int64Null(), types.StringNull()
		} else {
			gib, err := sizeOf(ctx, c, d, disk)
			if err != nil {
				return err
			}
			x.SizeGiB = types.Int64Value(gib)
			x.Volume = types.StringNull()
			if err := n.fillPool(ctx, c, &x.Pool, own.Pool, disk.Path); err != nil {
				return err
			}
		}
		v.parts.Disks[disk.Key] = x
	}
	if v.Root == nil {
		v.RootDisk = types.ObjectNull(attributeTypes()["root_disk"].(types.ObjectType).AttrTypes)
	}
	if len(v.parts.Disks) == 0 {
		v.parts.Disks = nil
		if !known(v.model.Disks) || len(v.model.Disks.Elements()) > 0 {
			v.model.Disks = types.MapNull(attributeTypes()["disks"].(types.MapType).ElemType)
		}
	}
	return nil
}

// sizeOf is a disk's size in GiB, and 0 where its volume is gone: somebody removed it, or a destroy did that ended early.
func sizeOf(ctx context.Context, c *hypervisor.Client, d *hypervisor.Domain, disk machine.Disk) (int64, error) {
	capacity, err := capacityOf(ctx, c, d, disk)
	if hypervisor.Code(err) != 0 {
		if _, gone := c.VolumeByPath(ctx, disk.Path); hypervisor.IsNotFound(gone) {
			return lost, nil
		}
	}
	return ceilGiB(capacity), err
}

// lost is the size in state of a disk whose volume is gone.
const lost = 0

func (n *node) readRoot(ctx context.Context, c *hypervisor.Client, was *rootModel, d *hypervisor.Domain, disk machine.Disk, own machine.MarkedDisk) (*rootModel, error) {
	r := &rootModel{}
	if was != nil {
		*r = *was
	}
	gib, err := sizeOf(ctx, c, d, disk)
	if err != nil {
		return nil, err
	}
	r.SizeGiB, r.Bus = types.Int64Value(gib), types.StringValue(disk.Bus)
	if was == nil { // imported: what it is an overlay of only the volume knows
		volume, err := c.VolumeByPath(ctx, disk.Path)
		if err != nil && !hypervisor.IsNotFound(err) {
			return nil, err
		}
		if err == nil {
			r.Image = optional(volume.Backing())
		}
	}
	return r, n.fillPool(ctx, c, &r.Pool, own.Pool, disk.Path)
}

// fillPool writes a pool's name, unless what is there is the same pool by its id.
func (n *node) fillPool(ctx context.Context, c *hypervisor.Client, into *types.String, pool, path string) error {
	if pool == "" {
		volume, err := c.VolumeByPath(ctx, path)
		if hypervisor.IsNotFound(err) {
			if into.IsUnknown() {
				*into = types.StringNull()
			}
			return nil // a disk outside every pool
		}
		if err != nil {
			return err
		}
		pool = volume.Pool
	}
	if was := into.ValueString(); hypervisor.IsUUID(was) {
		if p, err := n.facts.pool(ctx, c, was); err == nil && p.Name() == pool {
			return nil
		}
	}
	*into = types.StringValue(pool)
	return nil
}
