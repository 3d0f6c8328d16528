// Package snapshot is a snapshot of a set of machines as plain values, and the store that takes it, merges it away, and reverts to it.
//
//	Snapshot → findParts    the machines that it names, on all hypervisors, each with its disks, the layers upon these and libvirt's record
//	checkParts              what of a machine keeps one from being taken of it, and the room that it needs
//	takeAll                 marked layers → freeze → suspend → libvirt's snapshot of each machine → go on → thaw
//	removeSnapshot          what a machine's layers hold is written into what lies below them; then files, marks and record go
//	revertParts             all machines off → each goes on in an empty layer beside its own → all that ran run again
//
// Whose a snapshot is stands in libvirt's record of it, and beside its files, which carry marks as volumes do.
package snapshot

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/guest"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/storage"
)

// Snapshot is one moment of a set of machines, with the names of its attributes (convert.ToPlain).
type Snapshot struct {
	Name string `attr:"name"`
	// Nodes are machines by their names or ids.
	Nodes  []string `attr:"nodes"`
	Memory bool     `attr:"memory"`
	// Quiesce is guest.Auto, guest.Required or guest.None.
	Quiesce string `attr:"quiesce"`
	// Revert is a number that stands for the last revert; 0 for none.
	Revert int64 `attr:"revert"`
	// CreatedAt is as of RFC 3339.
	CreatedAt string `attr:"created_at"`
	// PerNode has what was taken of each machine, by what Nodes calls it.
	PerNode map[string]Part `attr:"per_node"`
}

// Part is what was taken of one machine.
type Part struct {
	// Frozen says that its guest agent held the file systems.
	Frozen bool `attr:"frozen"`
	// Layers are the files that it writes into since.
	Layers []string `attr:"layers"`
	// MemoryFile has its memory; "" for none.
	MemoryFile string `attr:"memory_file"`
}

// NameForm is what the name of a snapshot looks like: it is part of the names of files.
var NameForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,39}$`)

// Validate finds what is wrong without asking a hypervisor.
func (s Snapshot) Validate() []service.Problem {
	if s.Name != "" && !NameForm.MatchString(s.Name) {
		return []service.Problem{service.Problemf([]any{"name"}, "Invalid snapshot name", "%q must be 1 to 40 letters, digits, \"_\" or \"-\", and begin with a letter or a digit: it becomes part of the names of files.", s.Name)}
	}
	return nil
}

// ID returns the id of a snapshot: NAME/NODE,NODE,…; "" while it is not known what it is of.
func ID(name string, nodes []string) string {
	if name == "" || len(nodes) == 0 {
		return ""
	}
	return name + "/" + strings.Join(slices.Sorted(slices.Values(nodes)), ",")
}

// SplitID reads an id, or the name alone: then it is not said what the snapshot is of.
func SplitID(id string) (name string, nodes []string, err error) {
	name, of, placed := strings.Cut(id, "/")
	if placed {
		nodes = strings.Split(of, ",")
	}
	if !NameForm.MatchString(name) || slices.Contains(nodes, "") {
		return "", nil, fmt.Errorf("write NAME, or NAME/NODE,NODE,… with the names or ids of its nodes, not %q", id)
	}
	return name, nodes, nil
}

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

// MergeLayers writes what the machine wrote into layers upon some volumes into those, which are to stay when it goes. The layers' files stay.
func (t Taken) MergeLayers(ctx context.Context, stays func(*hypervisor.Volume) bool) error {
	d, err := t.part.c.Domain(ctx, t.part.d.UUID)
	if err != nil {
		return err
	}
	p, err := readPart(ctx, t.part.c, d, d.Name, t.part.snapshot) // as another snapshot's merge left it
	if err != nil {
		return err
	}
	p.disks = slices.DeleteFunc(p.disks, func(d disk) bool { return !stays(d.volume) })
	if len(p.disks) == 0 {
		return nil
	}
	if err := p.mayRemove(ctx); err != nil {
		return err
	}
	return p.mergeLayers(ctx)
}

// Remove removes the snapshot's files with their marks, and merges nothing: the machine is off, and goes with all that it wrote to its own volumes.
func (t Taken) Remove(ctx context.Context) error { return t.part.removeFiles(ctx) }
