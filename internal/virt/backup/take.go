package backup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/hashicorp/terraform-plugin-log/tflog"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/failpoint"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/guest"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/storage"
)

// Create takes the backup. What a killed run of this workspace took of it goes first: nobody knows whether all was copied.
func (s *Store) Create(ctx context.Context, want Backup) (Backup, error) {
	c, d, err := guest.Find(ctx, s.hypervisors, want.Node)
	if hypervisor.IsNotFound(err) {
		return Backup{}, service.At(nodePath, guest.NewGoneError(want.Node))
	}
	if err != nil {
		return Backup{}, err
	}
	unlock := guest.Lock(c, d.UUID)
	defer unlock()
	pool, done, err := s.startTarget(ctx, c)
	defer done()
	if err != nil {
		return Backup{}, err
	}
	left, err := s.findBackup(ctx, s.mayTake)
	if err == nil {
		err = s.refuseForeign(ctx, left)
	}
	if err == nil {
		err = s.refuseOthers(ctx, left)
	}
	if err == nil {
		err = s.refuseBackup(ctx, c, d, left)
	}
	if err == nil {
		err = s.awaitUnused(ctx, left)
	}
	if err == nil {
		err = s.removeBackup(ctx, left, s.mayTake)
	}
	if err != nil {
		done()
		return Backup{}, errors.Join(err, s.stopTarget(ctx, c))
	}
	// As it is now that nobody else of this process changes it.
	if d, err = c.Domain(ctx, d.UUID); err != nil {
		return Backup{}, err
	}
	disks, err := chooseDisks(ctx, c, d, want.Disks)
	if err == nil {
		err = s.findBases(ctx, c, d, disks)
	}
	if err == nil {
		err = s.checkRoom(ctx, c, pool, disks)
	}
	if err == nil {
		err = s.copyDisks(ctx, c, d, pool, disks)
	}
	if err != nil {
		done()
		return Backup{}, errors.Join(err, s.withdrawBackup(ctx, c))
	}
	s.claim = s.claim.Written()
	s.known.Disks = nil
	for _, one := range disks {
		s.known.Disks = append(s.known.Disks, one.key)
	}
	return s.Get(ctx)
}

// refuseBackup refuses to begin while somebody else copies the node's disks: libvirt makes one backup of a machine at one time.
func (s *Store) refuseBackup(ctx context.Context, c *hypervisor.Client, d *hypervisor.Domain, left found) error {
	files, err := c.BackupFiles(ctx, d.UUID)
	if err != nil || left.areCopies(files) || len(files) == 0 {
		return err
	}
	return fmt.Errorf("somebody makes a backup of node %q at this moment (virsh domjobinfo %s), and a machine has one at one time: wait for the end of that, or cancel it (virsh domjobabort)", d.Name, d.Name)
}

// areCopies says whether files that a backup writes to are the copies.
func (f found) areCopies(files []string) bool {
	return len(files) > 0 && !slices.ContainsFunc(files, func(file string) bool {
		return !slices.ContainsFunc(slices.Collect(maps.Values(f.copies)), func(v *hypervisor.Volume) bool { return v.Path() == file })
	})
}

// copyDisks makes the volumes and has libvirt copy the disks into them, as they are at one moment.
func (s *Store) copyDisks(ctx context.Context, c *hypervisor.Client, d *hypervisor.Domain, pool string, disks []disk) error {
	b := hypervisor.Backup{BytesPerSecond: uint64(s.known.BandwidthMiB) << 20} //nolint:gosec // the schema has bounds
	point := hypervisor.Checkpoint{Name: s.known.checkpointName()}
	for _, one := range disks {
		made, err := s.makeCopy(ctx, c, d, pool, one)
		if err != nil {
			return err
		}
		copied := hypervisor.BackupDisk{Target: one.Target, File: made.Path()}
		if one.below != nil {
			copied.Since = s.known.IncrementalFrom
		}
		b.Disks = append(b.Disks, copied)
		lacking, err := findForgetful(ctx, c, one.File)
		if err != nil {
			return err
		}
		if lacking == nil {
			point.Disks = append(point.Disks, one.Target)
			continue
		}
		s.warnings = append(s.warnings, service.Warningf(disksPath, "Disk without bitmaps",
			"The disk %q of node %q is %s, which keeps nothing of what is written to it: every backup copies all of it. Of a qcow2 file that an older version made, `qemu-img amend -o compat=1.1 %s` changes that, while the node is off.",
			one.key, d.Name, describeFormat(lacking), lacking.Path()))
	}
	if len(point.Disks) > 0 {
		b.Checkpoint = &point
	}
	for _, x := range d.Config.Devices.Disks {
		if x.Target != nil && !slices.ContainsFunc(disks, func(one disk) bool { return one.Target == x.Target.Dev }) {
			b.Others = append(b.Others, x.Target.Dev)
		}
	}
	failpoint.Hit("backup/prepared")
	return guest.WhileStarted(ctx, c, d, "its disks to be copied", func() error {
		if err := s.beginBackup(ctx, c, d, b); err != nil {
			return err
		}
		failpoint.Hit("backup/begun")
		if err := s.awaitEnd(ctx, c, d); err != nil {
			return err
		}
		failpoint.Hit("backup/copied")
		return nil
	})
}

