package hypervisor

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/digitalocean/go-libvirt"
	"libvirt.org/go/libvirtxml"
)

// Snapshot is a snapshot of a domain as libvirt lists it.
type Snapshot struct {
	Name, Description string
	Created           time.Time
	// Memory is the file with what the machine had in its memory; "" for none.
	Memory string
	// Layers are the files into which the machine writes since then, by the targets of its disks.
	Layers map[string]string
}

// Snapshots lists the snapshots of a domain that libvirt knows, whoever took them.
func (c *Client) Snapshots(ctx context.Context, uuid string) ([]Snapshot, error) {
	ref, err := newDomainRef(uuid)
	if err != nil {
		return nil, err
	}
	return callIdempotent(ctx, c, "list the snapshots of domain "+uuid, func(l *libvirt.Libvirt) ([]Snapshot, error) {
		refs, _, err := l.DomainListAllSnapshots(ref, 1, 0)
		if err != nil {
			return nil, err
		}
		return readAll(refs, func(ref libvirt.DomainSnapshot) (Snapshot, error) {
			text, err := l.DomainSnapshotGetXMLDesc(ref, 0)
			if err != nil {
				return Snapshot{}, err
			}
			return parseSnapshot(text)
		})
	})
}

// parseSnapshot reads libvirt's XML of a snapshot.
func parseSnapshot(text string) (Snapshot, error) {
	var x libvirtxml.DomainSnapshot
	if err := x.Unmarshal(text); err != nil {
		return Snapshot{}, fmt.Errorf("cannot understand the snapshot's XML: %w", err)
	}
	s := Snapshot{Name: x.Name, Description: x.Description, Layers: map[string]string{}}
	if seconds, err := strconv.ParseInt(x.CreationTime, 10, 64); err == nil {
		s.Created = time.Unix(seconds, 0).UTC()
	}
	if x.Memory != nil {
		s.Memory = x.Memory.File
	}
	if x.Disks != nil {
		for _, d := range x.Disks.Disks {
			if d.Snapshot == "external" && d.Source != nil && d.Source.File != nil {
				s.Layers[d.Name] = d.Source.File.File
			}
		}
	}
	return s, nil
}

// TakeSnapshot has a domain go on in other files, its layers, which are there already and lie upon those that it has now, and keeps what its
// memory holds where the snapshot has a file for that. kept are the targets of the disks that go on in the files that they have. A domain
// that libvirt refuses this goes on as it did.
func (c *Client) TakeSnapshot(ctx context.Context, uuid string, s Snapshot, kept []string) error {
	ref, err := newDomainRef(uuid)
	if err != nil {
		return err
	}
	x := libvirtxml.DomainSnapshot{Name: s.Name, Description: s.Description, Disks: &libvirtxml.DomainSnapshotDisks{}}
	flags := libvirt.DomainSnapshotCreateReuseExt | libvirt.DomainSnapshotCreateAtomic
	if s.Memory != "" {
		x.Memory = &libvirtxml.DomainSnapshotMemory{Snapshot: "external", File: s.Memory}
	} else {
		flags |= libvirt.DomainSnapshotCreateDiskOnly
	}
	for _, target := range slices.Sorted(maps.Keys(s.Layers)) {
		x.Disks.Disks = append(x.Disks.Disks, libvirtxml.DomainSnapshotDisk{
			Name: target, Snapshot: "external", Driver: &libvirtxml.DomainDiskDriver{Type: "qcow2"},
			Source: &libvirtxml.DomainDiskSource{File: &libvirtxml.DomainDiskSourceFile{File: s.Layers[target]}},
		})
	}
	for _, target := range kept {
		x.Disks.Disks = append(x.Disks.Disks, libvirtxml.DomainSnapshotDisk{Name: target, Snapshot: "no"})
	}
	text, err := x.Marshal()
	if err != nil {
		return fmt.Errorf("cannot render snapshot %q: %w", s.Name, err)
	}
	_, err = callOnce(ctx, c, fmt.Sprintf("take snapshot %q of domain %s", s.Name, uuid), withoutResult(func(l *libvirt.Libvirt) error {
		_, err := l.DomainSnapshotCreateXML(ref, text, uint32(flags))
		return err
	}))
	return err
}

