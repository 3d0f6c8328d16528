package exposure

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

var mine = owner.Mark{ID: "mine", Workspace: "here"}

func addresses(texts ...string) []netip.Addr {
	var all []netip.Addr
	for _, text := range texts {
		all = append(all, netip.MustParseAddr(text))
	}
	return all
}

func bastion() Exposure {
	return Exposure{
		Name: "bastion", Kind: ExternalIP, Address: netip.MustParseAddr("10.19.41.200"), Interface: "eth1", ConfigureAddress: true,
		Ports: map[string]Port{"ssh": {22, 2222, TCP}}, Targets: addresses("10.0.0.5"),
		SourceRanges: []netip.Prefix{netip.MustParsePrefix("10.19.41.0/24")}, Insides: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/24")},
	}
}

func TestTableOfOneAddress(t *testing.T) {
	want := `table inet virtcluster
delete table inet virtcluster
table inet virtcluster {
	chain made-by-terraform-provider-virtcluster {
	}
	chain guard {
		type filter hook prerouting priority mangle; policy accept;
		iifname != "lo" ct state new ip daddr 10.19.41.200 tcp dport 22 ip saddr != { 10.19.41.0/24 } drop comment "bastion"
	}
	chain prerouting {
		type nat hook prerouting priority -101; policy accept;
		ip daddr 10.19.41.200 tcp dport 22 counter dnat ip to 10.0.0.5:2222 comment "bastion/ssh"
	}
	chain output {
		type nat hook output priority -101; policy accept;
		ip daddr 10.19.41.200 tcp dport 22 counter dnat ip to 10.0.0.5:2222 comment "bastion/ssh"
	}
	chain postrouting {
		type nat hook postrouting priority srcnat - 10; policy accept;
		ct status dnat ip saddr 10.19.41.200 ip daddr 10.0.0.5 masquerade comment "bastion"
		ct status dnat ip saddr 10.0.0.0/24 ip daddr 10.0.0.5 masquerade comment "bastion"
	}
	chain routed {
		type filter hook forward priority filter; policy accept;
		ct status dnat return
		ct state new meta nfproto ipv4 counter
		ct state new meta nfproto ipv6 counter
	}
}
`
	if diff := cmp.Diff(want, renderTable([]Exposure{bastion()})); diff != "" {
		t.Error(diff)
	}
}

func TestHAProxyCarriesTCPOfALoadBalancerOnly(t *testing.T) {
	e := bastion()
	e.Ports["dns"] = Port{53, 53, UDP}
	if len(e.Balanced()) != 0 || len(e.Translated()) != 2 {
		t.Errorf("%v and %v of an %s", e.Balanced(), e.Translated(), e.Kind)
	}
	e.Kind = LoadBalancer
	if _, there := e.Balanced()["ssh"]; !there || len(e.Balanced()) != 1 || len(e.Translated()) != 1 {
		t.Errorf("%v and %v of a %s", e.Balanced(), e.Translated(), e.Kind)
	}
	tree := transaction.Tree{}
	claim := new(owner.Run).New()
	if err := SetBalance(tree, e, claim); err != nil || !BalanceMatches(tree, e, claim) {
		t.Fatalf("%v: %v", err, tree)
	}
	later := e
	later.Targets = addresses("10.0.0.6")
	if BalanceMatches(tree, later, claim) {
		t.Error("another target matches")
	}
	// A port that an update removed from the entry, and that HAProxy carries still as the update was killed, shows and goes.
	fewer := e
	fewer.Ports = map[string]Port{"dns": e.Ports["dns"]}
	if !NeedsBalance(tree, fewer, claim) || BalanceMatches(tree, fewer, claim) {
		t.Error("a port that is carried still matches")
	}
	if NeedsBalance(tree, fewer, new(owner.Run).New()) {
		t.Error("another's port is left by this one")
	}
	if err := SetBalance(tree, Exposure{Name: e.Name, Kind: e.Kind}, claim.Written()); err != nil {
		t.Fatal(err)
	}
	for file, f := range tree {
		if strings.Contains(string(f.Content), "exposed-") {
			t.Errorf("%s keeps\n%s", file, f.Content)
		}
	}
}

