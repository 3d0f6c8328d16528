package network_test

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/terraform"
	"golang.org/x/sys/unix"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// DHCP's codes (RFC 2132) that the test knows.
const (
	optRouter, optHostname, optMTU, optNTP, optLease, optType, optAsked, optEnd = 3, 12, 26, 42, 51, 53, 55, 255

	discover, offer = 1, 2
)

// cookie begins the options of a DHCP message, after 236 bytes of fixed fields (RFC 2131, section 2).
const cookie = 0x63825363

// machine plugs a machine of its own network namespace into the bridge, and returns that namespace's path.
func machine(t *testing.T) string {
	t.Helper()
	remove := func() { _ = exec.Command("ip", "netns", "del", "accdhcp").Run() }
	t.Cleanup(remove)
	shell(t, "ip", "link", "set", "accbr0", "type", "bridge", "stp_state", "0") // which would keep the port shut at first
	shell(t, "ip", "netns", "add", "accdhcp")
	shell(t, "ip", "link", "add", "accport", "master", "accbr0", "up", "type", "veth", "peer", "name", "eth0", "netns", "accdhcp")
	shell(t, "ip", "-n", "accdhcp", "link", "set", "eth0", "up")
	return "/run/netns/accdhcp"
}

// listen opens a DHCP client's socket in a network namespace.
func listen(namespace string) (net.PacketConn, error) {
	type result struct {
		conn net.PacketConn
		err  error
	}
	done := make(chan result)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread dies with the goroutine
		f, err := os.Open(namespace)
		if err == nil {
			defer func() { _ = f.Close() }()
			err = unix.Setns(int(f.Fd()), unix.CLONE_NEWNET)
		}
		if err != nil {
			done <- result{nil, err}
			return
		}
		config := net.ListenConfig{Control: func(_, _ string, raw syscall.RawConn) (err error) {
			outer := raw.Control(func(fd uintptr) {
				err = errors.Join(unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_BROADCAST, 1), unix.BindToDevice(int(fd), "eth0"))
			})
			return errors.Join(err, outer)
		}}
		conn, err := config.ListenPacket(context.Background(), "udp4", ":68")
		done <- result{conn, err}
	}()
	r := <-done
	return r.conn, r.err
}

// ask sends DHCPDISCOVER until there is an offer, and returns the offered address and the options.
func ask(t *testing.T, conn net.PacketConn, mac string) (netip.Addr, map[byte][]byte) {
	t.Helper()
	hardware, err := net.ParseMAC(mac)
	if err != nil {
		t.Fatal(err)
	}
	message := make([]byte, 240, 300)
	message[0], message[1], message[2] = 1, 1, 6 // a request by Ethernet
	copy(message[4:8], hardware[2:])             // the exchange's number
	message[10] = 0x80                           // answer by broadcast
	copy(message[28:], hardware)
	binary.BigEndian.PutUint32(message[236:], cookie)
	message = append(message, optType, 1, discover, optAsked, 5, optRouter, optHostname, optMTU, optNTP, optLease, optEnd)
	message = append(message, make([]byte, 300-len(message))...) // the least that some servers take
	answer := make([]byte, 1500)
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		if _, err := conn.WriteTo(message, &net.UDPAddr{IP: net.IPv4bcast, Port: 67}); err != nil && !errors.Is(err, unix.ENETUNREACH) {
			t.Fatal(err)
		}
		_ = conn.SetReadDeadline(time.Now().Add(2 * time.Second))
		n, _, err := conn.ReadFrom(answer)
		if err != nil || n < 240 || string(answer[4:8]) != string(message[4:8]) {
			continue
		}
		if options := parse(answer[240:n]); len(options[optType]) == 1 && options[optType][0] == offer {
			return netip.AddrFrom4([4]byte(answer[16:20])), options
		}
	}
	t.Fatalf("nothing is offered to %s", mac)
	return netip.Addr{}, nil
}

func parse(text []byte) map[byte][]byte {
	options := map[byte][]byte{}
	for len(text) > 1 && text[0] != optEnd {
		if text[0] == 0 {
			text = text[1:]
			continue
		}
		length := int(text[1])
		if len(text) < 2+length {
			break
		}
		options[text[0]] = text[2 : 2+length]
		text = text[2+length:]
	}
	return options
}

const reserved = `resource "virtcluster_dhcp_reservation" "r" {
  network  = virtcluster_network.n.name
  mac      = "52:54:00:91:00:07"
  ip       = "10.91.0.7"
  hostname = "seven"
}
`

func TestAccNetworkGivesOutWhatItsDHCPSays(t *testing.T) {
	acctest.InSandbox(t)
	c := func(ranges, seconds string) string {
		return config(management+`
  dhcp = {
    ranges        = [`+ranges+`]
    lease_seconds = `+seconds+`
    options       = { "ntp-server" = "10.91.0.100", "26" = "1400" }
  }
`) + reserved
	}
	const some = `{ start = "10.91.0.210", end = "10.91.0.211" }`
	var conn net.PacketConn
	t.Cleanup(func() {
		if conn != nil {
			_ = conn.Close()
		}
	})
	// dnsmasq reads its reservations again after libvirt has told it to, not at once.
	says := func(mac, first, last string, want map[byte]string) {
		t.Helper()
		for deadline := time.Now().Add(2 * time.Minute); ; {
			address, options := ask(t, conn, mac)
			wrong := address.Less(netip.MustParseAddr(first)) || netip.MustParseAddr(last).Less(address)
			for code, value := range want {
				wrong = wrong || string(options[code]) != value
			}
			if !wrong {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("%s is offered %s with %v instead of %s to %s with %q", mac, address, options, first, last, want)
			}
		}
	}
	test(t, "acc0",
		resource.TestStep{Config: c(some, "1234"), Check: func(*terraform.State) (err error) {
			if conn, err = listen(machine(t)); err != nil {
				return err
			}
			told := map[byte]string{optLease: "\x00\x00\x04\xd2", optRouter: "\x0a\x5b\x00\xfe", optNTP: "\x0a\x5b\x00\x64", optMTU: "\x05\x78"}
			says("52:54:00:91:00:01", "10.91.0.210", "10.91.0.211", told)
			told[optHostname] = "seven"
			delete(told, optLease) // libvirt gives reservations its own
			says("52:54:00:91:00:07", "10.91.0.7", "10.91.0.7", told)
			return nil
		}},
		resource.TestStep{Config: c(some, "0"), ConfigPlanChecks: inPlace, Check: func(*terraform.State) error {
			says("52:54:00:91:00:02", "10.91.0.210", "10.91.0.211", map[byte]string{optLease: "\xff\xff\xff\xff"})
			return nil
		}},
		// A reservation has the lease time where no range has it, and whoever comes after it too.
		resource.TestStep{Config: c("", "1234"), ConfigPlanChecks: inPlace, Check: func(*terraform.State) error {
			says("52:54:00:91:00:07", "10.91.0.7", "10.91.0.7", map[byte]string{optLease: "\x00\x00\x04\xd2"})
			return nil
		}},
		importing("acc0", "dns", "pxe"),
		resource.TestStep{Config: c("", "4321") + strings.NewReplacer("\"r\"", "\"s\"", ":07", ":08", "0.7", "0.8", "seven", "eight").Replace(reserved), ConfigPlanChecks: inPlace, Check: func(*terraform.State) error {
			for last, mac := range map[string]string{"7": "52:54:00:91:00:07", "8": "52:54:00:91:00:08"} {
				says(mac, "10.91.0."+last, "10.91.0."+last, map[byte]string{optLease: "\x00\x00\x10\xe1"})
			}
			return nil
		}},
	)
}
