package node

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

// makeVolumes makes volumes side by side, and marks those that are there because of it, be they whole or not.
func makeVolumes(ctx context.Context, c *hypervisor.Client, volumes []ownVolume) error {
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

// made are the volumes to be removed when what they were made for fails.
func made(volumes []ownVolume) []volumeRef {
	var all []volumeRef
	for _, v := range volumes {
		if v.made {
			all = append(all, volumeRef{v.pool.Name(), v.xml.Name})
		}
	}
	return all
}

// replaceContent writes other content into a volume that is there, or makes the volume.
func replaceContent(ctx context.Context, c *hypervisor.Client, v ownVolume) error {
	got, err := c.Volume(ctx, v.pool.Name(), v.xml.Name)
	if hypervisor.IsNotFound(err) {
		return makeVolumes(ctx, c, []ownVolume{v})
	}
	if err != nil {
		return err
	}
	_, err = c.UploadVolume(ctx, got, bytes.NewReader(v.content))
	return err
}
