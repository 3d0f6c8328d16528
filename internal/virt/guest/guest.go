// Package guest is a node of which something is taken while it runs, a snapshot or a backup: where it is, which files its disks are in, and what is
// done to its guest meanwhile.
package guest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"libvirt.org/go/libvirtxml"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/metadata"
)

// Find finds a node by its name or its id on the hypervisors. The error is hypervisor.ErrNotFound where all say that they have none: one that does
// not answer may have it.
func Find(ctx context.Context, all map[string]*hypervisor.Client, node string) (at *hypervisor.Client, found *hypervisor.Domain, err error) {
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
		case found != nil && found.UUID != d.UUID:
			return nil, nil, fmt.Errorf("several hypervisors have a domain %q: write its id", node)
		case found != nil:
			continue // a hypervisor may have two names
		}
		at, found = c, d
	}
	if found == nil {
		return nil, nil, missing
	}
	return at, found, nil
}

// NotOwnError says that a node's domain is not one of this state.
type NotOwnError struct {
	Node, URI string
	// Taken is what is taken of nodes of this state only: "snapshots".
	Taken string
}

func (e *NotOwnError) Error() string {
	return fmt.Sprintf("hypervisor %s has a domain %q that is no node of this state: %s are taken of these only", e.URI, e.Node, e.Taken)
}

// NewGoneError says that nobody knows a node.
func NewGoneError(node string) error {
	return fmt.Errorf("no hypervisor of the provider has a domain %q: write the id of a virtcluster_node, or its name", node)
}

// IsOwn says whether a domain is a node of this state.
func IsOwn(d *hypervisor.Domain) bool {
	workspace := metadata.MachineWorkspace(d.Config)
	return workspace != "" && workspace == owner.Workspace()
}

// Disk is one that the guest writes to.
type Disk struct {
	Target string
	// File is what the disk is in now, which may be the layer of a snapshot.
	File *hypervisor.Volume
}

// UnfitDisk is one that the guest writes to and of which nothing can be taken, with the reason.
type UnfitDisk struct {
	Target string
	Why    error
}

// Disks are those of a domain.
type Disks struct {
	Written []Disk
	// Kept are the targets of discs, and of what the guest cannot write to.
	Kept  []string
	Unfit []UnfitDisk
}

// ReadDisks reads the disks of a domain's configuration.
func ReadDisks(ctx context.Context, c *hypervisor.Client, d *hypervisor.Domain) (all Disks, err error) {
	if d.Config.Devices == nil {
		return all, nil
	}
	for i := range d.Config.Devices.Disks {
		if err := all.readDisk(ctx, c, &d.Config.Devices.Disks[i]); err != nil {
			return all, err
		}
	}
	return all, nil
}

func (all *Disks) readDisk(ctx context.Context, c *hypervisor.Client, x *libvirtxml.DomainDisk) error {
	if x.Target == nil {
		return nil
	}
	target := x.Target.Dev
	if x.Device != "" && x.Device != "disk" || x.ReadOnly != nil {
		all.Kept = append(all.Kept, target)
		return nil
	}
	unfit := func(format string, args ...any) {
		all.Unfit = append(all.Unfit, UnfitDisk{target, fmt.Errorf(format, args...)})
	}
	var file *hypervisor.Volume
	var err error
	switch source := x.Source; {
	case source != nil && source.File != nil:
		file, err = c.VolumeByPath(ctx, source.File.File)
	case source != nil && source.Volume != nil:
		file, err = c.Volume(ctx, source.Volume.Pool, source.Volume.Volume)
	default:
		unfit("its disk %s is no file, and only files can be copied, or have layers", target)
		return nil
	}
	switch {
	case hypervisor.IsNotFound(err):
		unfit("the file of its disk %s is in no storage pool that is started: start or define its pool", target)
	case err != nil:
		return err
	case x.Shareable != nil:
		unfit("its disk %s may be written to by several machines", target)
	default:
		all.Written = append(all.Written, Disk{target, file})
	}
	return nil
}

// lockKey is what a hypervisor's client has the lock of a node under.
type lockKey struct{ uuid string }

// Lock takes the lock of a node: what is taken of it, is taken or removed one after the other, and neither while it is changed or removed, as one that
// is off runs for a moment for it.
func Lock(c *hypervisor.Client, uuid string) (unlock func()) {
	mu := c.Shared(lockKey{uuid}, &sync.Mutex{}).(*sync.Mutex)
	mu.Lock()
	return mu.Unlock
}

// Whether guest agents are to hold the file systems: where they answer, in any case, or not at all.
const (
	Auto     = "auto"
	Required = "required"
	None     = "none"
)

// How long a guest agent may take to answer at all, to hold the file systems then, and, where it did not say in time that it does, to let go of them:
// it may hold them later.
const (
	answerSeconds = 5
	freezeSeconds = 10
	thawLimit     = 30 * time.Second
)

