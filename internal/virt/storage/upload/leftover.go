package upload

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/hashicorp/terraform-plugin-log/tflog"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
)

// takeLeftover looks at what a killed run left behind. An unfinished image is deleted. A finished one with the very same
// content, of a run that was killed before it could tell, is taken over. Any other content is an error.
func takeLeftover(ctx context.Context, c *hypervisor.Client, req Request, image *content) (tookOver bool, err error) {
	v := req.Leftover
	if v == nil {
		return false, nil
	}
	head, err := c.PeekVolume(ctx, v, 0, headLength)
	if err != nil {
		return false, err
	}
	if len(head) == 0 || bytes.HasPrefix(head, []byte(markerText)) {
		if err := checkNobodyUploads(ctx, c, v, head); err != nil {
			return false, err
		}
		tflog.Info(ctx, "deleting an unfinished image", map[string]any{"volume": v.Path()})
		return false, c.DeleteVolume(ctx, req.Pool, req.Name)
	}
	same := bytes.Equal(head, image.head)
	if same {
		same, err = hasContent(ctx, c, v, image)
	}
	if err == nil && !same {
		err = fmt.Errorf("there is a volume %q in storage pool %q already, with other content: choose another name, delete it, or take it over with: terraform import ADDRESS %s/%s", req.Name, req.Pool, req.Pool, req.Name)
	}
	return same, err
}

// idlePeriod is how long an unfinished image must not change for nobody to be at work on it.
var idlePeriod = 3 * time.Second

// checkNobodyUploads makes sure that an unfinished image is not being uploaded by another run at this moment.
func checkNobodyUploads(ctx context.Context, c *hypervisor.Client, v *hypervisor.Volume, head []byte) error {
	before, err := c.Volume(ctx, v.Pool, v.Name())
	if err != nil {
		return err
	}
	if err := hypervisor.Pause(ctx, idlePeriod); err != nil {
		return err
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

// hasContent compares a volume with the image, byte by byte.
func hasContent(ctx context.Context, c *hypervisor.Client, v *hypervisor.Volume, image *content) (bool, error) {
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
