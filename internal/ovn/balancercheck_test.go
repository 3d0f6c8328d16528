package ovn

import (
	"maps"
	"net/netip"
	"strings"
	"testing"
)

func TestGuestsAreAskedByTheirPorts(t *testing.T) {
	t.Parallel()
	guests := []Port{{UUID: "1", Name: "w1", Addresses: []string{"02:00:00:00:00:01 10.50.0.11 fd00::11"}}, {UUID: "2", Name: "w2", Addresses: []string{"dynamic"}}}
	vips := map[string][]string{"10.50.0.100:80": {"10.50.0.11:8080", "10.50.0.12:8080"}}
	h := &HealthCheck{netip.MustParseAddr("10.50.0.250"), 5, 2, 2, 2}
	got := h.listAskers(guests, vips)
	if !maps.Equal(got, map[string]string{"10.50.0.11": "w1:10.50.0.250"}) {
		t.Errorf("%v", got)
	}
	six := &HealthCheck{Source: netip.MustParseAddr("fd00::250")}
	if got := six.listAskers(guests, map[string][]string{"[fd00::100]:80": {"[fd00::11]:8080"}}); got["[fd00::11]"] != "w1:[fd00::250]" {
		t.Errorf("by IPv6: %v", got)
	}
	rows := balancerRows{
		balancer: &Balancer{ExternalIDs: map[string]string{sourceKey: "10.50.0.250"}, Askers: got}, guests: guests,
		networks: map[string][]Switch{"lab": {{Name: "nodes", Ports: []string{"1", "2", "3"}}}},
		checks:   []HealthCheckRow{{VIP: "10.50.0.100:80", Options: h.formatOptions()}},
	}
	b := LoadBalancer{Router: "lab", VIPs: vips}
	if is := rows.readHealthCheck(b); is == nil || *is != *h {
		t.Errorf("read back: %+v", is)
	}
	rows.guests = append(rows.guests, Port{UUID: "4", Name: "others", Addresses: []string{"02:00:00:00:00:04 10.50.0.12"}})
	if is := rows.readHealthCheck(b); is == nil || *is != *h {
		t.Errorf("beside a guest with such an address on another network: %+v", is)
	}
	rows.guests = append(rows.guests, Port{UUID: "3", Name: "w3", Addresses: []string{"02:00:00:00:00:03 10.50.0.12"}})
	if is := rows.readHealthCheck(b); is == nil || is.Source.IsValid() {
		t.Errorf("a guest that nobody asks: %+v", is)
	}
	if is := rows.readHealthCheck(LoadBalancer{VIPs: vips}); is == nil || *is != *h {
		t.Errorf("on no router: %+v", is)
	}
	rows.checks = nil
	if is := rows.readHealthCheck(b); is != nil {
		t.Errorf("no checks: %+v", is)
	}
}

func TestLoadBalancerThatWouldNotWork(t *testing.T) {
	t.Parallel()
	nodes := Switch{Name: "nodes", Ports: []string{"1"}, OtherConfig: map[string]string{"subnet": "10.50.0.0/24"}, ExternalIDs: map[string]string{gatewayKey: "10.50.0.1"}}
	theirs := Switch{Name: "theirs", Ports: []string{"2"}, OtherConfig: map[string]string{"subnet": "10.50.0.0/24"}, ExternalIDs: map[string]string{gatewayKey: "10.50.0.254"}}
	port, other := "w1", "others"
	rows := balancerRows{
		guests:   []Port{{UUID: "2", Name: other, Addresses: []string{"02:00:00:00:00:02 10.50.0.12"}}, {UUID: "1", Name: port, Addresses: []string{"02:00:00:00:00:01 10.50.0.11"}}},
		switches: []Switch{nodes, theirs}, networks: map[string][]Switch{"lab": {nodes}, "theirs": {theirs}},
		routers: map[string]RouterRow{"lab": {NAT: []string{"x"}}, "theirs": {NAT: []string{"y"}}},
		nat: []NAT{
			{UUID: "y", Type: "dnat_and_snat", External: "10.19.41.202", Logical: "10.50.0.21", Port: &other},
			{UUID: "x", Type: "dnat_and_snat", External: "10.19.41.201", Logical: "10.50.0.11", Port: &port},
		},
	}
	for name, c := range map[string]struct {
		vip    string
		source string
		want   string
	}{
		"a good one":                       {"10.50.0.100:80", "10.50.0.250", ""},
		"a guest's address":                {"10.50.0.11:80", "", `port "w1" has`},
		"a guest's address asks":           {"10.50.0.100:80", "10.50.0.11", `port "w1" has`},
		"a gateway asks":                   {"10.50.0.100:80", "10.50.0.1", "gateway of network"},
		"outside, to a guest's own answer": {"10.19.41.210:80", "", "distributed = false"},
		"a guest's of another network":     {"10.50.0.12:80", "10.50.0.250", ""},
		"another network's gateway asks":   {"10.50.0.100:80", "10.50.0.254", ""},
		"outside, as on another router":    {"10.19.41.210:81", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			backend := "10.50.0.11:8080"
			if strings.HasSuffix(c.vip, ":81") {
				backend = "10.50.0.21:8080"
			}
			b := LoadBalancer{Router: "lab", VIPs: map[string][]string{c.vip: {backend}}}
			if c.source != "" {
				b.HealthCheck = &HealthCheck{Source: netip.MustParseAddr(c.source)}
			}
			if err := rows.checkAddresses(b, Planned{}); (err != nil) != (c.want != "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}
