package exposedservice_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

const (
	lan       = "10.19.41.50" // lan-client
	firstIP   = "10.0.100.51"
	secondIP  = "10.0.100.52"
	floating  = "10.19.41.222"
	exposing  = "10.19.41.101"
	inside    = "10.0.100.101"
	ofAPerson = "add table ip person; add chain ip person input { type filter hook input priority 0; }; add rule ip person input ip saddr 192.0.2.1 drop"
)

// config exposes two guests in every way; more is for each resource's block.
func config(node, balanced, floats string) string {
	return acctest.Provider() + fmt.Sprintf(`
resource "virtcluster_service_node" "edge" {
  endpoint = "ssh://root@%[1]s"
  services = ["haproxy", "nftables"]
}
resource "virtcluster_address_pool" "lan" {
  service_node = virtcluster_service_node.edge.id
  name         = "lan"
  ranges       = ["10.19.41.200-10.19.41.219"]
}
resource "virtcluster_exposed_service" "bastion" {
  service_node      = virtcluster_service_node.edge.id
  name              = "bastion"
  type              = "external_ip"
  pool              = virtcluster_address_pool.lan.id
  configure_address = true
  ports             = { ssh = { port = 22, target_port = 8080 }, dns = { port = 53, target_port = 5353, protocol = "udp" } }
  targets           = [%[2]q]
}
resource "virtcluster_exposed_service" "web" {
  service_node      = virtcluster_service_node.edge.id
  name              = "web"
  type              = "load_balancer"
  address           = "10.19.41.220"
  configure_address = true
  ports             = { http = { port = 80, target_port = 8080 }, dns = { port = 53, target_port = 5353, protocol = "udp" } }
%[4]s
}
resource "virtcluster_exposed_service" "node" {
  service_node = virtcluster_service_node.edge.id
  name         = "node"
  type         = "node_port"
  ports        = { http = { target_port = 8080 }, dns = { target_port = 5353, protocol = "udp" } }
  targets      = [%[2]q]
}
resource "virtcluster_floating_address" "second" {
  service_node = virtcluster_service_node.edge.id
  address      = %[6]q
  target       = %[3]q
%[5]s
}
output "node" { value = virtcluster_service_node.edge.id }
`, node, firstIP, secondIP, balanced, floats, floating)
}

