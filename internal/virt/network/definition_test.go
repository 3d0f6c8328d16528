package network

import (
	"flag"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/metadata"
)

var update = flag.Bool("update", false, "write the golden files anew")

func ip(s string) netip.Addr       { return netip.MustParseAddr(s) }
func cidr(s string) netip.Prefix   { return netip.MustParsePrefix(s) }
func seconds(n int64) *int64       { return &n }
func span(start, end string) Range { return Range{ip(start), ip(end)} }

// full is a network with everything that is modelled.
func full() Definition {
	return Definition{
		Name: "kimgtnet0", Mode: NAT, Bridge: "kimgtbr0", Subnet: cidr("10.0.0.0/24"), Gateway: ip("10.0.0.254"),
		Subnet6: cidr("fd00:10::/64"), Gateway6: ip("fd00:10::1"), NAT6: true,
		DHCP: &DHCP{Ranges: []Range{span("10.0.0.210", "10.0.0.240"), span("fd00:10::100", "fd00:10::1ff")}, LeaseSeconds: seconds(3600),
			Options: map[string]string{"ntp-server": "10.0.0.100", "26": "1400"}},
		Domain: "okd.example",
		DNS: DNS{LocalOnly: true, Forwarders: []Forwarder{{Address: ip("10.0.0.100")}, {Domain: "corp.example", Address: ip("10.19.41.1")}},
			Hosts: map[netip.Addr][]string{ip("10.0.0.250"): {"api", "api-int"}}},
		Routes: []StaticRoute{{cidr("10.128.0.0/14"), ip("10.0.0.1")}, {cidr("fd01::/48"), ip("fd00:10::2")}},
		PXE:    PXE{TFTPRoot: "/srv/tftp", BootFile: "pxelinux.0", Server: ip("10.0.0.100")}, MTU: 1450,
	}
}

// networks by the name of their golden file.
func networks() map[string]Definition {
	return map[string]Definition{
		"full":     full(),
		"nat":      {Name: "n", Mode: NAT, Subnet: cidr("10.0.0.0/24"), Gateway: ip("10.0.0.1"), DHCP: &DHCP{Ranges: []Range{span("10.0.0.2", "10.0.0.9")}}},
		"isolated": {Name: "n", Mode: Isolated, Bridge: "br0"},
		"bridge":   {Name: "n", Mode: Bridge, Bridge: "ovsbr0", VirtualPort: "openvswitch"},
		"route6":   {Name: "n", Mode: Route, Subnet6: cidr("fd00::/64"), DNS: DNS{Disabled: true}},
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".xml")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if squeezed(t, got) != squeezed(t, string(want)) {
		t.Errorf("%s: got\n%s", path, got)
	}
}

func TestANewNetworkRendersAsItsGoldenFileAndParsesBack(t *testing.T) {
	for name, n := range networks() {
		xml, err := n.Render("")
		if err != nil {
			t.Fatal(err)
		}
		golden(t, name, xml)
		got, err := Parse(xml)
		if err != nil || !Equal(got, n) {
			t.Errorf("%s: parsed %+v, %v", name, got, err)
		}
	}
}

// foreign is a network made by hand, with much that is not modelled.
func foreign(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "foreign.xml"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestAnUpdateKeepsWhatItDoesNotModel(t *testing.T) {
	n, err := Parse(foreign(t))
	if err != nil {
		t.Fatal(err)
	}
	n.DHCP.Ranges = []Range{span("192.168.5.50", "192.168.5.60")}
	n.DHCP.Options = map[string]string{"ntp-server": "192.168.5.1"}
	n.MTU = 1400
	n.Domain = "new.example"
	xml, err := n.Render(foreign(t))
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "foreign-updated", xml)
	again, err := n.Render(xml)
	if err != nil || again != xml {
		t.Errorf("rendering again changed it: %v\n%s", err, again)
	}
	for _, kept := range []string{"52:54:00:11:22:33", "log-queries", "portgroup", "<txt ", "<srv ", "zone=", "peak=", "urn:note", "a1b2", "trustGuestRxFilters", `<host mac="52:54:00:00:00:01"`} {
		t.Run(kept, func(t *testing.T) {
			t.Parallel()
			if !strings.Contains(xml, kept) {
				t.Errorf("%s is lost", kept)
			}
		})
	}
}

