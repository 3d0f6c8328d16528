package backup_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/failpoint"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/sshhost"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/backup"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/guest"
)

var errBroken = errors.New("the test broke the connection")

// stage makes a node of this state with a qcow2 disk of a size, of which 48 MiB are written, until the test ends.
func stage(t *testing.T, name, size string) *hypervisor.Client {
	t.Helper()
	acctest.InSandbox(t)
	c, err := hypervisor.New("qemu:///system", sshhost.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	dir := "/var/lib/libvirt/" + name
	acctest.Virsh(t, "pool-define-as", name, "dir", "--target", dir)
	acctest.Virsh(t, "pool-build", name)
	acctest.Virsh(t, "pool-start", name)
	disk := dir + "/" + name + ".qcow2"
	run(t, "qemu-img", "create", "-f", "qcow2", disk, size)
	run(t, "qemu-io", "-f", "qcow2", "-c", "write -P 0x11 0 48M", disk)
	acctest.Virsh(t, "pool-refresh", name)
	xml := filepath.Join(t.TempDir(), "domain.xml")
	text := fmt.Sprintf(`<domain type='qemu'><name>%[1]s</name><memory unit='MiB'>32</memory><os><type arch='x86_64' machine='q35'>hvm</type></os>
<metadata><v:node xmlns:v='https://github.com/virtcluster/terraform-provider-virtcluster/node/1' owner='abc' workspace='%[2]s'><disk key='root' target='vda'/></v:node></metadata>
<devices><disk type='file' device='disk'><driver name='qemu' type='qcow2'/><source file='%[3]s'/><target dev='vda' bus='virtio'/></disk></devices></domain>`, name, owner.Workspace(), disk)
	if err := os.WriteFile(xml, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	acctest.Virsh(t, "define", xml)
	t.Cleanup(func() {
		_ = exec.Command("virsh", "destroy", name).Run()
		if left := acctest.Virsh(t, "checkpoint-list", name, "--name"); left != "" {
			t.Errorf("checkpoints are left: %s", left)
		}
		acctest.Virsh(t, "undefine", name, "--checkpoints-metadata")
		acctest.Virsh(t, "vol-delete", name+".qcow2", name)
		if left := strings.Fields(acctest.Virsh(t, "vol-list", name)); len(left) != 3 {
			t.Errorf("volumes are left: %v", left)
		}
		acctest.Virsh(t, "pool-destroy", name)
		acctest.Virsh(t, "pool-undefine", name)
		_ = os.RemoveAll(dir)
	})
	return c
}

// awaitState wants a machine to be in a state, soon.
func awaitState(t *testing.T, name, want string) {
	t.Helper()
	var now string
	for range 100 {
		if now = acctest.Virsh(t, "domstate", name); now == want {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatalf("the node is %s, and not %s", now, want)
}

func run(t *testing.T, argv ...string) string {
	t.Helper()
	out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput() //nolint:gosec // a test's own
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(argv, " "), err, out)
	}
	return string(out)
}

// wantFiles wants a pool to have so many, marks among them.
func wantFiles(t *testing.T, pool string, n int) {
	t.Helper()
	files, err := os.ReadDir("/var/lib/libvirt/" + pool)
	if err != nil || len(files) != n {
		t.Fatalf("%v: there are %v", err, files)
	}
}

// TestAccABackupThatBreaksIsTakenAnew ends the requests of a create from each on, as the end of the provider would, and takes the backup in another
// run: of a node that runs, and of one that is off.
func TestAccABackupThatBreaksIsTakenAnew(t *testing.T) {
	for name, running := range map[string]bool{"bakbreak": true, "bakbreakoff": false} {
		t.Run(name, func(t *testing.T) {
			c := stage(t, name, "64M")
			if running {
				acctest.Virsh(t, "start", name)
			}
			state := acctest.Virsh(t, "domstate", name)
			all := map[string]*hypervisor.Client{"": c}
			want := backup.Backup{Name: "b", Node: name, Target: backup.Target{Pool: name}, Quiesce: guest.None, BandwidthMiB: 400}
			for from := 1; ; from++ {
				ctx, reached := failpoint.BreakFrom(t.Context(), from, errBroken)
				_, err := backup.Open(all, want, owner.BeginRun().New(), nil).Create(ctx, want)
				if err == nil && reached() {
					t.Fatalf("request %d broke, and the backup was taken", from)
				}
				c.Close() // the end of the provider is that of its connection, and of a machine that it started for a moment
				awaitState(t, name, state)
				if !reached() {
					if err != nil {
						t.Fatal(err)
					}
					t.Logf("%d requests were broken", from-1)
					break
				}
				next := backup.Open(all, want, owner.BeginRun().New(), nil)
				got, err := next.Create(t.Context(), want)
				if err != nil || got.Checkpoint != "b" || len(got.Volumes) != 1 {
					t.Fatalf("after request %d broke: %v: %+v", from, err, got)
				}
				wantFiles(t, name, 3)
				ctx, _ = failpoint.BreakFrom(t.Context(), from, errBroken)
				if err := next.Delete(ctx); err != nil {
					c.Close()
					awaitState(t, name, state)
					if err := next.Delete(t.Context()); err != nil {
						t.Fatalf("after request %d of a delete broke: %v", from, err)
					}
				}
				wantFiles(t, name, 1)
				awaitState(t, name, state)
			}
			if err := backup.Open(all, want, owner.BeginRun().OfWorkspace(), nil).Delete(t.Context()); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// TestAccABackupIsBoundedInSpeedAndInTime takes as long as its limit has it take, and leaves nothing where it may not.
func TestAccABackupIsBoundedInSpeedAndInTime(t *testing.T) {
	c := stage(t, "bakslow", "1G")
	acctest.Virsh(t, "start", "bakslow")
	all := map[string]*hypervisor.Client{"": c}
	run(t, "virsh", "qemu-monitor-command", "bakslow", "--hmp", `qemu-io -d /machine/peripheral/virtio-disk0/virtio-backend "write -P 0x22 0 600M"`) // more than is copied before libvirt knows the limit
	want := backup.Backup{Name: "b", Node: "bakslow", Target: backup.Target{Pool: "bakslow"}, Quiesce: guest.None, BandwidthMiB: 1}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	_, err := backup.Open(all, want, owner.BeginRun().New(), nil).Create(ctx, want)
	if err == nil || !strings.Contains(err.Error(), "MiB of the disks of node \"bakslow\" were copied: write a longer timeouts.create") {
		t.Fatalf("one MiB a second, for two seconds: %v", err)
	}
	wantFiles(t, "bakslow", 1)
	if left := acctest.Virsh(t, "checkpoint-list", "bakslow", "--name"); left != "" {
		t.Errorf("checkpoints are left: %s", left)
	}
	if running := acctest.Virsh(t, "domjobinfo", "bakslow"); strings.Contains(running, "Backup") {
		t.Errorf("it goes on: %s", running)
	}
}

// TestAccABackupOfAPersonGoesOn refuses while somebody else copies the disks of the node, and leaves them be.
func TestAccABackupOfAPersonGoesOn(t *testing.T) {
	c := stage(t, "baktheirs", "64M")
	acctest.Virsh(t, "start", "baktheirs")
	all := map[string]*hypervisor.Client{"": c}
	theirs := filepath.Join(t.TempDir(), "theirs.qcow2")
	xml := filepath.Join(t.TempDir(), "backup.xml")
	text := "<domainbackup mode='pull'><server transport='unix' socket='" + filepath.Join(t.TempDir(), "nbd") + "'/><disks><disk name='vda' backup='yes' type='file'><scratch file='" + theirs + "'/></disk></disks></domainbackup>"
	if err := os.WriteFile(xml, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	acctest.Virsh(t, "backup-begin", "baktheirs", xml)
	want := backup.Backup{Name: "b", Node: "baktheirs", Target: backup.Target{Pool: "baktheirs"}, Quiesce: guest.None}
	if _, err := backup.Open(all, want, owner.BeginRun().New(), nil).Create(t.Context(), want); err == nil || !strings.Contains(err.Error(), "somebody makes a backup of node \"baktheirs\"") {
		t.Errorf("while a person pulls one: %v", err)
	}
	if running := acctest.Virsh(t, "domjobinfo", "baktheirs"); !strings.Contains(running, "Backup") {
		t.Errorf("it does not go on: %s", running)
	}
	wantFiles(t, "baktheirs", 1)
	acctest.Virsh(t, "domjobabort", "baktheirs")
}
