package acctest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// freeMachines are the sandbox's service nodes that no test has taken.
var freeMachines = sync.OnceValue(func() chan string {
	free := make(chan string, len(strings.Fields(os.Getenv("SANDBOX_SERVICE_NODES"))))
	for n := range cap(free) {
		free <- fmt.Sprintf("svc-%d", n+1)
	}
	return free
})

// TakeMachine runs the test beside others that take a machine, such as "svc-2", and returns the one that is its own until it ends:
// tests of networks wait most of the time, for managers, reboots and timeouts.
func TakeMachine(t *testing.T) string {
	t.Helper()
	ServiceNodes(t, 1)
	t.Parallel()
	machine := <-freeMachines()
	t.Cleanup(func() { freeMachines() <- machine })
	knowHostKeys(t, Address(machine))
	return machine
}

// OnLAN is an address of a machine, such as "svc-2", on the LAN, where svc-1 would have the one that ends in first: 101 for those that
// the machines have, another number for further ones.
func OnLAN(machine string, first int) string {
	n, _ := strconv.Atoi(strings.TrimPrefix(machine, "svc-"))
	return fmt.Sprintf("10.19.41.%d", first+n-1)
}

// Address is the one of a machine, such as "svc-2" or "hv-1", on the network of the service nodes.
func Address(machine string) string {
	if number, hypervisor := strings.CutPrefix(machine, "hv-"); hypervisor {
		return "10.0.100.1" + number
	}
	return "10.0.100.10" + strings.TrimPrefix(machine, "svc-")
}

// Endpoint is what a machine, such as "svc-2", is reached by.
func Endpoint(machine string) string { return "ssh://root@" + Address(machine) }

// awaitSteps defines, for scripts that hand a machine's eth1 from one manager to another, the commands await (WHAT CONDITION) and release.
// Managers follow their files in their own time, and one that lets go of a device late takes from it what the next one gave. What is
// waited for in vain ends the script, which says then what the machine has.
const awaitSteps = `await() {
  n=0
  until eval "$2"; do
    n=$((n + 1))
    if [ $n -gt 900 ]; then
      echo "waited 90 s in vain until $1:"
      ip -br address; ip route; networkctl list --no-legend --no-pager; nmcli device 2>&1; cat /run/network/ifstate; tail -n +1 /etc/network/interfaces.d/*
      exit 1
    fi
    sleep 0.1
  done
}
has_address() { ip -br -4 address show dev eth1 | grep -qF " $address/24"; }
release() {
  rm /etc/systemd/network/10-eth1.network
  networkctl reload
  await "systemd-networkd has let go of eth1" "networkctl list --no-legend --no-pager eth1 | grep -qw unmanaged"
  ip address flush dev eth1
}
`

// leaveTo are the scripts that leave a machine's eth1 to each network manager: its address is $address/24, and where a person
// would write one, it has a route to 10.77.0.0/16.
var leaveTo = map[string]string{
	"systemd-networkd": ":",
	"networkmanager": `release
cat >/etc/NetworkManager/system-connections/lan.nmconnection <<END
[connection]
id=lan
uuid=0ba2d1c0-6f0c-4d4e-a05f-8b7b8f6e1d11
type=ethernet
interface-name=eth1
[ipv4]
method=manual
address1=$address/24
route1=10.77.0.0/16,10.19.41.254
[ipv6]
method=disabled
END
chmod 600 /etc/NetworkManager/system-connections/lan.nmconnection
systemctl enable --now NetworkManager 2>/dev/null`,
	"ifupdown": `release
cat >/etc/network/interfaces.d/lan <<END
# The LAN, as an administrator wrote it.
auto lo eth1
iface eth1 inet static
  address $address/24
  up ip route add 10.77.0.0/16 via 10.19.41.254
END
systemctl enable networking 2>/dev/null
ifup eth1`,
	"netplan": `rm /etc/systemd/network/10-eth1.network
cat >/etc/netplan/50-lan.yaml <<END
network:
  version: 2
  ethernets:
    eth1:
      addresses: [$address/24]
      link-local: []
      routes: [{ to: 10.77.0.0/16, via: 10.19.41.254 }]
END
chmod 600 /etc/netplan/50-lan.yaml
netplan generate; ip address flush dev eth1; networkctl reload
await "netplan's eth1 is there" "networkctl list --no-legend --no-pager eth1 | grep -qw configured && has_address && ip route show 10.77.0.0/16 | grep -q eth1"`,
}

// giveBack makes the machine's eth1 what the sandbox made it. ifupdown remembers what it has set up, and would not do it a second
// time: it takes it down while it knows how.
const giveBack = `! grep -q "^eth1=" /run/network/ifstate 2>/dev/null || ifdown --force eth1
systemctl disable --now NetworkManager networking 2>/dev/null
rm -f /etc/NetworkManager/system-connections/lan.nmconnection /etc/network/interfaces.d/lan /etc/netplan/50-lan.yaml
! command -v netplan >/dev/null || netplan generate
cp /var/tmp/10-eth1.network /etc/systemd/network/
ip address flush dev eth1; networkctl reload; networkctl reconfigure eth1
await "systemd-networkd has eth1 again" "networkctl list --no-legend --no-pager eth1 | grep -qw configured && has_address"`

