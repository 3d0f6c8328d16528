package image_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// A CD-ROM is a raw disk to a machine, whatever libvirt calls its format.
func TestAccImageOfACDROMIsRaw(t *testing.T) {
	acctest.InSandbox(t)
	iso := disk(12)
	copy(iso[0x8000:], "\x01CD001\x01") // ECMA-119, 8.4
	asked := resource.ComposeTestCheckFunc(resource.TestCheckResourceAttr(address, "format", "raw"), func(*terraform.State) error {
		if seen := acctest.Virsh(t, "vol-dumpxml", "--pool", "images", "i"); !strings.Contains(seen, "<format type='iso'/>") {
			t.Errorf("libvirt does not take it for a CD-ROM, so this proves nothing: %s", seen)
		}
		return nil
	})
	source := file(t, iso)
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		Steps: []resource.TestStep{
			{Config: config(source, "  format = \"raw\"\n"), Check: asked},
			{Config: config(source, "  format = \"raw\"\n"), PlanOnly: true},
			{Config: config(source, ""), PlanOnly: true},
		},
	})
}

// What is not known when it is planned may turn out to be another file, and another checksum.
func TestAccImageWhoseSourceIsNotKnownAtPlan(t *testing.T) {
	acctest.InSandbox(t)
	first, second := disk(13), disk(14)
	late := func(source, more string) string {
		return fmt.Sprintf("resource \"terraform_data\" \"late\" {\n  input = %q\n}\n", source) +
			strings.Replace(config("LATE", more), `"LATE"`, "terraform_data.late.output", 1)
	}
	lateSum := func(source, sum string) string {
		sum = strings.Trim(strings.TrimPrefix(strings.TrimSpace(sum), "checksum = "), `"`)
		return fmt.Sprintf("resource \"terraform_data\" \"late\" {\n  input = %q\n}\n", sum) + config(source, "  checksum = terraform_data.late.output\n")
	}
	one, two, copied := file(t, first), file(t, second), file(t, first)
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		Steps: []resource.TestStep{
			{Config: late(one, ""), Check: stored(t, first)},
			{Config: late(two, ""), Check: stored(t, second)},
			{Config: late(two, checksum(second)), Check: stored(t, second)},
			{Config: late(one, checksum(first)), Check: stored(t, first)},
			// The checksum says that the content is the same.
			{Config: late(copied, checksum(first)), Check: stored(t, first), ConfigPlanChecks: updated()},
			{Config: lateSum(copied, checksum(first)), Check: stored(t, first)},
			{Config: lateSum(two, checksum(second)), Check: stored(t, second)},
		},
	})
}

// before is the state that the version before owners' marks left of this configuration.
const before = `
resource "virtcluster_storage_pool" "p" {
  name = "before"
  path = "/var/lib/libvirt/before"
}
resource "virtcluster_image" "i" {
  name   = "i"
  pool   = virtcluster_storage_pool.p.name
  source = "SOURCE"
}
resource "virtcluster_volume" "v" {
  name     = "v"
  pool     = virtcluster_storage_pool.p.name
  image    = virtcluster_image.i.id
  size_gib = 1
}
resource "virtcluster_volume" "empty" {
  name     = "empty"
  pool     = virtcluster_storage_pool.p.name
  size_gib = 1
  format   = "raw"
}
`

func TestAccStorageOfTheVersionBeforePlansEmpty(t *testing.T) {
	acctest.InSandbox(t)
	acctest.BothCLIs(t)
	const dir = "/var/lib/libvirt/before"
	content := []byte(strings.Repeat("x", 1<<20))
	source := file(t, content)
	if err := os.Chtimes(source, time.Time{}, time.Unix(1_700_000_000, 0)); err != nil { // as the state remembers it
		t.Fatal(err)
	}
	// What that version had made on the hypervisor: the pool's UUID is the one that it gave.
	pool := filepath.Join(t.TempDir(), "pool.xml")
	xml := "<pool type='dir'><name>before</name><uuid>0df456c0-5ee7-8921-b4c0-ff4021286a7e</uuid><target><path>" + dir + "</path></target></pool>"
	if err := os.WriteFile(pool, []byte(xml), 0o600); err != nil {
		t.Fatal(err)
	}
	acctest.Virsh(t, "pool-define", pool)
	acctest.Virsh(t, "pool-autostart", "before")
	acctest.Virsh(t, "pool-build", "before")
	acctest.Virsh(t, "pool-start", "before")
	if err := os.WriteFile(dir+"/i", content, 0o600); err != nil {
		t.Fatal(err)
	}
	acctest.Run(t, "qemu-img", "create", "-q", "-f", "qcow2", "-b", dir+"/i", "-F", "raw", dir+"/v", "1G")
	acctest.Run(t, "qemu-img", "create", "-q", "-f", "raw", dir+"/empty", "1G")
	acctest.Virsh(t, "pool-refresh", "before")

	config := strings.Replace(before, "SOURCE", source, 1)
	s := acctest.NewState(t)
	s.Write(config)
	s.Restore("testdata/before.tfstate", "SOURCE", source)
	s.Settled()
	s.Run("apply", "-auto-approve")
	s.Settled()

	// It is this state's from then on: it grows, and goes with all that it made.
	s.Apply(strings.Replace(config, "size_gib = 1\n  format", "size_gib = 2\n  format", 1))
	s.Settled()
	s.Run("destroy", "-auto-approve")
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the destroy left something: %v", err)
	}
}
