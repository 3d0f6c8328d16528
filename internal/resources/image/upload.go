package image

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/hashicorp/terraform-plugin-log/tflog"
	"libvirt.org/go/libvirtxml"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
)

// spec is an image that is to be made.
type spec struct {
	pool, name string
	source     source
	checksum   checksum
	// format that the configuration asks for; "" takes what the source is.
	format string
}

// result is an image that was made.
type result struct {
	volume  *hypervisor.Volume
	digests *digests
	// takenOver says that the volume was there with this very content.
	takenOver bool
}

// A volume cannot be renamed, so an unfinished one has the image's name. What tells it from a finished one
// is its first block: a marker stands there until everything else has arrived and the checksum was right.
// A run that was killed leaves the marker, and the next one knows what it sees. Nobody can boot from it.
const markerText = "virtcluster: this image is not finished\n"

// newMarker is a first block of a length, with a token that tells this run's upload from another's.
func newMarker(length int) []byte {
	return append([]byte(markerText+rand.Text()+"\n"), make([]byte, length)...)[:length]
}

// cleanupTimeout bounds what is still done after the caller has given up.
const cleanupTimeout = 30 * time.Second

// upload streams the source into a new volume. Whatever fails, no volume is left.
func upload(ctx context.Context, c *hypervisor.Client, s spec) (r result, err error) {
	pool, err := c.Pool(ctx, s.pool)
	if err != nil {
		return r, err
	}
	if !pool.Files() {
		return r, fmt.Errorf("storage pool %q is of type %q: an image needs a pool of files, such as \"dir\"", s.pool, pool.Type())
	}
	raw, size, err := s.source.open(ctx, s.checksum.algorithm != "")
	if err != nil {
		return r, err
	}
	defer raw.Close() //nolint:errcheck // read to its end, or not wanted any more
	counted := newProgress(ctx, s, raw, size)
	image, err := openContent(counted)
	if err != nil {
		return r, fmt.Errorf("%s: %w", s.source, err)
	}
	defer image.close()
	if s.format != "" && s.format != image.format {
		return r, fmt.Errorf("%s: the image's format is %s and `format` says %s: correct it, or leave it out", s.source, image.format, s.format)
	}
	if r.takenOver, err = makeWay(ctx, c, s, image); err != nil {
		return r, err
	}
	if !r.takenOver {
		release, err := makeSure(ctx, c, s, image, size)
		if err != nil {
			return r, err
		}
		err = store(ctx, c, s, image, counted)
		release()
		if err != nil {
			return r, err
		}
	} else if err := drain(counted); err != nil {
		return r, err
	}
	counted.report("image uploaded")
	r.digests = counted.digests
	// libvirt looks at a volume's format only when it looks at the whole pool.
	if err := c.RefreshPool(ctx, s.pool); err != nil {
		return r, err
	}
	r.volume, err = c.Volume(ctx, s.pool, s.name)
	return r, err
}

