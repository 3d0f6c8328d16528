package backup_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// configureNode is the node acc-a with disks; more is what else is in it.
func configureNode(image, network, disks, more string) string {
	return acctest.ClusterOfNodes(image, network, "  wait_for = \"guest_agent\"\n  shutdown_timeout = \"0s\"\n  disks = { "+disks+" }\n"+more, map[string]string{"a": "10.77.0.1"})
}

const dataDisk = "data = { size_gib = 1 }"

// backupOf is a backup of acc-a into a pool.
func backupOf(name, pool, more string) string {
	return fmt.Sprintf("resource \"virtcluster_backup\" %[1]q {\n  name = %[1]q\n  node = virtcluster_node.n[\"a\"].id\n  target = { pool = %[2]q }\n%[3]s}\noutput %[1]q { value = virtcluster_backup.%[1]s }\n", name, pool, more)
}

// incrementalFrom is what says which backup one is incremental from.
func incrementalFrom(base string) string {
	return "  incremental_from = virtcluster_backup." + base + ".checkpoint\n"
}

// restoredNode is a node whose disks are overlays of a backup's volumes.
func restoredNode(network, pool, backup string) string {
	return fmt.Sprintf(`
resource "virtcluster_volume" "restored" {
  name  = "restored-data.qcow2"
  pool  = %[1]q
  image = virtcluster_backup.%[2]s.volumes["data"]
}
resource "virtcluster_node" "restored" {
  name               = "acc-r"
  type               = "qemu"
  memory_mib         = 128
  wait_for           = "guest_agent"
  shutdown_timeout   = "0s"
  root_disk          = { pool = %[1]q, image = virtcluster_backup.%[2]s.volumes["root"] }
  disks              = { data = { volume = virtcluster_volume.restored.id } }
  network_interfaces = [{ network = %[3]q, ip = "10.77.0.9" }]
}
`, pool, backup, network)
}

// writeWord has the guest of acc-a write a word to its second disk, at so many MiB.
func writeWord(t *testing.T, word string, mib int) {
	t.Helper()
	acctest.RunInGuest(t, "acc-a", fmt.Sprintf("echo %s | /bin/busybox dd of=/dev/vdb bs=512 seek=%d conv=sync,fsync,notrunc 2>/dev/null", word, mib<<11))
}

// wantWritten wants a guest to read a word there.
func wantWritten(t *testing.T, domain, word string, mib int) {
	t.Helper()
	got := acctest.RunInGuest(t, domain, fmt.Sprintf("/bin/busybox dd if=/dev/vdb bs=512 skip=%d count=1 iflag=direct 2>/dev/null | /bin/busybox head -n 1", mib<<11))
	if got != word {
		t.Errorf("%s has %q at %d MiB, and not %q", domain, got, mib, word)
	}
}

// wantCheckpoints wants acc-a to have these, by their names' order.
func wantCheckpoints(t *testing.T, want string) {
	t.Helper()
	got := strings.Join(slices.Sorted(slices.Values(strings.Fields(acctest.Virsh(t, "checkpoint-list", "acc-a", "--name")))), " ")
	if got != want {
		t.Errorf("it has the checkpoints %q, and not %q", got, want)
	}
}

// wantVolumes wants a directory to have these copies, each with its mark.
func wantVolumes(t *testing.T, directory string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(directory)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		volume, _, mark := strings.Cut(e.Name(), ".virtcluster-")
		if !mark && strings.Count(volume, "-") >= 3 {
			got = append(got, volume)
		}
		if _, err := os.Stat(filepath.Join(directory, volume)); mark && err != nil {
			t.Errorf("the mark %s is left", e.Name())
		}
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("it has the copies %q, and not %q", got, want)
	}
}

// readBitmaps returns what a disk keeps.
func readBitmaps(t *testing.T, file string) string {
	t.Helper()
	out, err := exec.Command("qemu-img", "info", "-U", file).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	_, kept, _ := strings.Cut(string(out), "bitmaps:")
	return kept
}

