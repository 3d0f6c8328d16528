package exposedservice_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// libvirtIn starts a libvirtd that makes its networks on svc-1, which a container's own could not, until the test ends: in its
// network namespace, with files of its own.
func libvirtIn(t *testing.T, machine string) (uri string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "libvirt-") // t.TempDir's is too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	config := fmt.Sprintf("unix_sock_dir = %[1]q\nunix_sock_group = \"root\"\nauth_unix_rw = \"none\"\nlog_outputs = \"3:file:%[1]s/log\"\n", dir)
	if err := os.WriteFile(dir+"/libvirtd.conf", []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	daemon := exec.Command("ip", "netns", "exec", machine, "unshare", "--mount", "sh", "-ec", `
cp /etc/libvirt/qemu.conf "$0"
for own in /run/libvirt /var/lib/libvirt /var/cache/libvirt /var/log/libvirt /etc/libvirt; do mount -t tmpfs -o mode=755 tmpfs $own; done
mkdir -p /etc/libvirt/qemu
cp "$0/qemu.conf" /etc/libvirt/
exec libvirtd --config "$0/libvirtd.conf" --pid-file "$0/pid" >"$0/output" 2>&1`, dir)
	if err := daemon.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = daemon.Process.Signal(syscall.SIGTERM)
		_ = daemon.Wait()
		// It leaves its chains, empty, to whoever looks at all of the machine's rules.
		_, _ = acctest.Try(context.Background(), machine, "sh", "-c", "for family in ip ip6; do for table in filter nat mangle; do nft delete table $family $table 2>/dev/null; done; done; :")
	})
	uri = "qemu+unix:///system?socket=" + dir + "/libvirt-sock"
	acctest.Eventually(t, "libvirtd answers", func() bool {
		_, err := acctest.Try(t.Context(), "hypervisor", "virsh", "--connect", uri, "version")
		return err == nil
	})
	return uri
}

// guestBehindNAT has svc-1 run a stand-in for a guest on the bridge accnat0, with its sshd, by HTTP and by UDP at the ports 22, 80 and 5353.
const guestBehindNAT = `ip netns add accnat
ip link add accnatp0 type veth peer name eth0 netns accnat
ip link set accnatp0 master accnat0 up
ip netns add accbeside
ip link add accbesidep0 type veth peer name eth0 netns accbeside
ip link set accbesidep0 master accnat0 up
ip -n accbeside address add 10.81.0.52/24 dev eth0
ip -n accbeside link set eth0 up
ip -n accbeside route add default via 10.81.0.1
ip -n accnat link set lo up
ip -n accnat address add 10.81.0.51/24 dev eth0
ip -n accnat link set eth0 up
ip -n accnat route add default via 10.81.0.1
inside() {
  unit=$1; shift
  systemd-run --quiet --collect --unit=$unit nsenter --net=/run/netns/accnat -- "$@"
}
inside accnat-ssh /usr/sbin/sshd -D -p 22 -oPidFile=none
cat >/run/accnat-http <<'END'
#!/bin/sh
read -r request
printf 'HTTP/1.0 200 OK\r\n\r\nguest %s\n' "$SOCAT_PEERADDR"
END
printf '#!/bin/sh\nread -r question\necho "guest $SOCAT_PEERADDR"\n' >/run/accnat-udp
chmod 755 /run/accnat-*
inside accnat-http socat TCP-LISTEN:80,fork,reuseaddr EXEC:/run/accnat-http
inside accnat-udp socat UDP-RECVFROM:5353,fork EXEC:/run/accnat-udp
n=0
until nsenter --net=/run/netns/accnat ss -Hlnt | grep -q ':22 ' && nsenter --net=/run/netns/accnat ss -Hlnt | grep -q ':80 '; do n=$((n + 1)); [ $n -lt 100 ] || exit 1; sleep 0.1; done`

const removeGuestBehindNAT = "systemctl stop accnat-ssh accnat-http accnat-udp; rm -f /run/accnat-*; ip netns del accnat; ip netns del accbeside; ip link del accnatp0; ip link del accbesidep0; :"