// TestAccGuestsAreReachedFromOutside asks guests from the LAN, from the machine, from inside and from themselves, through every type,
// before and after a change, a flush by somebody else, and a start of the machine.
func TestAccGuestsAreReachedFromOutside(t *testing.T) {
	acctest.InSandbox(t)
	node := acctest.ServiceNodes(t, 1)[0]
	acctest.Guest(t, "first", firstIP, inside, "tcp:8080", "udp:5353")
	acctest.Guest(t, "second", secondIP, inside, "tcp:8080", "tcp:22", "udp:5353")
	look := `nft list ruleset | grep -v '^#'; ip -br address show dev eth1 | sed 's/@[^ ]*//'; cat /proc/sys/net/ipv4/ip_forward; find /var/lib/virtcluster /etc/systemd /run/virtcluster-exposure -name '*exposure*' 2>/dev/null || :`
	before := acctest.On(t, "svc-1", "sh", "-c", look)
	s := acctest.NewState(t)
	s.DestroyAtEnd()
	answers := func(machine, network, address string, want ...string) {
		t.Helper()
		got, err := acctest.Ask(t, machine, network, address)
		if len(want) == 0 && err == nil {
			t.Errorf("%s reaches %s %s: %s", machine, network, address, got)
		} else if len(want) > 0 && !slices.Contains(want, got) {
			t.Errorf("%s got %q (%v) from %s %s, want one of %q", machine, got, err, network, address, want)
		}
	}
	// A neighbour that knows the address elsewhere is told where it is now.
	acctest.On(t, "lan-client", "ip", "neigh", "replace", "10.19.41.220", "lladdr", "02:00:00:00:00:99", "dev", "eth0", "nud", "reachable")
	s.Apply(config(node, fmt.Sprintf("targets = [%q, %q]\n  source_ranges = [%q]", firstIP, secondIP, lan+"/32"), `ports = { http = { port = 8080 }, dns = { port = 5353, protocol = "udp" } }`))
	if mac := acctest.On(t, "svc-1", "sh", "-c", "ip -br link show dev eth1 | awk '{ print $3 }'"); !strings.Contains(acctest.On(t, "lan-client", "ip", "neigh", "show", "10.19.41.220"), mac) {
		t.Errorf("the neighbours were not told that %s has 10.19.41.220 now", mac)
	}
	s.Settled()
	all := func() {
		t.Helper()
		answers("lan-client", "tcp", "10.19.41.200:22", "first "+lan)
		answers("lan-client", "udp", "10.19.41.200:53", "first "+lan)
		answers("lan-client", "tcp", exposing+":30000", "first "+inside) // masqueraded
		answers("lan-client", "udp", exposing+":30000", "first "+inside) // masqueraded
		answers("hypervisor", "tcp", inside+":30000", "first "+inside)
		answers("lan-client", "tcp", floating+":8080", "second "+lan)
		answers("lan-client", "udp", floating+":5353", "second "+lan)
		answers("lan-client", "udp", "10.19.41.220:53", "first "+lan, "second "+lan)
		answers("lan-client", "tcp", "10.19.41.220:80", "first "+inside, "second "+inside)
	}
	all()
	answers("lan-client", "tcp", floating+":22")                 // not one of its ports, and neither the machine's own
	answers("hypervisor", "tcp", "10.19.41.220:80")              // not one of the source ranges
	answers("first", "tcp", "10.19.41.200:22", "first "+inside)  // the target itself
	answers("second", "tcp", "10.19.41.200:22", "first "+inside) // beside the target
	if out := acctest.On(t, "svc-1", "socat", "-T2", "-", "TCP:10.19.41.200:22"); out != "first "+inside {
		t.Errorf("the machine itself got %q", out)
	}
	if out := acctest.On(t, "svc-1", "sh", "-c", "nft list chain inet virtcluster postrouting"); !strings.Contains(out, "snat ip to "+floating) {
		t.Errorf("what the guest says does not come from its floating address:\n%s", out)
	}

	// One from the LAN for each port, and more from inside and from the machine itself.
	watch := acctest.NewState(t)
	watch.Apply(acctest.Provider() + fmt.Sprintf(`
data "virtcluster_exposures" "edge" {
  service_node = %q
}
output "connections" { value = { for name, e in data.virtcluster_exposures.edge.exposures : name => e.connections } }
`, s.Run("output", "-raw", "node")))
	if out := strings.TrimSpace(watch.Run("output", "-json", "connections")); out != `{"bastion":5,"floating-10.0.100.52":2,"node":3,"web":2}` {
		t.Errorf("counted %s", out)
	}

	// What somebody else flushed, or took away, is seen and comes back; so does all of it after a start.
	acctest.On(t, "svc-1", "sh", "-c", "nft delete table inet virtcluster; ip address del "+floating+"/32 dev eth1")
	if out := s.Run("plan"); strings.Count(out, "serving") != 4 {
		t.Errorf("what was flushed does not show:\n%s", out)
	}
	s.Run("apply", "-auto-approve")
	all()
	// So does a target that somebody drained at run time.
	acctest.On(t, "svc-1", "sh", "-c", "echo set server exposed-web:http/"+firstIP+" state drain | socat - UNIX-CONNECT:/run/haproxy/admin.sock")
	if out := s.Run("plan"); strings.Count(out, "serving") != 1 {
		t.Errorf("a target that drains does not show:\n%s", out)
	}
	s.Run("apply", "-auto-approve")
	s.Settled()
	acctest.Reboot(t, "svc-1")
	acctest.Eventually(t, "what is exposed answers after a start", func() bool {
		_, err := acctest.Ask(t, "lan-client", "tcp", floating+":8080")
		return err == nil
	})
	all()
	s.Settled()
	// The rules were there before the network was.
	if out := strings.Fields(acctest.On(t, "svc-1", "systemctl", "show", "--value", "-p", "ExecMainExitTimestampMonotonic", "-p", "ExecMainStartTimestampMonotonic", "virtcluster-exposure.service", "systemd-networkd.service")); len(out) != 4 || out[1] == "0" || out[2] == "0" {
		t.Errorf("when the rules and the network came: %q", out)
	} else if rules, network := number(t, out[1]), number(t, out[2]); rules > network {
		t.Errorf("the network came at %d µs, the rules were there at %d only", network, rules)
	}

	// A target that leaves gets nothing new; a floating address with all ports is the guest's own.
	s.Apply(config(node, fmt.Sprintf("targets = [%q]", secondIP), ""))
	s.Settled()
	for range 4 {
		answers("lan-client", "tcp", "10.19.41.220:80", "second "+inside)
		answers("hypervisor", "udp", "10.19.41.220:53", "second 10.19.41.10")
	}
	answers("lan-client", "tcp", floating+":22", "second "+lan)

	acctest.On(t, "svc-1", "nft", ofAPerson)

	// An import knows all of it, where it came from too.
	id := s.Run("output", "-raw", "node")
	for address, name := range map[string]string{"virtcluster_exposed_service.bastion": "bastion", "virtcluster_exposed_service.web": "web", "virtcluster_exposed_service.node": "node", "virtcluster_floating_address.second": secondIP} {
		s.Run("state", "rm", address)
		s.Run("import", address, id+"#"+name)
	}
	s.Settled()

	s.Run("destroy", "-auto-approve")
	if out := acctest.On(t, "svc-1", "sh", "-c", "nft list table ip person && nft delete table ip person"); !strings.Contains(out, "192.0.2.1") {
		t.Errorf("a person's rules are gone:\n%s", out)
	}
	// What the machine's own nftables.service read when it started is the machine's.
	acctest.On(t, "svc-1", "sh", "-c", "nft delete table inet filter 2>/dev/null || :")
	if after := acctest.On(t, "svc-1", "sh", "-c", look); after != before {
		t.Errorf("before:\n%s\nafter:\n%s", before, after)
	}
}

