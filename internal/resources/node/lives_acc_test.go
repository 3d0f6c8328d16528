package node_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// cluster is one node for each key, with its address on the network.
func cluster(image, network, more string, addresses map[string]string) string {
	var nodes []string
	for key, ip := range addresses {
		nodes = append(nodes, fmt.Sprintf("%s = %q", key, ip))
	}
	return acctest.Provider() + fmt.Sprintf(`
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

// TestAccNodeTakesOverAnAddress renames a node by its for_each key: one is destroyed while the other one is made with its address,
// which the network keeps, and has leased, until the first one is gone.
func TestAccNodeTakesOverAnAddress(t *testing.T) {
	_, network, image := stage(t, "nodeheir")
	s := acctest.NewState(t)
	s.DestroyAtEnd()
	more := "  wait_for = \"lease\"\n  shutdown_timeout = \"5s\"\n"
	s.Apply(cluster(image, network, more, map[string]string{"a": "10.77.0.1"}))
	s.Apply(cluster(image, network, more, map[string]string{"b": "10.77.0.1"}))
	if leases := virsh(t, "net-dhcp-leases", network); strings.Count(leases, "10.77.0.") != 1 || !strings.Contains(leases, "10.77.0.1/24") {
		t.Errorf("the leases are\n%s", leases)
	}
	if got := s.Run("output", "addresses"); !strings.Contains(got, `"b" = "10.77.0.1"`) {
		t.Errorf("the addresses are\n%s", got)
	}
	s.Settled()
}

// TestAccNodesSwapAddresses has two nodes wait for each other's address, and one take what another one leaves.
func TestAccNodesSwapAddresses(t *testing.T) {
	_, network, image := stage(t, "nodeswap")
	s := acctest.NewState(t)
	s.DestroyAtEnd()
	for _, addresses := range []map[string]string{
		{"a": "10.77.0.1", "b": "10.77.0.2"}, {"a": "10.77.0.2", "b": "10.77.0.1"}, {"a": "10.77.0.3", "b": "10.77.0.2"},
	} {
		s.Apply(cluster(image, network, "  running = false\n", addresses))
		for key, ip := range addresses {
			if got := virsh(t, "net-dumpxml", network); !strings.Contains(got, fmt.Sprintf("ip='%s' name='acc-%s'", ip, key)) && !strings.Contains(got, fmt.Sprintf("name='acc-%s' ip='%s'", key, ip)) {
				t.Errorf("%s does not have %s:\n%s", key, ip, got)
			}
		}
		s.Settled()
	}
	s.Write(cluster(image, network, "  running = false\n", map[string]string{"a": "10.77.0.2", "b": "10.77.0.2"}))
	s.Refused([]string{"Taken by another resource"}, "plan")
}

// TestAccNodeWhoseRootIsMissing has a root volume removed by hand whose size nobody wrote.
func TestAccNodeWhoseRootIsMissing(t *testing.T) {
	pool, network, image := stage(t, "noderoot")
	s := acctest.NewState(t)
	s.DestroyAtEnd()
	made := cluster(image, network, "  running = false\n", map[string]string{"a": "10.77.0.1"})
	s.Apply(made)
	for name, again := range map[string][]string{"plan": {"apply", "-auto-approve"}, "replace": {"apply", "-auto-approve", `-replace=virtcluster_node.n["a"]`}} {
		virsh(t, "vol-delete", "acc-a-root.qcow2", pool)
		if out := s.Run("plan"); !strings.Contains(out, "must be replaced") {
			t.Errorf("%s: %s", name, out)
		}
		s.Run(again...)
		if got := virsh(t, "vol-list", pool); !strings.Contains(got, "acc-a-root.qcow2") {
			t.Errorf("%s: the volume is missing still:\n%s", name, got)
		}
	}
	virsh(t, "vol-delete", "acc-a-root.qcow2", pool)
	s.Run("destroy", "-auto-approve")
	if got := virsh(t, "list", "--all", "--name"); strings.Contains(got, "acc-a") {
		t.Errorf("left after a destroy: %s", got)
	}
}

// TestAccNodeIsHandedItsFirstBootConfiguration looks at what Ignition is handed: its interfaces' addresses beside the user's own,
// and nothing of a longer one that was there before.
func TestAccNodeIsHandedItsFirstBootConfiguration(t *testing.T) {
	pool, network, image := stage(t, "nodehanded")
	s := acctest.NewState(t)
	s.DestroyAtEnd()
	node := func(ignition string) string {
		return config(image, network, fmt.Sprintf("  running = false\n  ignition = %q\n  network_interfaces = [{ network = \"NET\", addresses = [\"10.77.0.7/24\"], gateway = \"10.77.0.254\" }]\n", ignition))
	}
	handed := func() string {
		t.Helper()
		text, err := os.ReadFile("/var/lib/libvirt/" + pool + "/acc-ignition.json")
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	s.Write(node(`{"ignition":{"version":"3.4.0"},"storage":{"files":[{"path":"/etc/motd","contents":{"source":"data:,` + strings.Repeat("long", 500) + `"}}]}}`))
	out := s.Run("apply", "-auto-approve")
	if strings.Contains(out, "/etc/motd") {
		t.Errorf("the plan shows what may be a secret:\n%s", out)
	}
	if got := handed(); !strings.Contains(got, "eth0.nmconnection") || !strings.Contains(got, "address1=10.77.0.7%2F24") || !strings.Contains(got, "/etc/motd") {
		t.Errorf("Ignition is handed\n%s", got)
	}
	s.Apply(node(`{"ignition":{"version":"3.4.0"}}`))
	if got := handed(); strings.Contains(got, "long") || !strings.HasSuffix(strings.TrimRight(got, " "), "}") || !strings.Contains(got, "eth0.nmconnection") {
		t.Errorf("after a shorter one, Ignition is handed\n%s", got)
	}
	s.Settled()
}
