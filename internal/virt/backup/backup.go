// Package backup is a backup of a node as plain values, and the store that takes it and removes it.
//
//	Backup → chooseDisks    the node that it names, its disks, and of an incremental one the volumes below
//	prepare                 what an earlier run left goes; marked volumes are made, each of its disk's size
//	copyDisks               freeze → libvirt's backup, with a checkpoint → thaw → wait until all is copied
//	Delete                  nothing uses a volume → the checkpoint goes, with what the disks kept since → volumes and marks
//
// Whose a backup is stands beside its volumes, as beside all, and in libvirt's description of its checkpoint. An incremental one's volumes lie upon
// those that it is incremental from: each is a whole disk to whoever uses it, and none goes that another lies upon.
package backup

import (
	"cmp"
	"fmt"
	"path"
	"regexp"
	"strconv"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/plan"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

// Backup is the disks of a node at one moment, with the names of its attributes (convert.ToPlain).
type Backup struct {
	Name string `attr:"name"`
	// Node is a machine by its name or its id.
	Node string `attr:"node"`
	// Disks are the node's keys of those that are copied; none for all.
	Disks  []string `attr:"disks"`
	Target Target   `attr:"target"`
	// IncrementalFrom is the checkpoint since which the disks are copied; "" copies all of them.
	IncrementalFrom string `attr:"incremental_from"`
	// BandwidthMiB is the most that is copied in a second; 0 for no limit.
	BandwidthMiB int64 `attr:"bandwidth_mib"`
	// Quiesce is guest.Auto, guest.Required or guest.None.
	Quiesce    string `attr:"quiesce"`
	Generation int64  `attr:"generation"`
	// Volumes are the paths of the copies, by the keys of their disks.
	Volumes map[string]string `attr:"volumes"`
	// Checkpoint is "" where there is none.
	Checkpoint string `attr:"checkpoint"`
	// Frozen says that the guest agent held the file systems.
	Frozen bool `attr:"frozen"`
}

// Target is where the copies go: a storage pool, or a directory.
type Target struct {
	Pool string `attr:"pool"`
	Path string `attr:"path"`
}

// describeTarget names the target in messages.
func (t Target) describeTarget() string {
	return cmp.Or(t.Path, fmt.Sprintf("storage pool %q", t.Pool))
}

// NameForm is what the name of a backup looks like: it is part of the names of files and of bitmaps.
var NameForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,39}$`)

// Validate finds what is wrong without asking a hypervisor.
func (b Backup) Validate() []service.Problem {
	var problems []service.Problem
	if b.Name != "" && !NameForm.MatchString(b.Name) {
		problems = append(problems, service.Problemf([]any{"name"}, "Invalid backup name", "%q must be 1 to 40 letters, digits, \"_\" or \"-\", and begin with a letter or a digit: it becomes part of the names of files.", b.Name))
	}
	if b.Target.Path != "" && (!path.IsAbs(b.Target.Path) || path.Clean(b.Target.Path) == "/") {
		problems = append(problems, service.Problemf([]any{"target", "path"}, "Invalid directory", "%q must be the absolute path of a directory of the hypervisor, such as /srv/backups.", b.Target.Path))
	}
	if b.IncrementalFrom != "" && b.IncrementalFrom == b.checkpointName() {
		problems = append(problems, service.Problemf([]any{"incremental_from"}, "Incremental from itself", "%q is what this backup's own checkpoint is called: refer to another backup's, as in virtcluster_backup.NAME.checkpoint.", b.IncrementalFrom))
	}
	return problems
}

// Uses implements plan.User: an incremental backup needs the one that it is incremental from.
func (b Backup) Uses() []plan.Use {
	if b.Node == "" {
		return nil
	}
	var uses []plan.Use
	if b.Name != "" {
		uses = append(uses, plan.Use{Verb: plan.Gives, Kind: plan.Checkpoint, Scope: "node " + b.Node, Value: b.checkpointName(), Path: []any{"name"}, Known: []string{"generation"}})
	}
	if b.IncrementalFrom != "" {
		uses = append(uses, plan.Use{Verb: plan.Needs, Kind: plan.BaseCheckpoint, Scope: "node " + b.Node, Value: b.IncrementalFrom, Path: []any{"incremental_from"}})
	}
	return uses
}

// Describe implements plan.Described.
func (b Backup) Describe(string) string { return fmt.Sprintf("backup %q of node %q", b.Name, b.Node) }

// checkpointName is what the checkpoint is called, and how the names of the volumes end: the name, and the generation where there is one.
func (b Backup) checkpointName() string {
	if b.Generation == 0 {
		return b.Name
	}
	return b.Name + "." + strconv.FormatInt(b.Generation, 10)
}

// splitMoment undoes moment.
func splitMoment(moment string) (name string, generation int64, err error) {
	name, number, numbered := strings.Cut(moment, ".")
	if numbered {
		generation, err = strconv.ParseInt(number, 10, 64)
		if err != nil || generation < 1 || strconv.FormatInt(generation, 10) != number {
			return "", 0, fmt.Errorf("%q is no generation of a backup", number)
		}
	}
	if !NameForm.MatchString(name) {
		return "", 0, fmt.Errorf("%q is no name of a backup", name)
	}
	return name, generation, nil
}

// ID returns the id of a backup: NAME/NODE, or NAME.GENERATION/NODE; "" while a part of it is not known.
func ID(name, node string, generation int64) string {
	if name == "" || node == "" {
		return ""
	}
	return Backup{Name: name, Generation: generation}.checkpointName() + "/" + node
}

// SplitID reads an id.
func SplitID(id string) (name, node string, generation int64, err error) {
	moment, node, found := strings.Cut(id, "/")
	name, generation, err = splitMoment(moment)
	if !found || node == "" || strings.Contains(node, "/") || err != nil {
		return "", "", 0, fmt.Errorf("write NAME/NODE, or NAME.GENERATION/NODE, with the node's name or id, not %q", id)
	}
	return name, node, generation, nil
}

// nameVolume returns what the copy of a node's disk is called.
func nameVolume(node, disk, moment string) string { return node + "-" + disk + "-" + moment + ".qcow2" }

// splitVolume returns which disk of a node a volume is a copy of; "" for any other one.
func splitVolume(volume, node, moment string) (disk string) {
	rest, begins := strings.CutPrefix(volume, node+"-")
	disk, ends := strings.CutSuffix(rest, "-"+moment+".qcow2")
	if !begins || !ends {
		return ""
	}
	return disk
}

// findBase returns the moment that the volume below a copy of a node's disk is of; "" for none.
func findBase(below, node, disk string) string {
	rest, begins := strings.CutPrefix(path.Base(below), node+"-"+disk+"-")
	moment, ends := strings.CutSuffix(rest, ".qcow2")
	if !begins || !ends {
		return ""
	}
	return moment
}

// nodeName returns the name of a node that may be gone: what it is called, or what its volumes are.
func (b Backup) nodeName(d *hypervisor.Domain) string {
	if d != nil {
		return d.Name
	}
	for disk, file := range b.Volumes {
		if node, ends := strings.CutSuffix(path.Base(file), "-"+disk+"-"+b.checkpointName()+".qcow2"); ends {
			return node
		}
	}
	return b.Node
}
