package image_test

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// smallPool mounts a file system of a size where the tests' pool is.
func smallPool(t *testing.T, size string) {
	t.Helper()
	run(t, "mkdir", "-p", poolDir)
	run(t, "mount", "-t", "tmpfs", "-o", "size="+size, "tmpfs", poolDir)
	t.Cleanup(func() {
		run(t, "umount", poolDir)
		run(t, "rmdir", poolDir)
	})
}

func TestAccImageThatDoesNotFitIsRefused(t *testing.T) {
	acctest.InSandbox(t)
	smallPool(t, "4m")
	large := bytes.Repeat([]byte("no zeros"), 6<<20/8)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(large))
	}))
	defer web.Close()
	none := func() {
		left, err := os.ReadDir(poolDir)
		if out := volumes(t); err != nil || len(left) > 0 || out != "" {
			t.Errorf("left behind: %v %s, %v", left, out, err)
		}
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		Steps: []resource.TestStep{
			{Config: config(file(t, large), ""), ExpectError: regexp.MustCompile(`(?s)takes\s+6\.0\s+MiB\s+\(6291456\s+bytes\).*has\s+4\.0\s+MiB`)},
			{PreConfig: none, Config: config(web.URL, checksum(large)), ExpectError: regexp.MustCompile(`(?s)takes\s+more\s+than\s+4\.0\s+MiB`)},
			// 12 MiB of which nearly all is zeros that were written.
			{PreConfig: none, Config: config(file(t, disk(8)), ""), Check: resource.TestCheckResourceAttr(address, "virtual_size_bytes", fmt.Sprint(12<<20+512))},
		},
	})
}

// another is an image "second" in the pool of the first one.
func another(source string, content []byte) string {
	return fmt.Sprintf("resource \"virtcluster_image\" \"second\" {\n  name   = \"second\"\n  pool   = virtcluster_storage_pool.p.name\n  source = %q\n%s}\n", source, checksum(content))
}

func TestAccImagesThatDoNotFitTogetherAreNotBothBegun(t *testing.T) {
	acctest.InSandbox(t)
	smallPool(t, "8m")
	qcow := filepath.Join(t.TempDir(), "5m.qcow2")
	run(t, "qemu-img", "create", "-q", "-f", "qcow2", "-o", "preallocation=full", qcow, "5M")
	content, err := os.ReadFile(qcow)
	if err != nil {
		t.Fatal(err)
	}
	begun := func(name string) bool {
		_, err := os.Stat(filepath.Join(poolDir, name))
		return err == nil
	}
	refused := make(chan struct{})
	// The first image is half-way when the second one is announced, and goes on when that has been hung up on.
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		until := func(condition func() bool) {
			for !condition() && r.Context().Err() == nil {
				time.Sleep(10 * time.Millisecond)
			}
		}
		send := func(part []byte) {
			_, _ = w.Write(part)
			w.(http.Flusher).Flush()
		}
		w.Header().Set("Content-Length", fmt.Sprint(len(content)))
		if r.URL.Path == "/first" {
			send(content[:2<<20])
			<-refused
			send(content[2<<20:])
			return
		}
		until(func() bool { return begun("i") })
		send(content[:2<<20])
		until(func() bool { return begun("second") })
		if begun("second") {
			t.Error("the second image was begun")
		}
		close(refused)
	}))
	defer web.Close()
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		Steps: []resource.TestStep{
			{
				Config:      config(web.URL+"/first", checksum(content)) + another(web.URL+"/second", content),
				ExpectError: regexp.MustCompile(`(?s)/second\s+takes\s+5\.\d\s+MiB.*\sleft\s+beside\s+\d\.\d\s+MiB.*for\s+other\s+images`),
			},
			{Config: config(web.URL+"/first", checksum(content)), PlanOnly: true},
		},
	})
}

// How much room raw content takes shows only when it is there. Each of the two fits beside what the other one has when it
// begins.
func TestAccImagesThatGrowShareTheRoomOfTheirPool(t *testing.T) {
	acctest.InSandbox(t)
	smallPool(t, "8m")
	content := bytes.Repeat([]byte("no zeros"), 5<<20/8)
	has := func(name string, bytes int64) func() bool {
		return func() bool {
			info, err := os.Stat(filepath.Join(poolDir, name))
			return err == nil && info.Size() >= bytes
		}
	}
	refused := make(chan struct{})
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rest := content
		send := func(bytes int, until func() bool) {
			_, _ = w.Write(rest[:bytes])
			rest = rest[bytes:]
			w.(http.Flusher).Flush()
			for !until() && r.Context().Err() == nil {
				time.Sleep(10 * time.Millisecond)
			}
		}
		if r.URL.Path == "/first" {
			send(1<<20+64<<10, has("second", 0))
			send(3<<20, func() bool { <-refused; return true })
			send(len(rest), has("i", 0))
			return
		}
		send(0, has("i", 1<<20))
		send(64<<10, has("i", 4<<20))
		send(len(rest), func() bool { <-r.Context().Done(); return true })
		close(refused)
	}))
	defer web.Close()
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		Steps: []resource.TestStep{
			{
				Config:      config(web.URL+"/first", checksum(content)) + another(web.URL+"/second", content),
				ExpectError: regexp.MustCompile(`(?s)/second\s+takes\s+more\s+than\s+3\.\d\s+MiB.*\sleft\s+beside\s+4\.\d\s+MiB.*for\s+other\s+images`),
			},
			{Config: config(web.URL+"/first", checksum(content)), PlanOnly: true},
		},
	})
}
