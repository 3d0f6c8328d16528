package network_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// A destroy takes its reservations out of the running network and out of its definition, and keeps a network that a person's machine is on.
func TestAccDestroyTakesReservationsAndKeepsANeededNetwork(t *testing.T) {
	acctest.BothCLIs(t)
	acctest.InSandbox(t)
	const first, second, third = "52:54:00:aa:91:01", "52:54:00:aa:91:02", "52:54:00:aa:91:03"
	network := "resource \"virtcluster_network\" \"n\" {" + management + "  dhcp = {}\n}\n"
	reservation := func(name, mac, ip string) string {
		return `
resource "virtcluster_dhcp_reservation" "` + name + `" {
  network = virtcluster_network.n.name
  mac     = "` + mac + `"
  ip      = "` + ip + `"
}
`
	}
	node := `
resource "virtcluster_node" "n" {
  name               = "accnode0"
  type               = "qemu"
  memory_mib         = 64
  vcpus              = 1
  running            = false
  network_interfaces = [{ network = virtcluster_network.n.name, mac = "` + second + `", ip = "10.91.0.6" }]
}
`
	kept := func(macs ...string) (live, configured int) {
		runs, has := shell(t, "virsh", "net-dumpxml", "acc0"), shell(t, "virsh", "net-dumpxml", "acc0", "--inactive")
		for _, mac := range macs {
			live += strings.Count(runs, "mac='"+mac)
			configured += strings.Count(has, "mac='"+mac)
		}
		return live, configured
	}
	s := acctest.NewState(t)
	s.DestroyAtEnd()
	s.Apply(network + reservation("a", first, "10.91.0.5") + node)
	s.Run("destroy", "-auto-approve", "-target=virtcluster_dhcp_reservation.a")
	if live, configured := kept(first); live != 0 || configured != 0 {
		t.Errorf("a destroy of one reservation left it: %d run, %d are configured", live, configured)
	}
	s.Apply(network + reservation("a", first, "10.91.0.5") + node)

	theirs := filepath.Join(t.TempDir(), "theirs.xml")
	if err := os.WriteFile(theirs, []byte(`<domain type='qemu'><name>acc-theirs</name><memory unit='MiB'>32</memory><os><type arch='x86_64' machine='q35'>hvm</type></os>
  <devices><interface type='network'><source network='acc0'/></interface></devices></domain>`), 0o600); err != nil {
		t.Fatal(err)
	}
	shell(t, "virsh", "create", theirs)
	t.Cleanup(func() { _ = exec.Command("virsh", "destroy", "acc-theirs").Run() })
	s.Refused([]string{"needed by what is not this state's", "acc-theirs"}, "destroy", "-auto-approve")
	if live, configured := kept(first, second); live != 0 || configured != 0 {
		t.Errorf("%d reservations run and %d are configured after a destroy", live, configured)
	}

	// The address is another's now, and the node's own comes back.
	s.Apply(network + reservation("b", third, "10.91.0.5") + node)
	if live, configured := kept(first, second, third); live != 2 || configured != 2 {
		t.Errorf("%d reservations run and %d are configured:\n%s", live, configured, shell(t, "virsh", "net-dumpxml", "acc0"))
	}
	if live, _ := kept(first); live != 0 {
		t.Error("a destroy left a reservation")
	}
	s.Settled()
	shell(t, "virsh", "destroy", "acc-theirs")
	s.Run("destroy", "-auto-approve")
	if out := shell(t, "virsh", "net-list", "--all", "--name"); strings.Contains(out, "acc0") {
		t.Errorf("the network is left: %s", out)
	}
}
