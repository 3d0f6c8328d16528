package node

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"libvirt.org/go/libvirtxml"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/machine"
)

// ownVolume is a volume that lives and dies with the node.
type ownVolume struct {
	key string
	// path is the attribute that it comes from.
	path []any
	pool *hypervisor.Pool
	xml  *libvirtxml.StorageVolume
	// content is uploaded where it is not nil.
	content []byte
	// made is set once the volume may exist, and there where it did before.
	made, there bool
}

func (v *ownVolume) file() string { return v.pool.Path() + "/" + v.xml.Name }

// root adds the root disk: an overlay of the image, or an empty disk.
func (r *resolver) root(ctx context.Context, b *build) error {
	root := r.v.Root
	if root == nil {
		return nil
	}
	if had := r.had(machine.Root); had != nil {
		b.keep(*had, root.Bus.ValueString())
		return nil
	}
	var image *hypervisor.Volume
	if path := root.Image.ValueString(); path != "" {
		var err error
		if image, err = r.facts.image(ctx, r.client, path); err != nil {
			return err
		}
	}
	pool, err := r.facts.pool(ctx, r.client, rootPool(root, image))
	if err != nil {
		return err
	}
	gib := root.SizeGiB.ValueInt64()
	if gib == 0 && image != nil {
		gib = ceilGiB(image.Capacity())
	}
	if gib == 0 {
		return errors.New("a root disk without an image needs a size_gib")
	}
	own := ownVolume{key: machine.Root, path: at("root_disk"), pool: pool, xml: diskVolume(r.v.Name.ValueString()+"-root", pool, gib)}
	if image != nil {
		if !pool.Files() {
			return fmt.Errorf("an overlay of an image must be a file, and the volumes of storage pool %q (%s) are not", pool.Name(), pool.Type())
		}
		own.xml.BackingStore = &libvirtxml.StorageVolumeBackingStore{
			Path: image.Path(), Format: &libvirtxml.StorageVolumeTargetFormat{Type: image.Format()},
		}
	}
	b.add(own, root.Bus.ValueString(), false)
	return nil
}

// rootPool is the root disk's pool: what is asked for, or where the image is.
func rootPool(root *rootModel, image *hypervisor.Volume) string {
	switch {
	case known(root.Pool):
		return root.Pool.ValueString()
	case image != nil:
		return image.Pool
	}
	return "default"
}

// disks adds the further disks in the order of their keys.
func (r *resolver) disks(ctx context.Context, b *build) error {
	for _, key := range slices.Sorted(maps.Keys(r.v.parts.Disks)) {
		d := r.v.parts.Disks[key]
		if path := d.Volume.ValueString(); path != "" {
			volume, err := r.facts.image(ctx, r.client, path)
			if err != nil {
				return err
			}
			if had := r.had(key); had != nil && had.Path == volume.Path() {
				b.keep(*had, d.Bus.ValueString()) // as its XML has it
				continue
			}
			b.machine.Disks = append(b.machine.Disks, machine.Disk{
				Key: key, Path: volume.Path(), Block: volume.XML.Type == "block", Format: rawOr(volume.Format()), Bus: d.Bus.ValueString(),
			})
			continue
		}
		if had := r.had(key); had != nil && !r.lost[key] && r.existing.Mark.Disk(key).Pool == r.poolName(ctx, d.Pool.ValueString()) {
			b.keep(*had, d.Bus.ValueString())
			continue
		}
		name := d.Pool.ValueString()
		if name == "" && len(b.volumes) > 0 {
			name = b.volumes[0].pool.Name()
		}
		pool, err := r.facts.pool(ctx, r.client, name)
		if err != nil {
			return err
		}
		b.add(ownVolume{key: key, path: at("disks", service.Key(key)), pool: pool, xml: diskVolume(r.v.Name.ValueString()+"-"+key, pool, d.SizeGiB.ValueInt64())}, d.Bus.ValueString(), false)
	}
	return nil
}

// keep adds a disk that the machine has already.
func (b *build) keep(had machine.Disk, bus string) {
	had.Bus = bus
	b.machine.Disks = append(b.machine.Disks, had)
}

// poolName resolves a pool's id; a pool that cannot be asked about keeps what it was called.
func (r *resolver) poolName(ctx context.Context, ref string) string {
	if !hypervisor.IsUUID(ref) {
		return ref
	}
	p, err := r.facts.pool(ctx, r.client, ref)
	if err != nil {
		return ref
	}
	return p.Name()
}

// add adds a volume of the node's own as a disk.
func (b *build) add(own ownVolume, bus string, readOnly bool) {
	b.volumes = append(b.volumes, own)
	b.machine.Disks = append(b.machine.Disks, machine.Disk{
		Key: own.key, Path: own.file(), Block: !own.pool.Files(), Format: own.format(), Bus: bus, ReadOnly: readOnly,
	})
}

func (v *ownVolume) format() string {
	if f := v.xml.Target; f != nil && f.Format != nil {
		return f.Format.Type
	}
	return "raw"
}

// rawOr is the format by which QEMU reads a volume: block devices and images have none of their own.
func rawOr(format string) string {
	if format == "qcow2" {
		return format
	}
	return "raw"
}

// diskVolume is an empty volume: a qcow2 file, or a plain device where the pool has no files.
func diskVolume(base string, pool *hypervisor.Pool, gib int64) *libvirtxml.StorageVolume {
	v := &libvirtxml.StorageVolume{Name: base, Capacity: &libvirtxml.StorageVolumeSize{Unit: "bytes", Value: uint64(gib) << 30}}
	if pool.Files() {
		v.Name = base + ".qcow2"
		v.Target = &libvirtxml.StorageVolumeTarget{Format: &libvirtxml.StorageVolumeTargetFormat{Type: "qcow2"}}
	}
	return v
}

// contentVolume is a raw file of exactly this content.
func contentVolume(name string, content []byte) *libvirtxml.StorageVolume {
	return &libvirtxml.StorageVolume{
		Name: name, Capacity: &libvirtxml.StorageVolumeSize{Unit: "bytes", Value: uint64(len(content))},
		Target: &libvirtxml.StorageVolumeTarget{Format: &libvirtxml.StorageVolumeTargetFormat{Type: "raw"}},
	}
}

func ceilGiB(bytes uint64) int64 { return int64((bytes + 1<<30 - 1) >> 30) }