// renderDescription returns what a snapshot or a checkpoint is described by as libvirt's XML has it.
func renderDescription(text string) (string, error) {
	element, err := xml.Marshal(struct {
		XMLName xml.Name `xml:"description"`
		Text    string   `xml:",chardata"`
	}{Text: text})
	return string(element), err
}

// DescribeSnapshot gives a snapshot of a domain another description, and leaves everything else of it.
func (c *Client) DescribeSnapshot(ctx context.Context, uuid, name, description string) error {
	return c.onDomain(ctx, uuid, fmt.Sprintf("describe snapshot %q of", name), func(l *libvirt.Libvirt, ref libvirt.Domain) error {
		snapshot, err := l.DomainSnapshotLookupByName(ref, name, 0)
		if err != nil {
			return err
		}
		text, err := l.DomainSnapshotGetXMLDesc(snapshot, uint32(libvirt.DomainSnapshotXMLSecure))
		if err != nil {
			return err
		}
		if text, err = replaceDescription(text, name, description); err != nil {
			return err
		}
		flags := libvirt.DomainSnapshotCreateRedefine
		if current, err := l.DomainSnapshotIsCurrent(snapshot, 0); err != nil {
			return err
		} else if current != 0 {
			flags |= libvirt.DomainSnapshotCreateCurrent
		}
		_, err = l.DomainSnapshotCreateXML(ref, text, uint32(flags))
		return err
	})
}

// ForgetSnapshot has libvirt forget a snapshot, and leaves its files and what the machine has. One that it does not know is no error.
func (c *Client) ForgetSnapshot(ctx context.Context, uuid, name string) error {
	return ignoreAbsence(c.onDomain(ctx, uuid, fmt.Sprintf("forget snapshot %q of", name), func(l *libvirt.Libvirt, ref libvirt.Domain) error {
		snapshot, err := l.DomainSnapshotLookupByName(ref, name, 0)
		if err != nil {
			return err
		}
		return l.DomainSnapshotDelete(snapshot, libvirt.DomainSnapshotDeleteMetadataOnly)
	}))
}

// MergeLayer has a running domain's disk, by its target, do without a layer: what was written into it since is written into the file below,
// while the guest runs, or the machine is paused. top says that the disk is in the layer itself, and not in another one upon it. The layer's
// file stays, and is of no use. A merge that an earlier call began is gone on with. One that ends before all is written is an error: QEMU ends
// it where there is no room, and a person or the end of the machine may.
func (c *Client) MergeLayer(ctx context.Context, uuid, target string, layer *Volume, top bool) error {
	what := fmt.Sprintf("merge %s into %s for disk %s of", layer.Path(), layer.Backing(), target)
	wanted, flags := libvirt.DomainBlockJobTypeCommit, libvirt.DomainBlockCommitFlags(0)
	if top {
		wanted, flags = libvirt.DomainBlockJobTypeActiveCommit, libvirt.DomainBlockCommitActive
	}
	began := c.onDomain(ctx, uuid, what, func(l *libvirt.Libvirt, ref libvirt.Domain) error {
		job, kind, _, _, _, err := l.DomainGetBlockJobInfo(ref, target, 0)
		switch is := libvirt.DomainBlockJobType(kind); {
		case err != nil:
			return err
		case job != 0 && is != wanted:
			return newOtherJobError(uuid, target, is)
		case job != 0:
			return nil
		}
		return l.DomainBlockCommit(ref, target, libvirt.OptString{layer.Backing()}, libvirt.OptString{layer.Path()}, 0, flags)
	})
	if began != nil {
		return began
	}
	for {
		over := false
		err := c.onDomain(ctx, uuid, what, func(l *libvirt.Libvirt, ref libvirt.Domain) error {
			job, _, _, done, all, err := l.DomainGetBlockJobInfo(ref, target, 0)
			if over = job == 0; err != nil || over || !top || done != all {
				return err
			}
			// All is written, and what is written from now on goes into both: the disk changes over. QEMU may need a moment for the last of it.
			err = l.DomainBlockJobAbort(ref, target, libvirt.DomainBlockJobAbortPivot)
			if code := Code(explainError("", err)); code == int(libvirt.ErrBlockCopyActive) || code == int(libvirt.ErrOperationInvalid) {
				return nil
			}
			return err
		})
		if err != nil {
			return err
		}
		if over {
			return c.checkMerged(ctx, what, uuid, target, layer)
		}
		if err := Pause(ctx, 100*time.Millisecond); err != nil {
			return fmt.Errorf("%s domain %s: %w", what, uuid, err)
		}
	}
}

