package exposure

import (
	"net/netip"
	"os"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

// surveyWith is what of a machine is surveyed that has rules of iptables and of nftables, as both programs listed them.
func surveyWith(t *testing.T, iptables, nft string) Survey {
	t.Helper()
	lines := []string{"address eth0 10.0.100.101/24", "any 10.0.100.101/24", "any 10.19.41.101/24", "any 10.19.41.5/32", "any fd00::101/64", "address eth1 10.19.41.101/24"}
	read := func(file string) string {
		text, err := os.ReadFile("testdata/" + file)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	if iptables != "" {
		for line := range strings.Lines(read(iptables)) {
			lines = append(lines, "iptables iptables-nft-save ip "+strings.TrimSpace(line))
		}
	}
	if nft != "" {
		lines = append(lines, "nft "+read(nft))
	}
	s, err := parseSurvey(strings.Join(lines, "\n"))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestWhatRulesOfOthersTranslateIsTaken(t *testing.T) {
	t.Parallel()
	const own, vip, four, six = "10.0.100.101", "10.19.41.5", "10.0.0.5", "fd00::5"
	for _, c := range []struct {
		about    string
		kind     Kind
		address  string
		port     uint16
		protocol string
		// what the rule says that takes it, of iptables and of nftables; "" for none
		iptables, nft string
	}{
		{"a port that kube-proxy has", NodePort, "", 31455, TCP, `KUBE-NODEPORTS -p tcp -m comment --comment "default/web" -m tcp --dport 31455`, ""},
		{"the same of the other protocol", NodePort, "", 31455, UDP, "", ""},
		{"a port of nothing but a filter", NodePort, "", 30009, TCP, "", ""},
		{"a port of a transparent proxy", NodePort, "", 30008, TCP, "TPROXY", ""},
		{"a port of kube-proxy in a map", NodePort, "", 30001, TCP, "", "rule 10 of chain services in the table ip kube-proxy"},
		{"the same of the other protocol, in a map", NodePort, "", 30002, TCP, "", ""},
		{"one that Docker publishes", ExternalIP, own, 8080, TCP, "--dport 8080", ""},
		{"at an address that comes with it", ExternalIP, "10.19.41.200", 8080, TCP, "", ""},
		{"by HAProxy, at an address that comes with it", LoadBalancer, "10.19.41.200", 8080, TCP, "--dport 8080", ""},
		{"an address of a service", ExternalIP, vip, 443, TCP, "10.19.41.5/32", "rule 9 of chain services"},
		{"another port there", ExternalIP, vip, 444, TCP, "", ""},
		{"all of an address of which a service has a port", Floating, own, 0, "", "--dport", "rule"},
		{"all of an address that comes with it", Floating, "10.19.41.200", 0, "", "TPROXY", ""},
		{"a port of one address", ExternalIP, own, 9000, TCP, "--dport 9000", ""},
		{"one of several ports", ExternalIP, own, 5013, UDP, "5000,5010:5019", ""},
		{"between the ports", ExternalIP, own, 5001, UDP, "", ""},
		{"led away for some", ExternalIP, own, 9001, TCP, "--dport 9001", ""},
		{"led away for other addresses", ExternalIP, own, 9002, TCP, "", ""},
		{"led away from the machine itself", ExternalIP, own, 9003, TCP, "", ""},
		{"a set of addresses and one of ports", ExternalIP, own, 8005, TCP, "", "rule 9 of chain pre in the table inet person"},
		{"a verdict of a map, jump", ExternalIP, own, 90, TCP, "", "rule 11"},
		{"a verdict of a map, goto", ExternalIP, own, 91, TCP, "", "rule 11"},
		{"a verdict of a map that accepts first", ExternalIP, own, 92, TCP, "", ""},
		{"an address and a port in one", ExternalIP, own, 93, TCP, "", "rule 14"},
		{"a map of destinations", ExternalIP, own, 7001, TCP, "", "rule 16"},
		{"none of the map", ExternalIP, own, 7002, TCP, "", ""},
		{"by other devices only", ExternalIP, own, 94, UDP, "", ""},
		{"by all but one device", ExternalIP, own, 95, UDP, "", "rule 18"},
		{"from some", ExternalIP, own, 96, UDP, "", "rule 19"},
		{"all ports but some", ExternalIP, own, 65001, UDP, "", "rule 20"},
		{"of the other protocol than all ports but some", ExternalIP, own, 65001, TCP, "", ""},
		{"of the other family", ExternalIP, "fd00::101", 97, TCP, "", "rule 21 of chain early"},
		{"of this family", ExternalIP, own, 97, TCP, "", ""},
		{"logged", ExternalIP, own, 98, UDP, "", ""},
	} {
		t.Run(c.about, func(t *testing.T) {
			e := Exposure{Name: "new", Kind: c.kind, Interface: "eth0", Ports: map[string]Port{"p": {c.port, 22, c.protocol}}, Targets: addresses(four)}
			if c.port == 0 {
				e.Ports = nil
			}
			if c.address != "" {
				e.Address = netip.MustParseAddr(c.address)
				e.ConfigureAddress = c.address == "10.19.41.200"
			}
			if e.Address.Is6() {
				e.Targets = addresses(six)
			}
			for _, of := range []struct{ file, listing, want string }{{"iptables.save", "", c.iptables}, {"", "ruleset.json", c.nft}} {
				var got string
				for _, who := range surveyWith(t, of.file, of.listing).Occupied(transaction.Tree{}, e) {
					got = who
				}
				if of.want == "" && got != "" || !strings.Contains(got, of.want) {
					t.Errorf("%s%s: %q, want %q", of.file, of.listing, got, of.want)
				}
			}
		})
	}
}

// A live exposure keeps its port when somebody's rule for it comes later, as its own comes first, but for what HAProxy carries.
func TestWhoIsLiveIsDivertedByWhatComesBeforeItOnly(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		about string
		kind  Kind
		port  uint16
		want  string
	}{
		{"rules before Docker's", ExternalIP, 8080, ""},
		{"HAProxy behind Docker's", LoadBalancer, 8080, "--dport 8080"},
		{"HAProxy beside what is led away for some", LoadBalancer, 9001, ""},
		{"a transparent proxy before all", ExternalIP, 30008, "TPROXY"},
	} {
		t.Run(c.about, func(t *testing.T) {
			live := Exposure{Name: "live", Kind: c.kind, Address: netip.MustParseAddr("10.0.100.101"), Interface: "eth0", Ports: map[string]Port{"p": {c.port, 22, TCP}}, Targets: addresses("10.0.0.5")}
			tree := transaction.Tree{}
			if err := Set(tree, live, mine); err != nil {
				t.Fatal(err)
			}
			s := surveyWith(t, "iptables.save", "")
			for about, got := range map[string]map[string]string{"diverted": s.Diverted(live), "occupied": s.Occupied(tree, live)} {
				if c.want == "" && len(got) > 0 || !strings.Contains(got["p"], c.want) {
					t.Errorf("%s: %v, want %q", about, got, c.want)
				}
			}
		})
	}
}

func TestAChosenPortIsNobodys(t *testing.T) {
	t.Parallel()
	want := Exposure{Name: "new", Kind: NodePort, Ports: map[string]Port{"a": {0, 22, TCP}, "b": {0, 22, TCP}, "c": {0, 53, UDP}}, Targets: addresses("10.0.0.5")}
	s := surveyWith(t, "iptables.save", "ruleset.json")
	s.Listeners = append(s.Listeners, Listener{Protocol: TCP, Port: 30002})
	got := AssignNodePorts(transaction.Tree{}, want, s).Ports
	// iptables leads 30000 elsewhere, nftables 30001 and of UDP 30002, and a program listens at 30002.
	for name, port := range map[string]uint16{"a": 30003, "b": 30004, "c": 30000} {
		t.Run(name, func(t *testing.T) {
			if got[name].Port != port {
				t.Errorf("%s is %d, want %d", name, got[name].Port, port)
			}
		})
	}
}
