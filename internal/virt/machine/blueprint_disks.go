package machine

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"libvirt.org/go/libvirtxml"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/storage"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/storage/upload"
)

// ownVolume is a volume that lives and dies with the node.
type ownVolume struct {
	key string
	// path is the attribute that it comes from.
	path []any
	pool *hypervisor.Pool
	xml  *libvirtxml.StorageVolume
	// content is uploaded where it is not nil, and what is at url where that is not "".
	content []byte
	url     string
	// made is set once the volume may exist, and there where it did before.
	made, there bool
}

// hasContent says that the volume's content is the provider's.
func (v *ownVolume) hasContent() bool { return v.content != nil || v.url != "" }

// openContent starts to read the content.
func (v *ownVolume) openContent(ctx context.Context) (io.ReadCloser, error) {
	if v.url != "" {
		return openDisc(ctx, v.url, upload.Source.Open)
	}
	return io.NopCloser(bytes.NewReader(v.content)), nil
}

func (v *ownVolume) filePath() string { return v.pool.Path() + "/" + v.xml.Name }

// addRoot adds the root disk: an overlay of the image, or an empty disk.
func (r *resolver) addRoot(ctx context.Context, b *blueprint) error {
	root := r.spec.Root
	if root == nil {
		return nil
	}
	if existing := r.existingDisk(Root); existing != nil {
		b.keepDisk(*existing, root.Bus, root.DiskTuning)
		return nil
	}
	if root.Volume != "" {
		return r.attachVolume(ctx, b, Root, DiskSpec{Volume: root.Volume, Format: root.Format, Bus: root.Bus, DiskTuning: root.DiskTuning})
	}
	var image *hypervisor.Volume
	if root.Image != "" {
		var err error
		if image, err = r.cache.Volume(ctx, r.client, root.Image); err != nil {
			return err
		}
	}
	pool, err := r.cache.Pool(ctx, r.client, chooseRootPool(root, image))
	if err != nil {
		return err
	}
	gib := root.SizeGiB
	if gib == 0 && image != nil {
		gib = image.CapacityGiB()
	}
	if gib == 0 {
		return errors.New("a root disk without an image needs a size_gib")
	}
	own := ownVolume{key: Root, path: pathTo("root_disk"), pool: pool, xml: newDiskVolume(r.spec.Name+"-root", pool, gib)}
	if image != nil {
		if !pool.Files() {
			return fmt.Errorf("an overlay of an image must be a file, and the volumes of storage pool %q (%s) are not", pool.Name(), pool.Type())
		}
		own.xml.BackingStore = &libvirtxml.StorageVolumeBackingStore{
			Path: image.Path(), Format: &libvirtxml.StorageVolumeTargetFormat{Type: image.Format()},
		}
	}
	b.addVolume(own, root.Bus, root.DiskTuning)
	return nil
}

// chooseRootPool returns the root disk's pool: what is asked for, or where the image is.
func chooseRootPool(root *RootSpec, image *hypervisor.Volume) string {
	switch {
	case root.Pool != "":
		return root.Pool
	case image != nil:
		return image.Pool
	}
	return "default"
}

// addDisks adds the further disks in the order of their keys.
func (r *resolver) addDisks(ctx context.Context, b *blueprint) error {
	for _, key := range slices.Sorted(maps.Keys(r.spec.Disks)) {
		d, existing := r.spec.Disks[key], r.existingDisk(key)
		if d.Volume != "" {
			if err := r.attachVolume(ctx, b, key, d); err != nil {
				return err
			}
			continue
		}
		if existing != nil && !r.lost[key] {
			if own := r.existing.Mark.Disk(key); own.Volume != "" && own.Pool == r.resolvePoolName(ctx, d.Pool) {
				b.keepDisk(*existing, d.Bus, d.DiskTuning)
				continue
			}
		}
		name := d.Pool
		if name == "" && len(b.volumes) > 0 {
			name = b.volumes[0].pool.Name()
		}
		pool, err := r.cache.Pool(ctx, r.client, name)
		if err != nil {
			return err
		}
		b.addVolume(ownVolume{key: key, path: pathTo("disks", service.Key(key)), pool: pool, xml: newDiskVolume(r.spec.Name+"-"+key, pool, d.SizeGiB)}, d.Bus, d.DiskTuning)
	}
	return nil
}

// attachVolume adds a disk that is a volume, or a block device of no pool, which is there and outlives the machine.
func (r *resolver) attachVolume(ctx context.Context, b *blueprint, key string, d DiskSpec) error {
	existing := r.existingDisk(key)
	if existing != nil && existing.Path == d.Volume {
		b.keepAttached(*existing, d)
		return nil
	}
	volume, err := r.cache.Volume(ctx, r.client, d.Volume)
	if IsMissing(err) {
		return r.attachDevice(ctx, b, key, d, err)
	}
	if err != nil {
		return err
	}
	if existing != nil && existing.Path == volume.Path() {
		b.keepAttached(*existing, d)
		return nil
	}
	b.machine.Disks = append(b.machine.Disks, Disk{
		Key: key, Path: volume.Path(), Block: volume.XML.Type == "block", Format: cmp.Or(d.Format, formatOrRaw(volume.Format())), Bus: d.Bus, DiskTuning: d.DiskTuning,
	})
	return nil
}