// forwardsNothing has a machine forward nothing until something does otherwise, as one that nobody set up: a container may change that
// where it is told to, and finds it switched on in the sandbox otherwise. It returns what wants the switches of IPv4 and IPv6 to be so.
// Only the mount of /proc/sys changes: without "bind" all of /proc would become read-only, and sshd would begin no session any more.
func forwardsNothing(t *testing.T, machine string) (are func(want string)) {
	t.Helper()
	const switches = "/proc/sys/net/ipv4/ip_forward /proc/sys/net/ipv6/conf/all/forwarding"
	acctest.On(t, machine, "sh", "-ec", "mount -o remount,bind,rw /proc/sys; for switch in "+switches+"; do echo 0 >$switch; done; ip address add fd00:100::101/64 dev eth0 nodad")
	t.Cleanup(func() {
		if out, err := acctest.Try(context.Background(), machine, "sh", "-ec", "echo 1 >/proc/sys/net/ipv4/ip_forward; mount -o remount,bind,ro /proc/sys; ip address del fd00:100::101/64 dev eth0"); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	})
	return func(want string) {
		t.Helper()
		if got := strings.Join(strings.Fields(acctest.On(t, machine, "sh", "-c", "cat "+switches)), " "); got != want {
			t.Errorf("forwarding of IPv4 and IPv6 is %s, want %s", got, want)
		}
	}
}

