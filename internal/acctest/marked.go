package acctest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/sshhost"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
)

// StageMarkedNodes defines domains with the mark of this state's nodes, each with one qcow2 disk of a size, in a pool that has nothing else,
// until the test ends. Nothing may be left then of what the test had made of them.
func StageMarkedNodes(t *testing.T, pool, size string, names ...string) *hypervisor.Client {
	t.Helper()
	InSandbox(t)
	c, err := hypervisor.New("qemu:///system", sshhost.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	dir := "/var/lib/libvirt/" + pool
	Virsh(t, "pool-define-as", pool, "dir", "--target", dir)
	Virsh(t, "pool-build", pool)
	Virsh(t, "pool-start", pool)
	for _, name := range names {
		Run(t, "qemu-img", "create", "-f", "qcow2", dir+"/"+name+".qcow2", size) // libvirt would make one of a version that keeps no bitmaps
		xml := filepath.Join(t.TempDir(), "domain.xml")
		text := fmt.Sprintf(`<domain type='qemu'><name>%[1]s</name><memory unit='MiB'>32</memory><os><type arch='x86_64' machine='q35'>hvm</type></os>
<metadata><v:node xmlns:v='https://github.com/virtcluster/terraform-provider-virtcluster/node/1' owner='abc' workspace='%[2]s'><disk key='root' target='vda'/></v:node></metadata>
<devices><disk type='file' device='disk'><driver name='qemu' type='qcow2'/><source file='%[3]s/%[1]s.qcow2'/><target dev='vda' bus='virtio'/></disk></devices></domain>`, name, owner.Workspace(), dir)
		if err := os.WriteFile(xml, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		Virsh(t, "define", xml)
	}
	Virsh(t, "pool-refresh", pool)
	t.Cleanup(func() {
		for _, name := range names {
			if Virsh(t, "domstate", name) != "shut off" {
				Virsh(t, "destroy", name)
			}
			if left := Virsh(t, "checkpoint-list", name, "--name"); left != "" {
				t.Errorf("checkpoints are left: %s", left)
			}
			Virsh(t, "undefine", name, "--checkpoints-metadata")
			Virsh(t, "vol-delete", name+".qcow2", pool)
		}
		if left := strings.Fields(Virsh(t, "vol-list", pool)); len(left) != 3 {
			t.Errorf("volumes are left: %v", left)
		}
		Virsh(t, "pool-destroy", pool)
		Virsh(t, "pool-undefine", pool)
		_ = os.RemoveAll(dir)
	})
	return c
}

// WantFiles wants a pool's directory to have so many files, marks among them.
func WantFiles(t *testing.T, pool string, n int) {
	t.Helper()
	files, err := os.ReadDir("/var/lib/libvirt/" + pool)
	if err != nil || len(files) != n {
		t.Fatalf("%v: there are %v", err, files)
	}
}
