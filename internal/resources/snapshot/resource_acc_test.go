package snapshot_test

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// pairOfNodes is two nodes, each with a disk for data; more is what else is in each.
func pairOfNodes(image, network, sizes, more string) string {
	return acctest.ClusterOfNodes(image, network, "  wait_for = \"guest_agent\"\n  disks = { "+sizes+" }\n"+more, map[string]string{"a": "10.77.0.1", "b": "10.77.0.2"})
}

const dataDisk = "data = { size_gib = 1 }"

// snapshotOf is a snapshot of both nodes.
func snapshotOf(name, more string) string {
	return fmt.Sprintf("resource \"virtcluster_snapshot\" %[1]q {\n  name = %[1]q\n  nodes = [for n in virtcluster_node.n : n.id]\n%[2]s}\noutput %[1]q { value = virtcluster_snapshot.%[1]s }\n", name, more)
}

var nodes = []string{"acc-a", "acc-b"}

// writeWord has both guests write a word to a disk.
func writeWord(t *testing.T, word, device string) {
	t.Helper()
	for _, node := range nodes {
		acctest.RunInGuest(t, node, "echo "+word+"-"+node+" | /bin/busybox dd of=/dev/"+device+" bs=512 conv=sync,fsync,notrunc 2>/dev/null")
	}
}

// wantWritten wants both guests to read that word from a disk.
func wantWritten(t *testing.T, word, device string) {
	t.Helper()
	for _, node := range nodes {
		got := acctest.RunInGuest(t, node, "/bin/busybox dd if=/dev/"+device+" bs=512 count=1 iflag=direct 2>/dev/null | /bin/busybox head -n 1")
		if want := word + "-" + node; got != want {
			t.Errorf("%s has %q on %s, and not %q", node, got, device, want)
		}
	}
}

func listIDs(t *testing.T) string {
	t.Helper()
	return acctest.Virsh(t, "domid", "acc-a") + " " + acctest.Virsh(t, "domid", "acc-b")
}

// wantNothingLeft wants no layer, no record of libvirt's and no mark of a snapshot.
func wantNothingLeft(t *testing.T, pool string, nodes ...string) {
	t.Helper()
	if left := acctest.Virsh(t, "vol-list", pool); strings.Contains(left, "vcsnap") {
		t.Errorf("files of a snapshot are left:\n%s", left)
	}
	files, err := os.ReadDir("/var/lib/libvirt/" + pool)
	for _, f := range files {
		if err != nil || strings.Contains(f.Name(), "vcsnap") {
			t.Errorf("%s is left (%v)", f.Name(), err)
		}
	}
	for _, node := range nodes {
		if left := acctest.Virsh(t, "snapshot-list", node, "--name"); left != "" {
			t.Errorf("%s has snapshots %s", node, left)
		}
		if xml := acctest.Virsh(t, "dumpxml", node); strings.Contains(xml, "vcsnap") {
			t.Errorf("%s is in a layer:\n%s", node, xml)
		}
	}
}

