package snapshot

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/guest"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/storage"
)

// part is one machine of a snapshot as its hypervisor has it: what the snapshot has of it already, or would have.
type part struct {
	snapshot string
	// node is what the machine is called in the resource.
	node string
	c    *hypervisor.Client
	d    *hypervisor.Domain
	// record is libvirt's, nil where it has none of the name; note is its description.
	record *hypervisor.Snapshot
	note   guest.Note
	disks  []disk
	// memory is the file with the machine's memory: that of the record, or one under its name, nil where there is none. memoryMark stands beside it.
	memory     *hypervisor.Volume
	memoryMark owner.Mark
	// kept are the targets of what no snapshot is of: discs, and what the guest cannot write to.
	kept []string
	// unfit says what keeps a snapshot from being taken of a disk.
	unfit []error
	// frozen and suspended say what was done to the guest while the snapshot is taken.
	frozen, suspended bool
}

// disk is one disk that the guest writes to.
type disk struct {
	target string
	// volume is the disk as whoever uses it knows it, and top the file that it is in now: a layer upon it, or itself.
	volume, top *hypervisor.Volume
	// layer is the snapshot's own in the disk's chain, and below the file that it lies upon; nil where none is.
	layer, below *hypervisor.Volume
	// unused are layers of the snapshot that the disk does not have, or not any more.
	unused []*hypervisor.Volume
	// mark is what stands beside any of them.
	mark owner.Mark
}

// layerNames are the two names that the snapshot's layer of a disk may have.
func (p *part) layerNames(d disk) [2]string { return storage.LayersOf(d.volume.Name(), p.snapshot) }

// nameMarked returns a volume of the machine's hypervisor with its marks.
func (p *part) nameMarked(pool, name string) storage.MarkedName {
	return storage.MarkedName{Client: p.c, Pool: pool, Name: name}
}

// listLayers lists all layers of the disk that the snapshot has.
func (d disk) listLayers() []*hypervisor.Volume {
	if d.layer == nil {
		return d.unused
	}
	return append([]*hypervisor.Volume{d.layer}, d.unused...)
}

// memoryName is the name of the volume with the machine's memory, beside its first disk.
func (p *part) memoryName() string { return storage.LayersOf(p.d.Name+"-memory", p.snapshot)[0] }

func (p *part) memoryPath() string {
	return path.Join(path.Dir(p.disks[0].volume.Path()), p.memoryName())
}

// isTaken says that the machine has something under the snapshot's names.
func (p *part) isTaken() bool { return p.record != nil || len(p.listFiles()) > 0 }

// listFiles lists the files under the snapshot's names: layers, and the memory.
func (p *part) listFiles() []*hypervisor.Volume {
	var files []*hypervisor.Volume
	for _, d := range p.disks {
		files = append(files, d.listLayers()...)
	}
	if p.memory != nil {
		files = append(files, p.memory)
	}
	return files
}

// isOwn says whether a file is the snapshot's own: libvirt's record names it, or the mark of the snapshot's owner stands beside it.
func (p *part) isOwn(ctx context.Context, v *hypervisor.Volume) (bool, error) {
	if p.record != nil && (p.record.Memory == v.Path() || slices.Contains(slices.Collect(maps.Values(p.record.Layers)), v.Path())) {
		return true, nil
	}
	whose := p.findOwner()
	marks, err := p.nameMarked(v.Pool, v.Name()).ListMarks(ctx, v)
	return slices.ContainsFunc(marks, func(m owner.Mark) bool { return m.ID == whose.ID }), err
}

// isWhole says that the machine could be reverted: every disk that the snapshot was taken of has its layer.
func (p *part) isWhole() bool {
	layers := 0
	for _, d := range p.disks {
		if d.layer != nil {
			layers++
		}
	}
	return layers > 0 && (p.record == nil || layers >= len(p.record.Layers))
}

// findOwner returns whose the snapshot of the machine is.
func (p *part) findOwner() owner.Mark {
	if p.record != nil {
		return p.note.Mark
	}
	for _, d := range p.disks {
		if len(d.listLayers()) > 0 {
			return d.mark
		}
	}
	return p.memoryMark
}