func TestNoTwoPortsShareASection(t *testing.T) {
	if one, two := Section("web", "api-http"), Section("web-api", "http"); one == two {
		t.Errorf("%s carries two ports", one)
	}
}

func TestValidateNamesThePlace(t *testing.T) {
	change := func(f func(*Exposure)) Exposure {
		e := bastion()
		f(&e)
		return e
	}
	for want, e := range map[string]Exposure{
		"":                                bastion(),
		"name Invalid name":               change(func(e *Exposure) { e.Name = "a b" }),
		"address Invalid address":         change(func(e *Exposure) { e.Address = netip.MustParseAddr("127.0.0.1") }),
		"ports No ports":                  change(func(e *Exposure) { e.Ports = nil }),
		"ports.b.port Port taken":         change(func(e *Exposure) { e.Ports = map[string]Port{"a": {22, 1, TCP}, "b": {22, 2, TCP}, "c": {22, 2, UDP}} }),
		"targets.0 Other family":          change(func(e *Exposure) { e.Targets = addresses("fd00::1") }),
		"targets.0 Target is the address": change(func(e *Exposure) { e.Targets = addresses("10.19.41.200") }),
		"targets.1 Several targets":       change(func(e *Exposure) { e.Targets = addresses("10.0.0.5", "10.0.0.6") }),
		"source_ranges.0 Other family":    change(func(e *Exposure) { e.SourceRanges = []netip.Prefix{netip.MustParsePrefix("fd00::/64")} }),
		"target Other family":             change(func(e *Exposure) { e.Kind, e.Targets = Floating, addresses("fd00::1") }),
		"address Superfluous address": change(func(e *Exposure) {
			e.Kind, e.ConfigureAddress, e.Ports = NodePort, false, map[string]Port{"a": {30000, 1, TCP}}
		}),
		"ports.ssh.port Invalid port": change(func(e *Exposure) { e.Kind, e.ConfigureAddress, e.Address = NodePort, false, netip.Addr{} }),
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, p := range e.Validate() {
				got = append(got, strings.Trim(strings.ReplaceAll(fmt.Sprint(p.Path), " ", "."), "[]")+" "+p.Summary)
			}
			if strings.Join(got, "; ") != want {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
}

func TestNothingIsExposedTwice(t *testing.T) {
	tree := transaction.Tree{}
	if err := Set(tree, bastion(), mine); err != nil {
		t.Fatal(err)
	}
	other := bastion()
	other.Name = "other"
	if err := Set(tree, other, mine); err == nil || !strings.Contains(err.Error(), `tcp port 22 of 10.19.41.200 is exposed by "bastion" (owner=mine workspace=here) already`) {
		t.Errorf("the same port: %v", err)
	}
	other.Ports = map[string]Port{"ssh": {22, 22, UDP}}
	if err := Set(tree, other, mine); err != nil {
		t.Errorf("another protocol: %v", err)
	}
	everywhere := Exposure{Name: "everywhere", Kind: NodePort, Ports: map[string]Port{"ssh": {30022, 22, TCP}}, Targets: addresses("10.0.0.5")}
	high := bastion()
	high.Name, high.Ports = "high", map[string]Port{"ssh": {30022, 22, TCP}}
	if what := describeOverlap(high, everywhere); what != "tcp port 30022 of 10.19.41.200" {
		t.Errorf("a port of every address and of one: %q", what)
	}
	floating := Exposure{Name: "floating-10.0.0.9", Kind: Floating, Address: other.Address, Interface: "eth1", Targets: addresses("10.0.0.9")}
	if err := Set(tree, floating, mine); err == nil {
		t.Error("a floating address of which a port leads elsewhere")
	}
	for _, name := range []string{"bastion", "other", "other"} {
		t.Run(name, func(t *testing.T) {
			if err := Drop(tree, name); err != nil {
				t.Fatal(err)
			}
		})
	}
	if len(tree) > 0 {
		t.Errorf("left %v", tree)
	}
}

// Who masquerades does so with what came to the exposure, and with nothing else that its target answers.
func TestMasqueradedTargetsSeeTheMachine(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		about string
		e     Exposure
		want  []string
	}{
		{"a node port", Exposure{Name: "n", Kind: NodePort, Ports: map[string]Port{"p": {30000, 22, TCP}}, Targets: addresses("10.0.0.5", "10.0.0.6")}, []string{
			`ct status dnat ip daddr 10.0.0.5 tcp dport 22 ct original proto-dst 30000 masquerade comment "n/p"`,
			`ct status dnat ip daddr 10.0.0.6 tcp dport 22 ct original proto-dst 30000 masquerade comment "n/p"`,
		}},
		{"a port of an address", Exposure{Name: "e", Kind: ExternalIP, Address: netip.MustParseAddr("fd19::7"), Ports: map[string]Port{"p": {53, 5353, UDP}}, Targets: addresses("fd00::5")}, []string{
			`ct status dnat ip6 saddr fd19::7 ip6 daddr fd00::5 masquerade comment "e"`,
			`ct status dnat ct original ip6 daddr fd19::7 ip6 daddr fd00::5 udp dport 5353 ct original proto-dst 53 masquerade comment "e/p"`,
		}},
		{"what HAProxy carries", Exposure{Name: "l", Kind: LoadBalancer, Address: netip.MustParseAddr("10.19.41.7"), Ports: map[string]Port{"p": {80, 80, TCP}}, Targets: addresses("10.0.0.5")}, nil},
		{"all of a floating address", Exposure{Name: "f", Kind: Floating, Address: netip.MustParseAddr("10.19.41.7"), Interface: "eth1", Targets: addresses("10.0.0.5")}, []string{
			`ct status dnat ip saddr 10.19.41.7 ip daddr 10.0.0.5 masquerade comment "f"`,
			`ct status dnat ct original ip daddr 10.19.41.7 ip daddr 10.0.0.5 masquerade comment "f"`,
			`oifname "eth1" ip saddr 10.0.0.5 counter snat ip to 10.19.41.7 comment "f"`,
		}},
	} {
		t.Run(c.about, func(t *testing.T) {
			c.e.Masquerade = true
			if diff := cmp.Diff(c.want, c.e.sourceRules()); diff != "" {
				t.Error(diff)
			}
			for target := range c.e.SeeWhoConnects() {
				t.Errorf("%s answers to who connects", target)
			}
		})
	}
}

func TestANodePortStays(t *testing.T) {
	tree := transaction.Tree{}
	add := func(name string, ports map[string]Port) Exposure {
		e := Exposure{Name: name, Kind: NodePort, Ports: ports, Targets: addresses("10.0.0.5")}
		if err := Set(tree, AssignNodePorts(tree, e, Survey{Listeners: []Listener{{Protocol: UDP, Port: 30000}}}), mine); err != nil {
			t.Fatal(err)
		}
		got, err := Find(tree, name)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	ofAddress := Exposure{Name: "of an address", Kind: ExternalIP, Address: netip.MustParseAddr("10.19.41.9"), Ports: map[string]Port{"a": {30004, 80, TCP}}, Targets: addresses("10.0.0.6")}
	ofIPv6 := Exposure{Name: "of IPv6", Kind: NodePort, Ports: map[string]Port{"a": {30000, 80, TCP}}, Targets: addresses("fd00::6")}
	if err := errors.Join(Set(tree, ofAddress, mine), Set(tree, ofIPv6, mine)); err != nil {
		t.Fatal(err)
	}
	first := add("first", map[string]Port{"a": {0, 80, TCP}, "b": {30001, 80, TCP}, "c": {0, 0, TCP}, "d": {0, 53, UDP}})
	want := map[string]Port{"a": {30000, 80, TCP}, "b": {30001, 80, TCP}, "c": {30002, 30002, TCP}, "d": {30001, 53, UDP}}
	if diff := cmp.Diff(want, first.Ports); diff != "" {
		t.Error(diff)
	}
	if second := add("second", map[string]Port{"a": {0, 80, TCP}}); second.Ports["a"].Port != 30003 {
		t.Errorf("the second has %v", second.Ports)
	}
	if third := add("third", map[string]Port{"a": {0, 80, TCP}}); third.Ports["a"].Port != 30005 {
		t.Errorf("the third, after one of an address, has %v", third.Ports)
	}
	if again := add("first", map[string]Port{"a": first.Ports["a"]}); again.Ports["a"].Port != 30000 {
		t.Errorf("again %v", again.Ports)
	}
}

func TestADamagedEntryIsNotOverwritten(t *testing.T) {
	tree := transaction.Tree{}
	tree.Put(Place("bastion"), []byte("{"), 0, "", "")
	if mark, there := Mark(tree, "bastion"); !there || mark != (owner.Mark{}) {
		t.Errorf("whose: %v %v", mark, there)
	}
	other := bastion()
	other.Name = "other"
	for _, err := range []error{Set(tree, other, mine), Set(tree, bastion(), mine)} {
		t.Run(fmt.Sprint(err), func(t *testing.T) {
			t.Parallel()
			if err == nil || !strings.Contains(err.Error(), "damaged") {
				t.Errorf("set: %v", err)
			}
		})
	}
}

// What is kept says what was wanted, for whatever was.
func TestEntriesAreReadBack(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		e := draw(r, 0)
		tree := transaction.Tree{}
		if err := Set(tree, e, mine); err != nil {
			r.Fatal(err)
		}
		got, err := Find(tree, e.Name)
		if diff := cmp.Diff(e, got, cmpopts.EquateComparable(netip.Addr{}, netip.Prefix{}), cmpopts.EquateEmpty()); err != nil || diff != "" {
			r.Fatalf("%v %s", err, diff)
		}
	})
}