func TestAccBackup(t *testing.T) {
	pool, network, image := acctest.StageNodes(t, "bak")
	directory := "/var/lib/libvirt/" + pool
	s := acctest.NewState(t)
	s.DestroyAtEnd()
	one := configureNode(image, network, dataDisk, "")
	s.Apply(one)
	writeWord(t, "one", 1)
	began := acctest.Virsh(t, "domid", "acc-a")

	s.Apply(one + backupOf("sunday", pool, ""))
	s.Settled()
	wantCheckpoints(t, "sunday")
	wantVolumes(t, directory, "acc-a-data-sunday.qcow2", "acc-a-root-sunday.qcow2")
	if out := s.Run("output"); !strings.Contains(out, "\"frozen\" = true") || !strings.Contains(out, directory+"/acc-a-data-sunday.qcow2") || !strings.Contains(out, "\"checkpoint\" = \"sunday\"") {
		t.Errorf("its output is\n%s", out)
	}
	writeWord(t, "two", 1)
	chain := backupOf("sunday", pool, "") + backupOf("monday", pool, incrementalFrom("sunday")+"  bandwidth_mib = 100\n")
	s.Apply(one + chain)
	s.Settled()
	wantCheckpoints(t, "monday sunday")
	if info, err := os.Stat(directory + "/acc-a-data-monday.qcow2"); err != nil || info.Size() > 2<<20 {
		t.Errorf("%v: what was written since takes %v bytes", err, info)
	}
	writeWord(t, "three", 1)
	if now := acctest.Virsh(t, "domid", "acc-a"); now != began {
		t.Errorf("the node was started anew")
	}
	for backup, word := range map[string]string{"sunday": "one", "monday": "two"} {
		t.Run("a node of "+backup, func(t *testing.T) {
			s := s.For(t)
			s.Apply(one + chain + restoredNode(network, pool, backup))
			wantWritten(t, "acc-r", word, 1)
			s.Settled()
			s.Write(one + chain)
			s.Run("apply", "-auto-approve")
		})
	}
	wantWritten(t, "acc-a", "three", 1)
	t.Run("imported", func(t *testing.T) {
		s := s.For(t)
		uuid := acctest.Virsh(t, "domuuid", "acc-a")
		s.Run("state", "rm", "virtcluster_backup.monday")
		s.Run("import", "virtcluster_backup.monday", "monday/"+uuid)
		s.Apply(one + chain) // of an import nobody knows the bandwidth
		s.Settled()
		wantCheckpoints(t, "monday sunday")
	})
	t.Run("a base that goes alone", func(t *testing.T) {
		s := s.For(t)
		s.Write(one + strings.Replace(backupOf("monday", pool, incrementalFrom("sunday")), "virtcluster_backup.sunday.checkpoint", `"sunday"`, 1))
		s.Refused([]string{"destroy both"}, "plan") // whichever of the two the plan comes to first says so
	})
	t.Run("a base that is missing", func(t *testing.T) {
		s := s.For(t)
		s.Write(one + chain + backupOf("tuesday", pool, "  incremental_from = \"never\"\n"))
		s.Refused([]string{`has no checkpoint "never"`}, "plan")
		s.Write(one + chain + backupOf("tuesday", pool, "  disks = [\"swap\"]\n"))
		s.Refused([]string{`has no disk "swap"`, "data, root"}, "plan")
		s.Write(one + chain + backupOf("tuesday", "nowhere", ""))
		s.Refused([]string{`has no storage pool "nowhere"`}, "plan")
	})
	t.Run("a volume that somebody removed", func(t *testing.T) {
		s := s.For(t)
		s.Write(one + chain)
		acctest.Virsh(t, "vol-delete", "acc-a-data-monday.qcow2", pool)
		if out := s.Run("plan"); !strings.Contains(out, "virtcluster_backup.monday must be replaced") {
			t.Errorf("the plan is\n%s", out)
		}
		s.Apply(one + chain)
		s.Settled()
		wantVolumes(t, directory, "acc-a-data-monday.qcow2", "acc-a-data-sunday.qcow2", "acc-a-root-monday.qcow2", "acc-a-root-sunday.qcow2")
		wantCheckpoints(t, "monday sunday")
	})
	t.Run("a checkpoint that somebody deleted", func(t *testing.T) {
		s := s.For(t)
		acctest.Virsh(t, "checkpoint-delete", "acc-a", "monday")
		if out := s.Run("plan"); !strings.Contains(out, "Checkpoint lost") {
			t.Errorf("the plan is\n%s", out)
		}
		s.Apply(one + chain)
		s.Settled()
		wantVolumes(t, directory, "acc-a-data-monday.qcow2", "acc-a-data-sunday.qcow2", "acc-a-root-monday.qcow2", "acc-a-root-sunday.qcow2")
	})
	t.Run("another generation of the base makes both anew", func(t *testing.T) {
		s := s.For(t)
		s.Apply(one + backupOf("sunday", pool, "  generation = 2\n") + backupOf("monday", pool, incrementalFrom("sunday")))
		s.Settled()
		wantVolumes(t, directory, "acc-a-data-monday.qcow2", "acc-a-data-sunday.2.qcow2", "acc-a-root-monday.qcow2", "acc-a-root-sunday.2.qcow2")
		wantCheckpoints(t, "monday sunday.2")
	})
	t.Run("destroyed", func(t *testing.T) {
		s := s.For(t)
		s.Apply(one)
		wantVolumes(t, directory)
		wantCheckpoints(t, "")
		if kept := readBitmaps(t, directory+"/acc-a-data.qcow2"); kept != "" {
			t.Errorf("the disk keeps %s", kept)
		}
		if now := acctest.Virsh(t, "domid", "acc-a"); now != began {
			t.Errorf("the node was started anew")
		}
	})
}

