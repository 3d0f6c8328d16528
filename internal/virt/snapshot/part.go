package snapshot

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"

	"libvirt.org/go/libvirtxml"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/metadata"
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
	note   note
	disks  []disk
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
	// layer is the snapshot's own in the disk's chain, nil where none is.
	layer *hypervisor.Volume
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

// isTaken says that the machine has something of the snapshot.
func (p *part) isTaken() bool {
	return p.record != nil || slices.ContainsFunc(p.disks, func(d disk) bool { return len(d.listLayers()) > 0 })
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
		return p.note.mark
	}
	for _, d := range p.disks {
		if len(d.listLayers()) > 0 {
			return d.mark
		}
	}
	return owner.Mark{}
}

// readPart reads what a snapshot has of a machine.
func readPart(ctx context.Context, c *hypervisor.Client, d *hypervisor.Domain, node, name string) (*part, error) {
	p := &part{snapshot: name, node: node, c: c, d: d}
	all, err := c.Snapshots(ctx, d.UUID)
	if err != nil {
		return nil, err
	}
	if at := slices.IndexFunc(all, func(s hypervisor.Snapshot) bool { return s.Name == name }); at >= 0 {
		p.record, p.note = &all[at], parseNote(all[at].Description)
	}
	if d.Config.Devices == nil {
		return p, nil
	}
	for i := range d.Config.Devices.Disks {
		if err := p.readDisk(ctx, &d.Config.Devices.Disks[i]); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// readDisk adds a disk to those that the snapshot is of, or to those that it is not of.
func (p *part) readDisk(ctx context.Context, x *libvirtxml.DomainDisk) error {
	if x.Target == nil {
		return nil
	}
	target := x.Target.Dev
	if x.Device != "" && x.Device != "disk" || x.ReadOnly != nil {
		p.kept = append(p.kept, target)
		return nil
	}
	d := disk{target: target}
	var err error
	switch source := x.Source; {
	case source != nil && source.File != nil:
		d.top, err = p.c.VolumeByPath(ctx, source.File.File)
	case source != nil && source.Volume != nil:
		d.top, err = p.c.Volume(ctx, source.Volume.Pool, source.Volume.Volume)
	default:
		p.unfit = append(p.unfit, fmt.Errorf("its disk %s is no file, and only files have layers", target))
		return nil
	}
	switch {
	case hypervisor.IsNotFound(err):
		p.unfit = append(p.unfit, fmt.Errorf("the file of its disk %s is in no storage pool that is started: start or define its pool", target))
		return nil
	case err != nil:
		return err
	case x.Shareable != nil:
		p.unfit = append(p.unfit, fmt.Errorf("its disk %s may be written to by several machines", target))
		return nil
	}
	if err := p.readChain(ctx, &d); err != nil {
		return err
	}
	p.disks = append(p.disks, d)
	return nil
}

// readChain reads the layers of a disk from the file that it is in down to its volume, and the snapshot's own, be they among them or not.
func (p *part) readChain(ctx context.Context, d *disk) error {
	for above := d.top; d.volume == nil; {
		volume, of := storage.SplitLayer(above.Path())
		if of == "" {
			d.volume = above
			break
		}
		if of == p.snapshot {
			d.layer = above
		}
		below, err := p.c.VolumeByPath(ctx, cmp.Or(above.Backing(), volume))
		if hypervisor.IsNotFound(err) { // which proves nothing about the machine
			err = fmt.Errorf("no storage pool that is started has %s", above.Backing())
		}
		if err != nil {
			return fmt.Errorf("look for what lies below %s: %w", above.Path(), err)
		}
		above = below
	}
	for _, name := range p.layerNames(*d) {
		// One that was made is known; only one whose file somebody removed takes another look at the pool.
		layer, err := p.c.KnownVolume(ctx, d.volume.Pool, name)
		if err != nil {
			layer, err = p.c.Volume(ctx, d.volume.Pool, name)
		}
		if layer == nil && err == nil || hypervisor.IsNotFound(err) {
			continue
		}
		if err != nil {
			return err
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

// NotOwnError says that a node's domain is not one of this state.
type NotOwnError struct{ Node, URI string }

func (e *NotOwnError) Error() string {
	return fmt.Sprintf("hypervisor %s has a domain %q that is no node of this state: snapshots are taken of these only", e.URI, e.Node)
}

// findPart finds a machine by its name or its id on the hypervisors. The error is hypervisor.ErrNotFound where all say that they have none: one that
// does not answer may have it.
func findPart(ctx context.Context, all map[string]*hypervisor.Client, node, name string) (*part, error) {
	var found *part
	missing := fmt.Errorf("no hypervisor of the provider has a domain %q: %w", node, hypervisor.ErrNotFound)
	for _, place := range slices.Sorted(maps.Keys(all)) {
		c := all[place]
		get := c.DomainByName
		if hypervisor.IsUUID(node) {
			get = c.Domain
		}
		d, err := get(ctx, node)
		switch {
		case hypervisor.IsNotFound(err):
			continue
		case err != nil:
			missing = fmt.Errorf("look for node %q: %w", node, err)
			continue
		case found != nil && found.d.UUID != d.UUID:
			return nil, fmt.Errorf("several hypervisors have a domain %q: write its id", node)
		case found != nil:
			continue // a hypervisor may have two names
		}
		if found, err = readPart(ctx, c, d, node, name); err != nil {
			return nil, err
		}
	}
	if found == nil {
		return nil, missing
	}
	return found, nil
}

// isOwnNode says whether the machine is a node of this state.
func (p *part) isOwnNode() bool {
	workspace := metadata.MachineWorkspace(p.d.Config)
	return workspace != "" && workspace == owner.Workspace()
}

// checkDisks says what keeps a snapshot from being taken of the machine.
func (p *part) checkDisks() error {
	switch {
	case !p.isOwnNode():
		return &NotOwnError{p.d.Name, p.c.URI()}
	case len(p.disks) == 0 && len(p.unfit) == 0:
		return fmt.Errorf("node %q has no disk that its guest writes to, so that there is nothing to take a snapshot of", p.d.Name)
	case len(p.unfit) > 0:
		return fmt.Errorf("no snapshot can be taken of node %q: %w", p.d.Name, errors.Join(p.unfit...))
	}
	return nil
}