// draw makes an exposure up that is valid; n tells it from others.
func draw(r *rapid.T, n int) Exposure {
	six := rapid.Bool().Draw(r, "six")
	address := func(label string, net int) netip.Addr {
		last := rapid.IntRange(2, 250).Draw(r, label)
		if six {
			return netip.MustParseAddr(fmt.Sprintf("fd00:%x:%x::%x", net, n, last))
		}
		return netip.AddrFrom4([4]byte{10, byte(net), byte(n), byte(last)})
	}
	e := Exposure{Name: fmt.Sprintf("e%d", n), Kind: rapid.SampledFrom([]Kind{LoadBalancer, ExternalIP, NodePort, Floating}).Draw(r, "kind"), Ports: map[string]Port{}}
	if e.Kind != NodePort {
		e.Address, e.Interface, e.ConfigureAddress = address("address", 1), "eth1", rapid.Bool().Draw(r, "configure")
	}
	least := 1
	if e.Kind == Floating {
		least = 0
	}
	for i := range rapid.IntRange(least, 4).Draw(r, "ports") {
		e.Ports[fmt.Sprintf("p%d", i)] = Port{uint16(30000 + 10*n + i), uint16(rapid.IntRange(1, 65535).Draw(r, "target")), rapid.SampledFrom([]string{TCP, UDP}).Draw(r, "protocol")}
	}
	e.Targets = []netip.Addr{address("target", 2)}
	if e.Kind == LoadBalancer || e.Kind == NodePort {
		for i := range rapid.IntRange(0, 3).Draw(r, "targets") {
			e.Targets = append(e.Targets, address(fmt.Sprint("target ", i), 3+i))
		}
	}
	for i := range rapid.IntRange(0, 3).Draw(r, "ranges") {
		a := address("range", 9+i)
		e.SourceRanges = append(e.SourceRanges, netip.PrefixFrom(a, rapid.IntRange(a.BitLen()/4, a.BitLen()).Draw(r, "bits")).Masked())
	}
	e.Masquerade = rapid.Bool().Draw(r, "masquerade")
	if rapid.Bool().Draw(r, "direct") {
		e.Insides = []netip.Prefix{netip.PrefixFrom(e.Targets[0], e.Targets[0].BitLen()-8).Masked()}
	}
	return e
}

