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
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
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
