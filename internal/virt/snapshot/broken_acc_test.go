package snapshot_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/failpoint"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/guest"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/snapshot"
)

var errBroken = errors.New("the test broke the connection")

// stage makes two nodes of this state with a disk each, of which the first runs where that is wanted, until the test ends.
func stage(t *testing.T, pool string, run bool) (*hypervisor.Client, []string) {
	t.Helper()
	names := []string{pool + "-a", pool + "-b"}
	c := acctest.StageMarkedNodes(t, pool, "64M", names...)
	if run {
		acctest.Virsh(t, "start", names[0])
	}
	return c, names
}

// TestAccASnapshotThatBreaksIsTakenAnew ends the requests of a create from each on, as the end of the provider would, and takes the snapshot
// in another run.
func TestAccASnapshotThatBreaksIsTakenAnew(t *testing.T) {
	c, names := stage(t, "snapbreak", true)
	all := map[string]*hypervisor.Client{"": c}
	want := snapshot.Snapshot{Name: "s", Nodes: names, Memory: true, Quiesce: guest.Auto}
	broke := 0
	for from := 1; ; from++ {
		ctx, reached := failpoint.BreakFrom(t.Context(), from, errBroken)
		_, err := snapshot.Open(all, want, owner.BeginRun().New()).Create(ctx, want)
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
		next := snapshot.Open(all, want, owner.BeginRun().New())
		got, err := next.Create(t.Context(), want)
		if err != nil || len(got.Nodes) != 2 {
			t.Fatalf("after request %d broke: %v, of %v", from, err, got.Nodes)
		}
		if state := acctest.Virsh(t, "domstate", names[0]); state != "running" {
			t.Fatalf("after request %d broke, the node is %s", from, state)
		}
		ctx, _ = failpoint.BreakFrom(t.Context(), from, errBroken)
		if err := next.Delete(ctx); err != nil {
			c.Close()
			if err := next.Delete(t.Context()); err != nil {
				t.Fatalf("after request %d of a delete broke: %v", from, err)
			}
		}
		acctest.WantFiles(t, "snapbreak", 2)
		if on, off := acctest.Virsh(t, "domstate", names[0]), acctest.Virsh(t, "domstate", names[1]); on != "running" || off != "shut off" {
			t.Fatalf("after request %d broke, the nodes are %s and %s", from, on, off)
		}
	}
	t.Logf("%d requests were broken", broke)
	last := snapshot.Open(all, want, owner.BeginRun().OfWorkspace())
	if err := last.Delete(t.Context()); err != nil {
		t.Fatal(err)
	}
	acctest.WantFiles(t, "snapbreak", 2)
}

// TestAccARevertThatBreaksIsMadeAnew does the same with a revert, and looks at what is on the disk of the node that is off. The one that runs has nothing to
// boot from, and writes nothing.
func TestAccARevertThatBreaksIsMadeAnew(t *testing.T) {
	c, names := stage(t, "snaprevert", true)
	all := map[string]*hypervisor.Client{"": c}
	disk := func(name string) string {
		fields := strings.Fields(acctest.Virsh(t, "domblklist", name))
		return fields[len(fields)-1]
	}
	fill := func(pattern string) {
		acctest.Run(t, "qemu-io", "-f", "qcow2", "-c", "write -P "+pattern+" 0 64k", disk(names[1]))
	}
	holds := func(pattern string) {
		t.Helper()
		if out := acctest.Run(t, "qemu-io", "-f", "qcow2", "-c", "read -P "+pattern+" 0 64k", disk(names[1])); strings.Contains(out, "verification failed") {
			t.Fatalf("it does not hold %s: %s", pattern, out)
		}
	}
	fill("0x11")
	known := snapshot.Snapshot{Name: "s", Nodes: names, Quiesce: guest.Auto}
	s := snapshot.Open(all, known, owner.BeginRun().New())
	known, err := s.Create(t.Context(), known)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.FinishMark(t.Context()); err != nil {
		t.Fatal(err)
	}
	// Two nodes ask side by side, in no order: no request of one is left out for good.
	for from := 1; ; from += 2 {
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
		if on, off := acctest.Virsh(t, "domstate", names[0]), acctest.Virsh(t, "domstate", names[1]); on != "running" || off != "shut off" {
			t.Fatalf("after request %d broke, the nodes are %s and %s", from, on, off)
		}
		if said := acctest.Virsh(t, "snapshot-dumpxml", names[0], "s"); strings.Contains(said, " ran<") {
			t.Fatalf("after request %d broke, and the revert was made anew, its record says that it is none yet:\n%s", from, said)
		}
		acctest.WantFiles(t, "snaprevert", 2+2+2)
		known = got
		if !reached() {
			t.Logf("%d requests were made", from-1)
			break
		}
	}
	fill("0x33")
	if err := s.Delete(t.Context()); err != nil {
		t.Fatal(err)
	}
	holds("0x33")
	acctest.WantFiles(t, "snaprevert", 2)
}

