package volume

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
)

// create makes the volume. One that is there already and is just what is wanted, with nothing written to it
// yet, is what a run leaves that was killed before it could tell: that is taken over.
func create(ctx context.Context, c *hypervisor.Client, m *model) (*hypervisor.Volume, error) {
	pool, name := m.Pool.ValueString(), m.Name.ValueString()
	image, err := findImage(ctx, c, m)
	if err != nil {
		return nil, fmt.Errorf("image: %w", err)
	}
	if image != nil && m.bytes(image) < image.Capacity() {
		return nil, fmt.Errorf("the image %s has %d bytes, so the overlay needs size_gib = %d or more", image.Path(), image.Capacity(), ceilGiB(image.Capacity()))
	}
	// libvirt would write over a file that it has not seen yet.
	if err := c.RefreshPool(ctx, pool); err != nil {
		return nil, err
	}
	v, err := c.CreateVolume(ctx, pool, m.definition(image))
	if !errors.Is(err, hypervisor.ErrExists) {
		return v, err
	}
	there, lookup := c.Volume(ctx, pool, name)
	if lookup != nil {
		return nil, errors.Join(err, lookup)
	}
	fresh, lookup := untouched(ctx, c, there, m, image)
	if lookup != nil {
		return nil, errors.Join(err, lookup)
	}
	if !fresh {
		return nil, fmt.Errorf("there is a volume %q in storage pool %q already: choose another name, delete it, or take it over with: terraform import ADDRESS %s/%s", name, pool, pool, name)
	}
	return there, nil
}

// untouched says that a volume is what the model wants and that nothing was ever written to it.
func untouched(ctx context.Context, c *hypervisor.Client, v *hypervisor.Volume, m *model, image *hypervisor.Volume) (bool, error) {
	backing := ""
	if image != nil {
		backing = image.Path()
	}
	if v.Format() != m.Format.ValueString() || v.Capacity() != m.bytes(image) || v.Backing() != backing {
		return false, nil
	}
	if v.Format() == "raw" {
		return v.Allocation() == 0, nil
	}
	return emptyQCOW2(ctx, c, v)
}

// emptyQCOW2 says that a qcow2 volume maps no cluster: its level 1 table is all zero (QEMU's
// docs/interop/qcow2.txt).
func emptyQCOW2(ctx context.Context, c *hypervisor.Client, v *hypervisor.Volume) (bool, error) {
	header, err := c.PeekVolume(ctx, v, 0, 72)
	if err != nil || len(header) < 72 || !bytes.HasPrefix(header, []byte("QFI\xfb")) {
		return false, err
	}
	length, offset := 8*uint64(binary.BigEndian.Uint32(header[36:])), binary.BigEndian.Uint64(header[40:])
	table, err := c.PeekVolume(ctx, v, offset, length)
	return err == nil && len(bytes.Trim(table, "\x00")) == 0, err
}
