package storagepool_test

import (
	"os"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// TestAccPoolThatOthersNeedStays has another state's volume and node, and a person's domain, in a pool.
func TestAccPoolThatOthersNeedStays(t *testing.T) {
	acctest.BothCLIs(t)
	acctest.InSandbox(t)
	const (
		dir    = "/var/lib/libvirt/accneeded"
		pool   = "resource \"virtcluster_storage_pool\" \"p\" {\n  name = \"accneeded\"\n  path = \"" + dir + "\"\n}\n"
		volume = "resource \"virtcluster_volume\" \"v\" {\n  name = \"v.qcow2\"\n  pool = \"accneeded\"\n  size_gib = 1\n}\n"
		node   = "resource \"virtcluster_node\" \"n\" {\n  name = \"accneeding\"\n  type = \"qemu\"\n  memory_mib = 64\n  running = false\n  root_disk = { pool = \"accneeded\", size_gib = 1 }\n}\n"
	)
	mine, other := acctest.NewState(t), acctest.NewState(t)
	mine.DestroyAtEnd()
	mine.Apply(pool)
	other.Apply(volume + node)
	file := t.TempDir() + "/theirs.xml"
	if err := os.WriteFile(file, []byte(`<domain type='qemu'><name>acc-theirs</name><memory unit='MiB'>32</memory><os><type arch='x86_64' machine='q35'>hvm</type></os>
  <devices><disk type='volume' device='disk'><source pool='accneeded' volume='by-hand'/><target dev='vda' bus='virtio'/></disk></devices></domain>`), 0o600); err != nil {
		t.Fatal(err)
	}
	acctest.Virsh(t, "define", file)
	mine.Refused([]string{"accneeded", "the volume v.qcow2 of another state", `the domain "accneeding"`, `the domain "acc-theirs"`, "terraform state rm"}, "destroy", "-auto-approve")
	mine.Write("")
	if out := strings.Join(strings.Fields(mine.Run("plan")), " "); !strings.Contains(out, "the volume v.qcow2 of another state") || !strings.Contains(out, "The apply refuses to remove it") {
		t.Errorf("the plan says nothing of who needs the pool:\n%s", out)
	}
	mine.Write(pool)
	if out := acctest.Virsh(t, "pool-info", "accneeded"); !strings.Contains(out, "running") {
		t.Errorf("a destroy that was refused left the pool so:\n%s", out)
	}
	acctest.Virsh(t, "undefine", "acc-theirs")

	// Somebody removes the pool: that proves nothing about what was in it.
	acctest.Virsh(t, "pool-destroy", "accneeded")
	acctest.Virsh(t, "pool-undefine", "accneeded")
	if out := other.Run("plan", "-target=virtcluster_volume.v"); !strings.Contains(out, "Its storage pool is gone") || !strings.Contains(out, "No changes") {
		t.Errorf("without the pool the plan is\n%s", out)
	}
	other.Refused([]string{`the storage pool "accneeded" is gone`, "define the pool again", "terraform state rm"}, "destroy", "-auto-approve")
	for _, name := range []string{"/v.qcow2", "/accneeding-root.qcow2"} {
		if _, err := os.Stat(dir + name); err != nil {
			t.Error(err)
		}
	}
	mine.Apply(pool)
	other.Settled()
	other.Run("destroy", "-auto-approve")

	// What one state has goes in one go, although nothing says that the pool goes last.
	mine.Apply(pool + volume + node)
	mine.Settled()
	mine.Run("destroy", "-auto-approve")
	absent(t, "accneeded")
	if left, err := os.ReadDir(dir); err == nil && len(left) > 0 {
		t.Errorf("a destroy of all left %v", left)
	}
	_ = os.Remove(dir) // it was there when the pool was defined again
}
