package node_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// neighbour is a machine on a bridge, with an address.
func neighbour(t *testing.T, bridge, name, address string) {
	t.Helper()
	t.Cleanup(func() { _ = exec.Command("ip", "netns", "del", name).Run() })
	acctest.On(t, "hypervisor", "sh", "-ec", `ip netns add $2; ip link add $2 type veth peer name eth0 netns $2; ip link set $2 master $1 up
ip -n $2 address add $3/24 dev eth0; ip -n $2 link set eth0 up`, "sh", bridge, name, address)
}

// call is a TCP connection of a neighbour's that is answered with what it says.
type call struct {
	in      io.Writer
	answers <-chan string
}

// dial opens a connection.
func dial(t *testing.T, from, to string) *call {
	t.Helper()
	in, answers := acctest.Talk(t, from, to)
	return &call{in, answers}
}

// alive says whether the other side still answers.
func (c *call) alive(word string) bool {
	_, _ = fmt.Fprintln(c.in, word)
	for limit := time.After(3 * time.Second); ; {
		select {
		case got, open := <-c.answers:
			if got == word || !open {
				return open
			}
		case <-limit:
			return false
		}
	}
}

// keepalivedOf has svc-1's keepalived speak VRRP to 10.77.0.1 on a bridge, from an address of its own.
func keepalivedOf(t *testing.T, bridge, address string) {
	t.Helper()
	t.Cleanup(func() {
		_, _ = acctest.Try(context.Background(), "svc-1", "systemctl", "stop", "accvrrp")
		_ = exec.Command("ip", "link", "del", "accvrrp0").Run()
	})
	acctest.On(t, "hypervisor", "sh", "-ec", "ip link add accvrrp0 type veth peer name accvrrp1 netns svc-1; ip link set accvrrp0 master $1 up", "sh", bridge)
	acctest.On(t, "svc-1", "sh", "-ec", `ip address add $1/24 dev accvrrp1; ip link set accvrrp1 up
cat >/run/accvrrp.conf <<END
vrrp_instance acc {
  interface accvrrp1
  virtual_router_id 77
  priority 200
  state MASTER
  advert_int 1
  unicast_src_ip $1
  unicast_peer { 10.77.0.1 }
  virtual_ipaddress { 10.77.0.250/24 }
}
END
systemd-run --quiet --collect --unit=accvrrp keepalived --dont-fork --vrrp --use-file /run/accvrrp.conf --pid /run/accvrrp.pid --vrrp_pid /run/accvrrp-vrrp.pid`, "sh", address)
}

