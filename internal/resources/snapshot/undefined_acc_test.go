package snapshot_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"libvirt.org/go/libvirtxml"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// defineDomain defines a domain of an XML.
func defineDomain(t *testing.T, xml string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "domain.xml")
	if err := os.WriteFile(file, []byte(xml), 0o600); err != nil {
		t.Fatal(err)
	}
	acctest.Virsh(t, "define", file)
}

// withoutLayers returns the XML of a domain whose disks are in what lies below the layers of a snapshot.
func withoutLayers(t *testing.T, xml, snapshot string) string {
	t.Helper()
	var d libvirtxml.Domain
	if err := d.Unmarshal(xml); err != nil {
		t.Fatal(err)
	}
	for i := range d.Devices.Disks {
		disk := &d.Devices.Disks[i]
		disk.BackingStore = nil
		if disk.Source != nil && disk.Source.File != nil {
			disk.Source.File.File = strings.TrimSuffix(disk.Source.File.File, ".vcsnap-"+snapshot)
		}
	}
	text, err := d.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestAccSnapshotOfANodeWhoseDomainIsUndefined undefines a node whose disks are in the layers of a snapshot: what its guest wrote since is nowhere else, and
// nothing that an apply does loses it.
func TestAccSnapshotOfANodeWhoseDomainIsUndefined(t *testing.T) {
	pool, network, image := acctest.StageNodes(t, "snapundef")
	dir := "/var/lib/libvirt/" + pool
	layers := []string{dir + "/acc-a-data.qcow2.vcsnap-before", dir + "/acc-a-root.qcow2.vcsnap-before"}
	s := acctest.NewState(t)
	s.DestroyAtEnd()
	node := acctest.ClusterOfNodes(image, network, "  wait_for = \"guest_agent\"\n  shutdown_timeout = \"0s\"\n  disks = { "+dataDisk+" }\n", map[string]string{"a": "10.77.0.1"})
	// By its id the plan itself refuses a snapshot of what has no domain.
	both := node + strings.Replace(snapshotOf("before", ""), "n.id", "n.name", 1)
	write := func(word string) {
		t.Helper()
		acctest.RunInGuest(t, "acc-a", "echo "+word+" | /bin/busybox dd of=/dev/vdb bs=512 conv=sync,fsync,notrunc 2>/dev/null")
	}
	holds := func(t *testing.T, word string) {
		t.Helper()
		if got := acctest.RunInGuest(t, "acc-a", "/bin/busybox dd if=/dev/vdb bs=512 count=1 iflag=direct 2>/dev/null | /bin/busybox head -n 1"); got != word {
			t.Fatalf("its disk has %q, and not %q", got, word)
		}
	}
	undefine := func(t *testing.T) (xml string) {
		t.Helper()
		xml = acctest.Virsh(t, "dumpxml", "--inactive", "acc-a")
		acctest.Virsh(t, "destroy", "acc-a")
		acctest.Virsh(t, "undefine", "acc-a", "--snapshots-metadata")
		return xml
	}
	areThere := func(t *testing.T) {
		t.Helper()
		for _, layer := range layers {
			if _, err := os.Stat(layer); err != nil {
				t.Fatal(err)
			}
		}
	}
	s.Apply(node)
	write("one")
	s.Apply(both)
	write("two")
	xml := undefine(t)
	for _, command := range []string{"apply", "destroy"} {
		t.Run("an "+command+" is refused", func(t *testing.T) {
			s := s.For(t)
			s.Write(both)
			s.Refused([]string{"vcsnap-before", "qemu-img commit", "virsh define"}, command, "-auto-approve")
			areThere(t)
		})
	}
	t.Run("the domain is defined with its disks below the layers", func(t *testing.T) {
		s := s.For(t)
		defineDomain(t, withoutLayers(t, xml, "before"))
		s.Write(node)
		s.Refused([]string{"vcsnap-before", "qemu-img commit", "virsh define"}, "apply", "-auto-approve")
		areThere(t)
		if acctest.Virsh(t, "domstate", "acc-a") != "shut off" {
			acctest.Virsh(t, "destroy", "acc-a")
		}
		acctest.Virsh(t, "undefine", "acc-a")
	})
	t.Run("the domain is defined with its disks in them", func(t *testing.T) {
		s := s.For(t)
		defineDomain(t, xml)
		s.Apply(node)
		s.Settled()
		holds(t, "two")
		wantNothingLeft(t, pool, "acc-a")
	})
	t.Run("what the layers hold is written below them", func(t *testing.T) {
		s := s.For(t)
		s.Apply(both)
		write("three")
		undefine(t)
		for _, layer := range layers {
			acctest.Run(t, "qemu-img", "commit", layer)
		}
		s.Apply(both)
		s.Settled()
		holds(t, "three")
	})
	t.Run("the layers are deleted by hand", func(t *testing.T) {
		s := s.For(t)
		write("four")
		undefine(t)
		for _, layer := range layers {
			acctest.Virsh(t, "vol-delete", layer)
		}
		s.Apply(node)
		s.Settled()
		holds(t, "three")
		wantNothingLeft(t, pool, "acc-a")
	})
}

// TestAccSnapshotLeavesLayersToAnotherDomain has a person run a domain of their own in the layers of a node's snapshot: a destroy leaves them, and what they
// lie upon.
func TestAccSnapshotLeavesLayersToAnotherDomain(t *testing.T) {
	pool, network, image := acctest.StageNodes(t, "snaptheirs")
	dir := "/var/lib/libvirt/" + pool
	s := acctest.NewState(t)
	s.DestroyAtEnd()
	s.Apply(acctest.ClusterOfNodes(image, network, "  running = false\n  disks = { "+dataDisk+" }\n", map[string]string{"a": "10.77.0.1"}) + snapshotOf("before", ""))
	acctest.Virsh(t, "undefine", "acc-a", "--snapshots-metadata")
	var disks strings.Builder
	for target, disk := range map[string]string{"vda": "root", "vdb": "data"} {
		layer := dir + "/acc-a-" + disk + ".qcow2.vcsnap-before"
		acctest.Run(t, "qemu-io", "-f", "qcow2", "-c", "write -P 0x33 512M 64k", layer)
		fmt.Fprintf(&disks, "<disk type='file' device='disk'><driver name='qemu' type='qcow2'/><source file='%s'/><target dev='%s' bus='virtio'/></disk>", layer, target)
	}
	defineDomain(t, "<domain type='qemu'><name>theirs</name><memory unit='MiB'>128</memory><os><type machine='q35'>hvm</type></os><devices>"+disks.String()+"</devices></domain>")
	acctest.Virsh(t, "start", "theirs")
	if out := s.Run("destroy", "-auto-approve", "-refresh=false"); !strings.Contains(out, "acc-a-data.qcow2.vcsnap-before of a snapshot stays") || !strings.Contains(acctest.JoinLines(out), `used by the domain "theirs"`) {
		t.Errorf("of the layers that stay it is said:\n%s", out)
	}
	if got := acctest.Virsh(t, "domstate", "theirs"); got != "running" {
		t.Errorf("their domain is %s", got)
	}
	for _, disk := range []string{"root", "data"} {
		for _, file := range []string{dir + "/acc-a-" + disk + ".qcow2", dir + "/acc-a-" + disk + ".qcow2.vcsnap-before"} {
			if _, err := os.Stat(file); err != nil {
				t.Error(err)
			}
		}
	}
	if marks, err := filepath.Glob(dir + "/*.virtcluster-*"); err != nil || len(marks) > 0 {
		t.Errorf("%v: marks are left: %v", err, marks)
	}
	acctest.Virsh(t, "destroy", "theirs")
	acctest.Virsh(t, "undefine", "theirs")
	left, err := filepath.Glob(dir + "/acc-*")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range left {
		acctest.Virsh(t, "vol-delete", file)
	}
}