// TestAccARawDiskWithoutRoom takes no snapshot of a raw disk that does not fit into its pool a second time, nor of what is no node of this state.
func TestAccARawDiskWithoutRoom(t *testing.T) {
	c, names := stage(t, "snaproom", false)
	all := map[string]*hypervisor.Client{"": c}
	file := "/var/lib/libvirt/snaproom/" + names[0] + ".raw"
	acctest.Virsh(t, "vol-create-as", "snaproom", names[0]+".raw", "200T", "--format", "raw", "--allocation", "0")
	acctest.Virsh(t, "attach-disk", names[0], file, "vdb", "--config", "--subdriver", "raw")
	want := snapshot.Snapshot{Name: "s", Nodes: names, Quiesce: guest.Auto}
	s := snapshot.Open(all, want, owner.BeginRun().New())
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
	acctest.Virsh(t, "detach-disk", names[0], "vdb", "--config")
	acctest.Virsh(t, "vol-delete", names[0]+".raw", "snaproom")
	acctest.Virsh(t, "metadata", names[0], "https://github.com/virtcluster/terraform-provider-virtcluster/node/1", "--remove", "--config")
	if err := s.LookAtMachine(t.Context(), want); !errors.As(err, new(*guest.NotOwnError)) {
		t.Errorf("of somebody else's domain: %v", err)
	}
	acctest.WantFiles(t, "snaproom", 2)
}

// TestAccAPersonsFileUnderTheNameOfTheMemoryStays has a person have a file where the memory of a node would be kept.
func TestAccAPersonsFileUnderTheNameOfTheMemoryStays(t *testing.T) {
	c, names := stage(t, "snapmemory", false)
	all := map[string]*hypervisor.Client{"": c}
	theirs := names[0] + "-memory.vcsnap-s"
	makeTheirs := func() { acctest.Virsh(t, "vol-create-as", "snapmemory", theirs, "1M", "--format", "raw") }
	want := snapshot.Snapshot{Name: "s", Nodes: names, Quiesce: guest.Auto}
	s := snapshot.Open(all, want, owner.BeginRun().New())

	makeTheirs()
	for what, do := range map[string]func() error{
		"plan":   func() error { return s.MayCreate(t.Context()) },
		"create": func() error { _, err := s.Create(t.Context(), want); return err },
	} {
		t.Run(what, func(t *testing.T) {
			if err := do(); !errors.As(err, new(*owner.ForeignError)) || !strings.Contains(err.Error(), theirs) {
				t.Errorf("beside a person's file: %v", err)
			}
			acctest.WantFiles(t, "snapmemory", 2+1)
		})
	}
	acctest.Virsh(t, "vol-delete", theirs, "snapmemory")
	got, err := s.Create(t.Context(), want)
	if err != nil {
		t.Fatal(err)
	}
	makeTheirs()
	if err := snapshot.Open(all, got, s.Claim()).Delete(t.Context()); err != nil {
		t.Fatal(err)
	}
	acctest.Virsh(t, "vol-info", theirs, "snapmemory")
	acctest.WantFiles(t, "snapmemory", 2+1)
	acctest.Virsh(t, "vol-delete", theirs, "snapmemory")
}