// vrrpHeard is how many packets of a protocol that its kernel does not know, as VRRP is one, have come to a guest.
func vrrpHeard(t *testing.T, domain string) int {
	t.Helper()
	out, err := acctest.InGuest(t.Context(), domain, "/bin/busybox cat /proc/net/snmp")
	if err != nil {
		t.Fatal(err)
	}
	names, rest, _ := strings.Cut(out, "\n")
	numbers, _, _ := strings.Cut(rest, "\n")
	at := slices.Index(strings.Fields(names), "InUnknownProtos")
	if at < 0 {
		t.Fatalf("no InUnknownProtos in %s", out)
	}
	n, err := strconv.Atoi(strings.Fields(numbers)[at])
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestAccNodeWithSecurityRules has neighbours talk to a guest whose rules change while it runs, and two nodes name each other.
func TestAccNodeWithSecurityRules(t *testing.T) {
	_, network, image := stage(t, "noderules")
	neighbour(t, network, "friend", "10.77.0.50")
	neighbour(t, network, "stranger", "10.77.0.51")
	s := acctest.NewState(t)
	s.DestroyAtEnd()
	nodes := func(rules, guard, second string) string {
		return config(image, network, "  wait_for = \"guest_agent\"\n  network_interfaces = [{ network = \"NET\", mac = \"52:54:00:77:00:01\", ip = \"10.77.0.1\""+guard+", security_rules = ["+rules+"] }]\n") + fmt.Sprintf(`
resource "virtcluster_node" "second" {
  name               = "acc-second"
  type               = "qemu"
  memory_mib         = 64
  running            = false
  root_disk          = { size_gib = 1, pool = %[1]q }
  network_interfaces = [{
    network        = %[1]q
    mac            = "52:54:00:77:00:02"
    ip             = %[2]q
    port_security  = true
    security_rules = [{ direction = "ingress", protocol = "VRRP", remote = "acc" }]
  }]
}
`, network, second)
	}
	const (
		web    = `{ direction = "ingress", protocol = "tcp", ports = "8081", remote = "10.77.0.50" }`
		vrrp   = `, { direction = "ingress", protocol = "VRRP", remote = "acc-second" }`
		ping   = `, { direction = "ingress", protocol = "icmp", remote = "10.77.0.51/32" }`
		all    = `, { direction = "ingress", protocol = "tcp", ports = "8000-9000" }`
		filter = "virtcluster-acc-525400770001"
	)
	reaches := func(from string, want bool) {
		t.Helper()
		if got := dial(t, from, "10.77.0.1:8081").alive("hello"); got != want {
			t.Errorf("%s reaches the guest: %t, want %t", from, got, want)
		}
	}
	pings := func(from string, want bool) {
		t.Helper()
		if out, err := exec.Command("ip", "netns", "exec", from, "ping", "-c1", "-W2", "10.77.0.1").CombinedOutput(); (err == nil) != want {
			t.Errorf("%s pings the guest: %t, want %t: %s", from, err == nil, want, out)
		}
	}
	s.Apply(nodes(web+vrrp, "", "10.77.0.2"))
	s.Settled()
	if _, err := acctest.InGuest(t.Context(), "acc", "cat >/echo <<'END'\n#!/bin/sh\nwhile read -r line; do echo \"$line\"; done\nEND\n/bin/busybox chmod 755 /echo; /bin/busybox nc -ll -p 8081 -e /echo </dev/null >/dev/null 2>&1 &"); err != nil {
		t.Fatal(err)
	}
	id := virsh(t, "domid", "acc")
	open := dial(t, "friend", "10.77.0.1:8081")
	if !open.alive("first") {
		t.Fatal("who may connect is not answered")
	}
	reaches("stranger", false)
	pings("stranger", false)
	// Each knows the other's address, whichever was made first, and whenever it changes.
	for name, address := range map[string]string{filter + "-ipv4": "10.77.0.2", "virtcluster-acc-second-525400770002-ipv4": "10.77.0.1"} {
		t.Run(name, func(t *testing.T) {
			if got := virsh(t, "nwfilter-dumpxml", name); !strings.Contains(got, "srcipaddr='"+address+"' srcipmask='32' protocol='112'") {
				t.Errorf("%s does not pass VRRP of %s:\n%s", name, address, got)
			}
		})
	}
	keepalivedOf(t, network, "10.77.0.3")
	acctest.Eventually(t, "keepalived has the address that it speaks for", func() bool {
		out, _ := acctest.Try(t.Context(), "svc-1", "ip", "-o", "address", "show", "dev", "accvrrp1")
		return strings.Contains(out, "10.77.0.250/")
	})
	if heard := vrrpHeard(t, "acc"); heard > 0 {
		t.Errorf("the guest hears %d words of VRRP from an address that no rule names", heard)
	}
	s.Apply(nodes(web+vrrp+ping, "", "10.77.0.3"))
	s.Settled()
	acctest.Eventually(t, "the guest hears the VRRP of the other node's address", func() bool { return vrrpHeard(t, "acc") > 1 })
	if got := virsh(t, "nwfilter-dumpxml", filter+"-ipv4"); !strings.Contains(got, "srcipaddr='10.77.0.3' srcipmask='32' protocol='112'") {
		t.Errorf("the other node's new address does not pass:\n%s", got)
	}
	if !open.alive("second") {
		t.Error("a connection that stays allowed is cut")
	}
	pings("stranger", true)
	reaches("stranger", false)

	// Beside port_security; everybody may now, and what is open goes on.
	s.Apply(nodes(web+vrrp+all, ", port_security = true", "10.77.0.3"))
	if !open.alive("third") {
		t.Error("port_security cuts a connection that stays allowed")
	}
	reaches("stranger", true)
	pings("stranger", false)

	// What somebody else changes in the filters is seen, and comes back.
	xml := strings.Replace(virsh(t, "nwfilter-dumpxml", filter+"-rules"), "</uuid>", "</uuid>\n<rule action='accept' direction='in' priority='100'><icmp/></rule>", 1)
	file := t.TempDir() + "/filter.xml"
	if err := os.WriteFile(file, []byte(xml), 0o600); err != nil {
		t.Fatal(err)
	}
	virsh(t, "nwfilter-define", file)
	if out := s.Run("plan"); !strings.Contains(out, "security_rules") {
		t.Errorf("a change of the filter does not show:\n%s", out)
	}
	s.Run("apply", "-auto-approve")
	s.Settled()
	s.Run("state", "rm", "virtcluster_node.n")
	s.Run("import", "virtcluster_node.n", "acc")
	s.Settled()

	// Without rules there are no filters; a connection whose rule went is no longer served.
	s.Apply(nodes(`{ direction = "ingress", protocol = "tcp", ports = "22" }`, "", "10.77.0.3"))
	if open.alive("fourth") {
		t.Error("a connection that is allowed no longer is served")
	}
	s.Apply(nodes("", ", port_security = false", "10.77.0.3"))
	s.Settled()
	reaches("stranger", true)
	if out := virsh(t, "nwfilter-list"); strings.Contains(out, filter) {
		t.Errorf("filters are left:\n%s", out)
	}
	if now := virsh(t, "domid", "acc"); now != id {
		t.Error("the guest was restarted")
	}
}
