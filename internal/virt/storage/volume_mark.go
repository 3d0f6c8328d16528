package storage

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"

	"libvirt.org/go/libvirtxml"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
)

// libvirt keeps no notes beside a volume, what is in an image must stay as its checksum has it, and a mark has to outlive a
// killed apply and a lost state. So whose a volume is stands in the name of an empty file beside it, which libvirt makes in one
// step and lists with the pool: NAME.virtcluster-ID-WORKSPACE. It is made before the volume and removed after it. Until the resource's
// create has ended, the run that makes it is behind that (owner.Run): NAME.virtcluster-ID-WORKSPACE-RUN.
//
// A mark alone proves nothing about the volume: that may have been there before, or a person may have made it again under the name.
// libvirt tells neither a file's inode nor when it was made. But a file keeps its mode, however often it is written, grown or
// uploaded to, so a volume is made with one that libvirt and qemu-img give to nothing (they make 0600 and 0644), and its mark with the
// same: a mark whose mode is another one is of another volume.
const markWord = ".virtcluster-"

// MarkedMode is the mode of a volume that the provider makes, and of its mark: what libvirt gives by default, and a bit that means
// nothing for a file that is no program.
const MarkedMode = "0610"

var markForm = regexp.MustCompile(`^(.+)\.virtcluster-([a-z0-9]+)-([0-9a-f]*)(?:-([0-9a-z.]+))?$`)

// buildMarkName returns the name of the file that marks a volume.
func buildMarkName(volume string, m owner.Mark) string {
	name := volume + markWord + m.ID + "-" + m.Workspace
	if m.Creating != "" {
		name += "-" + m.Creating
	}
	return name
}

// parseMarkName reads the name of a file that marks a volume; false for any other name.
func parseMarkName(name string) (volume string, m owner.Mark, ok bool) {
	parts := markForm.FindStringSubmatch(name)
	if parts == nil {
		return "", owner.Mark{}, false
	}
	return parts[1], owner.Mark{ID: parts[2], Workspace: parts[3], Creating: parts[4]}, true
}

// MarkedName is the name of a volume in a pool of files, with the marks that stand beside it.
type MarkedName struct {
	Client     *hypervisor.Client
	Pool, Name string
}

// keepsBitmaps is the version of qcow2 from which on a file keeps bitmaps of what was written to it, as libvirt calls it. By itself it makes files
// of the one before (9.0).
const keepsBitmaps = "1.1"

// NewMarkedVolume returns what libvirt is asked to make for a volume of a format that is to be marked.
func NewMarkedVolume(name, format string, bytes uint64) *libvirtxml.StorageVolume {
	v := &libvirtxml.StorageVolume{
		Name: name, Capacity: &libvirtxml.StorageVolumeSize{Unit: "bytes", Value: bytes},
		Target: &libvirtxml.StorageVolumeTarget{
			Format: &libvirtxml.StorageVolumeTargetFormat{Type: format}, Permissions: &libvirtxml.StorageVolumeTargetPermissions{Mode: MarkedMode},
		},
	}
	if format == "qcow2" {
		v.Target.Compat = keepsBitmaps
	}
	return v
}

// KeepsBitmaps says whether a file can keep which of its parts were written to since a checkpoint: libvirt tells the version of such only.
func KeepsBitmaps(v *hypervisor.Volume) bool {
	return DiskFormat(v) == "qcow2" && v.XML.Target != nil && v.XML.Target.Compat != "" && v.XML.Target.Compat != "0.10"
}

// ListMarked lists the names in a pool beside which marks stand, with these, be they of the volumes that have the names or of others.
func ListMarked(ctx context.Context, c *hypervisor.Client, pool string) (map[string][]owner.Mark, error) {
	names, err := c.VolumeNames(ctx, pool)
	all := map[string][]owner.Mark{}
	for _, name := range slices.Sorted(slices.Values(names)) {
		if volume, m, ok := parseMarkName(name); ok {
			all[volume] = append(all[volume], m)
		}
	}
	return all, err
}

// IsListed says whether a mark is among the names of a pool's volumes, be it of the volume that has the name or of another one.
func (n MarkedName) IsListed(names []string, m owner.Mark) bool {
	return slices.Contains(names, buildMarkName(n.Name, m))
}