// A node with checkpoints is changed, has snapshots taken and goes, as one without.
func TestAccBackupBesideChanges(t *testing.T) {
	pool, network, image := acctest.StageNodes(t, "bakchange")
	directory := "/var/lib/libvirt/" + pool
	s := acctest.NewState(t)
	s.DestroyAtEnd()
	first := backupOf("first", pool, "")
	s.Apply(configureNode(image, network, dataDisk, "") + first)
	const grown = "data = { size_gib = 2 }, more = { size_gib = 1 }"
	t.Run("a disk grows, and another is plugged in", func(t *testing.T) {
		s := s.For(t)
		s.Apply(configureNode(image, network, grown, "") + first)
		s.Settled()
		writeWord(t, "far", 1500)
		s.Apply(configureNode(image, network, grown, "") + first + backupOf("second", pool, incrementalFrom("first")))
		s.Settled()
		wantVolumes(t, directory, "acc-a-data-first.qcow2", "acc-a-data-second.qcow2", "acc-a-more-second.qcow2", "acc-a-root-first.qcow2", "acc-a-root-second.qcow2")
		out, err := exec.Command("qemu-io", "-f", "qcow2", "-r", "-c", "read -v 1500M 16", directory+"/acc-a-data-second.qcow2").CombinedOutput()
		if err != nil || !strings.Contains(string(out), "far") {
			t.Errorf("%v: the copy has %s", err, out)
		}
	})
	chain := first + backupOf("second", pool, incrementalFrom("first"))
	snapshot := "resource \"virtcluster_snapshot\" \"s\" {\n  name = \"s\"\n  nodes = [virtcluster_node.n[\"a\"].id]\n%s}\n"
	t.Run("a snapshot is taken and merged, and a backup made of its layers", func(t *testing.T) {
		s := s.For(t)
		s.Apply(configureNode(image, network, grown, "") + chain + fmt.Sprintf(snapshot, ""))
		s.Settled()
		writeWord(t, "layered", 3)
		s.Apply(configureNode(image, network, grown, "") + chain + fmt.Sprintf(snapshot, "") + backupOf("third", pool, incrementalFrom("second")+"  disks = [\"data\"]\n  depends_on = [virtcluster_snapshot.s]\n"))
		s.Settled()
		s.Apply(configureNode(image, network, grown, "") + chain + backupOf("third", pool, incrementalFrom("second")+"  disks = [\"data\"]\n"))
		s.Settled()
		wantCheckpoints(t, "first second third")
		writeWord(t, "merged", 4)
		s.Apply(configureNode(image, network, grown, "") + chain + backupOf("third", pool, incrementalFrom("second")+"  disks = [\"data\"]\n") + backupOf("fourth", pool, incrementalFrom("third")+"  disks = [\"data\"]\n"))
		out, err := exec.Command("qemu-io", "-f", "qcow2", "-r", "-c", "read -v 3M 16", "-c", "read -v 4M 16", "-c", "read -v 1500M 16", directory+"/acc-a-data-fourth.qcow2").CombinedOutput()
		if err != nil || !strings.Contains(string(out), "layered") || !strings.Contains(string(out), "merged") || !strings.Contains(string(out), "far") {
			t.Errorf("%v: the copy has %s", err, out)
		}
		s.Apply(configureNode(image, network, grown, "") + chain)
		s.Settled()
	})
	t.Run("what is incremental after a revert is refused", func(t *testing.T) {
		s := s.For(t)
		s.Apply(configureNode(image, network, grown, "") + chain + fmt.Sprintf(snapshot, ""))
		s.Apply(configureNode(image, network, grown, "") + chain + fmt.Sprintf(snapshot, "  revert = 1\n"))
		acctest.RunInGuest(t, "acc-a", "true")
		s.Write(configureNode(image, network, grown, "") + chain + fmt.Sprintf(snapshot, "  revert = 1\n") + backupOf("third", pool, incrementalFrom("second")))
		s.Refused([]string{"do not know any more what was written since checkpoint \"second\"", "leave it out"}, "apply", "-auto-approve")
		wantCheckpoints(t, "first second")
		s.Apply(configureNode(image, network, grown, "") + chain)
		s.Settled()
	})
	t.Run("a disk is unplugged", func(t *testing.T) {
		s := s.For(t)
		s.Apply(configureNode(image, network, "data = { size_gib = 2 }", "") + chain)
		s.Settled()
	})
	t.Run("the node is off", func(t *testing.T) {
		s := s.For(t)
		off := configureNode(image, network, "data = { size_gib = 2 }", "  running = false\n")
		s.Apply(off + chain)
		s.Apply(off + chain + backupOf("off", pool, ""))
		s.Settled()
		if got := acctest.Virsh(t, "domstate", "acc-a"); got != "shut off" {
			t.Errorf("acc-a is %s", got)
		}
		wantCheckpoints(t, "first off second")
		s.Apply(off + chain + fmt.Sprintf(snapshot, ""))
		s.Settled()
		s.Apply(off + chain + fmt.Sprintf(snapshot, "  revert = 1\n"))
		s.Settled()
		s.Apply(off + first)
		s.Settled()
		wantCheckpoints(t, "first")
		if got := acctest.Virsh(t, "domstate", "acc-a"); got != "shut off" {
			t.Errorf("acc-a is %s", got)
		}
	})
	t.Run("a backup by the node's name outlives it", func(t *testing.T) {
		s := s.For(t)
		named := strings.Replace(backupOf("kept", pool, ""), `virtcluster_node.n["a"].id`, `"acc-a"`, 1)
		s.Apply(configureNode(image, network, "data = { size_gib = 2 }", "") + named)
		s.Settled()
		s.Apply(acctest.Provider() + named)
		wantVolumes(t, directory, "acc-a-data-kept.qcow2", "acc-a-root-kept.qcow2")
		if out := s.Run("apply", "-auto-approve"); !strings.Contains(out, "Checkpoint lost") {
			t.Errorf("the checkpoint went with its node, and this is said:\n%s", out)
		}
		s.Settled()
		s.Apply(acctest.Provider())
		wantVolumes(t, directory)
	})
}