// store makes the volume, fills it and puts its first block in place when all is well.
func store(ctx context.Context, c *hypervisor.Client, s spec, image *content, counted *progress) (err error) {
	v, err := c.CreateVolume(ctx, s.pool, &libvirtxml.StorageVolume{
		Name:     s.name,
		Capacity: &libvirtxml.StorageVolumeSize{Value: 0},
		Target:   &libvirtxml.StorageVolumeTarget{Format: &libvirtxml.StorageVolumeTargetFormat{Type: "raw"}},
	})
	if err != nil {
		return err
	}
	marker := newMarker(len(image.head))
	defer func() {
		if err == nil {
			return
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
		defer cancel()
		if undo := discard(ctx, c, v, marker); undo != nil {
			err = errors.Join(err, fmt.Errorf("the unfinished volume is left behind, and the next apply will replace it: %w", undo))
		}
	}()
	if _, err := c.UploadVolume(ctx, v, io.MultiReader(bytes.NewReader(marker), image.rest)); err != nil {
		return err
	}
	if err := drain(counted); err != nil {
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

// drain reads what follows the compressed content, if anything, and verifies the checksum, which is over
// the whole source.
func drain(counted *progress) error {
	if _, err := io.Copy(io.Discard, counted); err != nil {
		return err
	}
	return counted.digests.verify()
}

// discard deletes the unfinished volume of this run: one that is empty yet or has its marker.
func discard(ctx context.Context, c *hypervisor.Client, v *hypervisor.Volume, marker []byte) error {
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

// makeWay makes way for the volume. What a killed run left unfinished is deleted. A finished image with the
// very same content is what a run leaves that was killed before it could tell: that is taken over. Anything
// else is somebody's.
func makeWay(ctx context.Context, c *hypervisor.Client, s spec, image *content) (takenOver bool, err error) {
	// libvirt would write over a file that it has not seen yet.
	if err := c.RefreshPool(ctx, s.pool); err != nil {
		return false, err
	}
	v, err := c.Volume(ctx, s.pool, s.name)
	if hypervisor.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	head, err := c.PeekVolume(ctx, v, 0, headLength)
	if err != nil {
		return false, err
	}
	if len(head) == 0 || bytes.HasPrefix(head, []byte(markerText)) {
		if err := idle(ctx, c, v, head); err != nil {
			return false, err
		}
		tflog.Info(ctx, "deleting an unfinished image", map[string]any{"volume": v.Path()})
		return false, c.DeleteVolume(ctx, s.pool, s.name)
	}
	same := bytes.Equal(head, image.head)
	if same {
		same, err = equal(ctx, c, v, image)
	}
	if err == nil && !same {
		err = fmt.Errorf("there is a volume %q in storage pool %q already, with other content: choose another name, delete it, or take it over with: terraform import ADDRESS %s/%s", s.name, s.pool, s.pool, s.name)
	}
	return same, err
}

// idlePeriod is how long an unfinished image must not change for nobody to be at work on it.
var idlePeriod = 3 * time.Second

// idle makes sure that an unfinished image is not being uploaded by another run at this moment.
func idle(ctx context.Context, c *hypervisor.Client, v *hypervisor.Volume, head []byte) error {
	before, err := c.Volume(ctx, v.Pool, v.Name())
	if err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(idlePeriod):
	}
	now, err := c.Volume(ctx, v.Pool, v.Name())
	if err != nil {
		return err
	}
	again, err := c.PeekVolume(ctx, v, 0, headLength)
	if err != nil {
		return err
	}
	if !bytes.Equal(again, head) || now.Allocation() != before.Allocation() || now.Physical() != before.Physical() {
		return fmt.Errorf("volume %q is being uploaded by another run of Terraform: wait until that has ended, and apply again", v.Name())
	}
	return nil
}

// equal compares a volume with the image, byte by byte.
func equal(ctx context.Context, c *hypervisor.Client, v *hypervisor.Volume, image *content) (bool, error) {
	tflog.Info(ctx, "comparing the image with a volume that is there", map[string]any{"volume": v.Path()})
	want := &comparison{content: io.MultiReader(bytes.NewReader(image.head), image.rest), buffer: make([]byte, 1<<20)}
	if err := c.DownloadVolume(ctx, v, 0, 0, want); err != nil {
		if errors.Is(err, errDiffers) {
			return false, nil
		}
		return false, err
	}
	n, err := hypervisor.Fill(want.content, want.buffer[:1])
	if err != nil && err != io.EOF { //nolint:errorlint // an EOF that is wrapped is a source that broke off, not the end
		return false, err
	}
	return n == 0, nil
}

var errDiffers = errors.New("the content differs")

// comparison is a writer that fails with errDiffers where it gets anything but the content.
type comparison struct {
	content io.Reader
	buffer  []byte
}

func (w *comparison) Write(p []byte) (int, error) {
	for at := 0; at < len(p); {
		b := w.buffer[:min(len(w.buffer), len(p)-at)]
		n, err := hypervisor.Fill(w.content, b)
		if err != nil && err != io.EOF { //nolint:errorlint // an EOF that is wrapped is a source that broke off, not the end
			return at, err
		}
		if !bytes.Equal(b[:n], p[at:at+len(b)]) {
			return at, errDiffers
		}
		at += n
	}
	return len(p), nil
}