// TestAccARevertWithoutTheFileOfTheMemoryIsRefused has somebody delete that file: the machine goes on as it was.
func TestAccARevertWithoutTheFileOfTheMemoryIsRefused(t *testing.T) {
	c, names := stage(t, "snapforgot", true)
	all := map[string]*hypervisor.Client{"": c}
	known := snapshot.Snapshot{Name: "s", Nodes: names[:1], Memory: true, Quiesce: guest.Auto}
	s := snapshot.Open(all, known, owner.BeginRun().New())
	known, err := s.Create(t.Context(), known)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.FinishMark(t.Context()); err != nil {
		t.Fatal(err)
	}
	id := acctest.Virsh(t, "domid", names[0])
	acctest.Run(t, "rm", known.PerNode[names[0]].MemoryFile)
	want := known
	want.Revert++
	for what, do := range map[string]func() error{
		"plan":  func() error { return snapshot.MayRevert(t.Context(), all, "s") },
		"apply": func() error { _, err := s.Update(t.Context(), known, want); return err },
	} {
		t.Run(what, func(t *testing.T) {
			if err := do(); err == nil || !strings.Contains(err.Error(), "the file with its memory") {
				t.Errorf("%v", err)
			}
			if now := acctest.Virsh(t, "domid", names[0]); now != id {
				t.Errorf("the node was machine %s, and is %s", id, now)
			}
		})
	}
	if err := s.Delete(t.Context()); err != nil {
		t.Fatal(err)
	}
	acctest.WantFiles(t, "snapforgot", 2)
}

// TestAccWhatOthersHaveUponASnapshotStays has a person have overlays of a node's files, and a file where a revert makes one: neither a revert nor a removal
// does anything then, and what runs goes on.
func TestAccWhatOthersHaveUponASnapshotStays(t *testing.T) {
	c, names := stage(t, "snapupon", true)
	all := map[string]*hypervisor.Client{"": c}
	known := snapshot.Snapshot{Name: "s", Nodes: names, Quiesce: guest.Auto}
	s := snapshot.Open(all, known, owner.BeginRun().New())
	known, err := s.Create(t.Context(), known)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.FinishMark(t.Context()); err != nil {
		t.Fatal(err)
	}
	id := acctest.Virsh(t, "domid", names[0])
	goesOn := func(t *testing.T) {
		t.Helper()
		if now := acctest.Virsh(t, "domid", names[0]); now != id {
			t.Errorf("the node was machine %s, and is %s", id, now)
		}
		for _, name := range names {
			acctest.Virsh(t, "vol-info", name+".qcow2.vcsnap-s", "snapupon")
		}
	}
	revert := func() error {
		want := known
		want.Revert++
		_, err := s.Update(t.Context(), known, want)
		return err
	}
	mayRevert := func() error { return snapshot.MayRevert(t.Context(), all, "s") }
	mayRemove := func() error { return s.MayDelete(t.Context()) }
	remove := func() error { return s.Delete(t.Context()) }
	const theirs = "/var/lib/libvirt/snapupon/theirs.qcow2"
	for name, c := range map[string]struct {
		make    []string
		refused map[string]func() error
		says    string
	}{
		"an overlay of a layer": {
			[]string{"qemu-img", "create", "-q", "-f", "qcow2", "-F", "qcow2", "-b", "/var/lib/libvirt/snapupon/" + names[1] + ".qcow2.vcsnap-s", theirs},
			map[string]func() error{"the plan of a revert": mayRevert, "a revert": revert, "the plan of a removal": mayRemove, "a removal": remove}, "is used by its overlay " + theirs,
		},
		"an overlay of what a layer is merged into": {
			[]string{"qemu-img", "create", "-q", "-f", "qcow2", "-F", "qcow2", "-b", "/var/lib/libvirt/snapupon/" + names[1] + ".qcow2", theirs},
			map[string]func() error{"the plan of a removal": mayRemove}, "is used by its overlay " + theirs,
		},
		"a file under the name of the other layer": {
			[]string{"qemu-img", "create", "-q", "-f", "qcow2", "/var/lib/libvirt/snapupon/" + names[1] + ".qcow2.vcsnap-s~", "64M"},
			map[string]func() error{"the plan of a revert": mayRevert, "a revert": revert}, names[1] + ".qcow2.vcsnap-s~ is none of the snapshot's files",
		},
	} {
		t.Run(name, func(t *testing.T) {
			acctest.Run(t, c.make...)
			for what, do := range c.refused {
				if err := do(); err == nil || !strings.Contains(err.Error(), c.says) {
					t.Errorf("%s: %v", what, err)
				}
				goesOn(t)
			}
			acctest.Run(t, "rm", "-f", theirs, "/var/lib/libvirt/snapupon/"+names[1]+".qcow2.vcsnap-s~")
			acctest.Virsh(t, "pool-refresh", "snapupon")
		})
	}
	for what, do := range map[string]func() error{"the plan of a revert": mayRevert, "the plan of a removal": mayRemove} {
		t.Run(what+" once nothing is in the way", func(t *testing.T) {
			if err := do(); err != nil {
				t.Error(err)
			}
		})
	}
	if err := s.Delete(t.Context()); err != nil {
		t.Fatal(err)
	}
	if now := acctest.Virsh(t, "domid", names[0]); now != id {
		t.Errorf("the node was machine %s, and is %s", id, now)
	}
	acctest.WantFiles(t, "snapupon", 2)
}