// readPart reads what a snapshot has of a machine.
func readPart(ctx context.Context, c *hypervisor.Client, d *hypervisor.Domain, node, name string) (*part, error) {
	p := &part{snapshot: name, node: node, c: c, d: d}
	records, err := c.Snapshots(ctx, d.UUID)
	if err != nil {
		return nil, err
	}
	if at := slices.IndexFunc(records, func(s hypervisor.Snapshot) bool { return s.Name == name }); at >= 0 {
		p.record, p.note = &records[at], guest.ParseNote(records[at].Description)
	}
	all, err := guest.ReadDisks(ctx, c, d)
	if err != nil {
		return nil, err
	}
	p.kept = all.Kept
	for _, unfit := range all.Unfit {
		p.unfit = append(p.unfit, unfit.Why)
	}
	for _, written := range all.Written {
		one := disk{target: written.Target, top: written.File}
		if err := p.readChain(ctx, &one); err != nil {
			return nil, err
		}
		p.disks = append(p.disks, one)
	}
	return p, p.readMemory(ctx)
}

// readMemory reads the file with the machine's memory: that of libvirt's record, or one that is to be in it.
func (p *part) readMemory(ctx context.Context) (err error) {
	switch {
	case p.hasMemory():
		p.memory, err = p.c.VolumeByPath(ctx, p.record.Memory)
	case len(p.disks) > 0:
		p.memory, err = p.findVolume(ctx, p.disks[0].volume.Pool, p.memoryName())
	}
	if hypervisor.IsNotFound(err) {
		return nil
	}
	if err != nil || p.memory == nil {
		return err
	}
	marks, err := p.nameMarked(p.memory.Pool, p.memory.Name()).ListMarks(ctx, p.memory)
	p.memoryMark = append(marks, owner.Mark{})[0]
	return err
}

// findVolume finds a volume of a pool; nil where there is none.
func (p *part) findVolume(ctx context.Context, pool, name string) (*hypervisor.Volume, error) {
	// One that was made is known; only one whose file somebody removed takes another look at the pool.
	v, err := p.c.KnownVolume(ctx, pool, name)
	if err != nil {
		v, err = p.c.Volume(ctx, pool, name)
	}
	if hypervisor.IsNotFound(err) {
		return nil, nil
	}
	return v, err
}

// readChain reads the layers of a disk from the file that it is in down to its volume, and the snapshot's own, be they among them or not.
func (p *part) readChain(ctx context.Context, d *disk) error {
	for above := d.top; d.volume == nil; {
		volume, of := storage.SplitLayer(above.Path())
		if of == "" {
			d.volume = above
			break
		}
		below, err := p.c.VolumeByPath(ctx, cmp.Or(above.Backing(), volume))
		if hypervisor.IsNotFound(err) { // which proves nothing about the machine
			err = fmt.Errorf("no storage pool that is started has %s", above.Backing())
		}
		if err != nil {
			return fmt.Errorf("look for what lies below %s: %w", above.Path(), err)
		}
		if of == p.snapshot {
			d.layer, d.below = above, below
		}
		above = below
	}
	return p.readUnused(ctx, d)
}

// readUnused reads the files under the names of the disk's layers of which it is not in one.
func (p *part) readUnused(ctx context.Context, d *disk) error {
	d.unused = nil
	for _, name := range p.layerNames(*d) {
		layer, err := p.findVolume(ctx, d.volume.Pool, name)
		if err != nil {
			return err
		}
		if layer == nil {
			continue
		}
		if d.layer == nil || d.layer.Path() != layer.Path() {
			d.unused = append(d.unused, layer)
		}
		marks, err := p.nameMarked(layer.Pool, name).ListMarks(ctx, layer)
		if err != nil {
			return err
		}
		if len(marks) > 0 {
			d.mark = marks[0]
		}
	}
	return nil
}

// findPart finds a machine by its name or its id on the hypervisors. The error is hypervisor.ErrNotFound where all say that they have none.
func findPart(ctx context.Context, all map[string]*hypervisor.Client, node, name string) (*part, error) {
	c, d, err := guest.Find(ctx, all, node)
	if err != nil {
		return nil, err
	}
	return readPart(ctx, c, d, node, name)
}

// newNotOwnError says that the machine is no node of this state.
func (p *part) newNotOwnError() error {
	return &guest.NotOwnError{Node: p.d.Name, URI: p.c.URI(), Taken: "snapshots"}
}

// checkDisks says what keeps a snapshot from being taken of the machine.
func (p *part) checkDisks() error {
	switch {
	case !guest.IsOwn(p.d):
		return p.newNotOwnError()
	case len(p.disks) == 0 && len(p.unfit) == 0:
		return fmt.Errorf("node %q has no disk that its guest writes to, so that there is nothing to take a snapshot of", p.d.Name)
	case len(p.unfit) > 0:
		return fmt.Errorf("no snapshot can be taken of node %q: %w", p.d.Name, errors.Join(p.unfit...))
	}
	return nil
}