func TestCountersAreThoseOfTranslations(t *testing.T) {
	counted := map[string]int64{}
	listing := `{"nftables": [{"metainfo": {}}, {"chain": {"name": "prerouting"}},
		{"rule": {"chain": "prerouting", "comment": "bastion/ssh", "expr": [{"match": {}}, {"counter": {"packets": 3, "bytes": 180}}, {"dnat": {"addr": "10.0.0.5"}}]}},
		{"rule": {"chain": "output", "comment": "bastion/ssh", "expr": [{"counter": {"packets": 1, "bytes": 60}}, {"dnat": {}}]}},
		{"rule": {"chain": "postrouting", "comment": "floating-10.0.0.5", "expr": [{"counter": {"packets": 9, "bytes": 60}}, {"snat": {}}]}}]}`
	if err := addCounters(counted, []byte(listing)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]int64{"bastion/ssh": 4}, counted); diff != "" {
		t.Error(diff)
	}
	if err := addCounters(counted, []byte("{}")); err != nil {
		t.Errorf("no table: %v", err)
	}
}

func TestPortsOfAllAddressesAreNotThoseOfFloatingOnes(t *testing.T) {
	everywhere := Exposure{Name: "everywhere", Kind: NodePort, Ports: map[string]Port{"ssh": {30022, 22, TCP}}, Targets: addresses("10.0.0.5"), SourceRanges: []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16")}}
	floating := Exposure{Name: "floating", Kind: Floating, Address: netip.MustParseAddr("10.19.41.250"), Interface: "eth1", Targets: addresses("10.0.0.9")}
	text := renderTable([]Exposure{everywhere, floating})
	if n := strings.Count(text, "fib daddr type local ip daddr != { 127.0.0.0/8, 10.19.41.250 } tcp dport 30022"); n != 3 {
		t.Errorf("%d rules, not those of guard, prerouting and output:\n%s", n, text)
	}
}

func TestWhatAMachineExposesIsListed(t *testing.T) {
	t.Parallel()
	tree := transaction.Tree{}
	floating := Exposure{Name: "floating-10.0.0.6", Kind: Floating, Address: netip.MustParseAddr("10.19.41.201"), Interface: "eth1", Targets: addresses("10.0.0.6")}
	for _, e := range []Exposure{bastion(), floating} {
		if err := Set(tree, e, mine); err != nil {
			t.Fatal(err)
		}
	}
	tree.Put(Place("damaged"), []byte("{"), 0o644, "", "")
	if names, targets := fmt.Sprint(ListNames(tree)), fmt.Sprint(ListTargets(tree)); names != "[bastion]" || targets != "[10.0.0.6]" {
		t.Errorf("listed are %s and %s", names, targets)
	}
}

func TestAFloatingGuestGetsTheAnswersToItsOwnConnections(t *testing.T) {
	t.Parallel()
	e := Exposure{Name: "guest", Kind: Floating, Address: netip.MustParseAddr("10.19.41.9"), Interface: "eth1", Targets: addresses("10.0.0.5")}
	const want = `4 -A VIRTCLUSTER -d 10.0.0.5 -m conntrack --ctstate DNAT -j ACCEPT
4 -A VIRTCLUSTER -d 10.0.0.5 -m conntrack --ctstate SNAT -j ACCEPT
4 -A VIRTCLUSTER -s 10.0.0.5 -m conntrack --ctstate DNAT -j ACCEPT
4 -A VIRTCLUSTER -s 10.0.0.5 -o eth1 -j ACCEPT
`
	if diff := cmp.Diff(want, renderAccepted([]Exposure{e})); diff != "" {
		t.Error(diff)
	}
}
