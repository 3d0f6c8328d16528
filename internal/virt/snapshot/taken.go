package snapshot

import (
	"context"
	"slices"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/guest"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/storage"
)

// Taken is what a snapshot of this provider has of a machine that is to go.
type Taken struct{ part *part }

// ListTaken lists the snapshots of a machine that this provider took, whoever's they are.
func ListTaken(ctx context.Context, c *hypervisor.Client, d *hypervisor.Domain) ([]Taken, error) {
	all, err := c.Snapshots(ctx, d.UUID)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, s := range all {
		if guest.ParseNote(s.Description).Mark.ID != "" {
			names = append(names, s.Name)
		}
	}
	if d.Config.Devices != nil {
		for _, x := range d.Config.Devices.Disks {
			if x.Source == nil || x.Source.File == nil {
				continue
			}
			if _, of := storage.SplitLayer(x.Source.File.File); of != "" {
				names = append(names, of)
			}
		}
	}
	slices.Sort(names)
	var taken []Taken
	for _, name := range slices.Compact(names) {
		p, err := readPart(ctx, c, d, d.Name, name)
		if err != nil {
			return nil, err
		}
		taken = append(taken, Taken{p})
	}
	return taken, nil
}

// Name is the snapshot's.
func (t Taken) Name() string { return t.part.snapshot }

// Owner is whose the snapshot is.
func (t Taken) Owner() owner.Mark { return t.part.findOwner() }

// Layers are the files that lie upon the machine's volumes.
func (t Taken) Layers() []*hypervisor.Volume {
	var all []*hypervisor.Volume
	for _, d := range t.part.disks {
		all = append(all, d.listLayers()...)
	}
	return all
}

// Remove removes the snapshot's files with their marks, and merges nothing: the machine is off, and goes with all that it wrote.
func (t Taken) Remove(ctx context.Context) error { return t.part.removeFiles(ctx) }
