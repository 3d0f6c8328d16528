package machine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/storage"
)

func (v *ownVolume) volumeRef() VolumeRef { return VolumeRef{v.pool.Name(), v.xml.Name} }

// createVolumes makes volumes side by side, with the machine's marks, and marks those that are there because of it, be they whole or
// not. One that is there already is the machine's where it carries its mark: somebody took the disk out of the domain, or the domain
// away, and its content is wanted again, or an apply was interrupted between making the volume and plugging it in.
func (o *volumeOwner) createVolumes(ctx context.Context, volumes []ownVolume) error {
	var group errgroup.Group
	for i := range volumes {
		v := &volumes[i]
		group.Go(func() error { return service.At(v.path, o.createVolume(ctx, v)) })
	}
	return group.Wait()
}

func (o *volumeOwner) createVolume(ctx context.Context, v *ownVolume) error {
	ref := v.volumeRef()
	existing, err := o.client.KnownVolume(ctx, ref.Pool, ref.Name)
	if existing == nil && err == nil {
		if err = o.makeVolume(ctx, v); !errors.Is(err, hypervisor.ErrExists) {
			return err
		}
	}
	if err != nil {
		// libvirt counts a volume as there whose file somebody removed, until it looks at the pool anew.
		existing, err = o.client.Volume(ctx, ref.Pool, ref.Name)
		if hypervisor.IsNotFound(err) {
			return o.makeVolume(ctx, v)
		}
		if err != nil {
			return err
		}
	}
	own, whose, err := o.isOwn(ctx, ref, existing)
	if err != nil {
		return err
	}
	if !own {
		return o.newForeignError(ref, whose)
	}
	return o.adoptVolume(ctx, v, existing)
}

// makeVolume makes a volume that is not there, and its mark before it. The error is hypervisor.ErrExists where it is there.
func (o *volumeOwner) makeVolume(ctx context.Context, v *ownVolume) error {
	content, err := v.openContent(ctx)
	if err != nil {
		return err
	}
	defer content.Close() //nolint:errcheck // only read
	fresh := false
	if v.pool.Files() {
		if fresh, err = o.markedName(v.volumeRef()).WriteMark(ctx, o.mark, v.xml.Target.Permissions.Mode); err != nil {
			return err
		}
	}
	created, err := o.client.CreateVolume(ctx, v.pool.Name(), v.xml)
	if hypervisor.Code(err) != 0 { // what its last look at the pool did not see, libvirt refuses by another word
		if _, absent := o.client.Volume(ctx, v.pool.Name(), v.xml.Name); absent == nil {
			err = fmt.Errorf("%w: %w", hypervisor.ErrExists, err)
		}
	}
	if errors.Is(err, hypervisor.ErrExists) {
		if fresh {
			mine := func(m owner.Mark) bool { return m.ID == o.mark.ID }
			err = errors.Join(err, o.markedName(v.volumeRef()).RemoveMarks(context.WithoutCancel(ctx), mine))
		}
		return err
	}
	v.made = true
	if err == nil && !v.pool.Files() {
		err = o.noteMade(ctx, v.volumeRef())
	}
	if err != nil || !v.hasContent() {
		return err
	}
	_, err = o.client.UploadVolume(ctx, created, content)
	return err
}

// adoptVolume takes a volume of the machine's own that is there. One whose content is the provider's is deleted and made anew, as it
// may have been written by half.
func (o *volumeOwner) adoptVolume(ctx context.Context, v *ownVolume, existing *hypervisor.Volume) error {
	if v.hasContent() {
		if err := o.client.DeleteVolume(ctx, v.pool.Name(), v.xml.Name); err != nil {
			return err
		}
		return o.makeVolume(ctx, v)
	}
	if err := storage.AwaitUnusedBeside(ctx, o.client, o.uuid, []*hypervisor.Volume{existing}); err != nil {
		return err
	}
	v.there = true
	wanted := v.xml.Capacity.Value
	switch {
	case existing.Capacity() > wanted:
		return fmt.Errorf("its volume %s is there, with %d GiB, and a disk cannot shrink: write that size, or delete the volume first", existing.Path(), existing.CapacityGiB())
	case existing.Capacity() < wanted:
		if err := o.client.GrowVolume(ctx, existing, wanted); err != nil {
			return err
		}
	}
	return o.markVolume(ctx, v.volumeRef(), existing)
}

// listCreatedVolumes returns the volumes to be removed when what they were made for fails.
func listCreatedVolumes(volumes []ownVolume) []VolumeRef {
	var all []VolumeRef
	for _, v := range volumes {
		if v.made {
			all = append(all, v.volumeRef())
		}
	}
	return all
}

// replaceContent writes other content into a volume that is there, or makes the volume.
func (o *volumeOwner) replaceContent(ctx context.Context, v ownVolume) error {
	got, err := o.client.Volume(ctx, v.pool.Name(), v.xml.Name)
	if hypervisor.IsNotFound(err) {
		return o.createVolumes(ctx, []ownVolume{v})
	}
	if err != nil {
		return err
	}
	own, whose, err := o.isOwn(ctx, v.volumeRef(), got)
	if err == nil && !own {
		err = o.newForeignError(v.volumeRef(), whose)
	}
	if err != nil {
		return service.At(v.path, err)
	}
	content := v.content
	if v.key == Ignition {
		content = padContent(content, max(got.Capacity(), got.Physical()))
	}
	_, err = o.client.UploadVolume(ctx, got, bytes.NewReader(content))
	return err
}

// padContent is a text with spaces up to a size: an upload leaves what a longer file had behind it, and Ignition would read that.
func padContent(content []byte, size uint64) []byte {
	if missing := int64(size) - int64(len(content)); missing > 0 {
		return append(slices.Clone(content), bytes.Repeat([]byte(" "), int(missing))...)
	}
	return content
}