// TestAccWhatAnotherStateExposesStays has two states and a person want the same.
func TestAccWhatAnotherStateExposesStays(t *testing.T) {
	acctest.InSandbox(t)
	node := acctest.KnownServiceNodes(t, 1)[0]
	forwarding := forwardsNothing(t, "svc-1")
	one := func(name, address string) string {
		return acctest.Provider() + fmt.Sprintf(`
resource "virtcluster_exposed_service" "it" {
  service_node = "ssh://root@%s"
  name         = %q
  type         = "external_ip"
  address      = %q
  interface    = "eth1"
  ports        = { ssh = { port = 22 } }
  targets      = ["10.0.100.51"]
}
`, node, name, address)
	}
	mine, theirs := acctest.NewState(t), acctest.NewState(t)
	mine.DestroyAtEnd()
	theirs.DestroyAtEnd()
	theirs.Apply(one("theirs", "10.19.41.230"))
	forwarding("1 0")
	mine.Write(one("theirs", "10.19.41.231"))
	mine.Refused([]string{"it belongs to another state", "#theirs"}, "plan")
	mine.Write(one("mine", "10.19.41.230"))
	mine.Refused([]string{"Exposed already", `tcp port 22 of 10.19.41.230 is exposed by "theirs"`}, "plan")
	mine.Apply(one("mine", "10.19.41.231"))
	theirs.Settled()
	// Another type has not the address of the one before.
	everywhere := strings.NewReplacer(`"external_ip"`, `"node_port"`, `address      = "10.19.41.231"`, "", `interface    = "eth1"`, "", "port = 22", "target_port = 22")
	mine.Apply(everywhere.Replace(one("mine", "10.19.41.231")))
	mine.Settled()
	// A port of every address that another state has is named with whose it is.
	third := acctest.NewState(t)
	third.Write(strings.Replace(everywhere.Replace(one("third", "10.19.41.231")), "target_port = 22", "port = 30000, target_port = 22", 1))
	third.Refused([]string{"Exposed already", `tcp port 30000 is exposed by "mine" (owner=`, "workspace="}, "plan")
	// A device that heeds router advertisements goes on to, although the machine forwards.
	heeds := func(want string) {
		t.Helper()
		if got := acctest.On(t, "svc-1", "cat", "/proc/sys/net/ipv6/conf/accra/accept_ra"); got != want {
			t.Errorf("accept_ra is %s, want %s", got, want)
		}
	}
	acctest.On(t, "svc-1", "sh", "-ec", "ip link add accra type veth peer name accrb; echo 1 >/proc/sys/net/ipv6/conf/accra/accept_ra")
	t.Cleanup(func() { _, _ = acctest.Try(context.Background(), "svc-1", "ip", "link", "del", "accra") })
	mine.Apply(strings.Replace(one("mine", "fd19:41::231"), "10.0.100.51", "fd00:100::51", 1))
	mine.Settled()
	forwarding("1 1")
	heeds("2")
	theirs.Settled()
	mine.Run("destroy", "-auto-approve")
	theirs.Settled()

	// What the machine cannot lead anywhere, or somebody else on the wire has, the plan warns of, as the plan may change the network too;
	// the apply refuses it, and changes nothing.
	before := acctest.On(t, "svc-1", "nft", "list", "ruleset")
	outside := strings.Replace(one("mine", "10.19.41.231"), "10.0.100.51", "198.51.100.7", 1)
	for _, of := range []struct{ config, want string }{
		{outside, "198.51.100.7 is outside every network"},
		{strings.NewReplacer(`"external_ip"`, `"load_balancer"`, "port = 22 ", `port = 22, protocol = "udp" `).Replace(outside), "198.51.100.7 is outside every network"},
		{strings.Replace(one("mine", lan), `interface `, "configure_address = true\n  interface ", 1), lan + " is in use"},
		{strings.Replace(one("mine", "10.19.41.231"), `"eth1"`, `"eth9"`, 1), "has no device eth9"},
	} {
		t.Run(of.want, func(t *testing.T) {
			mine.Write(of.config)
			said := strings.Join(strings.Fields(strings.ReplaceAll(mine.Run("plan"), "│", " ")), " ")
			if !strings.Contains(said, "Warning: The apply may refuse it") || !strings.Contains(said, of.want) {
				t.Errorf("the plan does not warn of %q:\n%s", of.want, said)
			}
			mine.Refused([]string{of.want}, "apply", "-auto-approve")
		})
	}
	if after := acctest.On(t, "svc-1", "nft", "list", "ruleset"); after != before {
		t.Errorf("what was refused left\n%s", after)
	}

	// Neither rules of a person's under the provider's names nor ports that a program listens at are taken.
	mine.Write(one("mine", "10.19.41.231"))
	theirs.Run("destroy", "-auto-approve")
	forwarding("0 0")
	heeds("1")
	for _, of := range []struct{ add, list, remove, is string }{
		{"nft add table inet virtcluster; nft add chain inet virtcluster guard", "nft list table inet virtcluster", "nft delete table inet virtcluster", `the table "inet virtcluster" of nftables is`},
		{"iptables -N VIRTCLUSTER; iptables -A VIRTCLUSTER -s 192.0.2.1 -j DROP", "iptables -S VIRTCLUSTER", "iptables -F VIRTCLUSTER; iptables -X VIRTCLUSTER; nft delete table ip filter", "the chain VIRTCLUSTER of iptables is"},
	} {
		t.Run(of.is, func(t *testing.T) {
			acctest.On(t, "svc-1", "sh", "-c", of.add)
			before := acctest.On(t, "svc-1", "sh", "-c", of.list)
			mine.Refused([]string{"Rules of somebody else's", of.is, "rename it"}, "plan")
			mine.Refused([]string{of.is}, "apply", "-auto-approve")
			if after := acctest.On(t, "svc-1", "sh", "-c", of.list); after != before {
				t.Errorf("a person's rules were\n%s\nand are\n%s", before, after)
			}
			acctest.On(t, "svc-1", "sh", "-c", of.remove)
		})
	}
	acctest.On(t, "svc-1", "systemd-run", "--unit=of-a-person", "socat", "TCP-LISTEN:8443,bind="+exposing+",fork", "SYSTEM:true")
	t.Cleanup(func() { _, _ = acctest.Try(context.Background(), "svc-1", "systemctl", "stop", "of-a-person.service") })
	acctest.On(t, "svc-1", "sh", "-c", "until ss -Hlnt | grep -q :8443; do sleep 0.1; done")
	mine.Write(strings.Replace(one("mine", exposing), "port = 22", "port = 8443", 1))
	mine.Refused([]string{"Port in use", "process socat", "of-a-person.service", "tcp port 8443 of " + exposing}, "plan")

	// A table of a person's that comes instead of the exposures' is theirs too: at the next change, and at the last.
	mine.Apply(one("mine", "10.19.41.231"))
	acctest.On(t, "svc-1", "sh", "-c", "nft delete table inet virtcluster; nft add table inet virtcluster; nft add chain inet virtcluster of-a-person")
	mine.Refused([]string{"Rules of somebody else's"}, "plan")
	mine.Run("destroy", "-auto-approve")
	acctest.On(t, "svc-1", "sh", "-c", "nft list chain inet virtcluster of-a-person && nft delete table inet virtcluster")

	// Neither does an exposure join another state's frontend at its address and port, nor a frontend another state's exposure.
	front := func(name string) string {
		return acctest.Provider() + fmt.Sprintf(`
resource "virtcluster_haproxy_backend" "it" {
  service_node = "ssh://root@%[1]s"
  name         = %[2]q
  mode         = "tcp"
  servers      = { first = { address = "10.0.100.51", port = 8080 } }
}
resource "virtcluster_haproxy_frontend" "it" {
  service_node    = "ssh://root@%[1]s"
  name            = %[2]q
  mode            = "tcp"
  binds           = [{ address = "10.19.41.231", port = 2222 }]
  default_backend = virtcluster_haproxy_backend.it.name
}
`, node, name)
	}
	balanced := strings.NewReplacer(`"external_ip"`, `"load_balancer"`, "port = 22 ", "port = 2222, target_port = 22 ").Replace(one("mine", "10.19.41.231"))
	theirs.Apply(front("theirs"))
	mine.Write(balanced)
	mine.Refused([]string{"Port in use", `frontend "theirs"`, "10.19.41.231:2222"}, "plan")
	theirs.Run("destroy", "-auto-approve")
	mine.Apply(balanced)
	theirs.Write(front("theirs"))
	theirs.Refused([]string{"10.19.41.231:2222"}, "plan")
	mine.Apply(strings.Replace(one("mine", "10.19.41.231"), "port = 22 ", "port = 2222, target_port = 22 ", 1))
	theirs.Refused([]string{"Address in use", `Exposure "mine" (owner=`, "leads what comes to 10.19.41.231:2222 to a guest"}, "plan")
}

