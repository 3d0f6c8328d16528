package machine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

// createVolumes makes volumes side by side, and marks those that are there because of it, be they whole or not.
func createVolumes(ctx context.Context, c *hypervisor.Client, volumes []ownVolume) error {
	var group errgroup.Group
	for i := range volumes {
		v := &volumes[i]
		if v.there {
			continue
		}
		group.Go(func() error {
			created, err := createVolume(ctx, c, v)
			if errors.Is(err, hypervisor.ErrExists) {
				return service.At(v.path, fmt.Errorf("%w: nobody knows whose it is; delete it, or import the node that it belongs to", err))
			}
			v.made = true
			if err != nil || v.content == nil {
				return service.At(v.path, err)
			}
			_, err = c.UploadVolume(ctx, created, bytes.NewReader(v.content))
			return service.At(v.path, err)
		})
	}
	return group.Wait()
}

// createVolume makes a volume. libvirt counts one as there whose file somebody removed, until it looks at the pool anew.
func createVolume(ctx context.Context, c *hypervisor.Client, v *ownVolume) (*hypervisor.Volume, error) {
	created, err := c.CreateVolume(ctx, v.pool.Name(), v.xml)
	if errors.Is(err, hypervisor.ErrExists) {
		if _, gone := c.Volume(ctx, v.pool.Name(), v.xml.Name); hypervisor.IsNotFound(gone) {
			return c.CreateVolume(ctx, v.pool.Name(), v.xml)
		}
	}
	return created, err
}

// listCreatedVolumes returns the volumes to be removed when what they were made for fails.
func listCreatedVolumes(volumes []ownVolume) []VolumeRef {
	var all []VolumeRef
	for _, v := range volumes {
		if v.made {
			all = append(all, VolumeRef{v.pool.Name(), v.xml.Name})
		}
	}
	return all
}

// replaceContent writes other content into a volume that is there, or makes the volume.
func replaceContent(ctx context.Context, c *hypervisor.Client, v ownVolume) error {
	got, err := c.Volume(ctx, v.pool.Name(), v.xml.Name)
	if hypervisor.IsNotFound(err) {
		return createVolumes(ctx, c, []ownVolume{v})
	}
	if err != nil {
		return err
	}
	content := v.content
	if v.key == Ignition {
		content = padContent(content, max(got.Capacity(), got.Physical()))
	}
	_, err = c.UploadVolume(ctx, got, bytes.NewReader(content))
	return err
}

// padContent is a text with spaces up to a size: an upload leaves what a longer file had behind it, and Ignition would read that.
func padContent(content []byte, size uint64) []byte {
	if missing := int64(size) - int64(len(content)); missing > 0 {
		return append(slices.Clone(content), bytes.Repeat([]byte(" "), int(missing))...)
	}
	return content
}

// removeVolumes removes volumes; what is absent already is no error.
func removeVolumes(ctx context.Context, c *hypervisor.Client, volumes []VolumeRef) error {
	var err error
	for _, v := range volumes {
		err = errors.Join(err, c.DeleteVolume(ctx, v.Pool, v.Name))
	}
	return err
}