func TestAccSnapshot(t *testing.T) {
	pool, network, image := acctest.StageNodes(t, "snap")
	s := acctest.NewState(t)
	s.DestroyAtEnd()
	s.Apply(pairOfNodes(image, network, dataDisk, ""))
	writeWord(t, "one", "vdb")
	began := listIDs(t)

	s.Apply(pairOfNodes(image, network, dataDisk, "") + snapshotOf("before", ""))
	s.Settled()
	if now := listIDs(t); now != began {
		t.Errorf("the nodes were %s and are %s: they were started anew", began, now)
	}
	for _, node := range nodes {
		if got := acctest.Virsh(t, "snapshot-list", node, "--name"); got != "before" {
			t.Errorf("%s has the snapshots %q", node, got)
		}
		if got := acctest.Virsh(t, "domstate", node); got != "running" {
			t.Errorf("%s is %s", node, got)
		}
	}
	if out := s.Run("output"); strings.Count(out, "\"frozen\" = true") != 2 || !strings.Contains(out, pool+"/acc-a-root.qcow2.vcsnap-before") || !strings.Contains(out, "created_at") {
		t.Errorf("its output is\n%s", out)
	}

	writeWord(t, "two", "vdb")
	t.Run("a disk grows, and another is plugged in", func(t *testing.T) {
		s := s.For(t)
		s.Apply(pairOfNodes(image, network, "data = { size_gib = 2 }, more = { size_gib = 1 }", "") + snapshotOf("before", ""))
		s.Settled()
		for _, node := range nodes {
			if got := acctest.RunInGuest(t, node, "/bin/busybox cat /sys/block/vdb/size"); got != "4194304" {
				t.Errorf("%s has %s sectors", node, got)
			}
		}
		s.Write(pairOfNodes(image, network, "more = { size_gib = 1 }", "") + snapshotOf("before", ""))
		s.Refused([]string{"Disk with a snapshot", `the disk "data" goes on in the layer of snapshot "before"`}, "plan")
	})
	const grown = "data = { size_gib = 2 }, more = { size_gib = 1 }"
	t.Run("reverted by its number", func(t *testing.T) {
		s := s.For(t)
		s.Apply(pairOfNodes(image, network, grown, "") + snapshotOf("before", "  revert = 1\n"))
		wantWritten(t, "one", "vdb")
		s.Settled()
		writeWord(t, "three", "vdb")
		s.Apply(pairOfNodes(image, network, grown, "") + snapshotOf("before", "  revert = 2\n"))
		wantWritten(t, "one", "vdb")
		s.Settled()
	})
	t.Run("imported by its name", func(t *testing.T) {
		s := s.For(t)
		s.Run("state", "rm", "virtcluster_snapshot.before")
		s.Run("import", "virtcluster_snapshot.before", "before")
		s.Settled()
	})
	t.Run("a later one, and what lies below it", func(t *testing.T) {
		s := s.For(t)
		writeWord(t, "four", "vdb")
		boot := bootID(t) // which the kernel draws when it is asked first
		s.Apply(pairOfNodes(image, network, grown, "") + snapshotOf("before", "  revert = 2\n") + snapshotOf("later", "  memory = true\n  quiesce = \"none\"\n"))
		s.Settled()
		writeWord(t, "five", "vdb")
		s.Write(pairOfNodes(image, network, grown, "") + snapshotOf("before", "  revert = 3\n") + snapshotOf("later", "  memory = true\n  quiesce = \"none\"\n"))
		s.Refused([]string{"nothing was reverted", `snapshot "later" was taken later`}, "apply", "-auto-approve")
		wantWritten(t, "five", "vdb")
		was := acctest.RunInGuest(t, "acc-a", "echo alive >/run/alive; /bin/busybox cat /run/alive")
		if was != "alive" {
			t.Errorf("it says %q", was)
		}
		// The memory is that of the moment: what is in it of later is not there, and the guest did not boot.
		s.Apply(pairOfNodes(image, network, grown, "") + snapshotOf("before", "  revert = 2\n") + snapshotOf("later", "  memory = true\n  quiesce = \"none\"\n  revert = 1\n"))
		s.Settled()
		wantWritten(t, "four", "vdb")
		if got := acctest.RunInGuest(t, "acc-a", "[ -e /run/alive ] || echo gone"); got != "gone" {
			t.Errorf("what came later is in its memory: %q", got)
		}
		if now := bootID(t); now != boot {
			t.Errorf("the guest booted: it was boot %s, and is %s", boot, now)
		}
		// The one below goes first, from the middle of the chain.
		began := listIDs(t)
		s.Apply(pairOfNodes(image, network, grown, "") + snapshotOf("later", "  memory = true\n  quiesce = \"none\"\n  revert = 1\n"))
		s.Settled()
		wantWritten(t, "four", "vdb")
		if now := listIDs(t); now != began {
			t.Errorf("the nodes were started anew")
		}
	})
	t.Run("lost by hand", func(t *testing.T) {
		s := s.For(t)
		layer := acctest.Virsh(t, "domblklist", "acc-b")
		acctest.Virsh(t, "blockcommit", "acc-b", "vdb", "--active", "--pivot", "--wait", "--top", layerAt(t, layer, "vdb"), "--base", "/var/lib/libvirt/"+pool+"/acc-b-data.qcow2")
		if out, err := s.Try("plan"); err != nil || !strings.Contains(out, "must be replaced") {
			t.Errorf("%v: a node that lost its part is no change:\n%s", err, out)
		}
		s.Apply(pairOfNodes(image, network, grown, "") + snapshotOf("later", "  memory = true\n  quiesce = \"none\"\n  revert = 1\n"))
		s.Settled()
		wantWritten(t, "four", "vdb")
	})
	t.Run("merged while one is off", func(t *testing.T) {
		s := s.For(t)
		s.Apply(pairOfNodes(image, network, grown, "  running = each.key == \"a\"\n") + snapshotOf("later", "  memory = true\n  quiesce = \"none\"\n  revert = 1\n"))
		s.Apply(pairOfNodes(image, network, grown, "  running = each.key == \"a\"\n"))
		wantNothingLeft(t, pool, nodes...)
		if got := acctest.Virsh(t, "domstate", "acc-b"); got != "shut off" {
			t.Errorf("acc-b is %s", got)
		}
		s.Apply(pairOfNodes(image, network, grown, ""))
		wantWritten(t, "four", "vdb")
	})
	t.Run("an agent that hangs, and nodes that go with their snapshot and its memory", func(t *testing.T) {
		s := s.For(t)
		acctest.RunInGuest(t, "acc-b", "/bin/busybox setsid /bin/busybox sh -c '/bin/busybox sleep 2; /bin/busybox killall -STOP qemu-ga; /bin/busybox sleep 25; /bin/busybox killall -CONT qemu-ga' </dev/null >/dev/null 2>&1 &")
		time.Sleep(3 * time.Second)
		s.Write(pairOfNodes(image, network, grown, "") + strings.Replace(snapshotOf("named", "  memory = true\n"), "[for n in virtcluster_node.n : n.id]", `["acc-a", "acc-b"]`, 1))
		out := s.Run("apply", "-auto-approve", "-refresh=false")
		took := regexp.MustCompile(`Creation complete after 1?[0-9]s`).FindString(out)
		if t.Log(took); took == "" {
			t.Errorf("it took 20 s or more, of which the agent has 5:\n%s", out)
		}
		if out := s.Run("output", "named"); strings.Count(out, "\"frozen\" = true") != 1 || strings.Count(out, "\"frozen\" = false") != 1 || strings.Count(out, "-memory.vcsnap-named\"") != 2 {
			t.Errorf("its output is\n%s", out)
		}
		acctest.RunInGuest(t, "acc-b", "true")
		s.Settled()
		s.Run("destroy", "-auto-approve", "-target=virtcluster_node.n")
		files, err := os.ReadDir("/var/lib/libvirt/" + pool)
		if err != nil || len(files) != 1 {
			t.Errorf("%v: files are left: %v", err, files)
		}
	})
}