// newOtherJobError says what is to be done about a job of a disk that keeps a layer of it from being merged. The merge of the layer that the disk is in
// does not end by itself: whoever removes that one's snapshot ends it, and where that was interrupted, the next apply.
func newOtherJobError(uuid, target string, kind libvirt.DomainBlockJobType) error {
	if kind == libvirt.DomainBlockJobTypeActiveCommit {
		return fmt.Errorf("the layer that its disk %s is in is being merged already, as by the removal of a later snapshot that was interrupted: apply again, which ends that first, or end it (virsh blockjob %s %s --pivot)", target, uuid, target)
	}
	return fmt.Errorf("its disk %s is being copied by somebody (virsh blockjob %s %s): wait for the end of that", target, uuid, target)
}

// checkMerged returns an error where a merge is over and the disk is not seen to do without the layer: libvirt forgets a merge however it ended.
func (c *Client) checkMerged(ctx context.Context, what, uuid, target string, layer *Volume) error {
	d, err := c.Domain(ctx, uuid)
	if err != nil {
		return err
	}
	if d.Active() && !hasLayer(d.Live, target, layer) && !hasLayer(d.Config, target, layer) {
		return nil
	}
	return fmt.Errorf("%s domain %s: it ended before all was written, and the disk is still in the layer, which stays: "+
		"is there room below, does the machine run on, and did nobody end it (virsh blockjob --abort)?", what, uuid)
}

// hasLayer says whether a disk of a domain, by its target, is in a file or in one that lies upon that.
func hasLayer(d *libvirtxml.Domain, target string, file *Volume) bool {
	return d.Devices != nil && slices.ContainsFunc(d.Devices.Disks, func(disk libvirtxml.DomainDisk) bool {
		return disk.Target != nil && disk.Target.Dev == target && (file.IsSource(disk.Source) || file.IsBelow(disk))
	})
}

// SuspendDomain has a running machine's processors stand still.
func (c *Client) SuspendDomain(ctx context.Context, uuid string) error {
	return c.onDomain(ctx, uuid, "suspend", func(l *libvirt.Libvirt, ref libvirt.Domain) error { return l.DomainSuspend(ref) })
}

// ResumeDomain has a machine go on that SuspendDomain has stand still. One that runs, or has ended meanwhile, is no error.
func (c *Client) ResumeDomain(ctx context.Context, uuid string) error {
	return c.onDomain(ctx, uuid, "resume", func(l *libvirt.Libvirt, ref libvirt.Domain) error {
		state, _, err := l.DomainGetState(ref, 0)
		if err != nil || libvirt.DomainState(state) != libvirt.DomainPaused {
			return err
		}
		return l.DomainResume(ref)
	})
}

