package faults

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// TestAccNodeHasDevicesForAnOrdinaryKernel boots what has drivers that the sandbox's Debian lacks: the guest mounts a share by 9p, and libvirt acts
// on the watchdog that the guest started and does not feed.
func TestAccNodeHasDevicesForAnOrdinaryKernel(t *testing.T) {
	acctest.InSandbox(t)
	kernel, err := exec.Command("./ordinary-kernel").Output()
	if err != nil {
		t.Fatalf("the kernel is downloaded outside of the sandbox, by test/faults/ordinary-kernel: %v", err)
	}
	share := t.TempDir()
	if err := os.WriteFile(filepath.Join(share, "greeting"), []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	dir := disksOf(t, "ordinary", os.Getenv("SANDBOX_TINY_IMAGE"))
	s := acctest.NewState(t)
	s.DestroyAtEnd()
	const log = "/var/log/libvirt/ordinary.log"
	s.Apply(acctest.Provider() + fmt.Sprintf(`
resource "virtcluster_node" "n" {
  name             = "ordinary"
  type             = "qemu"
  memory_mib       = 512
  shutdown_timeout = "0s"
  root_disk        = { image = "%[1]s/base.qcow2" }
  boot             = { kernel = "%[2]s/vmlinuz", initrd = "%[2]s/initrd", cmdline = "console=ttyS0 quiet panic=5 tsc=reliable" }
  console          = { type = "pty", log_file = %[3]q }
  watchdog         = { action = "pause" }
  filesystems      = [{ source = %[4]q, target = "served", driver = "9p" }]
}
`, dir, strings.TrimSpace(string(kernel)), log, share))
	s.Settled()
	within := func(what string, done func() (said string, ok bool)) {
		t.Helper()
		said, ok := "", false
		for began := time.Now(); !ok && time.Since(began) < guestBoots; time.Sleep(time.Second) {
			said, ok = done()
		}
		if !ok {
			t.Fatalf("%s is not to be seen:\n%s", what, said)
		}
		t.Logf("%s: %s", what, said)
	}
	within("what the guest says", func() (string, bool) {
		text, _ := os.ReadFile(log)
		return string(text), strings.Contains(string(text), "the guest reads hello, and its watchdog is i6300ESB timer")
	})
	if text, err := os.ReadFile(filepath.Join(share, "back")); err != nil || string(text) != "written\n" {
		t.Errorf("what the guest wrote is %q: %v", text, err)
	}
	within("what the watchdog did", func() (string, bool) {
		said := acctest.Virsh(t, "domstate", "ordinary", "--reason")
		return said, said == "paused (watchdog)"
	})
}