func TestAccBackupIntoADirectory(t *testing.T) {
	pool, network, image := acctest.StageNodes(t, "bakdir")
	directory := t.TempDir()
	s := acctest.NewState(t)
	s.DestroyAtEnd()
	raw := fmt.Sprintf("resource \"virtcluster_volume\" \"raw\" {\n  name = \"raw.img\"\n  pool = %q\n  format = \"raw\"\n  size_gib = 1\n}\n", pool)
	mute := raw + configureNode(image, network, "data = { volume = virtcluster_volume.raw.id }", "  guest_agent = false\n")
	mute = strings.Replace(mute, "wait_for = \"guest_agent\"", "wait_for = \"none\"", 1)
	into := func(name, more string) string {
		return strings.Replace(backupOf(name, "", more), "{ pool = \"\" }", fmt.Sprintf("{ path = %q }", directory), 1)
	}
	s.Apply(mute)
	t.Run("an agent that does not answer", func(t *testing.T) {
		s := s.For(t)
		s.Write(mute + into("one", "  quiesce = \"required\"\n"))
		s.Refused([]string{"its guest agent does not hold its file systems"}, "apply", "-auto-approve")
		wantVolumes(t, directory)
		wantCheckpoints(t, "")
		if left := acctest.Virsh(t, "pool-list", "--all", "--name"); strings.Contains(left, "virtcluster-backup") {
			t.Errorf("pools are left: %s", left)
		}
	})
	t.Run("a raw disk is copied as a whole", func(t *testing.T) {
		s := s.For(t)
		s.Write(mute + into("one", ""))
		if out := s.Run("apply", "-auto-approve"); !strings.Contains(out, "Disk without bitmaps") || !strings.Contains(out, "a raw file") {
			t.Errorf("of the raw disk this is said:\n%s", out)
		}
		s.Settled()
		s.Apply(mute + into("one", "") + into("two", incrementalFrom("one")))
		s.Settled()
		wantVolumes(t, directory, "acc-a-data-one.qcow2", "acc-a-data-two.qcow2", "acc-a-root-one.qcow2", "acc-a-root-two.qcow2")
		for copied, based := range map[string]bool{"data": false, "root": true} {
			out, err := exec.Command("qemu-img", "info", filepath.Join(directory, "acc-a-"+copied+"-two.qcow2")).CombinedOutput()
			if err != nil || strings.Contains(string(out), "backing file:") != based {
				t.Errorf("%v: %s", err, out)
			}
		}
	})
	t.Run("libvirt forgets the pool", func(t *testing.T) {
		s := s.For(t)
		for name := range strings.FieldsSeq(acctest.Virsh(t, "pool-list", "--all", "--name")) {
			if strings.HasPrefix(name, "virtcluster-backup") {
				acctest.Virsh(t, "pool-destroy", name)
			}
		}
		s.Settled()
	})
	t.Run("a directory that is not there", func(t *testing.T) {
		s := s.For(t)
		s.Write(mute + into("one", "") + into("two", incrementalFrom("one")) + strings.Replace(into("three", ""), directory, "/srv/nowhere", 1))
		s.Refused([]string{"libvirt cannot use the directory /srv/nowhere"}, "apply", "-auto-approve")
	})
	t.Run("destroyed", func(t *testing.T) {
		s := s.For(t)
		s.Apply(mute)
		if left, err := os.ReadDir(directory); err != nil || len(left) > 0 {
			t.Errorf("%v: %v are left", err, left)
		}
		if left := acctest.Virsh(t, "pool-list", "--all", "--name"); strings.Contains(left, "virtcluster-backup") {
			t.Errorf("pools are left: %s", left)
		}
	})
}

