package node_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// define defines a domain of an XML.
func define(t *testing.T, xml string) {
	t.Helper()
	file := t.TempDir() + "/domain.xml"
	if err := os.WriteFile(file, []byte(xml), 0o600); err != nil {
		t.Fatal(err)
	}
	virsh(t, "define", file)
}

// halfMade is a domain as an interrupted create leaves it, with a mark of its owner.
func halfMade(owner, pool string) string {
	return fmt.Sprintf(`<domain type='qemu'><name>acc</name><memory unit='MiB'>128</memory><os><type machine='q35'>hvm</type></os>
		<metadata><virtcluster:node xmlns:virtcluster="%s" creating="%s" %s><disk key="root" target="vda" pool="%s" volume="acc-root.qcow2"/></virtcluster:node></metadata></domain>`, namespace, acctest.EndedRun, owner, pool)
}

// TestAccNodeThatAnotherStateIsMakingStays has a create find what a killed run left behind: only its own workspace's is removed.
func TestAccNodeThatAnotherStateIsMakingStays(t *testing.T) {
	pool, network, image := stage(t, "nodehalf")
	s := acctest.NewState(t)
	s.DestroyAtEnd()
	made := config(image, network, oneInterface+"  running = false\n")
	for whose, owner := range map[string]string{
		"another state's": `owner="theirs" workspace="elsewhere"`, "a version's without marks": "",
	} {
		t.Run(whose, func(t *testing.T) {
			define(t, halfMade(owner, pool))
			virsh(t, "vol-create-as", pool, "acc-root.qcow2", "1M", "--format", "qcow2")
			id := strings.TrimSpace(virsh(t, "domuuid", "acc"))
			s.Write(made)
			s.Refused([]string{`domain "acc"`, id}, "plan")
			if got := strings.TrimSpace(virsh(t, "domuuid", "acc")); got != id {
				t.Errorf("%s is gone", whose)
			}
			virsh(t, "vol-info", "acc-root.qcow2", pool)
			virsh(t, "undefine", "acc")
			virsh(t, "vol-delete", "acc-root.qcow2", pool)
		})
	}
	s.Apply(made)
	workspace := strings.SplitN(strings.SplitN(virsh(t, "dumpxml", "acc"), `workspace="`, 2)[1], `"`, 2)[0]
	s.Run("destroy", "-auto-approve")
	define(t, halfMade(`owner="mine" workspace="`+workspace+`"`, pool))
	virsh(t, "vol-create-as", pool, "acc-root.qcow2", "1M", "--format", "qcow2")
	virsh(t, "vol-create-as", pool, "acc-root.qcow2.virtcluster-mine-"+workspace, "0", "--format", "raw")
	s.Apply(made) // its own, which is made anew
	s.Settled()
	// Another state is told that the name is taken, and nothing of the addresses that follow from it.
	other := acctest.NewState(t)
	other.Write(config(image, network, strings.Replace(oneInterface, "10.77.0.1", "10.77.0.9", 1)+"  running = false\n"))
	if out, err := other.Try("plan"); err == nil || !strings.Contains(out, "Name taken") || strings.Contains(out, "MAC address") {
		t.Errorf("a node of a name that is taken: %v\n%s", err, out)
	}
}

// TestAccNodeLeavesWhatIsNotItsOwn has a filter of the node's naming that it did not make, and volumes of its naming that another
// domain has by the time that it is destroyed.
func TestAccNodeLeavesWhatIsNotItsOwn(t *testing.T) {
	pool, network, image := stage(t, "nodeown")
	s := acctest.NewState(t)
	s.DestroyAtEnd()
	const name = "virtcluster-acc-525400770001"
	guarded := config(image, network, "  running = false\n  network_interfaces = [{ network = \"NET\", ip = \"10.77.0.1\", mac = \"52:54:00:77:00:01\", port_security = true }]\n")
	file := t.TempDir() + "/filter.xml"
	if err := os.WriteFile(file, []byte("<filter name='"+name+"' chain='root'><rule action='accept' direction='inout'/></filter>"), 0o600); err != nil {
		t.Fatal(err)
	}
	virsh(t, "nwfilter-define", file)
	before := virsh(t, "nwfilter-dumpxml", name)
	s.Write(guarded)
	s.Refused([]string{name, "is not this machine's"}, "apply", "-auto-approve")
	if got := virsh(t, "nwfilter-dumpxml", name); got != before {
		t.Errorf("the filter became\n%s", got)
	}
	virsh(t, "nwfilter-undefine", name)
	s.Apply(guarded)
	s.Settled()

	// Somebody makes a machine of their own of the node's disk.
	virsh(t, "undefine", "acc")
	disk := "/var/lib/libvirt/" + pool + "/acc-root.qcow2"
	define(t, fmt.Sprintf(`<domain type='qemu'><name>theirs</name><memory unit='MiB'>128</memory><os><type machine='q35'>hvm</type></os>
		<devices><disk type='file' device='disk'><driver name='qemu' type='qcow2'/><source file='%s'/><target dev='vda' bus='virtio'/></disk></devices></domain>`, disk))
	s.Run("destroy", "-auto-approve", "-refresh=false")
	if _, err := os.Stat(disk); err != nil {
		t.Errorf("another domain's disk is gone: %v", err)
	}
	virsh(t, "undefine", "theirs")
	virsh(t, "vol-delete", "acc-root.qcow2", pool)
}

