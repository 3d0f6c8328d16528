package backup_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/failpoint"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/backup"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/guest"
)

var errBroken = errors.New("the test broke the connection")

// stage makes a node of this state with a qcow2 disk of a size, of which 48 MiB are written, until the test ends.
func stage(t *testing.T, name, size string) *hypervisor.Client {
	t.Helper()
	c := acctest.StageMarkedNodes(t, name, size, name)
	acctest.Run(t, "qemu-io", "-f", "qcow2", "-c", "write -P 0x11 0 48M", "/var/lib/libvirt/"+name+"/"+name+".qcow2")
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
				acctest.WantFiles(t, name, 3)
				ctx, _ = failpoint.BreakFrom(t.Context(), from, errBroken)
				if err := next.Delete(ctx); err != nil {
					c.Close()
					awaitState(t, name, state)
					if err := next.Delete(t.Context()); err != nil {
						t.Fatalf("after request %d of a delete broke: %v", from, err)
					}
				}
				acctest.WantFiles(t, name, 1)
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
	acctest.Virsh(t, "qemu-monitor-command", "bakslow", "--hmp", `qemu-io -d /machine/peripheral/virtio-disk0/virtio-backend "write -P 0x22 0 600M"`) // more than is copied before libvirt knows the limit
	want := backup.Backup{Name: "b", Node: "bakslow", Target: backup.Target{Pool: "bakslow"}, Quiesce: guest.None, BandwidthMiB: 1}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	_, err := backup.Open(all, want, owner.BeginRun().New(), nil).Create(ctx, want)
	if err == nil || !strings.Contains(err.Error(), "MiB of the disks of node \"bakslow\" were copied: write a longer timeouts.create") {
		t.Fatalf("one MiB a second, for two seconds: %v", err)
	}
	acctest.WantFiles(t, "bakslow", 1)
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
	acctest.WantFiles(t, "baktheirs", 1)
	acctest.Virsh(t, "domjobabort", "baktheirs")
}

// TestAccABackupOfANodeThatVanishesMeanwhileSaysSo has somebody undefine the node after it was found.
func TestAccABackupOfANodeThatVanishesMeanwhileSaysSo(t *testing.T) {
	c := stage(t, "bakgone", "64M")
	definition := filepath.Join(t.TempDir(), "domain.xml")
	if err := os.WriteFile(definition, []byte(acctest.Virsh(t, "dumpxml", "bakgone")), 0o600); err != nil {
		t.Fatal(err)
	}
	want := backup.Backup{Name: "b", Node: "bakgone", Target: backup.Target{Pool: "bakgone"}, Quiesce: guest.None}
	looked := 0
	ctx := failpoint.WithJudge(t.Context(), func(what string, answered bool) error {
		if what == `read domain "bakgone"` && !answered {
			if looked++; looked == 2 {
				acctest.Virsh(t, "undefine", "bakgone")
			}
		}
		return nil
	})
	_, err := backup.Open(map[string]*hypervisor.Client{"": c}, want, owner.BeginRun().New(), nil).Create(ctx, want)
	acctest.Virsh(t, "define", definition)
	if looked < 2 || !hypervisor.IsNotFound(err) {
		t.Errorf("looked for %d times: %v", looked, err)
	}
	acctest.WantFiles(t, "bakgone", 1)
}

// TestAccACheckpointThatCannotBeRemovedNowIsNotForgotten has QEMU refuse to remove what a disk keeps since a checkpoint, as it does while somebody
// uses that.
func TestAccACheckpointThatCannotBeRemovedNowIsNotForgotten(t *testing.T) {
	c := stage(t, "bakbusy", "64M")
	acctest.Virsh(t, "start", "bakbusy")
	want := backup.Backup{Name: "b", Node: "bakbusy", Target: backup.Target{Pool: "bakbusy"}, Quiesce: guest.None}
	s := backup.Open(map[string]*hypervisor.Client{"": c}, want, owner.BeginRun().New(), nil)
	if _, err := s.Create(t.Context(), want); err != nil {
		t.Fatal(err)
	}
	if err := s.FinishMark(t.Context()); err != nil {
		t.Fatal(err)
	}
	refused := false
	err := s.Delete(failpoint.WithJudge(t.Context(), func(what string, _ bool) error {
		if refused || !strings.HasPrefix(what, `delete checkpoint "b"`) {
			return nil
		}
		refused = true
		const internalError = 1 // VIR_ERR_INTERNAL_ERROR
		return &hypervisor.Error{What: what, Code: internalError, Message: "unable to execute QEMU command 'transaction': Bitmap 'b' is currently in use"}
	}))
	if err == nil || !strings.Contains(err.Error(), "currently in use") {
		t.Errorf("it is removed: %v", err)
	}
	if left := acctest.Virsh(t, "checkpoint-list", "bakbusy", "--name"); left != "b" {
		t.Errorf("libvirt knows the checkpoints %q, and the disk keeps what was written since", left)
	}
	if err := s.Delete(t.Context()); err != nil {
		t.Fatal(err)
	}
	acctest.WantFiles(t, "bakbusy", 1)
}