// findForgetful returns the file of a disk that keeps nothing of what is written to it: the one that it is in, or, as a snapshot's layer is merged
// into it with what it keeps, one below; nil for none.
func findForgetful(ctx context.Context, c *hypervisor.Client, file *hypervisor.Volume) (*hypervisor.Volume, error) {
	for {
		if !storage.KeepsBitmaps(file) {
			return file, nil
		}
		volume, snapshot := storage.SplitLayer(file.Path())
		if snapshot == "" {
			return nil, nil
		}
		below, err := c.VolumeByPath(ctx, cmp.Or(file.Backing(), volume))
		if err != nil {
			return nil, fmt.Errorf("look for what lies below %s: %w", file.Path(), err)
		}
		file = below
	}
}

// describeFormat names the format of a file in messages.
func describeFormat(v *hypervisor.Volume) string {
	if storage.DiskFormat(v) == "qcow2" {
		return "a qcow2 file of version 0.10"
	}
	return "a " + storage.DiskFormat(v) + " file"
}

// makeCopy makes the volume for the copy of a disk.
func (s *Store) makeCopy(ctx context.Context, c *hypervisor.Client, d *hypervisor.Domain, pool string, one disk) (*hypervisor.Volume, error) {
	bytes, err := c.DomainDiskCapacity(ctx, d.UUID, one.Target)
	if err != nil {
		return nil, err
	}
	store, err := s.openVolume(ctx, c, pool, nameVolume(d.Name, one.key, s.known.checkpointName()))
	if err != nil {
		return nil, err
	}
	made, err := store.CreateAnew(ctx, bytes, one.below)
	if err != nil {
		return nil, fmt.Errorf("copy of disk %q: %w", one.key, err)
	}
	return made, nil
}

// beginBackup begins the backup at a moment at which the guest agent holds the file systems, where that is wanted and it answers.
func (s *Store) beginBackup(ctx context.Context, c *hypervisor.Client, d *hypervisor.Domain, b hypervisor.Backup) (err error) {
	if s.known.Frozen, err = guest.Freeze(ctx, c, d, s.known.Quiesce); err != nil {
		return err
	}
	if s.known.Frozen {
		defer func() {
			after, cancel := context.WithTimeout(context.WithoutCancel(ctx), withdrawLimit)
			defer cancel()
			err = errors.Join(err, c.ThawDomain(after, d.UUID))
		}()
	}
	failpoint.Hit("backup/frozen")
	if b.Checkpoint != nil {
		b.Checkpoint.Description = guest.Note{Mark: s.claim.Mark(), Quiesce: s.known.Quiesce, Frozen: s.known.Frozen}.String()
	}
	err = c.BeginBackup(ctx, d.UUID, b)
	if hypervisor.IsBrokenCheckpoint(err) {
		return service.At(basePath, fmt.Errorf("the disks of node %q do not know any more what was written since checkpoint %q, as after a power failure of the hypervisor or a revert to a snapshot: leave it out, so that all of them is copied: %w", d.Name, s.known.IncrementalFrom, err))
	}
	return err
}

// How often the progress is asked for, and told in the log.
const (
	askPause  = 200 * time.Millisecond
	tellPause = 5 * time.Second
)

// awaitEnd returns once all is copied.
func (s *Store) awaitEnd(ctx context.Context, c *hypervisor.Client, d *hypervisor.Domain) error {
	const mib = 1 << 20
	var told time.Time
	for {
		p, err := c.BackupProgress(ctx, d.UUID)
		if err != nil {
			return err
		}
		if !p.Running {
			if p.Failure != "" {
				return fmt.Errorf("the copying of the disks of node %q did not end well: %s", d.Name, p.Failure)
			}
			return nil
		}
		if time.Since(told) > tellPause {
			told = time.Now()
			tflog.Info(ctx, "the disks of a node are being copied", map[string]any{"backup": s.known.Name, "node": d.Name, "mib": p.Done / mib, "of_mib": p.All / mib})
		}
		if err := hypervisor.Pause(ctx, askPause); err != nil {
			return fmt.Errorf("%d of %d MiB of the disks of node %q were copied: write a longer timeouts.create, or more bandwidth_mib: %w", p.Done/mib, p.All/mib, d.Name, err)
		}
	}
}

// withdrawLimit bounds what is still done after the backup could not be taken.
const withdrawLimit = 5 * time.Minute

