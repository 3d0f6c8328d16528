package faults

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

const console = "/var/log/libvirt/vlan-guest.log"

// guestLeaves are the scripts that leave the guest's eth0 and eth1, which systemd-networkd has by files of cloud-init's, to another
// manager; of eth2 only NetworkManager and netplan hear.
var guestLeaves = map[string]string{
	"systemd-networkd": ":",
	"runtime":          ":",
	// The sandbox's image masks netplan's part in the machine's start.
	"netplan": `rm -f /etc/systemd/system-generators/netplan
cat >/etc/netplan/50-lan.yaml <<END
network:
  version: 2
  ethernets:
    eth0: { addresses: [10.79.0.5/24], link-local: [] }
    eth1: { addresses: [10.79.0.6/25], link-local: [] }
    eth2: { link-local: [] }
END
chmod 600 /etc/netplan/50-lan.yaml
netplan generate; networkctl reload; networkctl reconfigure eth0 eth1 eth2`,
	// eth3 is none of NetworkManager's, which would have the machine's start wait until DHCP on it has failed.
	"networkmanager": `printf '[main]\nno-auto-default=*\n' >/etc/NetworkManager/conf.d/lan.conf
networkctl reload; sleep 1; ip address flush dev eth0; ip address flush dev eth1
for n in 0 1 2; do
  method=manual
  [ $n != 2 ] || method=disabled
  file=/etc/NetworkManager/system-connections/lan$n.nmconnection
  printf '[connection]\nid=lan%s\ntype=ethernet\ninterface-name=eth%s\n[ipv6]\nmethod=disabled\n[ipv4]\nmethod=%s\n' $n $n $method >$file
  chmod 600 $file
done
echo address1=10.79.0.5/24 >>/etc/NetworkManager/system-connections/lan0.nmconnection
echo address1=10.79.0.6/25 >>/etc/NetworkManager/system-connections/lan1.nmconnection
systemctl enable --now NetworkManager 2>/dev/null`,
	"ifupdown": `networkctl reload; sleep 1; ip address flush dev eth0; ip address flush dev eth1
printf 'auto eth0 eth1\niface eth0 inet static\n  address 10.79.0.5/24\niface eth1 inet static\n  address 10.79.0.6/25\n' >/etc/network/interfaces.d/lan
systemctl enable networking 2>/dev/null
ifup eth0 eth1`,
}

// lookAtStart prints who may have kept the guest's network from coming up.
const lookAtStart = `systemctl list-jobs --no-pager; systemctl --failed --no-pager; networkctl list --no-legend --no-pager; nmcli device
tail -n +1 /etc/netplan/* /run/systemd/network/*; ls -la /etc/systemd/network /lib/systemd/system-generators
journalctl --no-pager -b | grep -i 'netplan\|networkd\|NetworkManager\|ifup\|virtcluster' | tail -n 60; :`

// plugTap puts a tap into brvlan as a virtual machine's: with a VLAN of its own, where the bridge keeps them apart, and isolated. The
// sandbox's image makes no devices that a module would be loaded for.
const plugTap = `[ -e /dev/net/tun ] || { modprobe tun; mkdir -p /dev/net; mknod /dev/net/tun c 10 200; }
ip tuntap add dev acctap0 mode tap
ip link set dev acctap0 master brvlan up
bridge link set dev acctap0 isolated on
bridge vlan del dev acctap0 vid 1
bridge vlan add dev acctap0 vid 30 pvid untagged
bridge vlan add dev acctap0 vid 40-42`

const lookAtTap = "bridge vlan show dev acctap0; bridge -d link show dev acctap0 | grep -o 'master [^ ]*\\|isolated [a-z]*'"

// guestTakesBack leaves the cards to systemd-networkd again.
const guestTakesBack = `systemctl disable --now NetworkManager networking 2>/dev/null
rm -f /etc/NetworkManager/conf.d/lan.conf /etc/NetworkManager/system-connections/lan*.nmconnection /etc/network/interfaces.d/lan /etc/netplan/50-lan.yaml /run/network/ifstate*
netplan generate
mv /var/tmp/10-cloud-init-eth*.network /etc/systemd/network/
for n in 0 1; do ip address flush dev eth$n; done
networkctl reload; networkctl reconfigure eth0 eth1 eth2`