// listAllMarks lists the marks that stand beside the name, be they of the volume that has it or of another one.
func (n MarkedName) listAllMarks(ctx context.Context) ([]owner.Mark, error) {
	names, err := n.Client.VolumeNames(ctx, n.Pool)
	if err != nil {
		return nil, err
	}
	var marks []owner.Mark
	for _, name := range slices.Sorted(slices.Values(names)) {
		if volume, m, ok := parseMarkName(name); ok && volume == n.Name {
			marks = append(marks, m)
		}
	}
	return marks, nil
}

// ListMarks lists whose the volume that has the name is said to be: nobody's where a person made it, and more than one's where two
// runs began it at one time and one of them was killed before it could give way.
func (n MarkedName) ListMarks(ctx context.Context, v *hypervisor.Volume) ([]owner.Mark, error) {
	marks, _, err := n.SortMarks(ctx, v)
	return marks, err
}

// SortMarks tells the marks of the volume that has the name from those of another one that had it before.
func (n MarkedName) SortMarks(ctx context.Context, v *hypervisor.Volume) (marks, stale []owner.Mark, err error) {
	all, err := n.listAllMarks(ctx)
	if err != nil {
		return nil, nil, err
	}
	for _, m := range all {
		is, err := n.isMarked(ctx, v, m)
		switch {
		case err != nil:
			return nil, nil, err
		case is:
			marks = append(marks, m)
		default:
			stale = append(stale, m)
		}
	}
	return marks, stale, nil
}

// isMarked says whether the volume that has the name carries a mark.
func (n MarkedName) isMarked(ctx context.Context, v *hypervisor.Volume, m owner.Mark) (bool, error) {
	file, err := n.Client.KnownVolume(ctx, n.Pool, buildMarkName(n.Name, m))
	return file != nil && file.Mode() == v.Mode(), err
}

// IsOneWith says whether a mark of the name is the very file that marks another name, on another hypervisor: both have one storage then, and the volumes
// beside the marks are one. Volumes are written to between two looks at them, and marks never are.
func (n MarkedName) IsOneWith(ctx context.Context, other MarkedName) (bool, error) {
	marks, err := n.listAllMarks(ctx)
	if err != nil {
		return false, err
	}
	for _, m := range marks {
		here, err := n.Client.KnownVolume(ctx, n.Pool, buildMarkName(n.Name, m))
		if err != nil {
			return false, err
		}
		there, err := other.Client.KnownVolume(ctx, other.Pool, buildMarkName(other.Name, m))
		if err != nil {
			return false, err
		}
		if isOneFile(here, there) {
			return true, nil
		}
	}
	return false, nil
}

// isOneFile says whether two files, of which each may be nil for none, were written and changed at the same moments, which file systems keep to the
// nanosecond. A copy may have the first moment of what it was copied from; the second one nobody can set.
func isOneFile(a, b *hypervisor.Volume) bool {
	if a == nil || b == nil || a.XML.Target == nil || b.XML.Target == nil {
		return false
	}
	of, as := a.XML.Target.Timestamps, b.XML.Target.Timestamps
	return of != nil && as != nil && of.Ctime != "" && of.Mtime == as.Mtime && of.Ctime == as.Ctime
}

// WriteMark writes a mark for a volume of a mode: MarkedMode for one that is to be made. fresh says that there was none for such a
// volume.
func (n MarkedName) WriteMark(ctx context.Context, m owner.Mark, mode string) (fresh bool, err error) {
	file := NewMarkedVolume(buildMarkName(n.Name, m), "raw", 0)
	file.Target.Permissions.Mode = mode
	_, err = n.Client.CreateVolume(ctx, n.Pool, file)
	if errors.Is(err, hypervisor.ErrExists) {
		var there *hypervisor.Volume
		if there, err = n.Client.KnownVolume(ctx, n.Pool, file.Name); err == nil && there != nil && there.Mode() == mode {
			return false, nil
		}
		if err == nil { // it is of a volume that had the name before
			err = n.Client.DeleteVolume(ctx, n.Pool, file.Name)
		}
		if err == nil {
			_, err = n.Client.CreateVolume(ctx, n.Pool, file)
		}
	}
	if err != nil {
		return false, fmt.Errorf("mark it as this state's: %w", err)
	}
	return true, nil
}

// RemoveMarks removes the marks that are some, be they of the volume that has the name or of another one.
func (n MarkedName) RemoveMarks(ctx context.Context, are func(owner.Mark) bool) error {
	marks, err := n.listAllMarks(ctx)
	if err != nil {
		return err
	}
	for _, m := range marks {
		if !are(m) {
			continue
		}
		if err := n.Client.DeleteVolume(ctx, n.Pool, buildMarkName(n.Name, m)); err != nil {
			return err
		}
	}
	return nil
}