// What another state or a person has under the names of a backup stays theirs.
func TestAccBackupOfOthers(t *testing.T) {
	pool, network, image := acctest.StageNodes(t, "bakothers")
	s := acctest.NewState(t)
	s.DestroyAtEnd()
	one := configureNode(image, network, dataDisk, "")
	s.Apply(one)
	t.Run("a person's volume", func(t *testing.T) {
		s := s.For(t)
		acctest.Virsh(t, "vol-create-as", pool, "acc-a-data-nightly.qcow2", "1M", "--format", "qcow2")
		s.Write(one + backupOf("nightly", pool, ""))
		s.Refused([]string{`volume "acc-a-data-nightly.qcow2"`, "this provider did not write it"}, "plan")
		s.Refused([]string{`volume "acc-a-data-nightly.qcow2"`, "this provider did not write it"}, "apply", "-auto-approve")
		acctest.Virsh(t, "vol-delete", "acc-a-data-nightly.qcow2", pool)
	})
	t.Run("a person's checkpoint", func(t *testing.T) {
		s := s.For(t)
		acctest.Virsh(t, "checkpoint-create-as", "acc-a", "nightly")
		s.Write(one + backupOf("nightly", pool, ""))
		s.Refused([]string{`checkpoint "nightly"`, "this provider did not write it"}, "plan")
		acctest.Virsh(t, "checkpoint-delete", "acc-a", "nightly")
	})
	t.Run("a pool that is stopped proves nothing", func(t *testing.T) {
		s := s.For(t)
		acctest.Virsh(t, "pool-define-as", "bakaway", "dir", "--target", "/var/lib/libvirt/bakaway")
		acctest.Virsh(t, "pool-build", "bakaway")
		acctest.Virsh(t, "pool-start", "bakaway")
		s.Apply(one + backupOf("away", "bakaway", ""))
		acctest.Virsh(t, "pool-destroy", "bakaway")
		if out := s.Run("plan", "-detailed-exitcode"); !strings.Contains(out, "Cannot look at backup \"away\"") {
			t.Errorf("the plan is\n%s", out)
		}
		s.Write(one)
		s.Refused([]string{`has storage pool "bakaway" started`}, "apply", "-auto-approve")
		acctest.Virsh(t, "pool-start", "bakaway")
		s.Apply(one)
		wantVolumes(t, "/var/lib/libvirt/bakaway")
		wantCheckpoints(t, "")
		acctest.Virsh(t, "pool-destroy", "bakaway")
		acctest.Virsh(t, "pool-undefine", "bakaway")
	})
	t.Run("another state's node", func(t *testing.T) {
		other := acctest.NewState(t)
		other.Write(acctest.Provider() + fmt.Sprintf("resource \"virtcluster_backup\" \"b\" {\n  name = \"theirs\"\n  node = \"acc-a\"\n  target = { pool = %q }\n}\n", pool))
		other.Refused([]string{`has a domain "acc-a" that is no node of this state`}, "plan")
	})
	t.Run("another state's overlay", func(t *testing.T) {
		s := s.For(t)
		s.Apply(one + backupOf("nightly", pool, ""))
		other := acctest.NewState(t)
		other.Apply(acctest.Provider() + fmt.Sprintf("resource \"virtcluster_volume\" \"v\" {\n  name = \"upon.qcow2\"\n  pool = %[1]q\n  image = \"/var/lib/libvirt/%[1]s/acc-a-data-nightly.qcow2\"\n}\n", pool))
		s.Write(one)
		if out := s.Run("plan"); !strings.Contains(out, "backup \"nightly\" is needed") || !strings.Contains(out, pool+"/upon.qcow2") {
			t.Errorf("the plan is\n%s", out)
		}
		s.Refused([]string{"is used by its overlay"}, "apply", "-auto-approve")
		wantCheckpoints(t, "nightly")
		other.Run("destroy", "-auto-approve")
		s.Run("apply", "-auto-approve")
		wantCheckpoints(t, "")
	})
}