// TestAccAMergeThatEndsEarlyLosesNothing has merges end before all is written: the layer, in which the machine still is, stays, and so does the
// snapshot until a merge comes to its end.
func TestAccAMergeThatEndsEarlyLosesNothing(t *testing.T) {
	acctest.InSandbox(t)
	const dir = "/var/lib/libvirt/snapfull"
	acctest.Run(t, "mkdir", "-p", dir)
	acctest.Run(t, "mount", "-t", "tmpfs", "-o", "size=80m", "tmpfs", dir)
	t.Cleanup(func() { acctest.Run(t, "umount", dir) })
	c, names := stage(t, "snapfull", false)
	volume := dir + "/" + names[0] + ".qcow2"
	layer := volume + ".vcsnap-s"
	known := snapshot.Snapshot{Name: "s", Nodes: names[:1], Quiesce: guest.Auto}
	s := snapshot.Open(map[string]*hypervisor.Client{"": c}, known, owner.BeginRun().New())
	if _, err := s.Create(t.Context(), known); err != nil {
		t.Fatal(err)
	}
	if err := s.FinishMark(t.Context()); err != nil {
		t.Fatal(err)
	}
	acctest.Run(t, "qemu-io", "-f", "qcow2", "-c", "write -P 0x44 0 32M", layer)
	wantKept := func(t *testing.T, err error) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), "ended before all was written") {
			t.Errorf("the removal: %v", err)
		}
		acctest.Virsh(t, "snapshot-dumpxml", names[0], "s")
		if out := acctest.Run(t, "qemu-io", "-r", "-U", "-f", "qcow2", "-c", "read -P 0x44 0 32M", layer); strings.Contains(out, "verification failed") {
			t.Errorf("the layer has lost what was written: %s", out)
		}
		if disks := acctest.Virsh(t, "domblklist", names[0]); !strings.Contains(disks, layer) {
			t.Errorf("the machine is in\n%s", disks)
		}
	}
	t.Run("no room", func(t *testing.T) {
		acctest.Run(t, "fallocate", "-l", "32M", dir+"/filler")
		wantKept(t, s.Delete(t.Context()))
		acctest.Run(t, "rm", dir+"/filler")
		acctest.Virsh(t, "pool-refresh", "snapfull")
	})
	t.Run("ended by a person", func(t *testing.T) {
		acctest.Virsh(t, "start", names[0])
		acctest.Virsh(t, "blockcommit", names[0], "vda", "--active", "--bandwidth", "1", "--base", volume, "--top", layer)
		asked := 0
		wantKept(t, s.Delete(failpoint.WithJudge(t.Context(), func(what string, answered bool) error {
			if strings.HasPrefix(what, "merge ") && !answered {
				if asked++; asked == 2 {
					acctest.Virsh(t, "blockjob", names[0], "vda", "--abort")
				}
			}
			return nil
		})))
	})
	if err := s.Delete(t.Context()); err != nil {
		t.Fatal(err)
	}
	if out := acctest.Run(t, "qemu-io", "-r", "-U", "-f", "qcow2", "-c", "read -P 0x44 0 32M", volume); strings.Contains(out, "verification failed") {
		t.Errorf("the volume does not have what was written: %s", out)
	}
	acctest.WantFiles(t, "snapfull", 2)
}
