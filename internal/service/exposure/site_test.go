package exposure

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/hostnet"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

type place string

func (p place) String() string { return string(p) }

// between is a machine with a network outside and two inside.
func between(t *testing.T) hostnet.Machine {
	t.Helper()
	m, err := hostnet.ParseMachine(
		[]byte(`[{"ifname": "eth0", "addr_info": [{"local": "10.0.0.1", "prefixlen": 24, "scope": "global"}]},
			{"ifname": "eth1", "addr_info": [{"local": "10.19.41.5", "prefixlen": 24, "scope": "global"}]}]`),
		[]byte(`[{"dst": "default", "gateway": "10.19.41.254", "dev": "eth1"}, {"dst": "10.0.0.0/24", "dev": "eth0"}, {"dst": "10.1.0.0/24", "dev": "eth2"},
			{"dst": "10.2.0.0/24", "gateway": "10.0.0.9", "dev": "eth0"}, {"dst": "10.19.41.0/24", "dev": "eth1"}]`), nil)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestTargetsOfSeveralSubnetsAreEachReachedFromTheirs(t *testing.T) {
	e := Exposure{
		Name: "dns", Kind: LoadBalancer, Address: netip.MustParseAddr("10.19.41.9"), Ports: map[string]Port{"dns": {53, 53, UDP}},
		Targets: addresses("10.0.0.5", "10.1.0.5", "10.2.0.5"),
	}
	e, err := e.completeOn(between(t), place("a machine"))
	if err != nil {
		t.Fatal(err)
	}
	if e.Interface != "eth1" {
		t.Errorf("it is on %q", e.Interface)
	}
	var found []string
	for _, rule := range e.sourceRules() {
		if _, rest, ok := strings.Cut(rule, "ct status dnat ip saddr 10."); ok && !strings.HasPrefix(rest, "19.") {
			found = append(found, "10."+strings.TrimSuffix(rest, ` masquerade comment "dns"`))
		}
	}
	if diff := cmp.Diff([]string{"10.0.0.0/24 ip daddr 10.0.0.5", "10.1.0.0/24 ip daddr 10.1.0.5"}, found); diff != "" {
		t.Error(diff)
	}
}

func TestAnswersHaveToComeBack(t *testing.T) {
	far := Exposure{Name: "far", Kind: LoadBalancer, Address: netip.MustParseAddr("10.19.41.9"), Ports: map[string]Port{"web": {80, 80, TCP}}, Targets: addresses("198.51.100.7")}
	if _, err := far.completeOn(between(t), place("a machine")); err != nil {
		t.Errorf("HAProxy reaches it by any route: %v", err)
	}
	far.Ports["dns"] = Port{53, 53, UDP}
	if _, err := far.completeOn(between(t), place("a machine")); err == nil || !strings.Contains(err.Error(), "outside every network that a machine has") {
		t.Errorf("rules lead nothing there: %v", err)
	}
}

func TestWhatIsLedAwayBeforeAProgramSeesIt(t *testing.T) {
	tree := transaction.Tree{}
	outside := netip.MustParseAddr("10.19.41.9")
	for _, e := range []Exposure{
		{Name: "ssh", Kind: ExternalIP, Address: outside, Ports: map[string]Port{"ssh": {22, 22, TCP}, "dns": {53, 53, UDP}}, Targets: addresses("10.0.0.5")},
		{Name: "web", Kind: LoadBalancer, Address: outside, Ports: map[string]Port{"web": {80, 80, TCP}}, Targets: addresses("10.0.0.5")},
		{Name: "all", Kind: Floating, Address: netip.MustParseAddr("10.19.41.10"), Targets: addresses("10.0.0.6")},
		{Name: "every", Kind: NodePort, Ports: map[string]Port{"p": {30080, 80, TCP}}, Targets: addresses("10.0.0.5")},
		{Name: "every6", Kind: NodePort, Ports: map[string]Port{"p": {30080, 80, TCP}}, Targets: addresses("fd00::5")}, // not in the way of the other
	} {
		if err := Set(tree, e, owner.Mark{}); err != nil {
			t.Fatal(err)
		}
	}
	anybody := func(owner.Mark) bool { return true }
	for _, c := range []struct {
		address string
		port    uint16
		want    string
	}{
		{"10.19.41.9", 22, `"ssh"`},
		{"10.19.41.9", 53, ""}, // of another protocol
		{"10.19.41.9", 80, ""}, // HAProxy's own
		{"10.19.41.10", 9999, `"all"`},
		{"10.19.41.9", 30080, `"every"`},
		{"fd00::1", 30080, `"every6"`},
		{"", 30080, `"every"`},
		{"", 22, ""},
	} {
		a, _ := netip.ParseAddr(c.address)
		if got := LeadsAway(tree, a, c.port, anybody); !strings.Contains(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%s port %d: %q, want %q", c.address, c.port, got, c.want)
		}
	}
	if got := LeadsAway(tree, outside, 22, func(owner.Mark) bool { return false }); got != "" {
		t.Errorf("nobody's was asked for: %s", got)
	}
}
