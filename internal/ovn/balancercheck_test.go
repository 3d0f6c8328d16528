package ovn

import (
	"maps"
	"net/netip"
	"strings"
	"testing"
)

func TestGuestsAreAskedByTheirPorts(t *testing.T) {
	t.Parallel()
	guests := []Port{{Name: "w1", Addresses: []string{"02:00:00:00:00:01 10.50.0.11 fd00::11"}}, {Name: "w2", Addresses: []string{"dynamic"}}}
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
		checks: []HealthCheckRow{{VIP: "10.50.0.100:80", Options: h.formatOptions()}},
	}
	if is := rows.readHealthCheck(vips); is == nil || *is != *h {
		t.Errorf("read back: %+v", is)
	}
	rows.guests = append(rows.guests, Port{Name: "w3", Addresses: []string{"02:00:00:00:00:03 10.50.0.12"}})
	if is := rows.readHealthCheck(vips); is == nil || is.Source.IsValid() {
		t.Errorf("a guest that nobody asks: %+v", is)
	}
	rows.checks = nil
	if is := rows.readHealthCheck(vips); is != nil {
		t.Errorf("no checks: %+v", is)
	}
}

func TestLoadBalancerThatWouldNotWork(t *testing.T) {
	t.Parallel()
	nodes := Switch{Name: "nodes", OtherConfig: map[string]string{"subnet": "10.50.0.0/24"}, ExternalIDs: map[string]string{gatewayKey: "10.50.0.1"}}
	port := "w1"
	rows := balancerRows{
		guests: []Port{{Name: port, Addresses: []string{"02:00:00:00:00:01 10.50.0.11"}}}, switches: []Switch{nodes}, networks: map[string][]Switch{"lab": {nodes}},
		nat: []NAT{{Type: "dnat_and_snat", External: "10.19.41.201", Logical: "10.50.0.11", Port: &port}},
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
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := LoadBalancer{Router: "lab", VIPs: map[string][]string{c.vip: {"10.50.0.11:8080"}}}
			if c.source != "" {
				b.HealthCheck = &HealthCheck{Source: netip.MustParseAddr(c.source)}
			}
			if err := rows.checkAddresses(b); (err != nil) != (c.want != "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}