// TestAccNodeImportedWithAnOrderOfItsDevices keeps a boot order that stands at the devices, and shows it.
func TestAccNodeImportedWithAnOrderOfItsDevices(t *testing.T) {
	pool, network, _ := stage(t, "nodeorder")
	virsh(t, "vol-create-as", pool, "hand.qcow2", "1G", "--format", "qcow2")
	define(t, fmt.Sprintf(`<domain type='qemu'><name>acc</name><memory unit='MiB'>128</memory><os><type machine='q35'>hvm</type></os><devices>
		<disk type='file' device='disk'><driver name='qemu' type='qcow2'/><source file='/var/lib/libvirt/%s/hand.qcow2'/><target dev='vda' bus='virtio'/><boot order='2'/></disk>
		<interface type='network'><mac address='52:54:00:77:00:01'/><source network='%s'/><model type='virtio'/><boot order='1'/></interface></devices></domain>`, pool, network))
	s := acctest.NewState(t)
	s.DestroyAtEnd()
	node := func(more string) string {
		return acctest.Provider() + fmt.Sprintf(`
resource "virtcluster_node" "n" {
  name               = "acc"
  type               = "qemu"
  memory_mib         = 128
  running            = false
  autostart          = false
  root_disk          = {}
  network_interfaces = [{ network = %q, mac = "52:54:00:77:00:01" }]
%s
}
`, network, more)
	}
	s.Write(node("  boot = { order = [\"network\", \"hd\"] }\n"))
	s.Run("import", address, "acc")
	s.Settled()
	s.Apply(node("  boot = { order = [\"network\", \"hd\"] }\n  role = \"worker\"\n"))
	if got := virsh(t, "vol-list", pool); !strings.Contains(got, "hand.qcow2.virtcluster-") {
		t.Errorf("the disk of an imported machine is not marked by a change:\n%s", got)
	}
	if got := virsh(t, "dumpxml", "acc"); !strings.Contains(got, "<boot order='1'/>") || !strings.Contains(got, "<boot order='2'/>") || !strings.Contains(got, `role="worker"`) {
		t.Errorf("the order at the devices is lost:\n%s", got)
	}
	s.Write(node("  role = \"worker\"\n"))
	if out := s.Run("plan"); !strings.Contains(out, `"network"`) {
		t.Errorf("the plan does not say that the network boot goes:\n%s", out)
	}
}

// TestAccNodeThatIsTaintedAndBecameAnothersStays has another state import a node, and change it, that is about to be replaced.
func TestAccNodeThatIsTaintedAndBecameAnothersStays(t *testing.T) {
	pool, network, image := stage(t, "nodetaint")
	s := acctest.NewState(t)
	made := config(image, network, "  running = false\n")
	s.ReplaceTainted(address, config(image, network, "  running = false\n"+acctest.HalfMade), made, func() {
		xml := virsh(t, "dumpxml", "--inactive", "acc")
		define(t, regexp.MustCompile(`owner="[^"]*" workspace="[^"]*"`).ReplaceAllString(xml, `owner="theirs" workspace="elsewhere"`))
	}, `"acc" stays`, "belongs to another state")
	virsh(t, "vol-info", "acc-root.qcow2", pool)
	virsh(t, "undefine", "acc")
	left, err := filepath.Glob("/var/lib/libvirt/" + pool + "/acc-*")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range left {
		virsh(t, "vol-delete", file)
	}
}

// TestAccNodeLeavesAPersonsReservationAndClones has a person reserve the node's address, and clone its disk.
func TestAccNodeLeavesAPersonsReservationAndClones(t *testing.T) {
	pool, network, image := stage(t, "nodeclone")
	s := acctest.NewState(t)
	s.DestroyAtEnd()
	const theirs = "<host mac='52:54:00:77:00:01' name='acc' ip='10.77.0.1'/>"
	virsh(t, "net-update", network, "add", "ip-dhcp-host", theirs, "--live", "--config")
	reserved := func(about string) {
		t.Helper()
		for _, flags := range [][]string{nil, {"--inactive"}} {
			t.Run(fmt.Sprint(flags), func(t *testing.T) {
				if got := virsh(t, append([]string{"net-dumpxml", network}, flags...)...); !strings.Contains(got, theirs) {
					t.Errorf("%s: a person's reservation is gone:\n%s", about, got)
				}
			})
		}
	}
	with := func(ip string) string {
		return config(image, network, "  network_interfaces = [{ network = \"NET\", ip = \""+ip+"\", mac = \"52:54:00:77:00:01\" }]\n")
	}
	s.Write(with("10.77.0.2"))
	s.Refused([]string{"reservation", "52:54:00:77:00:01"}, "apply", "-auto-approve")
	reserved("another address")
	s.Apply(with("10.77.0.1"))
	s.Settled()
	reserved("made")

	virsh(t, "vol-create-as", pool, "clone.qcow2", "1G", "--format", "qcow2", "--backing-vol", "acc-root.qcow2", "--backing-vol-format", "qcow2")
	s.Refused([]string{"acc-root.qcow2 is used by its overlay", "clone.qcow2"}, "destroy", "-auto-approve")
	if got := virsh(t, "domstate", "acc"); !strings.Contains(got, "running") {
		t.Errorf("a refused destroy left the node %s", got)
	}
	virsh(t, "vol-delete", "clone.qcow2", pool)
	s.Run("destroy", "-auto-approve")
	reserved("destroyed")
	virsh(t, "net-update", network, "delete", "ip-dhcp-host", theirs, "--live", "--config")
}
