package snapshot

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/failpoint"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/sshhost"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/guest"
)

var errBroken = errors.New("the test broke the connection")

// shell runs a program, and returns what it printed.
func shell(t *testing.T, argv ...string) string {
	t.Helper()
	out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput() //nolint:gosec // a test's own
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(argv, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

func virsh(t *testing.T, argv ...string) string {
	t.Helper()
	return shell(t, append([]string{"virsh"}, argv...)...)
}

// stage makes two nodes of this state with a disk each, of which the first runs where that is wanted, until the test ends.
func stage(t *testing.T, pool string, run bool) (*hypervisor.Client, []string) {
	t.Helper()
	if os.Getenv("TF_ACC") == "" {
		t.Skip("needs TF_ACC=1 inside test/sandbox/enter")
	}
	c, err := hypervisor.New("qemu:///system", sshhost.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	dir := "/var/lib/libvirt/" + pool
	virsh(t, "pool-define-as", pool, "dir", "--target", dir)
	virsh(t, "pool-build", pool)
	virsh(t, "pool-start", pool)
	names := []string{pool + "-a", pool + "-b"}
	for i, name := range names {
		virsh(t, "vol-create-as", pool, name+".qcow2", "64M", "--format", "qcow2")
		xml := filepath.Join(t.TempDir(), "domain.xml")
		text := fmt.Sprintf(`<domain type='qemu'><name>%s</name><memory unit='MiB'>32</memory><os><type arch='x86_64' machine='q35'>hvm</type></os>
<metadata><v:node xmlns:v='https://github.com/virtcluster/terraform-provider-virtcluster/node/1' owner='abc' workspace='%s'/></metadata>
<devices><disk type='file' device='disk'><driver name='qemu' type='qcow2'/><source file='%s/%s.qcow2'/><target dev='vda' bus='virtio'/></disk></devices></domain>`, name, owner.Workspace(), dir, name)
		if err := os.WriteFile(xml, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		virsh(t, "define", xml)
		if run && i == 0 {
			virsh(t, "start", name)
		}
	}
	t.Cleanup(func() {
		for _, name := range names {
			_ = exec.Command("virsh", "destroy", name).Run()
			virsh(t, "undefine", name)
			virsh(t, "vol-delete", name+".qcow2", pool)
		}
		if left := strings.Fields(virsh(t, "vol-list", pool)); len(left) != 3 {
			t.Errorf("volumes are left: %v", left)
		}
		virsh(t, "pool-destroy", pool)
		virsh(t, "pool-undefine", pool)
		_ = os.RemoveAll(dir)
	})
	return c, names
}

// wantFiles wants no file in a pool but so many.
func wantFiles(t *testing.T, pool string, n int) {
	t.Helper()
	files, err := os.ReadDir("/var/lib/libvirt/" + pool)
	if err != nil || len(files) != n {
		t.Fatalf("%v: there are %v", err, files)
	}
}

// TestAccASnapshotThatBreaksIsTakenAnew ends the requests of a create from each on, as the end of the provider would, and takes the snapshot
// in another run.
func TestAccASnapshotThatBreaksIsTakenAnew(t *testing.T) {
	c, names := stage(t, "snapbreak", true)
	all := map[string]*hypervisor.Client{"": c}
	want := Snapshot{Name: "s", Nodes: names, Memory: true, Quiesce: guest.Auto}
	broke := 0
	for from := 1; ; from++ {
		ctx, reached := failpoint.BreakFrom(t.Context(), from, errBroken)
		_, err := Open(all, want, owner.BeginRun().New()).Create(ctx, want)
		if !reached() {
			if err != nil {
				t.Fatal(err)
			}
			break
		}
		broke++
		if err == nil {
			t.Fatalf("request %d broke, and the snapshot was taken", from)
		}
		c.Close() // the end of the provider is that of its connection
		next := Open(all, want, owner.BeginRun().New())
		got, err := next.Create(t.Context(), want)
		if err != nil || len(got.Nodes) != 2 {
			t.Fatalf("after request %d broke: %v, of %v", from, err, got.Nodes)
		}
		if state := virsh(t, "domstate", names[0]); state != "running" {
			t.Fatalf("after request %d broke, the node is %s", from, state)
		}
		ctx, _ = failpoint.BreakFrom(t.Context(), from, errBroken)
		if err := next.Delete(ctx); err != nil {
			c.Close()
			if err := next.Delete(t.Context()); err != nil {
				t.Fatalf("after request %d of a delete broke: %v", from, err)
			}
		}
		wantFiles(t, "snapbreak", 2)
		if on, off := virsh(t, "domstate", names[0]), virsh(t, "domstate", names[1]); on != "running" || off != "shut off" {
			t.Fatalf("after request %d broke, the nodes are %s and %s", from, on, off)
		}
	}
	t.Logf("%d requests were broken", broke)
	last := Open(all, want, owner.BeginRun().OfWorkspace())
	if err := last.Delete(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantFiles(t, "snapbreak", 2)
}

// TestAccARevertThatBreaksIsMadeAnew does the same with a revert, and looks at what is on the disks.
func TestAccARevertThatBreaksIsMadeAnew(t *testing.T) {
	c, names := stage(t, "snaprevert", false)
	all := map[string]*hypervisor.Client{"": c}
	disk := func(name string) string {
		fields := strings.Fields(virsh(t, "domblklist", name))
		return fields[len(fields)-1]
	}
	fill := func(pattern string) {
		for _, name := range names {
			shell(t, "qemu-io", "-f", "qcow2", "-c", "write -P "+pattern+" 0 64k", disk(name))
		}
	}
	holds := func(pattern string) {
		t.Helper()
		for _, name := range names {
			if out := shell(t, "qemu-io", "-f", "qcow2", "-c", "read -P "+pattern+" 0 64k", disk(name)); strings.Contains(out, "verification failed") {
				t.Fatalf("%s does not hold %s: %s", name, pattern, out)
			}
		}
	}
	fill("0x11")
	known := Snapshot{Name: "s", Nodes: names, Quiesce: guest.Auto}
	s := Open(all, known, owner.BeginRun().New())
	known, err := s.Create(t.Context(), known)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.FinishMark(t.Context()); err != nil {
		t.Fatal(err)
	}
	for from := 1; ; from++ {
		fill("0x22")
		want := known
		want.Revert = known.Revert + 1
		ctx, reached := failpoint.BreakFrom(t.Context(), from, errBroken)
		got, err := s.Update(ctx, known, want)
		if reached() {
			c.Close()
			if got, err = s.Update(t.Context(), known, want); err != nil {
				t.Fatalf("after request %d broke: %v", from, err)
			}
		}
		if err != nil || got.Revert != want.Revert || len(got.Nodes) != 2 {
			t.Fatalf("after request %d broke: %v: %+v", from, err, got)
		}
		holds("0x11")
		wantFiles(t, "snaprevert", 2+2+2)
		known = got
		if !reached() {
			t.Logf("%d requests were broken", from-1)
			break
		}
	}
	fill("0x33")
	if err := s.Delete(t.Context()); err != nil {
		t.Fatal(err)
	}
	holds("0x33")
	wantFiles(t, "snaprevert", 2)
}

// TestAccARawDiskWithoutRoom takes no snapshot of a raw disk that does not fit into its pool a second time, nor of what is no node of this state.
func TestAccARawDiskWithoutRoom(t *testing.T) {
	c, names := stage(t, "snaproom", false)
	all := map[string]*hypervisor.Client{"": c}
	file := "/var/lib/libvirt/snaproom/" + names[0] + ".raw"
	virsh(t, "vol-create-as", "snaproom", names[0]+".raw", "200T", "--format", "raw", "--allocation", "0")
	virsh(t, "attach-disk", names[0], file, "vdb", "--config", "--subdriver", "raw")
	want := Snapshot{Name: "s", Nodes: names, Quiesce: guest.Auto}
	s := Open(all, want, owner.BeginRun().New())
	for what, err := range map[string]error{
		"plan":   s.LookAtMachine(t.Context(), want),
		"create": func() error { _, err := s.Create(t.Context(), want); return err }(),
	} {
		t.Run(what, func(t *testing.T) {
			if err == nil || !strings.Contains(err.Error(), "the snapshot may take") || !strings.Contains(err.Error(), `storage pool "snaproom"`) {
				t.Error(err)
			}
		})
	}
	virsh(t, "detach-disk", names[0], "vdb", "--config")
	virsh(t, "vol-delete", names[0]+".raw", "snaproom")
	virsh(t, "metadata", names[0], "https://github.com/virtcluster/terraform-provider-virtcluster/node/1", "--remove", "--config")
	if err := s.LookAtMachine(t.Context(), want); !errors.As(err, new(*guest.NotOwnError)) {
		t.Errorf("of somebody else's domain: %v", err)
	}
	wantFiles(t, "snaproom", 2)
}