// vlanGuest configures a Debian machine with four cards on one network: eth0 with an address, eth1 with the one that its bridge takes
// over, eth2 for the bond, and eth3 for whoever answers on the VLAN.
func vlanGuest(t *testing.T) string {
	t.Helper()
	image := acctest.DebianImage(t, "vlanguest")
	return acctest.Provider() + fmt.Sprintf(`
resource "virtcluster_network" "lan" {
  name = "vlanlan"
  mode = "isolated"
  cidr = "10.79.0.0/24"
}
resource "virtcluster_node" "guest" {
  name             = "vlan-guest"
  type             = "qemu"
  memory_mib       = 768
  vcpus            = 2
  shutdown_timeout = "0s"
  root_disk        = { image = %q }
  network_interfaces = [
    { network = virtcluster_network.lan.name, addresses = ["10.79.0.5/24"] },
    { network = virtcluster_network.lan.name, addresses = ["10.79.0.6/25"] },
    { network = virtcluster_network.lan.name },
    { network = virtcluster_network.lan.name },
  ]
  console    = { log_file = "/var/log/libvirt/vlan-guest.log" }
  cloud_init = { user_data = "#cloud-config\n{}\n" }
}
`, image)
}

// inside has vlanGuest's machine run a script.
func inside(t *testing.T, script string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	out, err := acctest.InGuest(ctx, "vlan-guest", script)
	if err != nil {
		t.Fatalf("%s: %v: %s", script, err, out)
	}
	return out
}

// guestIsUp waits until vlanGuest's machine has addresses, on whatever devices, and nothing in it is still starting.
func guestIsUp(t *testing.T, addresses ...string) {
	t.Helper()
	for began := time.Now(); ; time.Sleep(time.Second) {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		out, err := acctest.InGuest(ctx, "vlan-guest", "systemctl is-system-running; ip -br address; exit 0")
		cancel()
		has := func(text string) bool { return strings.Contains(out, text) }
		if !slices.ContainsFunc(addresses, func(address string) bool { return !has(address) }) && err == nil && !has("starting") && !has("initializing") {
			return
		}
		if time.Since(began) > guestBoots {
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			why, _ := acctest.InGuest(ctx, "vlan-guest", lookAtStart)
			log, _ := os.ReadFile(console)
			t.Fatalf("the guest does not come up: %v: %s\n%s\n%s", err, out, why, log)
		}
	}
}

// startAgain stops and starts vlanGuest's machine. The reset button would do, but for an emulator that goes on looking for the old
// kernel's code in what the boot loader writes: that took it more than five minutes.
func startAgain(t *testing.T) {
	t.Helper()
	inside(t, "sync")
	acctest.Virsh(t, "destroy", "vlan-guest")
	acctest.Virsh(t, "start", "vlan-guest")
}

