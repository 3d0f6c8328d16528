package image_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

const address = "virtcluster_image.i"

// config is an image "i" in a pool "images" of its own.
func config(source, more string) string {
	return acctest.Provider() + fmt.Sprintf(`
resource "virtcluster_storage_pool" "p" {
  name = "images"
  path = %q
}
resource "virtcluster_image" "i" {
  name   = "i"
  pool   = virtcluster_storage_pool.p.name
  source = %q
%s}
`, poolDir, source, more)
}

const poolDir = "/var/lib/libvirt/image-test"

func checksum(content []byte) string {
	return fmt.Sprintf("  checksum = \"sha256:%x\"\n", sha256.Sum256(content))
}

var run = acctest.Run

// stored checks that the volume is exactly the content.
func stored(t *testing.T, content []byte) resource.TestCheckFunc {
	return func(*terraform.State) error {
		got, err := os.ReadFile(filepath.Join(poolDir, "i"))
		if err == nil && !bytes.Equal(got, content) {
			err = fmt.Errorf("the volume's %d bytes are not the image's %d", len(got), len(content))
		}
		return err
	}
}

func volumes(t *testing.T) string {
	t.Helper()
	return run(t, "virsh", "-q", "vol-list", "images")
}

// file writes a local source.
func file(t *testing.T, content []byte) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "source")
	if err := os.WriteFile(name, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// disk is a raw image of some MiB with holes.
func disk(seed byte) []byte {
	b := make([]byte, 12<<20+512)
	r := rand.NewChaCha8([32]byte{seed})
	_, _ = r.Read(b[:100_000])
	_, _ = r.Read(b[5<<20 : 6<<20])
	return b
}

func replaced() resource.ConfigPlanChecks {
	return resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{plancheck.ExpectResourceAction(address, plancheck.ResourceActionReplace)}}
}

func updated() resource.ConfigPlanChecks {
	return resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{plancheck.ExpectResourceAction(address, plancheck.ResourceActionUpdate)}}
}

func created() resource.ConfigPlanChecks {
	return resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{plancheck.ExpectResourceAction(address, plancheck.ResourceActionCreate)}}
}

func TestAccImageFromAFile(t *testing.T) {
	acctest.BothCLIs(t)
	acctest.InSandbox(t)
	tiny, err := os.ReadFile(os.Getenv("SANDBOX_TINY_IMAGE"))
	if err != nil {
		t.Fatal(err)
	}
	source := file(t, tiny)
	size := regexp.MustCompile(`virtual-size": (\d+)`).FindStringSubmatch(run(t, "qemu-img", "info", "--output=json", source))[1]
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		Steps: []resource.TestStep{
			{
				Config: config(source, ""),
				Check: resource.ComposeTestCheckFunc(stored(t, tiny),
					resource.TestCheckResourceAttr(address, "id", poolDir+"/i"),
					resource.TestCheckResourceAttr(address, "format", "qcow2"),
					resource.TestCheckResourceAttr(address, "virtual_size_bytes", size),
					func(*terraform.State) error {
						if out := run(t, "virsh", "vol-dumpxml", "--pool", "images", "i"); !strings.Contains(out, "<format type='qcow2'/>") {
							t.Errorf("libvirt sees another format: %s", out)
						}
						return nil
					}),
			},
			{ // the same content, touched and then named by its checksum: nothing to upload
				PreConfig:        func() { run(t, "touch", source) },
				Config:           config(source, ""),
				ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{plancheck.ExpectEmptyPlan()}},
			},
			{
				Config: config(source, checksum(tiny)),
				ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
					plancheck.ExpectResourceAction(address, plancheck.ResourceActionUpdate),
				}},
			},
			{ // the same content elsewhere
				Config: config("file://"+file(t, tiny), checksum(tiny)),
				ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
					plancheck.ExpectResourceAction(address, plancheck.ResourceActionUpdate),
				}},
			},
			{
				ResourceName: address, ImportState: true, ImportStateId: "images/i", ImportStateVerify: true,
				ImportStateVerifyIgnore: []string{"source", "source_sha256"},
			},
			{
				ResourceName: address, ImportState: true, ImportStateId: poolDir + "/i", ImportStateVerify: true,
				ImportStateVerifyIgnore: []string{"source", "source_sha256"},
			},
			{Config: config(source, checksum(tiny))},
			{Config: config(source, "")},
			{ // the file changes
				PreConfig: func() {
					if err := os.WriteFile(source, disk(1), 0o600); err != nil {
						t.Fatal(err)
					}
				},
				Config:           config(source, ""),
				ConfigPlanChecks: replaced(),
				Check:            resource.ComposeTestCheckFunc(stored(t, disk(1)), resource.TestCheckResourceAttr(address, "format", "raw")),
			},
			{ // drift: the volume is gone, behind libvirt's back
				PreConfig:        func() { run(t, "rm", poolDir+"/i") },
				Config:           config(source, ""),
				ConfigPlanChecks: created(),
				Check:            stored(t, disk(1)),
			},
			{ // drift: another one in its place
				PreConfig: func() {
					run(t, "qemu-img", "create", "-f", "qcow2", poolDir+"/i", "3G")
					run(t, "virsh", "pool-refresh", "images")
				},
				Config:           config(source, ""),
				ConfigPlanChecks: replaced(),
				Check:            stored(t, disk(1)),
			},
			{ // drift: the pool is stopped; the image is not given up for it
				PreConfig: func() { run(t, "virsh", "pool-destroy", "images") },
				Config:    config(source, ""),
				ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
					plancheck.ExpectResourceAction(address, plancheck.ResourceActionNoop),
				}},
				Check: stored(t, disk(1)),
			},
		},
	})
	if _, err := os.Stat(poolDir); !os.IsNotExist(err) {
		t.Errorf("the destroy left something: %v", err)
	}
}