// TestAccGuestsBehindNATAreReachedByTheirNames exposes a guest of a network with NAT of libvirt's, which refuses what comes to it from
// outside, in every way; by SSH, by HTTP and by UDP; and by the names that each side of the machine learns.
func TestAccGuestsBehindNATAreReachedByTheirNames(t *testing.T) {
	acctest.InSandbox(t)
	node := acctest.KnownServiceNodes(t, 1)[0]
	acctest.StopDaemons(t, "svc-1") // of which BIND takes port 53 of the network's bridge
	network := fmt.Sprintf(`
provider "virtcluster" {
  ssh         = { private_key_file = %q }
  hypervisors = { edge = { uri = %q } }
}
resource "virtcluster_network" "guests" {
  hypervisor = "edge"
  name       = "accnat"
  bridge     = "accnat0"
  mode       = "nat"
  cidr       = "10.81.0.0/24"
}
`, os.Getenv("SANDBOX_SSH_KEY"), libvirtIn(t, "svc-1"))
	s := acctest.NewState(t)
	s.DestroyAtEnd()
	s.Apply(network)
	t.Cleanup(func() { _, _ = acctest.Try(context.Background(), "svc-1", "sh", "-c", removeGuestBehindNAT) })
	acctest.On(t, "svc-1", "sh", "-ec", guestBehindNAT)
	try := func(from string, argv ...string) string {
		out, err := acctest.Try(t.Context(), from, argv...)
		if err != nil {
			return out + ": " + err.Error()
		}
		return out
	}
	if got := try("lan-client", "ping", "-c1", "-W1", "10.81.0.51"); !strings.Contains(got, "exit status") {
		t.Fatalf("the guest is reached without being exposed: %s", got)
	}
	s.Apply(network + fmt.Sprintf(`
locals { node = virtcluster_service_node.edge.id }
resource "virtcluster_service_node" "edge" {
  endpoint = "ssh://root@%s"
  services = ["bind", "haproxy", "nftables"]
}
resource "virtcluster_address_pool" "lan" {
  service_node = local.node
  name         = "lan"
  ranges       = ["10.19.41.240-10.19.41.249"]
}
resource "virtcluster_exposed_service" "bastion" {
  service_node      = local.node
  name              = "bastion"
  type              = "external_ip"
  pool              = virtcluster_address_pool.lan.id
  configure_address = true
  ports             = { ssh = { port = 22 }, dns = { port = 53, target_port = 5353, protocol = "udp" } }
  targets           = ["10.81.0.51"]
}
resource "virtcluster_exposed_service" "web" {
  service_node      = local.node
  name              = "web"
  type              = "load_balancer"
  address           = "10.19.41.251"
  configure_address = true
  ports             = { http = { port = 80 }, dns = { port = 53, target_port = 5353, protocol = "udp" } }
  targets           = ["10.81.0.51"]
}
resource "virtcluster_exposed_service" "inner" {
  service_node      = local.node
  name              = "inner"
  type              = "load_balancer"
  address           = "10.0.100.240"
  configure_address = true
  ports             = { http = { port = 80 } }
  targets           = ["10.81.0.51", "10.81.0.59"] # of which the second is nobody
}
resource "virtcluster_exposed_service" "node" {
  service_node = local.node
  name         = "node"
  type         = "node_port"
  masquerade   = false
  ports        = { http = { target_port = 80 }, dns = { target_port = 5353, protocol = "udp" } }
  targets      = ["10.81.0.51"]
}
resource "virtcluster_floating_address" "guest" {
  service_node = local.node
  address      = "10.19.41.250"
  target       = "10.81.0.51"
}
resource "virtcluster_dns_server" "edge" {
  service_node = local.node
  listen_on    = ["10.19.41.101", "10.0.100.101"]
}
resource "virtcluster_dns_view" "external" {
  service_node       = virtcluster_dns_server.edge.service_node
  name               = "external"
  order              = 10
  match_destinations = ["10.19.41.101"]
}
resource "virtcluster_dns_view" "internal" {
  service_node  = virtcluster_dns_server.edge.service_node
  name          = "internal"
  order         = 20
  match_clients = ["any"]
}
resource "virtcluster_dns_zone" "each" {
  for_each     = { (virtcluster_dns_view.external.name) = virtcluster_exposed_service.web.address, (virtcluster_dns_view.internal.name) = virtcluster_exposed_service.inner.address }
  service_node = local.node
  view         = each.key
  name         = "acc.example"
  name_servers = ["ns"]
  records = {
    ns  = { A = ["10.0.100.101"] }
    web = { A = [each.value] }
    ssh = { A = [virtcluster_exposed_service.bastion.address] }
  }
}
output "ports" { value = { for name, p in virtcluster_exposed_service.node.ports : name => p.port } }
`, node))
	s.Settled()
	if out := strings.TrimSpace(s.Run("output", "-json", "ports")); out != `{"dns":30000,"http":30000}` {
		t.Fatalf("the ports of every address are %s", out)
	}
	// Who asks for a name by its side's name server, and what answers there by HTTP.
	const byName = `a=$(dig +short +time=2 +tries=2 @"$1" web.acc.example) && echo "$a $(curl -sS --max-time 3 --resolve "web.acc.example:80:$a" http://web.acc.example/)"`
	inGuest := []string{"nsenter", "--net=/run/netns/accnat", "--"}
	secure := []string{"ssh", "-i", os.Getenv("SANDBOX_SSH_KEY"), "-o", "BatchMode=yes", "-o", "ConnectTimeout=5", "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null", "-o", "LogLevel=ERROR"}
	for _, c := range []struct {
		about, from string
		argv        []string
		want        string
	}{
		{"http by the external name", "lan-client", []string{"sh", "-c", byName, "sh", "10.19.41.101"}, "10.19.41.251 guest 10.81.0.1"},
		{"http by the internal name", "svc-1", append(inGuest, "sh", "-c", byName, "sh", "10.0.100.101"), "10.0.100.240 guest 10.81.0.1"},
		{"ssh at a pool's address", "lan-client", append(secure, "root@10.19.41.240", "set -- $SSH_CONNECTION; echo $1 $3:$4"), lan + " 10.81.0.51:22"},
		{"ssh at a floating address", "lan-client", append(secure, "root@10.19.41.250", "set -- $SSH_CONNECTION; echo $1 $3:$4"), lan + " 10.81.0.51:22"},
		{"http at a port of the machine", "lan-client", []string{"curl", "-sS", "--max-time", "3", "http://10.19.41.101:30000/"}, "guest " + lan},
		{"http at a floating address", "lan-client", []string{"curl", "-sS", "--max-time", "3", "http://10.19.41.250/"}, "guest " + lan},
		{"from the guest to itself, outside", "svc-1", append(inGuest, "curl", "-sS", "--max-time", "3", "http://10.19.41.250/"), "guest 10.81.0.1"},
		{"from beside the guest, outside", "svc-1", []string{"nsenter", "--net=/run/netns/accbeside", "--", "curl", "-sS", "--max-time", "3", "http://10.19.41.250/"}, "guest 10.81.0.1"},
	} {
		t.Run(c.about, func(t *testing.T) {
			if got := try(c.from, c.argv...); got != c.want {
				t.Errorf("%s: %q, want %q", c.about, got, c.want)
			}
		})
	}
	for address, about := range map[string]string{"10.19.41.240:53": "external_ip", "10.19.41.251:53": "load_balancer", "10.19.41.101:30000": "node_port", "10.19.41.250:5353": "a floating address"} {
		t.Run(address, func(t *testing.T) {
			if got, err := acctest.Ask(t, "lan-client", "udp", address); got != "guest "+lan {
				t.Errorf("udp by %s: %q %v", about, got, err)
			}
		})
	}
	acctest.Eventually(t, "HAProxy knows that nobody answers at 10.81.0.59", func() bool {
		return strings.Contains(acctest.On(t, "svc-1", "sh", "-c", `echo show stat | socat - UNIX-CONNECT:/run/haproxy/admin.sock | grep -E "^exposed-inner.*DOWN" || :`), "DOWN")
	})
	// What the guest says outside comes from its floating address, not from where libvirt's NAT has it come from.
	l, err := net.Listen("tcp", "10.19.41.10:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	heard := make(chan string, 1)
	go func() {
		if c, err := l.Accept(); err == nil {
			heard <- c.RemoteAddr().(*net.TCPAddr).IP.String()
			_ = c.Close()
		}
	}()
	if got := try("svc-1", append(inGuest, "socat", "-T3", "-", "TCP:"+l.Addr().String()+",connect-timeout=3")...); len(heard) == 0 || <-heard != "10.19.41.250" {
		t.Errorf("the guest does not speak from its floating address: %s", got)
	}
	// Where bridged packets are filtered the guest's port has to send its own back, and one that was made anew does not at first.
	if acctest.On(t, "svc-1", "sh", "-c", "cat /proc/sys/net/bridge/bridge-nf-call-iptables 2>/dev/null || :") == "1" {
		acctest.On(t, "svc-1", "bridge", "link", "set", "dev", "accnatp0", "hairpin", "off")
		if out := s.Run("plan"); !strings.Contains(out, "serving") {
			t.Errorf("a guest that does not reach itself does not show:\n%s", out)
		}
		s.Run("apply", "-auto-approve")
		if out := acctest.On(t, "svc-1", "bridge", "-d", "link", "show", "dev", "accnatp0"); !strings.Contains(out, "hairpin on") {
			t.Errorf("the guest does not reach itself: %s", out)
		}
	}
	s.Apply(network)
	if out := acctest.On(t, "svc-1", "bridge", "-d", "link", "show", "dev", "accnatp0"); !strings.Contains(out, "hairpin off") {
		t.Errorf("the guest's port is not given back: %s", out)
	}
	if got := try("lan-client", "curl", "-sS", "--max-time", "1", "http://10.19.41.250/"); !strings.Contains(got, "exit status") {
		t.Errorf("the guest is still reached: %s", got)
	}
}