// Freezer is a hypervisor, whose guests' agents hold file systems and let go of them.
type Freezer interface {
	FreezeDomain(ctx context.Context, uuid string, answer, hold int32) (told bool, err error)
	ThawDomain(ctx context.Context, uuid string) error
}

// Freeze has the guest agent of a domain hold the file systems, where that is wanted and it answers, and says whether it does.
func Freeze(ctx context.Context, c Freezer, d *hypervisor.Domain, quiesce string) (frozen bool, err error) {
	if quiesce == None || d.State != "running" {
		return false, nil
	}
	told, err := c.FreezeDomain(ctx, d.UUID, answerSeconds, freezeSeconds)
	if err == nil {
		return true, nil
	}
	if told {
		if held := thawLate(ctx, c, d.UUID); held != nil {
			return false, fmt.Errorf("its guest agent was told to hold its file systems, and then did not answer any more: they may be held, until the agent is told to let go (virsh domfsthaw) or the guest is restarted: %w", held)
		}
	}
	switch {
	case quiesce == Required:
		return false, fmt.Errorf("its guest agent does not hold its file systems, as quiesce = %q wants it: %w", Required, err)
	case hypervisor.Code(err) == 0:
		return false, err // not libvirt's word
	}
	return false, nil
}

// thawLate has an agent let go of what it was told to hold and has not said that it does: it may be about to. It is asked until it answers.
func thawLate(ctx context.Context, c Freezer, uuid string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), thawLimit)
	defer cancel()
	for {
		err := c.ThawDomain(ctx, uuid)
		if err == nil || hypervisor.Code(err) != 0 && !hypervisor.IsAgentSlow(err) {
			return nil // it answered, if only that there is nothing to let go
		}
		if hypervisor.Pause(ctx, time.Second) != nil {
			return err
		}
	}
}

// WhileStarted does something that takes a machine's process. A machine that is off is started for it without letting its guest run, and switched off
// again; why says what for: "its layers to be merged".
func WhileStarted(ctx context.Context, c *hypervisor.Client, d *hypervisor.Domain, why string, do func() error) (err error) {
	// What an earlier run started for a moment may have ended since.
	if d, err = c.Domain(ctx, d.UUID); err != nil {
		return err
	}
	if d.Active() {
		return do()
	}
	saved, err := c.HasSavedState(ctx, d.UUID)
	switch {
	case err != nil:
		return err
	case saved:
		return fmt.Errorf("it is off with its memory saved (virsh managedsave), which a start for %s would lose: start it first", why)
	}
	if err := c.StartDomainPaused(ctx, d.UUID); err != nil {
		return fmt.Errorf("it is off, and has to be started, without letting its guest run, for %s: %w", why, err)
	}
	defer func() { err = errors.Join(err, stopPaused(context.WithoutCancel(ctx), c, d.UUID)) }()
	return do()
}

// stopPaused switches a machine off that was started without letting its guest run. One whose guest somebody has let run meanwhile goes on.
func stopPaused(ctx context.Context, c *hypervisor.Client, uuid string) error {
	d, err := c.Domain(ctx, uuid)
	if hypervisor.IsNotFound(err) {
		return nil
	}
	if err != nil || d.State != "paused" {
		return err
	}
	return c.StopDomain(ctx, uuid, 0)
}

// Note is what libvirt's description of a snapshot or of a backup's checkpoint says: words, of which the owner's mark are some. Memory, Revert and
// Ran are a snapshot's.
type Note struct {
	Mark    owner.Mark
	Quiesce string
	Frozen  bool
	Memory  bool
	Revert  int64
	// Ran says that the machine ran before a revert that has not come to its end.
	Ran bool
}

const (
	noteWord    = "virtcluster"
	quiesceWord = "quiesce="
	frozenWord  = "frozen"
	memoryWord  = "memory"
	revertWord  = "revert="
	ranWord     = "ran"
)

func (n Note) String() string {
	words := []string{noteWord, n.Mark.String(), quiesceWord + n.Quiesce}
	if n.Frozen {
		words = append(words, frozenWord)
	}
	if n.Memory {
		words = append(words, memoryWord)
	}
	if n.Revert != 0 {
		words = append(words, revertWord+strconv.FormatInt(n.Revert, 10))
	}
	if n.Ran {
		words = append(words, ranWord)
	}
	return strings.Join(words, " ")
}

// ParseNote reads a description. One that somebody else wrote is nobody's mark.
func ParseNote(text string) Note {
	words := strings.Fields(text)
	if len(words) == 0 || words[0] != noteWord {
		return Note{}
	}
	n := Note{Mark: owner.Parse(text), Frozen: slices.Contains(words, frozenWord), Memory: slices.Contains(words, memoryWord), Ran: slices.Contains(words, ranWord)}
	for _, word := range words {
		if value, is := strings.CutPrefix(word, quiesceWord); is {
			n.Quiesce = value
		}
		if value, is := strings.CutPrefix(word, revertWord); is {
			n.Revert, _ = strconv.ParseInt(value, 10, 64)
		}
	}
	return n
}
