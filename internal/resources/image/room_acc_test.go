package image_test

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

func TestAccImageThatDoesNotFitIsRefused(t *testing.T) {
	acctest.InSandbox(t)
	run(t, "mkdir", "-p", poolDir)
	run(t, "mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", poolDir)
	t.Cleanup(func() {
		run(t, "umount", poolDir)
		run(t, "rmdir", poolDir)
	})
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