// LeaveToManager leaves the eth1 of a machine, such as "svc-1", which has its address on the LAN, to a network manager until the test
// ends. Its MTU is what a start gives it, so that a reboot changes nothing that no file says.
func LeaveToManager(t *testing.T, machine, backend string) {
	t.Helper()
	steps := "address=" + OnLAN(machine, 101) + "\n" + awaitSteps
	On(t, machine, "sh", "-c", "cp /etc/systemd/network/10-eth1.network /var/tmp; ip link set dev eth1 mtu 1500")
	t.Cleanup(func() {
		if out, err := Try(context.Background(), machine, "sh", "-c", steps+giveBack); err != nil {
			t.Errorf("eth1 of %s is not given back: %v: %s", machine, err, out)
		}
	})
	On(t, machine, "sh", "-c", steps+leaveTo[backend]+"\nawait '"+backend+" has set eth1 up' has_address")
}

// KnownServiceNodes is ServiceNodes for tests that reach them by SSH outside of a virtcluster_service_node: their host keys are
// known afterwards, by their addresses on the LAN too.
func KnownServiceNodes(t *testing.T, n int) []string {
	t.Helper()
	addresses := ServiceNodes(t, n)
	knowHostKeys(t, addresses...)
	return addresses
}

// StopDaemons ends, on a machine, what tests before had made ready to serve, also after its next start: daemons that listen on addresses of
// networks that are to have daemons of their own.
func StopDaemons(t *testing.T, machine string) {
	t.Helper()
	On(t, machine, "systemctl", "disable", "--quiet", "--now", "named.service", "haproxy.service", "keepalived.service")
}

// Hypervisors returns the names of n of the sandbox's further hypervisors, "hv-1" and on, whose host keys are known afterwards.
func Hypervisors(t *testing.T, n int) (machines []string) {
	t.Helper()
	InSandbox(t)
	if uris := strings.Fields(os.Getenv("SANDBOX_HYPERVISORS")); len(uris) < n {
		t.Fatalf("this test takes %d further hypervisors: run it by test/sandbox/enter --hypervisors %d", n, n)
	}
	for number := range n {
		machines = append(machines, fmt.Sprintf("hv-%d", number+1))
		knowHostKeys(t, Address(machines[number]))
	}
	return machines
}

// knowHostKeys adds the host keys of service nodes to the known ones, by their addresses on the LAN too.
func knowHostKeys(t *testing.T, addresses ...string) {
	t.Helper()
	On(t, "hypervisor", append([]string{"sh", "-c", `for try in $(seq 60); do
  keys=$(ssh-keyscan -t ed25519 "$@") && printf '%s\n' "$keys" | sed 's/^10\.0\.100\.\([0-9]*\) /10.0.100.\1,10.19.41.\1 /' >>~/.ssh/known_hosts && exit
  sleep 1
done
exit 1`, "sh"}, addresses...)...)
}

// lookAtNetwork prints what a machine has of addresses, routes, bridges and files that configure them. What ip says behind an @ is
// the index of a device in another namespace, or the name of whatever device has it here.
const lookAtNetwork = `ip -br -4 address | sed 's/@[^ ]*//' | awk '{ $1 = $1 } 1'; ip route; bridge link | sed 's/^[0-9]*: //; s/@[^:]*//'
for device in /sys/class/net/eth*; do echo "${device##*/} has mtu $(cat "$device/mtu")"; done
find /etc/systemd/network /etc/NetworkManager /etc/network /etc/netplan /etc/systemd/resolved.conf.d -type f 2>/dev/null | sort | xargs md5sum
find /etc/systemd/network /etc/systemd/resolved.conf.d -mindepth 1 -type d 2>/dev/null; find /etc/systemd/system -name 'virtcluster*'
find /var/lib/virtcluster /run/virtcluster -type f ! -name '*.holder' ! -name '*.lock' ! -name keepalived-dump 2>/dev/null || :`

// NetworkOf is what a machine has of addresses and routes, the files that configure them, and what this provider left there: for
// comparison.
func NetworkOf(t *testing.T, machine string) string {
	t.Helper()
	return On(t, machine, "sh", "-c", lookAtNetwork)
}

// ServeDHCP gives out addresses from 10.19.41.150 to .159 on the LAN until the test ends, with leases that are to be renewed after
// six seconds, and returns the server's log. More options are dnsmasq's.
func ServeDHCP(t *testing.T, more ...string) (log string) {
	t.Helper()
	log = filepath.Join(t.TempDir(), "dhcp.log")
	// Nobody else has these addresses; and an answer at once, as many servers give it, finds who asks twice.
	server := exec.Command("dnsmasq", append(more, "--keep-in-foreground", "--conf-file=/dev/null", "--port=0", "--interface=eno1", "--bind-interfaces", "--user=root", "--pid-file=", "--no-ping",
		"--dhcp-range=10.19.41.150,10.19.41.159,2m", "--dhcp-option=option:T1,6", "--dhcp-option=option:T2,90", "--dhcp-option=option:router",
		"--dhcp-leasefile="+filepath.Join(t.TempDir(), "leases"), "--log-facility="+log)...)
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait()
	})
	return log
}