// FreezeDomain has the guest agent write all file systems down and hold them until they are thawed. It may take so many seconds to answer at all, and
// then so many to hold them. An Error is libvirt's word that no agent did it. told says whether the agent was told to: it may do so yet. Where the context
// ends meanwhile, the agent is told nothing more, and what it was told already is waited for: nobody would thaw what it holds later.
func (c *Client) FreezeDomain(ctx context.Context, uuid string, answer, hold int32) (told bool, err error) {
	until, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Duration(answer+hold)*time.Second+freezePatience)
	defer cancel()
	var toldAgent atomic.Bool // also by a call that is left behind at that limit
	err = c.onDomain(until, uuid, "freeze the file systems of", func(l *libvirt.Libvirt, ref libvirt.Domain) error {
		err := askAgent(l, ref, answer)
		if err == nil {
			_, err = l.DomainAgentSetResponseTimeout(ref, hold, 0)
		}
		if err == nil && ctx.Err() == nil {
			toldAgent.Store(true)
			_, err = l.DomainFsfreeze(ref, nil, 0)
		}
		_, after := l.DomainAgentSetResponseTimeout(ref, int32(libvirt.DomainAgentResponseTimeoutBlock), 0)
		if err == nil {
			err = after
		}
		return err
	})
	if told = toldAgent.Load(); err == nil && !told {
		err = fmt.Errorf("freeze the file systems of domain %s: %w", uuid, context.Cause(ctx))
	}
	return told, err
}

// freezePatience is how long a freeze may take beside what its agent takes: to connect, and to have its turn with the domain.
const freezePatience = 30 * time.Second

// askAgent asks a guest agent for something small, and says where it does not answer in so many seconds. One that answers that it may not tell has
// answered.
func askAgent(l *libvirt.Libvirt, ref libvirt.Domain, seconds int32) error {
	if _, err := l.DomainAgentSetResponseTimeout(ref, seconds, 0); err != nil {
		return err
	}
	_, _, err := l.DomainGetTime(ref, 0)
	if said, ok := errors.AsType[libvirt.Error](err); ok && !isSlow(said.Code) {
		return nil
	}
	return err
}

// IsAgentSlow says that a guest agent was asked and did not answer in time: it may do what it was asked for yet.
func IsAgentSlow(err error) bool { return isSlow(uint32(Code(err))) }

func isSlow(code uint32) bool {
	return code == uint32(libvirt.ErrAgentUnresponsive) || code == uint32(libvirt.ErrAgentCommandTimeout)
}

// ThawDomain lets go of what FreezeDomain holds.
func (c *Client) ThawDomain(ctx context.Context, uuid string) error {
	return c.onDomain(ctx, uuid, "thaw the file systems of", func(l *libvirt.Libvirt, ref libvirt.Domain) error {
		_, err := l.DomainFsthaw(ref, nil, 0)
		return err
	})
}

// StartDomainPaused starts a stopped machine without letting its guest run. libvirt powers it off where the connection ends.
func (c *Client) StartDomainPaused(ctx context.Context, uuid string) error {
	const flags = libvirt.DomainStartPaused | libvirt.DomainStartAutodestroy
	return c.onDomain(ctx, uuid, "start, paused,", func(l *libvirt.Libvirt, ref libvirt.Domain) error {
		_, err := l.DomainCreateWithFlags(ref, uint32(flags))
		return err
	})
}

// RestoreDomain has a stopped machine go on from a file with its memory. Its disks are in the given files, by their targets, which are qcow2.
func (c *Client) RestoreDomain(ctx context.Context, memory string, disks map[string]string) error {
	what := "restore a machine from " + memory
	text, err := callIdempotent(ctx, c, what, func(l *libvirt.Libvirt) (string, error) {
		return l.DomainSaveImageGetXMLDesc(memory, uint32(libvirt.DomainSaveImageXMLSecure))
	})
	if err != nil {
		return err
	}
	var d libvirtxml.Domain
	if err := d.Unmarshal(text); err != nil {
		return fmt.Errorf("%s: cannot understand its XML: %w", what, err)
	}
	for i := range d.Devices.Disks {
		disk := &d.Devices.Disks[i]
		if disk.Target == nil || disks[disk.Target.Dev] == "" {
			continue
		}
		disk.Source = &libvirtxml.DomainDiskSource{File: &libvirtxml.DomainDiskSourceFile{File: disks[disk.Target.Dev]}}
		disk.Driver.Type, disk.BackingStore = "qcow2", nil
	}
	if text, err = d.Marshal(); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	_, err = callOnce(ctx, c, what, withoutResult(func(l *libvirt.Libvirt) error {
		return l.DomainRestoreFlags(memory, libvirt.OptString{text}, uint32(libvirt.DomainSaveRunning))
	}))
	return err
}
