package ovn

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
)

func nodes() Network {
	return Network{
		Name: "nodes", Mode: Translated, CIDR: netip.MustParsePrefix("10.50.0.0/24"), Gateway: netip.MustParseAddr("10.50.0.1"), MTU: 1442,
		DHCP: &DHCP{
			Pool: []string{"10.50.0.100-10.50.0.149", "10.50.0.150-10.50.0.199"}, LeaseSeconds: 3600,
			Nameservers: []netip.Addr{netip.MustParseAddr("10.50.0.2"), netip.MustParseAddr("10.50.0.3")},
			Options:     map[string]string{"domain_name": "okd.example", "ntp_server": "10.50.0.2"},
		},
	}
}

func TestAllButThePoolIsExcluded(t *testing.T) {
	t.Parallel()
	n := nodes()
	if got := n.formatExcluded(); got != "10.50.0.1..10.50.0.99 10.50.0.200..10.50.0.254" {
		t.Errorf("excluded %q", got)
	}
	if got := poolOf(n.CIDR, n.formatExcluded()); !SamePool(got, n.DHCP.Pool) || len(got) != 1 {
		t.Errorf("pool %v", got)
	}
	n.DHCP.Pool = nil
	if got := n.formatExcluded(); got != "10.50.0.1..10.50.0.254" || poolOf(n.CIDR, got) != nil {
		t.Errorf("excluded %q of a network without a pool", got)
	}
}

func TestWhatGuestsAreToldIsReadBack(t *testing.T) {
	t.Parallel()
	want := nodes()
	told := want.dhcpOptions()
	for name, value := range map[string]string{"router": "10.50.0.1", "mtu": "1442", "dns_server": "{10.50.0.2, 10.50.0.3}", "domain_name": `"okd.example"`, "ntp_server": "10.50.0.2", "server_id": "10.50.0.1"} {
		t.Run(name, func(t *testing.T) {
			if told[name] != value {
				t.Errorf("%s is %q, want %q", name, told[name], value)
			}
		})
	}
	got := Network{CIDR: want.CIDR}
	got.readDHCP(DHCPOptions{Options: told}, want.formatExcluded())
	if got.Gateway != want.Gateway || got.MTU != want.MTU || got.DHCP.LeaseSeconds != 3600 || len(got.DHCP.Nameservers) != 2 || got.DHCP.Options["domain_name"] != "okd.example" || len(got.DHCP.Options) != 2 {
		t.Errorf("read back: %+v %+v", got, got.DHCP)
	}
	told["domain_name"] = "okd.example" // as a person writes it, whose guests get no answer then
	got.readDHCP(DHCPOptions{Options: told}, "")
	if got.DHCP.Options["domain_name"] == "okd.example" {
		t.Error("a text without quotes looks like one with them")
	}
}

func TestNetworkThatOVNDoesNotTake(t *testing.T) {
	t.Parallel()
	if p := nodes().Validate(); len(p) > 0 {
		t.Fatalf("a good network: %v", p)
	}
	for want, change := range map[string]func(*Network){
		"Invalid network":                     func(n *Network) { n.CIDR = netip.MustParsePrefix("10.50.0.1/24") },
		"Network too small":                   func(n *Network) { *n = Network{Mode: Translated, CIDR: netip.MustParsePrefix("10.50.0.0/31")} },
		"Gateway outside the network":         func(n *Network) { n.Gateway = netip.MustParseAddr("10.50.0.255") },
		"Mode and bridge mapping":             func(n *Network) { n.Mode = Bridged },
		"Invalid MTU":                         func(n *Network) { n.MTU = 100 },
		"No network":                          func(n *Network) { n.CIDR, n.Gateway = netip.Prefix{}, netip.Addr{} },
		"Invalid range":                       func(n *Network) { n.DHCP.Pool = []string{"10.50.0.100"} },
		"Range outside the network":           func(n *Network) { n.DHCP.Pool = []string{"10.50.0.100-10.50.1.10"} },
		"Gateway in the pool":                 func(n *Network) { n.DHCP.Pool = []string{"10.50.0.1-10.50.0.10"} },
		"Invalid name server":                 func(n *Network) { n.DHCP.Nameservers = []netip.Addr{netip.MustParseAddr("fd00::1")} },
		"Option that is not yours":            func(n *Network) { n.DHCP.Options["server_mac"] = "0a:00:00:00:00:01" },
		"Option with an attribute of its own": func(n *Network) { n.DHCP.Options["router"] = "10.50.0.7" },
		"Unknown option":                      func(n *Network) { n.DHCP.Options["colour"] = "red" },
	} {
		t.Run(want, func(t *testing.T) {
			n := nodes()
			change(&n)
			var summaries []string
			for _, p := range n.Validate() {
				summaries = append(summaries, p.Summary)
			}
			if got := strings.Join(summaries, "; "); got != want {
				t.Errorf("want %q, got %q", want, got)
			}
		})
	}
}

func TestKeysOfOthersStay(t *testing.T) {
	t.Parallel()
	is := map[string]string{"subnet": "10.0.0.0/24", "mcast_snoop": "true", "exclude_ips": "10.0.0.1"}
	changes := putKeys("other_config", is, map[string]string{"subnet": "10.1.0.0/24", "exclude_ips": ""})
	if len(changes) != 2 {
		t.Fatalf("%v", changes)
	}
	if text := fmt.Sprint(changes); strings.Contains(text, "mcast_snoop") || !strings.Contains(text, "10.1.0.0/24") {
		t.Errorf("changes: %s", text)
	}
	if again := putKeys("other_config", is, map[string]string{"subnet": "10.0.0.0/24", "none": ""}); again != nil {
		t.Errorf("nothing to change, and yet %v", again)
	}
}