func number(t *testing.T, text string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestAccForwardingThatOthersCameToNeedStaysOn has others need what an exposure switched on, in ways that no rule shows.
func TestAccForwardingThatOthersCameToNeedStaysOn(t *testing.T) {
	acctest.InSandbox(t)
	node := acctest.KnownServiceNodes(t, 1)[0]
	forwarding := forwardsNothing(t, "svc-1")
	config := acctest.Provider() + fmt.Sprintf(`
resource "virtcluster_exposed_service" "it" {
  service_node = "ssh://root@%s"
  name         = "acc"
  type         = "external_ip"
  address      = "10.19.41.230"
  interface    = "eth1"
  ports        = { ssh = { port = 22 } }
  targets      = ["10.0.100.51"]
}
`, node)
	for _, of := range []struct{ name, add, remove, says string }{
		{"nobody", ":", ":", ""},
		{"a network of libvirt's without rules", "ip link add name accopen type bridge; ip address add 192.168.199.1/24 dev accopen; ip link set accopen up", "ip link del accopen", "other networks"},
		{"a plain router's configuration", "echo net.ipv4.ip_forward=1 >/etc/sysctl.d/90-acc.conf", "rm /etc/sysctl.d/90-acc.conf", "configuration of the machine asks"},
		{"a plain router that is used", "ip netns add accguest; ip link add accveth0 type veth peer name accveth1 netns accguest; ip link set accveth0 up; ip address add 10.0.100.99/32 dev accveth0; " +
			"ip -n accguest link set accveth1 up; ip -n accguest address add 192.168.198.2/24 dev accveth1; ip -n accguest route add default via 10.0.100.99 dev accveth1 onlink; " +
			"ip netns exec accguest ping -c 2 -i 0.2 -W 1 10.19.41.254 || :", "ip netns del accguest; ip link del accveth0 2>/dev/null || :", "connections of others"},
	} {
		t.Run(of.name, func(t *testing.T) {
			s := acctest.NewState(t)
			s.DestroyAtEnd()
			s.Apply(config)
			forwarding("1 0")
			t.Cleanup(func() {
				_, _ = acctest.Try(context.Background(), "svc-1", "sh", "-c", of.remove+"; echo 0 >/proc/sys/net/ipv4/ip_forward")
			})
			acctest.On(t, "svc-1", "sh", "-ec", of.add)
			said := strings.Join(strings.Fields(strings.ReplaceAll(s.Run("destroy", "-auto-approve", "-no-color"), "│", " ")), " ")
			if of.says == "" {
				forwarding("0 0")
				return
			}
			forwarding("1 0")
			if !strings.Contains(said, "stays on") || !strings.Contains(said, of.says) {
				t.Errorf("the destroy does not say that %s:\n%s", of.says, said)
			}
			if left, err := acctest.Try(t.Context(), "svc-1", "sh", "-c", "ls -d /run/virtcluster-exposure /var/lib/virtcluster/exposure/networks* 2>/dev/null"); err == nil {
				t.Errorf("left %s", left)
			}
		})
	}
}
