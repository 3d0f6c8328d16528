package node_test

import (
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// beforeMarks is the configuration of testdata/before: a node as the provider made it before machines had their owner's mark and
// filters that of their machine.
const beforeMarks = `
resource "virtcluster_node" "n" {
  name             = "acc"
  type             = "qemu"
  memory_mib       = 128
  role             = "worker"
  labels           = { a = "b" }
  running          = false
  shutdown_timeout = "0s"
  root_disk        = { image = "/var/lib/libvirt/nodeold/tiny.qcow2", size_gib = 1 }
  disks            = { data = { size_gib = 1 } }
  cloud_init       = { user_data = "#cloud-config\n{}\n" }
  network_interfaces = [
    { network = "nodeold", ip = "10.77.0.1", port_security = true },
    { network = "nodeold", addresses = ["10.77.0.7/24"], gateway = "10.77.0.254", routes = [{ cidr = "10.128.0.0/14", via = "10.77.0.254" }] },
  ]
}
`

// TestAccNodeOfTheVersionBeforePlansEmpty has the state and the domain that the version before left.
func TestAccNodeOfTheVersionBeforePlansEmpty(t *testing.T) {
	pool, network, _ := stage(t, "nodeold")
	for _, volume := range [][]string{
		{"acc-root.qcow2", "1G", "--format", "qcow2", "--backing-vol", "tiny.qcow2", "--backing-vol-format", "qcow2"},
		{"acc-data.qcow2", "1G", "--format", "qcow2"}, {"acc-seed.iso", "45056"},
	} {
		virsh(t, append([]string{"vol-create-as", pool}, volume...)...)
	}
	virsh(t, "net-update", network, "add", "ip-dhcp-host", "<host mac='52:54:00:30:57:66' name='acc' ip='10.77.0.1'/>", "--live", "--config")
	virsh(t, "nwfilter-define", "testdata/before/filter.xml")
	virsh(t, "define", "testdata/before/domain.xml")
	virsh(t, "autostart", "acc")

	s := acctest.NewState(t)
	s.DestroyAtEnd() // which the stage looks at
	s.Restore("testdata/before/state.json")
	s.Write(acctest.Provider() + beforeMarks)
	s.Settled()
	s.Apply(acctest.Provider() + strings.Replace(beforeMarks, `"worker"`, `"master"`, 1))
	if got := virsh(t, "dumpxml", "acc"); !strings.Contains(got, `role="master"`) || !strings.Contains(got, `owner="`) {
		t.Errorf("the node is not changed, or does not carry its owner's mark:\n%s", got)
	}
	s.Settled()
}
