package node_test

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// heedLink has a guest ask DHCP anew, with nothing that it had before, whenever its link comes back, as systemd-networkd does.
func heedLink(t *testing.T, domain string) {
	t.Helper()
	acctest.HeedLink(t, "hypervisor", domain)
}

// pings says whether a guest answers at an address.
func pings(ip string) func() bool {
	return func() bool { return exec.Command("ping", "-c1", "-W1", ip).Run() == nil }
}

// guestHas says whether the guest of a domain has an address.
func guestHas(t *testing.T, domain, ip string) func() bool {
	return func() bool {
		said, err := acctest.InGuest(t.Context(), domain, "/bin/busybox ip -4 address show dev eth0")
		return err == nil && strings.Contains(said, " "+ip+"/")
	}
}

// Two nodes that run swap their addresses, by guests that heed their links: one draws another address from the network's range
// meanwhile. Where there is no range, neither could, and the plan says so.
func TestAccRunningNodesSwapAddresses(t *testing.T) {
	_, network, image := stage(t, "noderuns")
	s := acctest.NewState(t)
	s.DestroyAtEnd()
	more := "  wait_for = \"lease\"\n  shutdown_timeout = \"5s\"\n"
	s.Apply(cluster(image, network, more, map[string]string{"a": "10.77.0.1", "b": "10.77.0.2"}))
	heedLink(t, "acc-a")
	heedLink(t, "acc-b")
	swapped := cluster(image, network, more, map[string]string{"a": "10.77.0.2", "b": "10.77.0.1"})
	s.Apply(swapped)
	acctest.Eventually(t, "a does not get what b had", guestHas(t, "acc-a", "10.77.0.2"))
	acctest.Eventually(t, "b does not get what a had", guestHas(t, "acc-b", "10.77.0.1"))
	s.Settled()

	virsh(t, "net-update", network, "delete", "ip-dhcp-range", "<range start='10.77.0.210' end='10.77.0.240'/>", "--live", "--config")
	s.Write(cluster(image, network, more, map[string]string{"a": "10.77.0.1", "b": "10.77.0.2"}))
	s.Refused([]string{"Running nodes swap addresses", "has no range of addresses", "running = false"}, "plan")
	if !pings("10.77.0.1")() || !pings("10.77.0.2")() {
		t.Error("a refused plan took an address")
	}
}

// A node that runs moves to another network, and a new one takes its address on the old one, in one apply.
func TestAccNodeMovesToAnotherNetworkWhileItRuns(t *testing.T) {
	_, _, image := stage(t, "nodeleaves")
	s := acctest.NewState(t)
	s.DestroyAtEnd()
	config := func(nodes string) string {
		return acctest.Provider() + fmt.Sprintf(`
resource "virtcluster_network" "n" {
  for_each = { old = "10.76.0.0/24", new = "10.78.0.0/24" }
  name     = "nodegoes${each.key}"
  cidr     = each.value
  dhcp     = {}
}
resource "virtcluster_node" "n" {
  for_each           = { %s }
  name               = "acc-${each.key}"
  type               = "qemu"
  memory_mib         = 128
  wait_for           = "lease"
  shutdown_timeout   = "5s"
  root_disk          = { image = %q }
  network_interfaces = [{ network = virtcluster_network.n[each.value.network].name, ip = each.value.ip }]
}
`, nodes, image)
	}
	s.Apply(config(`a = { network = "old", ip = "10.76.0.9" }`))
	heedLink(t, "acc-a")
	moved := config(`a = { network = "new", ip = "10.78.0.9" }, b = { network = "old", ip = "10.76.0.9" }`)
	s.Write(moved)
	if plan := strings.Join(strings.Fields(strings.ReplaceAll(s.Run("plan"), "│", " ")), " "); !strings.Contains(plan, "The guest is to change its network while it runs") {
		t.Errorf("the plan does not warn:\n%s", plan)
	}
	s.Apply(moved)
	if !guestHas(t, "acc-a", "10.78.0.9")() || !guestHas(t, "acc-b", "10.76.0.9")() {
		t.Errorf("the leases are\n%s\n%s", virsh(t, "net-dhcp-leases", "nodegoesold"), virsh(t, "net-dhcp-leases", "nodegoesnew"))
	}
	if leases := virsh(t, "net-dhcp-leases", "nodegoesold"); strings.Count(leases, "10.76.0.") != 1 {
		t.Errorf("the leases of the old network are\n%s", leases)
	}
	s.Settled()
}

// A network under a node that runs cannot be replaced: the plan says so, and how it goes. One that is made beside the old one can.
func TestAccNetworkIsReplacedUnderANode(t *testing.T) {
	acctest.BothCLIs(t)
	_, _, image := stage(t, "nodeunder")
	s := acctest.NewState(t)
	s.DestroyAtEnd()
	config := func(network, ip, running string) string {
		return acctest.Provider() + fmt.Sprintf(`
resource "virtcluster_network" "n" {
%s
  dhcp = {}
}
resource "virtcluster_node" "n" {
  name               = "acc"
  type               = "qemu"
  memory_mib         = 128
  running            = %s
  shutdown_timeout   = "5s"
  root_disk          = { image = %q }
  network_interfaces = [{ network = virtcluster_network.n.name, ip = %q }]
}
`, network, running, image, ip)
	}
	const one, renamed = "  name = \"nodeunder1\"\n  cidr = \"10.76.0.0/24\"", "  name = \"nodeunder2\"\n  cidr = \"10.76.0.0/24\""
	s.Apply(config(one, "10.76.0.9", "true"))
	refused := []string{"Network replaced under a running node", `network "nodeunder1" has to go before`, "running = false in an apply before"}
	s.Write(config(renamed, "10.76.0.9", "true"))
	s.Refused(refused, "plan")
	s.Write(config(one, "10.76.0.9", "true"))
	s.Refused(refused, "plan", "-replace=virtcluster_network.n")
	s.Apply(config(one, "10.76.0.9", "false"))
	s.Apply(config(renamed, "10.76.0.9", "false"))
	s.Settled()
	s.Apply(config(renamed, "10.76.0.9", "true"))
	beside := config("  name = \"nodeunder3\"\n  cidr = \"10.78.0.0/24\"\n  lifecycle { create_before_destroy = true }", "10.78.0.9", "true")
	s.Write(beside)
	if plan := s.Run("plan"); !strings.Contains(plan, "create_before_destroy = true") {
		t.Errorf("the plan does not warn:\n%s", plan)
	}
	s.Apply(beside)
	s.Settled()
	if nets := virsh(t, "net-list", "--all", "--name"); strings.Contains(nets, "nodeunder2") || !strings.Contains(nets, "nodeunder3") {
		t.Errorf("the networks are %s", nets)
	}
}
