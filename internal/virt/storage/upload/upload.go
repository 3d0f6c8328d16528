// Package upload streams a disk image from a URL or a file into a volume of a storage pool: it decompresses on the way, checks
// what arrives, keeps the pool from filling up, and leaves no volume behind where anything fails.
package upload

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"time"

	"libvirt.org/go/libvirtxml"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
)

// Request is an image that is to be uploaded.
type Request struct {
	// Pool and Name say which volume it becomes.
	Pool, Name string
	Source     Source
	// Checksum of the source as it is, compressed or not; the zero Checksum where there is none.
	Checksum Checksum
	// Format that is asked for, "qcow2" or "raw"; "" takes what the source is.
	Format string
	// Mode is what the volume's file gets, in octal: "0610".
	Mode string
	// Leftover is the volume of that name which a killed run of the same workspace left behind; nil for none. What is
	// unfinished of it is deleted, and what has the very same content is taken over.
	Leftover *hypervisor.Volume
}

// Result is an image that was uploaded.
type Result struct {
	// Volume is what there is, also where an error came with it: nil where nothing was left.
	Volume *hypervisor.Volume
	// Format that was found in the content: "qcow2" or "raw".
	Format string
	// SHA256 of the source in hexadecimal; "" where it was not computed. CRC32C is that of a local source, and 0 of others.
	SHA256 string
	CRC32C uint32
	// TookOver says that the volume was there with this very content, and Replaced that it was unfinished and is gone, also where an error
	// came with it.
	TookOver, Replaced bool
}

// A volume cannot be renamed, so an unfinished one has the image's name. What tells it from a finished one
// is its first block: a marker stands there until everything else has arrived and the checksum was right.
// A run that was killed leaves the marker, and the next one knows what it sees. Nobody can boot from it.
const markerText = "virtcluster: this image is not finished\n"

// newMarker returns a first block of a length, with a token that tells this run's upload from another's.
func newMarker(length int) []byte {
	return append([]byte(markerText+rand.Text()+"\n"), make([]byte, length)...)[:length]
}

// cleanupTimeout bounds what is still done after the caller has given up.
const cleanupTimeout = 30 * time.Second

// Run streams the source into a new volume. Whatever fails, no volume is left unless that cannot be deleted either.
func Run(ctx context.Context, c *hypervisor.Client, req Request) (r Result, err error) {
	raw, size, err := req.Source.openSource(ctx, req.Checksum.Algorithm != "", false)
	if err != nil {
		return r, err
	}
	counted := newProgress(ctx, req, raw, size)
	image, err := openContent(counted)
	if err != nil {
		_ = raw.Close()
		return r, fmt.Errorf("%s: %w", req.Source, err)
	}
	defer image.close()
	defer raw.Close() //nolint:errcheck // read to its end, or not wanted any more; before image.close, which waits for a read that is under way
	if req.Format != "" && req.Format != image.format {
		return r, fmt.Errorf("%s: the image's format is %s and `format` says %s: correct it, or leave it out", req.Source, image.format, req.Format)
	}
	if r.TookOver, err = takeLeftover(ctx, c, req, image); err != nil {
		return r, err
	}
	r.Replaced = req.Leftover != nil && !r.TookOver
	if r.TookOver {
		r.Volume, err = req.Leftover, readToEnd(counted)
	} else {
		r.Volume, err = writeVolume(ctx, c, req, image, counted, size)
	}
	if err != nil {
		return r, err
	}
	counted.reportProgress("image uploaded")
	r.Format, r.SHA256, r.CRC32C = image.format, counted.digests.SHA256(), counted.digests.CRC32C()
	// libvirt looks at a volume's format only when it looks at the whole pool.
	if err := c.RefreshPool(ctx, req.Pool); err != nil {
		return r, err
	}
	v, err := c.Volume(ctx, req.Pool, req.Name)
	if err == nil {
		r.Volume = v
	}
	return r, err
}

// writeVolume makes the volume, fills it and puts its first block in place when all is well. It returns what there is.
func writeVolume(ctx context.Context, c *hypervisor.Client, req Request, image *content, counted *progress, size int64) (*hypervisor.Volume, error) {
	release, err := reserveRoom(ctx, c, req, image, size)
	if err != nil {
		return nil, err
	}
	defer release()
	v, err := c.CreateVolume(ctx, req.Pool, &libvirtxml.StorageVolume{
		Name:     req.Name,
		Capacity: &libvirtxml.StorageVolumeSize{Value: 0},
		Target: &libvirtxml.StorageVolumeTarget{
			Format: &libvirtxml.StorageVolumeTargetFormat{Type: "raw"}, Permissions: &libvirtxml.StorageVolumeTargetPermissions{Mode: req.Mode},
		},
	})
	if err != nil {
		return nil, err
	}
	marker := newMarker(len(image.head))
	err = fillVolume(ctx, c, v, marker, image, counted)
	if err == nil {
		return v, nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
	defer cancel()
	if undo := deleteUnfinished(ctx, c, v, marker); undo != nil {
		return v, errors.Join(err, fmt.Errorf("the unfinished volume is left behind, and the next apply will replace it: %w", undo))
	}
	return nil, err
}

func fillVolume(ctx context.Context, c *hypervisor.Client, v *hypervisor.Volume, marker []byte, image *content, counted *progress) error {
	if _, err := c.UploadVolume(ctx, v, io.MultiReader(bytes.NewReader(marker), image.rest)); err != nil {
		return err
	}
	if err := readToEnd(counted); err != nil {
		return err
	}
	found, err := c.PeekVolume(ctx, v, 0, uint64(len(marker)))
	if err != nil {
		return err
	}
	if !bytes.Equal(found, marker) {
		return fmt.Errorf("another run of Terraform is uploading the same image: only one of them may (%d bytes of another beginning)", len(found))
	}
	return c.PatchVolume(ctx, v, 0, image.head)
}

// readToEnd reads what follows the compressed content, if anything, and verifies the checksum, which is over
// the whole source.
func readToEnd(counted *progress) error {
	if _, err := io.Copy(io.Discard, counted); err != nil {
		return err
	}
	return counted.digests.verifySum()
}

// deleteUnfinished deletes the unfinished volume of this run: one that is empty yet or has its marker.
func deleteUnfinished(ctx context.Context, c *hypervisor.Client, v *hypervisor.Volume, marker []byte) error {
	found, err := c.PeekVolume(ctx, v, 0, uint64(len(marker)))
	if hypervisor.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	if len(found) > 0 && !bytes.Equal(found, marker) {
		return nil // another run's
	}
	return c.DeleteVolume(ctx, v.Pool, v.Name())
}