func TestAccImageFromTheWeb(t *testing.T) {
	acctest.InSandbox(t)
	content := disk(2)
	pack := func(with func(io.Writer) (io.WriteCloser, error)) []byte {
		var b bytes.Buffer
		w, err := with(&b)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(content); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	files := map[string][]byte{
		"plain": content,
		"xz":    pack(func(w io.Writer) (io.WriteCloser, error) { return xz.NewWriter(w) }),
		"gz":    pack(func(w io.Writer) (io.WriteCloser, error) { return gzip.NewWriter(w), nil }),
		"zst":   pack(func(w io.Writer) (io.WriteCloser, error) { return zstd.NewWriter(w) }),
	}
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(files[strings.TrimPrefix(r.URL.Path, "/")]))
	}))
	defer web.Close()
	var steps []resource.TestStep
	for name, packed := range files {
		steps = append(steps, resource.TestStep{
			Config: config(web.URL+"/"+name, checksum(packed)),
			Check: resource.ComposeTestCheckFunc(stored(t, content), resource.TestCheckResourceAttr(address, "format", "raw"), func(*terraform.State) error {
				if kib := run(t, "du", "-k", poolDir+"/i"); !regexp.MustCompile(`^1[0-9]{3}\s`).MatchString(kib) {
					t.Errorf("%s: a sparse image takes %s KiB", name, kib)
				}
				return nil
			}),
		})
	}
	resource.Test(t, resource.TestCase{ProtoV6ProviderFactories: acctest.Providers, Steps: steps})
}

func TestAccImageFailuresLeaveNoVolume(t *testing.T) {
	acctest.BothCLIs(t)
	acctest.InSandbox(t)
	content := disk(3)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", fmt.Sprint(len(content)))
		_, _ = w.Write(content[:8<<20])
		panic(http.ErrAbortHandler)
	}))
	defer web.Close()
	none := func() {
		if left := volumes(t); left != "" {
			t.Errorf("left behind: %s", left)
		}
	}
	pool := acctest.Provider() + fmt.Sprintf("resource \"virtcluster_storage_pool\" \"p\" {\n  name = \"images\"\n  path = %q\n}\n", poolDir)
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		Steps: []resource.TestStep{
			{Config: pool},
			{Config: config(file(t, content), checksum(content[1:])), ExpectError: regexp.MustCompile(`wrong checksum: it should be`)},
			{PreConfig: none, Config: config(web.URL, checksum(content)), ExpectError: regexp.MustCompile(`(?s)gave up after.*tries`)},
			{PreConfig: none, Config: config(file(t, content), "  format = \"qcow2\"\n"), ExpectError: regexp.MustCompile(`(?s)format is raw.*says\s+qcow2`)},
			{PreConfig: none, Config: config(file(t, []byte("<!DOCTYPE html>")), ""), ExpectError: regexp.MustCompile(`web page`)},
			{PreConfig: none, Config: config(file(t, content), "  timeouts = { create = \"1ms\" }\n"), ExpectError: regexp.MustCompile(`deadline\s+exceeded`)},
			{PreConfig: none, Config: pool},
		},
	})
}

func TestAccImageBadInput(t *testing.T) {
	acctest.BothCLIs(t)
	acctest.InSandbox(t)
	fails := func(config, message string) resource.TestStep {
		return resource.TestStep{Config: config, PlanOnly: true, ExpectError: regexp.MustCompile(message)}
	}
	source := file(t, disk(6))
	block := func(name, body string) string {
		return acctest.Provider() + fmt.Sprintf("resource \"virtcluster_image\" %q {\n%s}\n", name, body)
	}
	twice := strings.Replace(config(source, ""), "resource \"virtcluster_image\"", fmt.Sprintf("resource \"virtcluster_image\" \"j\" {\n  name   = \"i\"\n  pool   = virtcluster_storage_pool.p.name\n  source = %q\n}\nresource \"virtcluster_image\"", file(t, disk(7))), 1)
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		Steps: []resource.TestStep{
			fails(config("/no/such/file", ""), `(?s)Missing image file.*/no/such/file`),
			fails(config("~/file", ""), `(?s)Missing image file.*pathexpand\("~/file"\)`),
			fails(config(t.TempDir(), ""), `not a regular file`),
			fails(config("http://example.org/i", ""), `(?s)Insecure image source.*checksum`),
			fails(config("ftp://example.org/i", ""), `(?s)Invalid image source.*https`),
			fails(config(source, "  checksum = \"md5:0\"\n"), `(?s)Invalid checksum.*sha256`),
			fails(config(source, "  checksum = \"sha256:12\"\n"), `(?s)Invalid checksum.*64\s+hexadecimal`),
			fails(config(source, "  format = \"vmdk\"\n"), `write\s+one\s+of`),
			fails(config(source, "  hypervisor = \"kvm9\"\n"), `(?s)Unknown hypervisor.*kvm9`),
			fails(block("x", "  name = \"x\"\n  pool = \"nowhere\"\n  source = \""+source+"\"\n"), `(?s)Unknown storage pool.*"nowhere"`),
			fails(twice, `(?s)Volume name taken`),
		},
	})
}
