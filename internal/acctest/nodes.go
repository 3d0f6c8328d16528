package acctest

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// StageNodes makes a pool with the tiny image and a network, and checks at the end that the nodes left nothing there.
func StageNodes(t *testing.T, name string) (pool, network, image string) {
	t.Helper()
	InSandbox(t)
	dir := "/var/lib/libvirt/" + name
	Virsh(t, "pool-define-as", name, "dir", "--target", dir)
	Virsh(t, "pool-build", name)
	image = dir + "/tiny.qcow2"
	if out, err := exec.Command("cp", os.Getenv("SANDBOX_TINY_IMAGE"), image).CombinedOutput(); err != nil {
		t.Fatalf("copy the image: %s", out)
	}
	Virsh(t, "pool-start", name)
	xml := fmt.Sprintf(`<network><name>%[1]s</name><forward mode='nat'/><bridge name='%[1]s'/><ip address='10.77.0.254' prefix='24'>
		<dhcp><range start='10.77.0.210' end='10.77.0.240'/></dhcp></ip></network>`, name)
	file := t.TempDir() + "/network.xml"
	if err := os.WriteFile(file, []byte(xml), 0o644); err != nil {
		t.Fatal(err)
	}
	Virsh(t, "net-define", file)
	Virsh(t, "net-start", name)
	t.Cleanup(func() {
		if got := strings.Fields(Virsh(t, "vol-list", name)); len(got) != 5 { // two headings, a line, the image
			t.Errorf("volumes are left: %v", got)
		}
		if got := Virsh(t, "net-dumpxml", name); strings.Contains(got, "<host ") {
			t.Errorf("reservations are left:\n%s", got)
		}
		if got := Virsh(t, "nwfilter-list"); strings.Contains(got, "virtcluster-acc-") {
			t.Errorf("filters are left:\n%s", got)
		}
		Virsh(t, "net-destroy", name)
		Virsh(t, "net-undefine", name)
		Virsh(t, "vol-delete", "tiny.qcow2", name)
		Virsh(t, "pool-destroy", name)
		Virsh(t, "pool-undefine", name)
	})
	return name, name, image
}

// ClusterOfNodes is a configuration of one node for each key, with its address on the network.
func ClusterOfNodes(image, network, more string, addresses map[string]string) string {
	var nodes []string
	for key, ip := range addresses {
		nodes = append(nodes, fmt.Sprintf("%s = %q", key, ip))
	}
	return Provider() + fmt.Sprintf(`
resource "virtcluster_node" "n" {
  for_each           = { %s }
  name               = "acc-${each.key}"
  type               = "qemu"
  memory_mib         = 128
  root_disk          = { image = %q }
  network_interfaces = [{ network = %q, ip = each.value }]
%s
}
output "addresses" { value = { for key, n in virtcluster_node.n : key => n.addresses.eth0 } }
`, strings.Join(nodes, ", "), image, network, more)
}
