package node_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// fileID tells one file from another of the same name.
func fileID(t *testing.T, path string) uint64 {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Sys().(*syscall.Stat_t).Ino
}

// TestAccNodeNeverTakesAPersonsVariables has a file of UEFI variables where libvirt would have those of a new node.
func TestAccNodeNeverTakesAPersonsVariables(t *testing.T) {
	_, network, image := stage(t, "nodevars")
	const file, kept = "/var/lib/libvirt/qemu/nvram/acc_VARS.fd", "what a person kept of acc"
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o711), os.WriteFile(file, []byte(kept), 0o600)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Remove(file) })
	s := acctest.NewState(t)
	s.DestroyAtEnd()
	const firmware = "  firmware = \"uefi\"\n  running = false\n"
	s.Write(config(image, network, oneInterface+firmware))
	for range 2 {
		s.Refused([]string{file + " is there already", "Give the node another name, or move the file away"}, "apply", "-auto-approve")
		if left, err := os.ReadFile(file); string(left) != kept {
			t.Fatalf("the file has %q, %v", left, err)
		}
	}
	if got := virsh(t, "list", "--all", "--name"); strings.Contains(got, "acc") {
		t.Errorf("domains are left: %s", got)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	s.Apply(config(image, network, oneInterface+strings.Replace(firmware, "running = false", "running = true", 1)))
	s.Settled()
	if _, err := os.Stat(file); err != nil {
		t.Errorf("the node has its variables elsewhere: %v", err)
	}
	s.Run("destroy", "-auto-approve")
	if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the node's own variables are left: %v", err)
	}
}

// TestAccNodeNeverTakesAPersonsVolume has a volume of a person's by the name of a node's new disk: no apply adopts it, however often it
// is tried and whether or not the node runs, and neither a later change nor a destroy removes it.
func TestAccNodeNeverTakesAPersonsVolume(t *testing.T) {
	pool, network, image := stage(t, "nodetheirs")
	s := acctest.NewState(t)
	s.DestroyAtEnd()
	const disk = "  disks = { data = { size_gib = 1 } }\n"
	file := "/var/lib/libvirt/" + pool + "/acc-data.qcow2"
	virsh(t, "vol-create-as", pool, "acc-data.qcow2", "1G", "--format", "qcow2")
	theirs := fileID(t, file)
	marks := func() []string {
		names, err := filepath.Glob(file + ".virtcluster-*")
		if err != nil {
			t.Fatal(err)
		}
		return names
	}
	for name, running := range map[string]string{"runs": "", "is stopped": "  running = false\n"} {
		t.Run(name, func(t *testing.T) {
			s.Apply(config(image, network, oneInterface+running))
			s.Write(config(image, network, oneInterface+running+disk))
			for range 2 {
				s.Refused([]string{"acc-data.qcow2 is in storage pool", "this provider did not write it"}, "apply", "-auto-approve")
			}
			if got := virsh(t, "dumpxml", "--inactive", "acc"); strings.Contains(got, "acc-data.qcow2") {
				t.Errorf("a node that %s names what it was refused:\n%s", name, got)
			}
			s.Apply(config(image, network, oneInterface+running+"  labels = { after = \""+name+"\" }\n"))
			if now := fileID(t, file); now != theirs || len(marks()) != 0 {
				t.Errorf("a node that %s: a person's volume became another one, or has the marks %v", name, marks())
			}
		})
	}
	s.Run("destroy", "-auto-approve")
	if now := fileID(t, file); now != theirs {
		t.Error("a destroy made a person's volume another one")
	}
	// A killed create had marked it, before it knew that it was there.
	s.Apply(config(image, network, "  running = false\n"))
	workspace := strings.SplitN(strings.SplitN(virsh(t, "dumpxml", "acc"), `workspace="`, 2)[1], `"`, 2)[0]
	s.Run("destroy", "-auto-approve")
	define(t, strings.ReplaceAll(halfMade(`owner="mine" workspace="`+workspace+`"`, pool), "root", "data"))
	s.Apply(config(image, network, "  running = false\n"))
	if now := fileID(t, file); now != theirs {
		t.Error("what a killed create left behind took a person's volume with it")
	}
	s.Run("destroy", "-auto-approve")
	virsh(t, "vol-delete", "acc-data.qcow2", pool)

	// Its own one that a person made anew under the name is theirs too.
	s.Apply(config(image, network, "  running = false\n"+disk))
	virsh(t, "vol-delete", "acc-data.qcow2", pool)
	virsh(t, "vol-create-as", pool, "acc-data.qcow2", "1G", "--format", "qcow2")
	theirs = fileID(t, file)
	if out := s.Run("destroy", "-auto-approve"); !strings.Contains(out, "Volume acc-data.qcow2 stays") {
		t.Errorf("it is not said that it stays:\n%s", out)
	}
	if now := fileID(t, file); now != theirs || len(marks()) != 0 {
		t.Errorf("a volume that a person made anew is gone, or has the marks %v", marks())
	}
	virsh(t, "vol-delete", "acc-data.qcow2", pool)
}

// TestAccNodeWhoseDomainIsUndefinedKeepsItsDisks undefines a node by hand. The plan says what an apply does: the domain is defined again
// with its disks. A destroy removes them.
func TestAccNodeWhoseDomainIsUndefinedKeepsItsDisks(t *testing.T) {
	acctest.BothCLIs(t)
	pool, network, image := stage(t, "nodeundef")
	dir := "/var/lib/libvirt/" + pool
	s := acctest.NewState(t)
	s.DestroyAtEnd()
	whole := config(image, network, oneInterface+"  cloud_init = {}\n  disks = { data = { size_gib = 1 } }\n")
	stopped := strings.Replace(whole, "  cloud_init", "  running = false\n  cloud_init", 1)
	for name, node := range map[string]string{"runs": whole, "is stopped": stopped} {
		t.Run(name, func(t *testing.T) {
			s.Apply(node)
			id := virsh(t, "domuuid", "acc")
			root, data := fileID(t, dir+"/acc-root.qcow2"), fileID(t, dir+"/acc-data.qcow2")
			if name == "runs" {
				virsh(t, "destroy", "acc")
			}
			virsh(t, "undefine", "acc")
			if out := s.Run("plan"); !strings.Contains(out, `The domain of node "acc" is undefined`) || !strings.Contains(out, "0 to add, 1 to change, 0 to destroy") {
				t.Errorf("a node that %s: the plan is\n%s", name, out)
			}
			s.Apply(node)
			s.Settled()
			if now := virsh(t, "domuuid", "acc"); now != id || fileID(t, dir+"/acc-root.qcow2") != root || fileID(t, dir+"/acc-data.qcow2") != data {
				t.Errorf("a node that %s has another UUID, %s, or other disks", name, now)
			}
		})
	}
	virsh(t, "undefine", "acc")
	s.Run("destroy", "-auto-approve")
	if left, err := filepath.Glob(dir + "/acc*"); err != nil || len(left) > 0 {
		t.Errorf("a destroy left %v, %v", left, err)
	}
}