// The sandbox's own kernel has neither VLANs nor bonds. A bridge of a VLAN and one of a bond are made, outlive a start of the machine,
// are changed and given back, whatever keeps them.
func TestAccBridgeOfAVLANAndOfABond(t *testing.T) {
	acctest.InSandbox(t)
	guest := vlanGuest(t)
	state := acctest.NewState(t)
	state.Apply(guest)
	state.DestroyAtEnd()
	up := func(t *testing.T) { t.Helper(); guestIsUp(t, "10.79.0.5/24", "10.79.0.6/25") }
	up(t)
	inside(t, "rm -rf /etc/netplan/*; cloud-init status --wait >/dev/null 2>&1; true")
	// NetworkManager gives connected routes metrics in the order in which it makes them.
	const look = "ip -br -4 address | awk '{ $1 = $1 } 1'; ip route | sed 's/ metric 10[0-9]//'; find /etc/systemd/network /etc/NetworkManager/system-connections /etc/network /etc/netplan | sort; " +
		"find /etc/systemd/system -name 'virtcluster*'; find /var/lib/virtcluster -type f 2>/dev/null; true"
	const addresses = "ip -br -4 address | sed 's/@[^ ]*//' | awk '{ $1 = $1 } 1' | sort"
	bridges := func(backend string) string {
		wanted, filtering := "auto", backend != "netplan" // which has no word for it
		if backend == "runtime" {
			wanted = backend
		}
		return guest + fmt.Sprintf(`
resource "virtcluster_external_bridge" "vlan" {
  name           = "brvlan"
  host           = "qemu-ga:///${virtcluster_node.guest.name}"
  interfaces     = [{ interface = "eth0", vlan = 10 }]
  addresses      = ["10.80.0.1/24"]
  vlan_filtering = %[2]t
  backend        = %[1]q

  rollback_timeout = 300 # emulated
}
resource "virtcluster_external_bridge" "bond" {
  name       = "brbond"
  host       = "qemu-ga:///${virtcluster_node.guest.name}"
  interfaces = [{ interface = "bond0", bond = { interfaces = ["eth1", "eth2"], mode = "active-backup" } }]
  backend    = %[1]q

  rollback_timeout = 300
}
output "backends" {
  value = "${virtcluster_external_bridge.vlan.active_backend} ${virtcluster_external_bridge.bond.active_backend}"
}
`, wanted, filtering)
	}
	// Who answers on the VLAN, behind a card of its own.
	peer := func(t *testing.T) {
		t.Helper()
		inside(t, "ip netns add peer; ip link set eth3 netns peer; ip -n peer link set eth3 up; ip -n peer link add link eth3 name v10 type vlan id 10; ip -n peer address add 10.80.0.2/24 dev v10; ip -n peer link set v10 up")
	}
	peer(t)
	works := func(t *testing.T, backend string) {
		t.Helper()
		now := inside(t, "ip -d link; ip -br -4 address")
		for _, want := range []string{"vlan protocol 802.1Q id 10", "bond mode active-backup", "master brvlan", "master brbond", "master bond0"} {
			if !strings.Contains(now, want) {
				t.Fatalf("%s: no %q in\n%s", backend, want, now)
			}
		}
		if backend != "netplan" && !strings.Contains(now, "vlan_filtering 1") {
			t.Errorf("%s: no VLAN filtering in\n%s", backend, now)
		}
		inside(t, "ping -c 2 -i 0.3 -W 5 10.80.0.2")
		for _, card := range []string{"eth1", "eth2"} {
			inside(t, "ip link set dev "+card+" down; sleep 1")
			acctest.Eventually(t, "the machine answers with "+card+" down", func() bool {
				_, err := acctest.Try(t.Context(), "hypervisor", "ping", "-c", "1", "-W", "2", "10.79.0.6")
				return err == nil
			})
			inside(t, "ip link set dev "+card+" up; sleep 1")
		}
	}
	for _, backend := range []string{"systemd-networkd", "networkmanager", "netplan", "ifupdown", "runtime"} {
		t.Run(backend, func(t *testing.T) {
			began, state := time.Now(), state.For(t)
			t.Cleanup(func() { // so that what fails with one says nothing of the others
				if !t.Failed() {
					return
				}
				state.Write(guest)
				if out, err := state.Try("apply", "-auto-approve"); err != nil {
					t.Logf("%v: %s", err, out)
				}
				ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
				defer cancel()
				_, _ = acctest.InGuest(ctx, "vlan-guest", "ip link del dev acctap0; "+guestTakesBack)
			})
			inside(t, "cp /etc/systemd/network/10-cloud-init-eth[012].network /var/tmp")
			if backend != "systemd-networkd" && backend != "runtime" {
				inside(t, "rm /etc/systemd/network/10-cloud-init-eth[012].network")
			}
			inside(t, guestLeaves[backend])
			up(t)
			before := inside(t, look)
			state.Apply(bridges(backend))
			if out := state.Run("output", "backends"); !strings.Contains(out, fmt.Sprintf(`"%s %[1]s"`, backend)) {
				t.Fatalf("%s manages eth0 and eth1, and the bridges are kept by %s", backend, out)
			}
			works(t, backend)
			state.Settled()
			if backend != "runtime" {
				had := inside(t, addresses)
				startAgain(t)
				up(t)
				peer(t)
				works(t, backend)
				if now := inside(t, addresses); now != had {
					t.Errorf("%s: after a reboot the guest has\n%s\nbefore:\n%s", backend, now, had)
				}
				state.Settled()
				state.Write(strings.Replace(bridges(backend), "vlan = 10", "vlan = 4095", 1))
				state.Refused([]string{"Invalid VLAN id", "1 to 4094"}, "plan")
				inside(t, plugTap)
				had = inside(t, lookAtTap)
				state.Write(strings.Replace(bridges(backend), "vlan = 10", "vlan = 20", 1))
				state.Run("apply", "-auto-approve")
				if now := inside(t, lookAtTap); now != had || !strings.Contains(now, "brvlan") {
					t.Errorf("%s: a virtual machine's port has\n%s\nbefore:\n%s", backend, now, had)
				}
				inside(t, "ip link del dev acctap0")
				if now := inside(t, "ip -d link"); !strings.Contains(now, "802.1Q id 20") || strings.Contains(now, "802.1Q id 10") {
					t.Errorf("%s: another VLAN:\n%s", backend, now)
				}
			}
			state.Apply(guest)
			after := inside(t, look)
			for until := time.Now().Add(30 * time.Second); after != before && time.Now().Before(until); after = inside(t, look) {
				time.Sleep(time.Second)
			}
			if after != before {
				t.Errorf("%s left:\n%s\nbefore:\n%s", backend, after, before)
			}
			inside(t, guestTakesBack)
			t.Logf("%s: %s", backend, time.Since(began).Round(time.Second))
		})
	}
}
