package network_test

import (
	"os"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// TestAccNetworkThatOthersNeedStays has another state's reservation and stopped node, a person's reservation and a person's stopped
// machine on a network.
func TestAccNetworkThatOthersNeedStays(t *testing.T) {
	acctest.BothCLIs(t)
	acctest.InSandbox(t)
	const (
		network = "resource \"virtcluster_network\" \"n\" {\n  name = \"accneeded\"\n  cidr = \"10.92.0.0/24\"\n  dhcp = {}\n}\n"
		users   = `
resource "virtcluster_dhcp_reservation" "r" {
  network = "accneeded"
  mac     = "52:54:00:aa:92:01"
  ip      = "10.92.0.5"
}
resource "virtcluster_node" "n" {
  name               = "accnetuser"
  type               = "qemu"
  memory_mib         = 64
  running            = false
  network_interfaces = [{ network = "accneeded", mac = "52:54:00:aa:92:02", ip = "10.92.0.6" }]
}
`
		reservation = "<host mac='52:54:00:aa:92:77' name='theirs' ip='10.92.0.77'/>"
	)
	mine, other := acctest.NewState(t), acctest.NewState(t)
	mine.DestroyAtEnd()
	mine.Apply(network)
	other.Apply(users)
	acctest.Virsh(t, "net-update", "accneeded", "add", "ip-dhcp-host", reservation, "--live", "--config")
	file := t.TempDir() + "/theirs.xml"
	if err := os.WriteFile(file, []byte(`<domain type='qemu'><name>acc-theirs</name><memory unit='MiB'>32</memory><os><type arch='x86_64' machine='q35'>hvm</type></os>
  <devices><interface type='network'><source network='accneeded'/></interface></devices></domain>`), 0o600); err != nil {
		t.Fatal(err)
	}
	acctest.Virsh(t, "define", file)
	theirs := []string{"a person's reservation (", "10.92.0.77", `the domain "acc-theirs"`}
	refused := func(words ...string) {
		t.Helper()
		mine.Refused(append(words, "terraform state rm"), "destroy", "-auto-approve")
		if out := acctest.Virsh(t, "net-dumpxml", "accneeded"); !strings.Contains(out, "10.92.0.77") {
			t.Errorf("a destroy that was refused left\n%s", out)
		}
	}
	refused(append(theirs, "the reservation of another state (", "10.92.0.5", `the domain "accnetuser"`)...)
	mine.Write("")
	if out := strings.Join(strings.Fields(mine.Run("plan")), " "); !strings.Contains(out, `the domain "acc-theirs"`) || !strings.Contains(out, "The apply refuses to remove it") {
		t.Errorf("the plan says nothing of who needs the network:\n%s", out)
	}
	mine.Write(network)
	other.Settled()
	other.Run("destroy", "-auto-approve")
	refused(theirs...)
	acctest.Virsh(t, "undefine", "acc-theirs")
	acctest.Virsh(t, "net-update", "accneeded", "delete", "ip-dhcp-host", reservation, "--live", "--config")

	// What one state has goes in one go, although nothing says that the network goes last; a part of it does too.
	mine.Apply(network + users)
	mine.Settled()
	mine.Run("destroy", "-auto-approve", "-target=virtcluster_dhcp_reservation.r")
	if out := acctest.Virsh(t, "net-dumpxml", "accneeded"); strings.Contains(out, "52:54:00:aa:92:01") || !strings.Contains(out, "52:54:00:aa:92:02") {
		t.Errorf("a destroy of one reservation left\n%s", out)
	}
	mine.Apply(network + strings.Replace(users, "running            = false", "running            = true\n  shutdown_timeout   = \"2s\"", 1))
	mine.Run("destroy", "-auto-approve")
	if out := acctest.Virsh(t, "net-list", "--all", "--name"); strings.Contains(out, "accneeded") {
		t.Errorf("the network is left: %s", out)
	}
	mine.Apply(network)
	mine.Apply(network + users)
	mine.Run("destroy", "-auto-approve", "-parallelism=1")
}
