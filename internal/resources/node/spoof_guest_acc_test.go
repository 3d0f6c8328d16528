package node_test

import (
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/terraform"
	"golang.org/x/sys/unix"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// claims has the guest take addresses and send from them: an ARP reply, which needs no question, and a packet to
// everybody, which needs no neighbour. Then it does so from another MAC address. A longer packet from its own address
// ends it: as a card's frames stay in order, what has not arrived by then never will.
func claims(v4 []string, v6, mac, forged string) string {
	script := "set -e; b=/bin/busybox\necho 0 >/proc/sys/net/ipv6/conf/eth0/accept_dad\n$b ip -6 addr replace " + v6 + "/64 dev eth0\n"
	for _, a := range v4 {
		script += fmt.Sprintf("$b ip addr replace %[1]s/24 dev eth0\n$b arping -A -c1 -I eth0 -s %[1]s %[1]s &\n$b ping -c1 -W1 -I %[1]s 10.77.0.255 &\n", a)
	}
	return script + fmt.Sprintf(`
$b ping -6 -c1 -W1 -I %s ff02::1%%eth0 &
wait
$b ip link set dev eth0 address %s
$b arping -A -c1 -I eth0 -s 10.77.0.1 10.77.0.1 || true
$b ip link set dev eth0 address %s
$b ping -c1 -W1 -s %d -I 10.77.0.1 10.77.0.255 || true
`, v6, forged, mac, lastSize)
}

// lastSize is how much the last packet carries, by which it is known.
const lastSize = 777

// listen opens a socket that sees every frame that a bridge passes on.
func listen(t *testing.T, bridge string) int {
	t.Helper()
	device, err := net.InterfaceByName(bridge)
	if err != nil {
		t.Fatal(err)
	}
	everything := binary.BigEndian.Uint16(binary.NativeEndian.AppendUint16(nil, unix.ETH_P_ALL)) // in the network's order
	socket, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, int(everything))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(socket) })
	if err := unix.Bind(socket, &unix.SockaddrLinklayer{Protocol: everything, Ifindex: device.Index}); err != nil {
		t.Fatal(err)
	}
	if err := unix.SetsockoptPacketMreq(socket, unix.SOL_PACKET, unix.PACKET_ADD_MEMBERSHIP, &unix.PacketMreq{Ifindex: int32(device.Index), Type: unix.PACKET_MR_PROMISC}); err != nil {
		t.Fatal(err)
	}
	if err := unix.SetsockoptTimeval(socket, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: 30}); err != nil {
		t.Fatal(err)
	}
	return socket
}

// senders reads frames up to the last one, and says who sent the guest's: "arp 10.77.0.1", "ip 10.77.0.1", "mac 52:…".
func senders(t *testing.T, socket int, macs ...string) []string {
	t.Helper()
	var all []string
	frame := make([]byte, 65536)
	for {
		n, err := unix.Read(socket, frame)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			t.Fatalf("the guest's last packet does not come: %v; there were %v", err, all)
		}
		if mac := net.HardwareAddr(frame[6:12]).String(); slices.Contains(macs, mac) {
			sender := sender(frame[:n])
			if sender == "ip 10.77.0.1" && binary.BigEndian.Uint16(frame[16:]) == 28+lastSize {
				slices.Sort(all)
				return slices.Compact(all)
			}
			all = append(all, "mac "+mac, sender)
		}
	}
}

// sender is who an Ethernet frame says that it is from.
func sender(frame []byte) string {
	kind, at, length := "", 0, net.IPv4len
	switch binary.BigEndian.Uint16(frame[12:]) {
	case unix.ETH_P_ARP:
		kind, at = "arp", 28
	case unix.ETH_P_IP:
		kind, at = "ip", 26
	case unix.ETH_P_IPV6:
		kind, at, length = "ipv6", 22, net.IPv6len
	}
	if len(frame) < at+length {
		return "?"
	}
	a, _ := netip.AddrFromSlice(frame[at : at+length])
	return kind + " " + a.String()
}

func TestAccNodeWhoseGuestSpoofsIsNotHeard(t *testing.T) {
	_, network, image := stage(t, "nodeclaims")
	const mac, forged = "52:54:00:77:00:01", "52:54:00:66:66:66"
	own := []string{"arp 10.77.0.1", "arp 10.77.0.100", "arp 10.77.9.5", "ip 10.77.0.1", "ip 10.77.0.100", "ip 10.77.9.5", "mac " + mac}
	added := []string{"arp 10.77.0.66", "ip 10.77.0.66", "ipv6 fd00:77::66"}
	others := []string{"arp 10.77.0.67", "ip 10.77.0.67", "mac " + forged}
	node := func(guard string) string {
		return config(image, network, "  wait_for = \"guest_agent\"\n  network_interfaces = [{ network = \"NET\", mac = \""+mac+"\", ip = \"10.77.0.1\""+guard+" }]\n")
	}
	const guarded = `, port_security = true, allowed_addresses = ["10.77.0.100", "10.77.9.0/24"]`
	more := strings.Replace(guarded, "[", `["10.77.0.66", "fd00:77::66", `, 1)
	heard := func(may ...string) resource.TestCheckFunc {
		return func(*terraform.State) error {
			socket := listen(t, network)
			if _, err := acctest.InGuest(t.Context(), "acc", claims([]string{"10.77.0.1", "10.77.0.100", "10.77.9.5", "10.77.0.66", "10.77.0.67"}, "fd00:77::66", mac, forged)); err != nil {
				t.Fatal(err)
			}
			got := senders(t, socket, mac, forged)
			for _, s := range slices.Concat(own, added, others) {
				if want := slices.Contains(own, s) || slices.Contains(may, s); slices.Contains(got, s) != want {
					t.Errorf("the guest, which may be %v, was heard as %s: %t, in %v", may, s, !want, got)
				}
			}
			// Who asks for the addresses that the guest has taken finds those that it may have.
			acctest.On(t, "hypervisor", "ip", "neigh", "flush", "dev", network)
			for address, answered := range map[string]bool{"10.77.0.100": true, "10.77.0.66": slices.Contains(may, "ip 10.77.0.66")} {
				t.Run(address, func(t *testing.T) {
					patience := map[bool]string{true: "10", false: "1"}[answered]
					out, err := exec.Command("ping", "-c1", "-W"+patience, address).CombinedOutput()
					if (err == nil) != answered {
						t.Errorf("%s, of a guest that may be %v, answered: %t, want %t: %s", address, may, err == nil, answered, strings.TrimSpace(string(out)))
					}
				})
			}
			return nil
		}
	}
	same := running(t)
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		Steps: []resource.TestStep{
			{Config: node(guarded), Check: resource.ComposeTestCheckFunc(same, heard())},
			{Config: node(", port_security = false"), ConfigPlanChecks: updates(), Check: resource.ComposeTestCheckFunc(same, heard(slices.Concat(added, others)...))},
			{Config: node(more), ConfigPlanChecks: updates(), Check: resource.ComposeTestCheckFunc(same, heard(added...))},
			{Config: node(guarded), ConfigPlanChecks: updates(), Check: resource.ComposeTestCheckFunc(same, heard())},
		},
	})
}
