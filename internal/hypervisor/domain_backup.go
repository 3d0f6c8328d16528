package hypervisor

import (
	"context"
	"fmt"
	"time"

	"github.com/digitalocean/go-libvirt"
	"libvirt.org/go/libvirtxml"
)

// Backup is a copy of a machine's disks at one moment, while it runs.
type Backup struct {
	Disks []BackupDisk
	// Checkpoint is made at that moment; nil for none.
	Checkpoint *Checkpoint
	// Others are the targets of the domain's disks that are not copied.
	Others []string
	// BytesPerSecond is the most that is copied of all disks together; 0 for no limit. libvirt begins without one, and is told at once.
	BytesPerSecond uint64
}

// BackupDisk is a disk that is copied.
type BackupDisk struct {
	Target string
	// File is a qcow2 file of the disk's size that is there already.
	File string
	// Since is the checkpoint since which the disk is copied; "" copies all of it.
	Since string
}

// renderXML returns what libvirt is asked to copy.
func (b Backup) renderXML() (string, error) {
	disks := &libvirtxml.DomainBackupPushDisks{}
	for _, d := range b.Disks {
		x := libvirtxml.DomainBackupPushDisk{
			Name: d.Target, Backup: "yes", BackupMode: "full", Driver: &libvirtxml.DomainBackupDiskDriver{Type: "qcow2"},
			Target: &libvirtxml.DomainDiskSource{File: &libvirtxml.DomainDiskSourceFile{File: d.File}},
		}
		if d.Since != "" {
			x.BackupMode, x.Incremental = "incremental", d.Since
		}
		disks.Disks = append(disks.Disks, x)
	}
	for _, target := range b.Others {
		disks.Disks = append(disks.Disks, libvirtxml.DomainBackupPushDisk{Name: target, Backup: "no"})
	}
	x := libvirtxml.DomainBackup{Push: &libvirtxml.DomainBackupPush{Disks: disks}}
	text, err := x.Marshal()
	if err != nil {
		return "", fmt.Errorf("cannot render the backup: %w", err)
	}
	return text, nil
}

// BeginBackup begins to copy the disks of a machine that runs, or is paused, as they are at this moment.
func (c *Client) BeginBackup(ctx context.Context, uuid string, b Backup) error {
	ref, err := newDomainRef(uuid)
	if err != nil {
		return err
	}
	text, err := b.renderXML()
	if err != nil {
		return err
	}
	var checkpoint libvirt.OptString
	if b.Checkpoint != nil {
		var others []string
		for _, d := range b.Disks {
			others = append(others, d.Target)
		}
		rendered, err := b.Checkpoint.renderXML(append(others, b.Others...))
		if err != nil {
			return err
		}
		checkpoint = libvirt.OptString{rendered}
	}
	_, err = callOnce(ctx, c, "begin a backup of domain "+uuid, withoutResult(func(l *libvirt.Libvirt) error {
		if err := l.DomainBackupBegin(ref, text, checkpoint, libvirt.DomainBackupBeginReuseExternal); err != nil {
			return err
		}
		return b.limitSpeed(ctx, l, ref)
	}))
	return err
}

