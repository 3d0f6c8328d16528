package node_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// migrants is the pool, and the network with reservations, that both hypervisors of a test of migrations have.
const migrants = "migrants"

// stageMigration has two further hypervisors have a pool with the tiny image, a network, and a bridge to the LAN, and wants nothing of nodes
// left on them when the test ends. It returns their names.
func stageMigration(t *testing.T) (machines []string) {
	t.Helper()
	acctest.InSandbox(t)
	machines = acctest.Hypervisors(t, 2)
	for _, machine := range machines {
		acctest.On(t, machine, "sh", "-ec", `
dir=/var/lib/libvirt/migrants
virsh -q pool-define-as migrants dir --target $dir; virsh -q pool-build migrants; cp "$1" $dir/tiny.qcow2; virsh -q pool-start migrants
virsh -q net-define /dev/stdin <<XML
<network><name>migrants</name><forward mode='nat'/><bridge name='migrants'/><ip address='10.77.0.254' prefix='24'><dhcp><range start='10.77.0.210' end='10.77.0.240'/></dhcp></ip></network>
XML
virsh -q net-start migrants
ip link add migrlan type bridge; ip link set eth1 master migrlan; ip link set eth1 up; ip link set migrlan up`, "sh", os.Getenv("SANDBOX_TINY_IMAGE"))
		t.Cleanup(func() {
			wantNothing(t, machine)
			acctest.On(t, machine, "sh", "-c", `virsh -q net-destroy migrants; virsh -q net-undefine migrants; virsh -q vol-delete tiny.qcow2 migrants; virsh -q pool-destroy migrants; virsh -q pool-undefine migrants
ip link set eth1 nomaster; ip link del migrlan`)
		})
	}
	return machines
}

// leftOn is what a hypervisor has of nodes.
func leftOn(t *testing.T, machine string) string {
	t.Helper()
	return acctest.On(t, machine, "sh", "-c", `virsh -q list --all --name; ls /var/lib/libvirt/migrants | grep -v '^tiny.qcow2$'; virsh net-dumpxml migrants | grep '<host '; virsh -q nwfilter-list | grep virtcluster-; ls /var/lib/libvirt/qemu/nvram 2>/dev/null; :`)
}

func wantNothing(t *testing.T, machine string) {
	t.Helper()
	if left := strings.TrimSpace(leftOn(t, machine)); left != "" {
		t.Errorf("%s has\n%s", machine, left)
	}
}

// migrant is a node on one of the two hypervisors, called one and two, which lan-client reaches at 10.19.41.77.
func migrant(on, more string) string {
	return fmt.Sprintf(`
provider "virtcluster" {
  ssh         = { private_key_file = %q }
  hypervisors = { one = { uri = %q }, two = { uri = %q } }
}
resource "virtcluster_node" "n" {
  name             = "acc-migrant"
  hypervisor       = %q
  type             = "qemu"
  memory_mib       = 128
  shutdown_timeout = "0s"
  root_disk        = { image = "/var/lib/libvirt/migrants/tiny.qcow2" }
  network_interfaces = [
    { network = "migrants", ip = "10.77.0.77", port_security = true },
    { bridge = "migrlan", mac = "52:54:00:aa:77:01", addresses = ["10.19.41.77/24"] },
  ]
%s
}
`, os.Getenv("SANDBOX_SSH_KEY"), acctest.HypervisorURI("hv-1"), acctest.HypervisorURI("hv-2"), on, more)
}

// TestAccNodeMigratesLive moves a node that serves to another hypervisor and back.
func TestAccNodeMigratesLive(t *testing.T) {
	acctest.BothCLIs(t)
	machines := stageMigration(t)
	s := acctest.NewState(t)
	s.DestroyAtEnd()
	s.Apply(migrant("one", ""))
	acctest.Eventually(t, "the guest answers", func() bool {
		_, err := acctest.Try(t.Context(), "lan-client", "ping", "-c1", "-W1", "10.19.41.77")
		return err == nil
	})
	id := acctest.On(t, machines[0], "virsh", "domuuid", "acc-migrant")
	s.Write(migrant("two", ""))
	if out := s.Run("plan"); !strings.Contains(out, "will be updated in-place") || !strings.Contains(out, "goes on running all the while") {
		t.Errorf("the plan says\n%s", out)
	}
	out := s.Run("apply", "-auto-approve")
	t.Log(out)
	if now := acctest.On(t, machines[1], "virsh", "domuuid", "acc-migrant"); now != id {
		t.Errorf("the domain is %s, and was %s", now, id)
	}
	wantNothing(t, machines[0])
	s.Settled()
	t.Log(time.Now())
}