// keepAttached adds an attached volume that the machine has already, as its XML has it. A layer upon it has a format of its own.
func (b *blueprint) keepAttached(existing Disk, d DiskSpec) {
	if existing.Layer == "" {
		existing.Format = cmp.Or(d.Format, existing.Format)
	}
	b.keepDisk(existing, d.Bus, d.DiskTuning)
}

// keepDisk adds a disk that the machine has already.
func (b *blueprint) keepDisk(existing Disk, bus string, tuning DiskTuning) {
	existing.Bus, existing.DiskTuning = bus, tuning
	b.machine.Disks = append(b.machine.Disks, existing)
}

// resolvePoolName returns the name of a pool that is given by name or id. For a pool that cannot be asked about it returns what
// was given.
func (r *resolver) resolvePoolName(ctx context.Context, ref string) string {
	if !hypervisor.IsUUID(ref) {
		return ref
	}
	p, err := r.cache.Pool(ctx, r.client, ref)
	if err != nil {
		return ref
	}
	return p.Name()
}

// addVolume adds a volume of the node's own as a disk.
func (b *blueprint) addVolume(own ownVolume, bus string, tuning DiskTuning) {
	b.volumes = append(b.volumes, own)
	b.machine.Disks = append(b.machine.Disks, Disk{
		Key: own.key, Path: own.filePath(), Block: !own.pool.Files(), Format: own.volumeFormat(), Bus: bus, DiskTuning: tuning,
	})
}

func (v *ownVolume) volumeFormat() string {
	if f := v.xml.Target; f != nil && f.Format != nil {
		return f.Format.Type
	}
	return "raw"
}

// formatsToSay are those that a guest reads only where somebody says so: libvirt finds out by the first bytes, which a guest can write.
var formatsToSay = []string{"qed", "vdi", "vmdk", "vpc"}

// formatOrRaw is the format by which QEMU reads a volume: block devices and images have none of their own.
func formatOrRaw(format string) string {
	if format == "qcow2" {
		return format
	}
	return "raw"
}

// newDiskVolume returns an empty volume: a qcow2 file, or a plain device where the pool has no files.
func newDiskVolume(base string, pool *hypervisor.Pool, gib int64) *libvirtxml.StorageVolume {
	if pool.Files() {
		return storage.NewMarkedVolume(base+".qcow2", "qcow2", uint64(gib)<<30)
	}
	return &libvirtxml.StorageVolume{Name: base, Capacity: &libvirtxml.StorageVolumeSize{Unit: "bytes", Value: uint64(gib) << 30}}
}

// newRawVolume returns a raw file of exactly this content.
func newRawVolume(name string, content []byte) *libvirtxml.StorageVolume {
	return storage.NewMarkedVolume(name, "raw", uint64(len(content)))
}

// addSeed adds the cloud-init disk. It is a virtio disk, because kernels made for virtual machines may lack
// drivers for CD-ROMs.
func (r *resolver) addSeed(ctx context.Context, b *blueprint) error {
	if !r.spec.HasSeed() {
		return nil
	}
	seed, err := buildSeed(r.spec, b.machine.UUID)
	if err != nil {
		return err
	}
	image, err := seed.Image()
	if err != nil {
		return err
	}
	own, err := r.resolveContentVolume(ctx, b, Seed, seedSuffix, image)
	if err != nil {
		return err
	}
	if existing := r.existingDisk(Seed); existing != nil {
		b.keepDisk(*existing, existing.Bus, existing.DiskTuning)
		b.rewrite = append(b.rewrite, own)
		return nil
	}
	b.addVolume(own, "virtio", DiskTuning{ReadOnly: true})
	return nil
}

// addIgnition hands the configuration over in a file, because a command line has no room for all of it.
func (r *resolver) addIgnition(ctx context.Context, b *blueprint) error {
	text, err := renderIgnition(r.spec)
	if err != nil || text == "" {
		return err
	}
	own, err := r.resolveContentVolume(ctx, b, Ignition, ignitionSuffix, []byte(text))
	if err != nil {
		return err
	}
	b.machine.IgnitionFile = own.filePath()
	if r.existing != nil && r.existing.IgnitionFile == own.filePath() {
		b.rewrite = append(b.rewrite, own)
		return nil
	}
	b.volumes = append(b.volumes, own)
	return nil
}

// resolveContentVolume returns a volume with content, beside the root disk.
func (r *resolver) resolveContentVolume(ctx context.Context, b *blueprint, key, suffix string, content []byte) (ownVolume, error) {
	name := "default"
	switch {
	case r.existing != nil && r.existing.Mark.Disk(key).Pool != "":
		name = r.existing.Mark.Disk(key).Pool
	case r.spec.Root != nil && r.spec.Root.Pool != "":
		name = r.spec.Root.Pool
	case len(b.volumes) > 0:
		name = b.volumes[0].pool.Name()
	}
	pool, err := r.cache.Pool(ctx, r.client, name)
	if err == nil && !pool.Files() {
		err = fmt.Errorf("storage pool %q (%s) cannot hold files, and cloud-init, Ignition and copies of discs need one: put the root disk into a pool of type dir", pool.Name(), pool.Type())
	}
	return ownVolume{key: key, path: r.spec.diskPath(key), pool: pool, xml: newRawVolume(r.spec.Name+suffix, content), content: content}, err
}
