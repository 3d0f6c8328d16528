package ovnnetwork_test

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// TestAccNodeMovesOntoOVN has a node leave its libvirt network for one of OVN, and come back.
func TestAccNodeMovesOntoOVN(t *testing.T) {
	_, config := ovnStage(t)
	s := acctest.NewState(t)
	s.DestroyAtEnd()
	const former = `
resource "virtcluster_network" "former" {
  hypervisor = "hv-1"
  name       = "former"
  cidr       = "10.70.0.0/24"
  dhcp       = {}
}
`
	const b = `{ NET, mac = "52:54:00:50:00:02", ip = "10.50.0.12" }`
	on := config(`{ network = virtcluster_network.former.name, mac = "52:54:00:50:00:01", ip = "10.70.0.11" }`, b) + former
	moved := config(`{ NET, mac = "52:54:00:50:00:01", ip = "10.50.0.11" }`, b) + former
	s.Apply(on)
	heedsLinkOn(t, "hv-1", "acc-a")
	if err := guestHas("hv-1", "acc-a", "10.70.0.11")(nil); err != nil {
		t.Fatal(err)
	}
	was := acctest.On(t, "hv-1", "virsh", "domid", "acc-a")
	s.Write(moved)
	if plan := strings.Join(strings.Fields(strings.ReplaceAll(s.Run("plan"), "│", " ")), " "); !strings.Contains(plan, "The guest is to change its network while it runs") {
		t.Errorf("the plan does not warn:\n%s", plan)
	}
	s.Apply(moved)
	s.Settled()
	if now := acctest.On(t, "hv-1", "virsh", "domid", "acc-a"); now != was {
		t.Errorf("a was restarted: it is domain %s, and was %s", now, was)
	}
	for _, err := range []error{guestHas("hv-1", "acc-a", "10.50.0.11")(nil), reaches("hv-2", "acc-b", "10.50.0.11")(nil)} {
		if err != nil {
			t.Error(err)
		}
	}
	if left := acctest.On(t, "hv-1", "virsh", "net-dumpxml", "former"); strings.Contains(left, "10.70.0.11") {
		t.Errorf("the network that it left has its reservation:\n%s", left)
	}
	s.Apply(on)
	s.Settled()
	if err := guestHas("hv-1", "acc-a", "10.70.0.11")(nil); err != nil {
		t.Error(err)
	}
}

var sequence = regexp.MustCompile(`icmp_seq=(\d+)`)

// countPings has a guest of StartOVNGuest ping an address every 50 ms until the result is called, which tells how many of how many were answered, and how
// many in a row were not.
func countPings(t *testing.T, machine, guest, address string) func() (answered, sent, gap int) {
	t.Helper()
	log := "/run/ping-" + guest
	pid := acctest.On(t, machine, "sh", "-c", `ip netns exec "$1" ping -i 0.05 "$2" >"$3" 2>&1 & echo $!`, "sh", guest, address, log)
	return func() (answered, sent, gap int) {
		t.Helper()
		acctest.On(t, machine, "sh", "-c", `kill -INT "$1"; sleep 0.5`, "sh", pid)
		seen := map[int]bool{} // while two chassis have the port, some are answered twice
		for _, found := range sequence.FindAllStringSubmatch(acctest.On(t, machine, "cat", log), -1) {
			n, _ := strconv.Atoi(found[1])
			seen[n], sent = true, max(sent, n)
		}
		last := 0
		for _, n := range slices.Sorted(maps.Keys(seen)) {
			gap, last = max(gap, n-last-1), n
		}
		return len(seen), sent, gap
	}
}

// TestAccNodeMigratesOnOVN moves a node with a port of OVN to another hypervisor and back, while guests on both ping it.
func TestAccNodeMigratesOnOVN(t *testing.T) {
	nb, config := ovnStage(t)
	s := acctest.NewState(t)
	s.DestroyAtEnd()
	on := map[string]string{}
	on["hv-1"] = strings.Replace(config(`{ NET, mac = "52:54:00:50:00:01", ip = "10.50.0.11", port_security = true }`, ""), "  network_interfaces", "  migration          = { bandwidth_mib = 20 }\n  network_interfaces", 1)
	head, node, _ := strings.Cut(on["hv-1"], `resource "virtcluster_node"`)
	on["hv-2"] = head + `resource "virtcluster_node"` + strings.ReplaceAll(node, "hv-1", "hv-2")
	s.Apply(on["hv-1"])
	for n, machine := range []string{"hv-1", "hv-2"} {
		guest, mac, address := "pings-"+machine, fmt.Sprintf("02:00:00:50:00:0%d", n+1), fmt.Sprintf("10.50.0.20%d", n+1)
		nb("--wait=hv", "lsp-add", "nodes", guest, "--", "lsp-set-addresses", guest, mac+" "+address)
		t.Cleanup(func() {
			if out, err := acctest.Try(context.WithoutCancel(t.Context()), "hv-1", "ovn-nbctl", "--timeout=20", "--if-exists", "lsp-del", guest); err != nil {
				t.Errorf("lsp-del %s: %v: %s", guest, err, out)
			}
		})
		acctest.StartOVNGuest(t, machine, guest, mac, address, "")
	}
	if err := guestHas("hv-1", "acc-a", "10.50.0.11")(nil); err != nil {
		t.Fatal(err)
	}
	for _, to := range []string{"hv-2", "hv-1"} {
		var stops []func() (int, int, int)
		for _, machine := range []string{"hv-1", "hv-2"} {
			stops = append(stops, countPings(t, machine, "pings-"+machine, "10.50.0.11"))
		}
		time.Sleep(time.Second)
		s.Apply(on[to])
		time.Sleep(time.Second)
		for n, stop := range stops {
			answered, sent, gap := stop()
			t.Logf("to %s, seen by hv-%d: %d of %d pings at 50 ms were answered, and %d in a row were not", to, n+1, answered, sent, gap)
			if sent < 40 || gap >= 20 || sent-answered >= 40 {
				t.Errorf("less than a second may be lost on the way to %s: %d of %d answered, %d in a row not", to, answered, sent, gap)
			}
		}
		s.Settled()
		uuid := interfaceID(t, to, "acc-a", "52:54:00:50:00:01")
		if options := nb("get", "Logical_Switch_Port", uuid, "options"); options != `{hostname="\"acc-a\""}` {
			t.Errorf("the port has %s after its move to %s", options, to)
		}
	}
}