// withdrawBackup removes what was taken of a backup that could not be taken as a whole. Where that fails too, the state keeps it.
func (s *Store) withdrawBackup(ctx context.Context, c *hypervisor.Client) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), withdrawLimit)
	defer cancel()
	mine := func(m owner.Mark) bool { return m.ID == s.claim.Mark().ID }
	left, err := s.findBackup(ctx, mine)
	if err == nil {
		err = s.removeBackup(ctx, left, mine)
	}
	if err == nil {
		err = s.removeMarks(ctx, left)
	}
	if err == nil {
		err = s.stopTarget(ctx, c)
	}
	if err != nil {
		s.claim = s.claim.Written()
	}
	return err
}

// removeBackup ends what still writes to the copies, removes the checkpoint, with what the disks kept since, and then the copies with those of their marks
// that some are. Of a node that is gone there are the copies only.
func (s *Store) removeBackup(ctx context.Context, f found, are func(owner.Mark) bool) error {
	if f.node != nil {
		files, err := f.at.BackupFiles(ctx, f.node.UUID)
		if err != nil {
			return err
		}
		if f.areCopies(files) {
			if err := f.at.CancelBackup(ctx, f.node.UUID); err != nil {
				return err
			}
		}
		_ = s.thawLeft(ctx, f)
	}
	if err := s.removeCheckpoint(ctx, f); err != nil {
		return err
	}
	failpoint.Hit("backup/checkpoint-removed")
	for _, disk := range slices.Sorted(maps.Keys(f.copies)) {
		name := f.copies[disk].Name()
		if err := f.c.DeleteVolume(ctx, f.pool, name); err != nil {
			return err
		}
		if err := (storage.MarkedName{Client: f.c, Pool: f.pool, Name: name}).RemoveMarks(ctx, are); err != nil {
			return err
		}
		failpoint.Hit("backup/copy-removed")
	}
	return nil
}

// thawLeft has a guest go on whose backup was ended while its agent held the file systems. An agent that holds none, or does not answer, is no error.
func (s *Store) thawLeft(ctx context.Context, f found) error {
	unfinished := f.note.Mark.Creating != ""
	for disk := range f.copies {
		marks, err := f.listMarks(ctx, disk)
		if err != nil {
			return err
		}
		unfinished = unfinished || slices.ContainsFunc(marks, func(m owner.Mark) bool { return m.Creating != "" })
	}
	if !unfinished || f.node.State != "running" {
		return nil
	}
	return f.at.ThawDomain(ctx, f.node.UUID)
}

// removeCheckpoint removes the checkpoint that was found. A node that is off and whose disks are not all there cannot be started for it: libvirt
// forgets it then.
func (s *Store) removeCheckpoint(ctx context.Context, f found) error {
	if f.checkpoint == nil {
		return nil
	}
	if !f.node.Active() {
		disks, err := guest.ReadDisks(ctx, f.at, f.node)
		if err != nil {
			return err
		}
		if len(disks.Unfit) > 0 {
			return f.at.ForgetCheckpoint(ctx, f.node.UUID, f.checkpoint.Name)
		}
	}
	return guest.WhileStarted(ctx, f.at, f.node, fmt.Sprintf("its disks to forget what they kept since checkpoint %q", f.checkpoint.Name), func() error {
		return f.at.DeleteCheckpoint(ctx, f.node.UUID, f.checkpoint.Name)
	})
}

// awaitUnused returns when nobody uses what was found of a backup but machines of this state, whose plan says what becomes of them.
func (s *Store) awaitUnused(ctx context.Context, f found) error {
	for _, disk := range slices.Sorted(maps.Keys(f.copies)) {
		if err := storage.AwaitUnused(ctx, f.c, f.copies[disk], s.claim.Mark().Workspace); err != nil {
			return err
		}
	}
	return nil
}

// Delete removes the backup: nothing where another one's volume, or anything else that is not its own, lies upon one of its volumes.
func (s *Store) Delete(ctx context.Context) error {
	f, err := s.findOwn(ctx)
	if err != nil {
		return err
	}
	if f.node != nil {
		unlock := guest.Lock(f.at, f.node.UUID)
		defer unlock()
		if f, err = s.findOwn(ctx); err != nil {
			return err
		}
	}
	if err := s.awaitUnused(ctx, f); err != nil {
		return err
	}
	if f.unseen && len(s.known.Volumes) > 0 {
		return fmt.Errorf("no hypervisor of the provider has %s started, and the backup's files are in it: define and start it, or leave them to whoever removed it, with: terraform state rm ADDRESS", s.known.Target.describeTarget())
	}
	if err := s.removeBackup(ctx, f, s.ownsMark); err != nil {
		return err
	}
	if err := s.removeMarks(ctx, f); err != nil || f.c == nil {
		return err
	}
	return s.stopTarget(ctx, f.c)
}
