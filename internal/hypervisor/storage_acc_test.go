package hypervisor

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"libvirt.org/go/libvirtxml"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/sshhost"
)

// sandboxPool makes a pool in a directory of its own on the sandbox's hypervisor.
func sandboxPool(t testing.TB, name string) (*Client, string) {
	t.Helper()
	if os.Getenv("TF_ACC") == "" {
		t.Skip("needs the sandbox: TF_ACC is not set")
	}
	c, err := New("qemu:///system", sshhost.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	dir := filepath.Join("/var/lib/libvirt", name)
	ctx := context.Background()
	for _, step := range []func() error{
		func() error {
			return c.DefinePool(ctx, &libvirtxml.StoragePool{Type: "dir", Name: name, Target: &libvirtxml.StoragePoolTarget{Path: dir}})
		},
		func() error { return c.BuildPool(ctx, name) },
		func() error { return c.StartPool(ctx, name) },
	} {
		if err := step(); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		if err := errors.Join(c.StopPool(ctx, name), c.UndefinePool(ctx, name), os.RemoveAll(dir)); err != nil {
			t.Error(err)
		}
	})
	return c, dir
}

func newVolume(t testing.TB, c *Client, pool, name string) *Volume {
	t.Helper()
	v, err := c.CreateVolume(context.Background(), pool, &libvirtxml.StorageVolume{
		Name: name, Capacity: &libvirtxml.StorageVolumeSize{Value: 0},
		Target: &libvirtxml.StorageVolumeTarget{Format: &libvirtxml.StorageVolumeTargetFormat{Type: "raw"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// sparse is content with data, holes of several sizes and an odd end.
func sparse(seed uint64) []byte {
	r := rand.NewChaCha8([32]byte{byte(seed)})
	content := make([]byte, 9<<20+12345)
	for _, at := range [][2]int{{0, 100}, {1<<20 - 7, 1<<20 + 9}, {3 << 20, 5<<20 + 1}, {7<<20 + 65536, 7<<20 + 70000}} {
		_, _ = r.Read(content[at[0]:at[1]])
	}
	return content
}

func TestAccUploadKeepsContentAndHoles(t *testing.T) {
	c, dir := sandboxPool(t, "upload")
	ctx := context.Background()
	for name, content := range map[string][]byte{
		"empty": {}, "one-byte": {7}, "zeros": make([]byte, 3<<20), "sparse": sparse(1), "dense": bytes.Repeat([]byte("virtcluster"), 300_000),
	} {
		t.Run(name, func(t *testing.T) {
			v := newVolume(t, c, "upload", name)
			n, err := c.UploadVolume(ctx, v, bytes.NewReader(content))
			if err != nil || n != int64(len(content)) {
				t.Fatalf("%s: uploaded %d bytes: %v", name, n, err)
			}
			got, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil || sha256.Sum256(got) != sha256.Sum256(content) {
				t.Errorf("%s: %d bytes arrived of %d, or others: %v", name, len(got), len(content), err)
			}
			after, err := c.Volume(ctx, "upload", name)
			if err != nil || after.Capacity() != uint64(len(content)) {
				t.Errorf("%s: libvirt sees %d bytes: %v", name, after.Capacity(), err)
			}
			if name == "zeros" && after.Allocation() > 64<<10 || name == "sparse" && after.Allocation() > 3<<20 {
				t.Errorf("%s: takes %d bytes, so holes were filled", name, after.Allocation())
			}
		})
	}
}

func TestAccPatchAndPeek(t *testing.T) {
	c, _ := sandboxPool(t, "patch")
	ctx := context.Background()
	v := newVolume(t, c, "patch", "v")
	if _, err := c.UploadVolume(ctx, v, strings.NewReader("hello, world")); err != nil {
		t.Fatal(err)
	}
	if err := c.PatchVolume(ctx, v, 7, []byte("there")); err != nil {
		t.Fatal(err)
	}
	for _, want := range []struct {
		offset, length uint64
		text           string
	}{{0, 100, "hello, there"}, {7, 2, "th"}, {12, 10, ""}} {
		t.Run(want.text, func(t *testing.T) {
			got, err := c.PeekVolume(ctx, v, want.offset, want.length)
			if err != nil || string(got) != want.text {
				t.Errorf("peek at %d: %q, %v; want %q", want.offset, got, err, want.text)
			}
		})
	}
}

// trickle never ends by itself.
type trickle struct{ closed chan struct{} }

func (r trickle) Read(p []byte) (int, error) {
	select {
	case <-r.closed:
		return 0, io.EOF
	case <-time.After(time.Millisecond):
		return copy(p, "trickle"), nil
	}
}

func TestAccUploadEndsWithItsContext(t *testing.T) {
	c, _ := sandboxPool(t, "cancel")
	v := newVolume(t, c, "cancel", "v")
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	source := trickle{make(chan struct{})}
	defer close(source.closed)
	start := time.Now()
	_, err := c.UploadVolume(ctx, v, source)
	if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) > 2*time.Second {
		t.Errorf("after %s: %v", time.Since(start), err)
	}
	if err := c.DeleteVolume(context.Background(), "cancel", "v"); err != nil {
		t.Error(err)
	}
}

func TestAccUploadReportsTheReadersError(t *testing.T) {
	c, _ := sandboxPool(t, "broken")
	v := newVolume(t, c, "broken", "v")
	_, err := c.UploadVolume(context.Background(), v, io.MultiReader(bytes.NewReader(sparse(2)), failing{}))
	if !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a broken transfer passed for a whole one: %v", err)
	}
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

func TestAccUploadReportsAFullDisk(t *testing.T) {
	c, dir := sandboxPool(t, "full")
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	defer exec.Command("umount", dir).Run() //nolint:errcheck // the sandbox ends anyway
	v := newVolume(t, c, "full", "v")
	done := make(chan error, 1)
	go func() {
		_, err := c.UploadVolume(context.Background(), v, io.LimitReader(rand.NewChaCha8([32]byte{}), 64<<20))
		done <- err
	}()
	select {
	case err := <-done:
		if err == nil || !strings.Contains(err.Error(), "No space left") {
			t.Errorf("not libvirt's own words: %v", err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("the upload hangs")
	}
}

func TestAccAPoolWithoutItsDirectoryCountsAsStopped(t *testing.T) {
	c, dir := sandboxPool(t, "vanishes")
	newVolume(t, c, "vanishes", "v")
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := c.Volume(t.Context(), "vanishes", "v"); !errors.Is(err, ErrPoolStopped) {
			t.Errorf("got %v", err)
		}
	}
	if p, err := c.Pool(t.Context(), "vanishes"); err != nil || !p.Active {
		t.Errorf("a look has stopped it: %+v, %v", p, err)
	}
}