// TestAccBackupOfANodeOfALongerName takes backups of one name of two nodes into one pool, where the names of one's copies begin as the other's do: what is
// done to one of them leaves the other's.
func TestAccBackupOfANodeOfALongerName(t *testing.T) {
	pool, network, image := acctest.StageNodes(t, "baklonger")
	directory := "/var/lib/libvirt/" + pool
	s := acctest.NewState(t)
	s.DestroyAtEnd()
	nodes := acctest.ClusterOfNodes(image, network, "  running = false\n", map[string]string{"a": "10.77.0.1", "a-b": "10.77.0.2"})
	nightly := func(key, more string) string {
		return fmt.Sprintf("resource \"virtcluster_backup\" %[1]q {\n  name = \"nightly\"\n  node = virtcluster_node.n[%[1]q].id\n  target = { pool = %[2]q }\n%[3]s}\n", key, pool, more)
	}
	theirs := nodes + nightly("a-b", "")
	both := theirs + nightly("a", "  depends_on = [virtcluster_backup.a-b]\n")
	their := func(t *testing.T) uint64 {
		t.Helper()
		info, err := os.Stat(directory + "/acc-a-b-root-nightly.qcow2")
		if err != nil {
			t.Fatal(err)
		}
		return info.Sys().(*syscall.Stat_t).Ino
	}
	s.Write(both)
	s.Run("apply", "-auto-approve", "-parallelism=1")
	s.Settled()
	first := their(t)
	if _, err := os.Stat(directory + "/acc-a-root-nightly.qcow2"); err != nil {
		t.Error(err)
	}
	for what, run := range map[string]func(*acctest.State){
		"replaced": func(s *acctest.State) { s.Run("apply", "-auto-approve", "-replace=virtcluster_backup.a") },
		"tainted": func(s *acctest.State) {
			s.Run("taint", "virtcluster_backup.a")
			s.Run("apply", "-auto-approve")
		},
		"imported": func(s *acctest.State) {
			s.Run("state", "rm", "virtcluster_backup.a")
			s.Run("import", "virtcluster_backup.a", "nightly/"+acctest.Virsh(t, "domuuid", "acc-a"))
			s.Run("apply", "-auto-approve")
			if shown := s.Run("state", "show", "virtcluster_backup.a"); strings.Contains(shown, "acc-a-b") {
				t.Errorf("what was imported has the other's copy:\n%s", shown)
			}
		},
	} {
		t.Run(what, func(t *testing.T) {
			s := s.For(t)
			run(s)
			s.Settled()
			if now := their(t); now != first {
				t.Error("the other node's copy was made anew")
			}
		})
	}
	t.Run("tainted and removed", func(t *testing.T) {
		s := s.For(t)
		s.Run("taint", "virtcluster_backup.a")
		s.Apply(theirs)
		s.Settled()
		if now := their(t); now != first {
			t.Error("the other node's copy was made anew")
		}
		if _, err := os.Stat(directory + "/acc-a-root-nightly.qcow2"); err == nil {
			t.Error("the copy is left")
		}
	})
}
