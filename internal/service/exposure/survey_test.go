package exposure

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

const surveyed = `foreign the table "inet virtcluster" of nftables is somebody else's
address eth1 10.19.41.101/24
address eth1 10.19.41.220/32
address eth0 10.128.0.7/32
address eth0 fd00::7/128
listener tcp 0.0.0.0:22 sshd ssh.service
listener tcp [::]:22 sshd ssh.service
listener tcp 10.19.41.220:80 nginx nginx.service
listener tcp *:443 haproxy haproxy.service
listener udp 127.0.0.53%lo:53 systemd-resolve systemd-resolved.service
listener udp *:30001 - -
listener udp 10.19.41.101:67 kea-dhcp4 virtcluster-dhcp@eth1.service
listener udp 10.19.41.201:67 kea-dhcp4 virtcluster-dhcp@eth1.service
listener udp 10.19.41.202:67 kea-dhcp4 kea-dhcp4-server.service
listener nothing
`

func TestWhatListensIsInTheWay(t *testing.T) {
	s, err := parseSurvey(surveyed)
	if err != nil || len(s.Foreign) != 1 || len(s.Listeners) != 9 {
		t.Fatalf("read %+v", s)
	}
	own := map[netip.Addr]bool{netip.MustParseAddr("10.19.41.101"): true, netip.MustParseAddr("10.128.0.7"): true, netip.MustParseAddr("fd00::7"): true}
	if diff := cmp.Diff(own, s.Own, cmp.Comparer(func(a, b netip.Addr) bool { return a == b })); diff != "" {
		t.Errorf("its own addresses: %s", diff)
	}
	tree := transaction.Tree{}
	live := bastion()
	live.Name, live.Address, live.Ports = "live", netip.MustParseAddr("10.19.41.101"), map[string]Port{"other": {22, 22, TCP}}
	if err := Set(tree, live, mine); err != nil {
		t.Fatal(err)
	}
	const sshd, nginx = "process sshd (ssh.service)", "process nginx (nginx.service)"
	for _, c := range []struct {
		about   string
		kind    Kind
		name    string
		address string
		port    Port
		want    string
	}{
		{"rules on an address of their own", ExternalIP, "new", "10.19.41.200", Port{22, 22, TCP}, ""},
		{"rules on the machine's own address", ExternalIP, "new", "10.19.41.101", Port{22, 22, TCP}, sshd},
		{"rules where one listens", ExternalIP, "new", "10.19.41.220", Port{80, 80, TCP}, nginx},
		{"rules for the other protocol", ExternalIP, "new", "10.19.41.220", Port{80, 80, UDP}, ""},
		{"what is live already", ExternalIP, "live", "10.19.41.101", Port{22, 22, TCP}, ""},
		{"HAProxy beside one on all addresses", LoadBalancer, "new", "10.19.41.200", Port{22, 22, TCP}, sshd},
		{"HAProxy beside itself", LoadBalancer, "new", "10.19.41.200", Port{443, 443, TCP}, ""},
		{"balanced by rules beside a local one", LoadBalancer, "new", "10.19.41.200", Port{53, 53, UDP}, ""},
		{"a node port", NodePort, "new", "", Port{30001, 80, UDP}, "a program"},
		{"another node port", NodePort, "new", "", Port{30001, 80, TCP}, ""},
		{"every port of the machine's own address", Floating, "new", "10.19.41.101", Port{}, sshd},
		{"a port of the machine's own address, and with it every other", Floating, "new", "10.19.41.101", Port{8443, 8443, TCP}, sshd},
		{"a port of another", Floating, "new", "10.19.41.200", Port{8443, 8443, TCP}, ""},
		{"every port of another", Floating, "new", "10.19.41.200", Port{}, ""},
		{"an address that a DHCP server of the provider's found on its interface", Floating, "new", "10.19.41.201", Port{}, ""},
		{"an address that a person's DHCP server has", Floating, "new", "10.19.41.202", Port{}, "process kea-dhcp4 (kea-dhcp4-server.service)"},
		{"the port of a DHCP server at the machine's own address", ExternalIP, "new", "10.19.41.101", Port{67, 67, UDP}, "process kea-dhcp4 (virtcluster-dhcp@eth1.service)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := Exposure{Name: c.name, Kind: c.kind, Ports: map[string]Port{"p": c.port}, Targets: addresses("10.0.0.5")}
			want, key := map[string]string{}, "p"
			if c.port.Port == 0 {
				e.Ports, key = nil, ""
			}
			if c.address != "" {
				e.Address = netip.MustParseAddr(c.address)
			}
			if c.kind == Floating {
				key = ""
			}
			if c.want != "" {
				want[key] = c.want
			}
			if diff := cmp.Diff(want, s.Occupied(tree, e)); diff != "" {
				t.Errorf("%s:\n%s", c.about, diff)
			}
		})
	}
}