// layerAt returns the file of a disk from what domblklist prints.
func layerAt(t *testing.T, list, target string) string {
	t.Helper()
	for line := range strings.Lines(list) {
		if fields := strings.Fields(line); len(fields) == 2 && fields[0] == target {
			return fields[1]
		}
	}
	t.Fatalf("no %s in %s", target, list)
	return ""
}

// bootID tells one boot of acc-a's guest from every other.
func bootID(t *testing.T) string {
	t.Helper()
	return acctest.RunInGuest(t, "acc-a", "/bin/busybox cat /proc/sys/kernel/random/boot_id")
}

func TestAccSnapshotOfAGuestWithoutAnAgent(t *testing.T) {
	pool, network, image := acctest.StageNodes(t, "snapmute")
	node := acctest.ClusterOfNodes(image, network, "  guest_agent = false\n", map[string]string{"a": "10.77.0.1"})
	s := acctest.NewState(t)
	s.DestroyAtEnd()
	s.Apply(node)
	began := acctest.Virsh(t, "domid", "acc-a")
	files := func(t *testing.T) int {
		t.Helper()
		all, err := os.ReadDir("/var/lib/libvirt/" + pool)
		if err != nil {
			t.Fatal(err)
		}
		return len(all)
	}
	before := files(t)
	t.Run("required", func(t *testing.T) {
		s := s.For(t)
		s.Write(node + snapshotOf("before", "  quiesce = \"required\"\n"))
		s.Refused([]string{"its guest agent does not hold its file systems"}, "apply", "-auto-approve")
		if now := files(t); now != before {
			t.Errorf("there were %d files, and are %d", before, now)
		}
		if got := acctest.Virsh(t, "snapshot-list", "acc-a", "--name"); got != "" {
			t.Errorf("it has the snapshots %q", got)
		}
	})
	t.Run("a person's of that name", func(t *testing.T) {
		s := s.For(t)
		acctest.Virsh(t, "snapshot-create-as", "acc-a", "before")
		s.Write(node + snapshotOf("before", ""))
		s.Refused([]string{`snapshot "before" is in node "acc-a"`, "this provider did not write it"}, "plan")
		s.Refused([]string{`snapshot "before" is in node "acc-a"`, "this provider did not write it"}, "apply", "-auto-approve")
		acctest.Virsh(t, "snapshot-delete", "acc-a", "before")
	})
	t.Run("auto", func(t *testing.T) {
		s := s.For(t)
		s.Apply(node + snapshotOf("before", ""))
		s.Settled()
		if out := s.Run("output"); !strings.Contains(out, "\"frozen\" = false") {
			t.Errorf("its output is\n%s", out)
		}
	})
	t.Run("another state's overlay", func(t *testing.T) {
		s := s.For(t)
		other := acctest.NewState(t)
		other.Apply(acctest.Provider() + fmt.Sprintf("resource \"virtcluster_volume\" \"v\" {\n  name = \"upon.qcow2\"\n  pool = %[1]q\n  image = \"/var/lib/libvirt/%[1]s/acc-a-root.qcow2.vcsnap-before\"\n}\n", pool))
		s.Write(node + snapshotOf("before", "  revert = 1\n"))
		s.Refused([]string{"nothing was reverted", "is used by its overlay", pool + "/upon.qcow2"}, "apply", "-auto-approve")
		s.Write(node)
		if out := s.Run("plan"); !strings.Contains(out, "snapshot \"before\" is needed") || !strings.Contains(out, pool+"/upon.qcow2") {
			t.Errorf("the plan is\n%s", out)
		}
		s.Refused([]string{"is used by its overlay", pool + "/upon.qcow2"}, "apply", "-auto-approve")
		if got := acctest.Virsh(t, "snapshot-list", "acc-a", "--name"); got != "before" {
			t.Errorf("it has the snapshots %q", got)
		}
		other.Run("destroy", "-auto-approve")
	})
	t.Run("another state's node", func(t *testing.T) {
		other := acctest.NewState(t)
		other.Write(acctest.Provider() + "resource \"virtcluster_snapshot\" \"s\" {\n  name  = \"theirs\"\n  nodes = [\"acc-a\"]\n}\n")
		other.Refused([]string{`has a domain "acc-a" that is no node of this state`}, "plan")
	})
	if now := acctest.Virsh(t, "domid", "acc-a"); now != began || acctest.Virsh(t, "domstate", "acc-a") != "running" {
		t.Errorf("it was machine %s, and is %s, %s", began, now, acctest.Virsh(t, "domstate", "acc-a"))
	}
}