// limitSpeed shares the limit out among the disks.
func (b Backup) limitSpeed(ctx context.Context, l *libvirt.Libvirt, ref libvirt.Domain) error {
	if b.BytesPerSecond == 0 {
		return nil
	}
	each := max(b.BytesPerSecond/uint64(len(b.Disks)), 1)
	for _, d := range b.Disks {
		err := Retry(ctx, limitPatience, 20*time.Millisecond, func() (bool, error) {
			refused := l.DomainBlockJobSetSpeed(ref, d.Target, each, libvirt.DomainBlockJobSpeedBandwidthBytes)
			if refused == nil {
				return false, nil
			}
			// All of it may be copied already, which takes libvirt a moment to see.
			running, _, _, _, _, err := l.DomainGetBlockJobInfo(ref, d.Target, 0)
			if err != nil || running == 0 {
				return false, err
			}
			return true, refused
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// limitPatience is how long a disk's job may refuse a limit while it ends.
const limitPatience = 5 * time.Second

// BackupProgress is how far the copying of a machine's disks is.
type BackupProgress struct {
	Running bool
	// Done and All are bytes.
	Done, All uint64
	// Failure is libvirt's word of one that ended otherwise than by all being copied; "" for none.
	Failure string
}

// BackupProgress asks how far the backup is that was begun last.
func (c *Client) BackupProgress(ctx context.Context, uuid string) (BackupProgress, error) {
	ref, err := newDomainRef(uuid)
	if err != nil {
		return BackupProgress{}, err
	}
	return callIdempotent(ctx, c, "ask how far the backup is of domain "+uuid, func(l *libvirt.Libvirt) (BackupProgress, error) {
		kind, stats, err := l.DomainGetJobStats(ref, 0)
		if err != nil {
			return BackupProgress{}, err
		}
		running := libvirt.DomainJobType(kind) != libvirt.DomainJobNone
		if !running {
			if kind, stats, err = l.DomainGetJobStats(ref, libvirt.DomainJobStatsCompleted|libvirt.DomainJobStatsKeepCompleted); err != nil {
				return BackupProgress{}, err
			}
		}
		p := BackupProgress{Running: running}
		operation := libvirt.DomainJobOperationStrUnknown
		for _, s := range stats {
			switch value := s.Value.I.(type) {
			case uint64:
				switch s.Field {
				case "disk_processed":
					p.Done = value
				case "disk_total":
					p.All = value
				}
			case int32:
				if s.Field == "operation" {
					operation = libvirt.DomainJobOperation(value)
				}
			case string:
				if s.Field == "errmsg" {
					p.Failure = value
				}
			}
		}
		switch {
		case running:
			p.Failure = ""
		case operation != libvirt.DomainJobOperationStrBackup:
			p.Failure = "libvirt knows nothing of how it ended"
		case libvirt.DomainJobType(kind) == libvirt.DomainJobCancelled && p.Failure == "":
			p.Failure = "it was cancelled"
		case libvirt.DomainJobType(kind) != libvirt.DomainJobCompleted && p.Failure == "":
			p.Failure = "it failed"
		}
		return p, nil
	})
}

// BackupFiles returns the files that a backup of a domain writes to now; none while no backup runs.
func (c *Client) BackupFiles(ctx context.Context, uuid string) ([]string, error) {
	ref, err := newDomainRef(uuid)
	if err != nil {
		return nil, err
	}
	return callIdempotent(ctx, c, "look for a backup of domain "+uuid, func(l *libvirt.Libvirt) ([]string, error) {
		text, err := l.DomainBackupGetXMLDesc(ref, 0)
		if Code(explainError("", err)) == int(libvirt.ErrNoDomainBackup) || Code(explainError("", err)) == int(libvirt.ErrOperationInvalid) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		var x libvirtxml.DomainBackup
		if err := x.Unmarshal(text); err != nil {
			return nil, fmt.Errorf("cannot understand the backup's XML: %w", err)
		}
		var files []string
		if x.Push == nil || x.Push.Disks == nil {
			return []string{""}, nil // somebody pulls
		}
		for _, d := range x.Push.Disks.Disks {
			if d.Target != nil && d.Target.File != nil {
				files = append(files, d.Target.File.File)
			}
		}
		return files, nil
	})
}

// cancelPatience is how long the end of a backup that was cancelled may take.
const cancelPatience = time.Minute

// CancelBackup ends a backup of a domain before all is copied, and returns once nothing is written any more. None that runs is no error.
func (c *Client) CancelBackup(ctx context.Context, uuid string) error {
	return Retry(ctx, cancelPatience, 100*time.Millisecond, func() (bool, error) {
		files, err := c.BackupFiles(ctx, uuid)
		if err != nil || len(files) == 0 {
			return false, ignoreAbsence(err)
		}
		err = c.onDomain(ctx, uuid, "cancel the backup of", func(l *libvirt.Libvirt, ref libvirt.Domain) error { return l.DomainAbortJob(ref) })
		if err != nil && Code(err) != int(libvirt.ErrOperationInvalid) { // which says that it has just ended
			return false, err
		}
		return true, fmt.Errorf("cancel the backup of domain %s: it goes on", uuid)
	})
}