func TestRenderingWhatIsThereChangesNothing(t *testing.T) {
	n, err := Parse(foreign(t))
	if err != nil {
		t.Fatal(err)
	}
	xml, err := n.Render(foreign(t))
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "foreign", xml)
}

func TestTakingDHCPAwayLeavesReservations(t *testing.T) {
	n, err := Parse(foreign(t))
	if err != nil {
		t.Fatal(err)
	}
	n.DHCP = nil
	n.PXE.BootFile = ""
	xml, err := n.Render(foreign(t))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(xml, "<range") || !strings.Contains(xml, "<host mac=") {
		t.Error(xml)
	}
	if got, err := Parse(xml); err != nil || got.DHCP != nil {
		t.Errorf("parsed %+v, %v: reservations must not look like DHCP of the network's own", got.DHCP, err)
	}
}

func TestEditsAreTheSmallestThatLeadToTheWantedNetwork(t *testing.T) {
	was := full()
	xml, err := was.Render("")
	if err != nil {
		t.Fatal(err)
	}
	if edits, err := ListEdits(xml, nil, was, was); err != nil || len(edits) != 0 {
		t.Errorf("%v, %v for no change", edits, err)
	}
	want := full()
	want.DHCP.Ranges = []Range{span("10.0.0.210", "10.0.0.220"), span("fd00:10::100", "fd00:10::1ff")}
	want.DNS.Hosts[ip("10.0.0.249")] = []string{"extra"}
	edits, err := ListEdits(xml, nil, was, want)
	if err != nil {
		t.Fatal(err)
	}
	lease := `<lease expiry="3600" unit="seconds"/></range>`
	expected := []hypervisor.NetworkEdit{
		{Section: hypervisor.SectionDHCPRange, Command: hypervisor.EditDelete, Parent: 0, XML: `<range start="10.0.0.210" end="10.0.0.240">` + lease},
		{Section: hypervisor.SectionDHCPRange, Command: hypervisor.EditAdd, Parent: 0, XML: `<range start="10.0.0.210" end="10.0.0.220">` + lease},
		{Section: hypervisor.SectionDNSHost, Command: hypervisor.EditAdd, Parent: -1, XML: `<host ip="10.0.0.249"><hostname>extra</hostname></host>`},
	}
	if !reflect.DeepEqual(edits, expected) {
		t.Errorf("got %+v", edits)
	}
	if NeedsRestart(was, want) {
		t.Error("ranges and records need no restart")
	}
}

func TestWhatNeedsARestart(t *testing.T) {
	for name, change := range map[string]func(*Definition){
		"mode": func(n *Definition) { n.Mode = Route }, "gateway": func(n *Definition) { n.Gateway = ip("10.0.0.1") }, "bridge": func(n *Definition) { n.Bridge = "b" },
		"options": func(n *Definition) { n.DHCP.Options["42"] = "x" }, "forwarders": func(n *Definition) { n.DNS.Forwarders = nil }, "mtu": func(n *Definition) { n.MTU = 0 },
		"routes": func(n *Definition) { n.Routes = nil }, "pxe": func(n *Definition) { n.PXE.BootFile = "x" }, "domain": func(n *Definition) { n.Domain = "x" }, "nat6": func(n *Definition) { n.NAT6 = false },
		"one name twice": func(n *Definition) { n.DNS.Hosts[ip("10.0.0.7")] = []string{"api"} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := full()
			change(&want)
			if !NeedsRestart(full(), want) {
				t.Errorf("%s: no restart", name)
			}
		})
	}
	for name, change := range map[string]func(*Definition){
		"lease": func(n *Definition) { n.DHCP.LeaseSeconds = nil }, "no ranges": func(n *Definition) { n.DHCP.Ranges = nil }, "hosts": func(n *Definition) { n.DNS.Hosts = nil },
		"order": func(n *Definition) { n.Routes[0], n.Routes[1] = n.Routes[1], n.Routes[0] },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := full()
			change(&want)
			if NeedsRestart(full(), want) {
				t.Errorf("%s: restart", name)
			}
		})
	}
	without := full()
	without.DHCP = nil
	plain := full()
	plain.DHCP.Options = nil
	if NeedsRestart(plain, without) {
		t.Error("taking DHCP without options away needs no restart")
	}
}

func TestTheMarkIsFoundAgain(t *testing.T) {
	xml, err := full().Render("")
	if err != nil {
		t.Fatal(err)
	}
	if none, err := parseMark(xml); err != nil || none != (owner.Mark{}) {
		t.Fatal("marked before", err)
	}
	s := Store{Owner: new(owner.Run).New()}
	once, err := s.renderMarked(full(), xml)
	if err != nil {
		t.Fatal(err)
	}
	if found, err := parseMark(once); err != nil || !s.Owner.Owns(found) || found.Workspace == "" {
		t.Errorf("the mark is %v, %v", found, err)
	}
	if twice, err := s.renderMarked(full(), once); err != nil || twice != once {
		t.Errorf("marked twice: %v\n%s", err, twice)
	}
}

func TestParseUndoesRender(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := Definition{Name: rapid.StringMatching(`[a-z<&"' ]{1,20}`).Draw(t, "name"), Mode: rapid.SampledFrom([]string{NAT, Route, Open, Isolated}).Draw(t, "mode"),
			Subnet: netip.PrefixFrom(netip.AddrFrom4([4]byte{10, rapid.Byte().Draw(t, "net"), 0, 0}), rapid.IntRange(16, 29).Draw(t, "bits"))}
		n.Name = strings.TrimSpace("n" + n.Name)
		for i := range rapid.IntRange(0, 3).Draw(t, "ranges") {
			if n.DHCP == nil {
				n.DHCP = &DHCP{}
			}
			a := netip.AddrFrom4([4]byte{10, n.Subnet.Addr().As4()[1], 0, byte(10 + i)})
			n.DHCP.Ranges = append(n.DHCP.Ranges, Range{a, a})
		}
		for range rapid.IntRange(0, 2).Draw(t, "hosts") {
			if n.DNS.Hosts == nil {
				n.DNS.Hosts = map[netip.Addr][]string{}
			}
			a := netip.AddrFrom4([4]byte{10, 0, 0, rapid.Byte().Draw(t, "host")})
			n.DNS.Hosts[a] = []string{rapid.StringMatching(`[a-z]{1,8}`).Draw(t, "hostname")}
		}
		n.MTU = rapid.Int64Range(0, 9000).Draw(t, "mtu")
		xml, err := n.Render("")
		if err != nil {
			t.Fatal(err)
		}
		if got, err := Parse(xml); err != nil || !Equal(got, n) {
			t.Fatalf("%v: got %+v from\n%s", err, got, xml)
		}
	})
}

func TestReservationsOnlyLeaveATrace(t *testing.T) {
	definition := ""
	for _, dhcp := range []*DHCP{{}, nil, {}, {Ranges: []Range{span("10.0.0.2", "10.0.0.9")}}, {}} {
		t.Run(fmt.Sprint(dhcp), func(t *testing.T) {
			want := Definition{Name: "n", Mode: NAT, Subnet: cidr("10.0.0.0/24"), Gateway: ip("10.0.0.1"), DHCP: dhcp}
			var err error
			if definition, err = want.Render(definition); err != nil {
				t.Fatal(err)
			}
			got, err := Parse(definition)
			if err != nil {
				t.Fatal(err)
			}
			if !Equal(got, want) || (got.DHCP == nil) != (dhcp == nil) {
				t.Errorf("%v is read back as %v from\n%s", dhcp, got.DHCP, definition)
			}
			if noted := strings.Contains(definition, metadata.DHCP); noted != dhcp.buildNote().there {
				t.Errorf("%v: the note is there is %t:\n%s", dhcp, noted, definition)
			}
		})
	}
}
