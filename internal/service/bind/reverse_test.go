package bind

import (
	"bytes"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"testing"
)

func TestPointersMustLieInThePrefix(t *testing.T) {
	z := Zone{CIDR: "10.0.0.0/25", Pointers: map[string]string{"10.0.0.200": "a.example.", "fd00::1": "b.example.", "10.0.0.1": "bad name", "x": "c."}, NameServers: []string{"localhost."}}
	var paths []string
	for _, p := range z.Validate() {
		paths = append(paths, fmt.Sprint(p.Path))
	}
	if want := []string{"[pointers 10.0.0.1]", "[pointers 10.0.0.200]", "[pointers fd00::1]", "[pointers x]"}; !slices.Equal(paths, want) {
		t.Errorf("problems at %v", paths)
	}
}

func TestReverseZones(t *testing.T) {
	for prefix, c := range map[string][3]string{
		"10.0.0.0/8":      {"10.in-addr.arpa", "10.1.2.3", "3.2.1"},
		"10.0.16.0/20":    {"0.10.in-addr.arpa", "10.0.17.3", "3.17"},
		"10.0.0.0/24":     {"0.0.10.in-addr.arpa", "10.0.0.1", "1"},
		"192.0.2.128/26":  {"128/26.2.0.192.in-addr.arpa", "192.0.2.130", "130"},
		"192.0.2.7/32":    {"7.2.0.192.in-addr.arpa", "192.0.2.7", "@"},
		"fd00::/64":       {"0.0.0.0.0.0.0.0.0.0.0.0.0.0.d.f.ip6.arpa", "fd00::a", "a.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0"},
		"2001:db8::/30":   {"b.d.0.1.0.0.2.ip6.arpa", "2001:db8::1", "1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8"},
		"2001:db8:8::/48": {"8.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa", "2001:db8:8::1", "1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0"},
	} {
		p := netip.MustParsePrefix(prefix)
		a := netip.MustParseAddr(c[1])
		if got := ReverseZone(p); got != c[0] {
			t.Errorf("%s: zone %s", prefix, got)
		}
		if got := PointerName(a, p); got != c[2] {
			t.Errorf("%s: %s is %s", prefix, a, got)
		}
		of, ok := ReversePrefix(c[0])
		if !ok || !of.Contains(a) {
			t.Errorf("%s: zone of %s, %v", prefix, of, ok)
		}
		if got, ok := PointerAddress(c[2], of); !ok || got != a {
			t.Errorf("%s: %s is of %s, %v", prefix, c[2], got, ok)
		}
	}
	if got := ParentRecords(netip.MustParsePrefix("192.0.2.128/31")); !maps.Equal(got, map[string]string{
		"128": "128.128/31.2.0.192.in-addr.arpa.", "129": "129.128/31.2.0.192.in-addr.arpa.",
	}) {
		t.Errorf("parent records %v", got)
	}
}

func TestMailboxIsAlwaysOneThatBINDTakes(t *testing.T) {
	for zone, want := range map[string]string{
		"okd.example": "hostmaster.okd.example.", "_msdcs.okd.example": "hostmaster.okd.example.",
		"128/25.2.0.192.in-addr.arpa": "hostmaster.2.0.192.in-addr.arpa.", "_tcp": "hostmaster.",
	} {
		if got := DefaultMailbox(zone); got != want {
			t.Errorf("%s: %s", zone, got)
		}
	}
}

func TestPrefixIsReadBack(t *testing.T) {
	for _, cidr := range []string{"10.0.16.0/20", "10.0.0.0/16", "192.0.2.128/25", "2001:db8::/30", "0.0.0.0/0"} {
		z := Zone{CIDR: cidr, NameServers: []string{"localhost."}}
		f, err := z.makeFile()
		must(t, err)
		read := parseZoneFile(f.zone, f.Render())
		got := Zone{Name: f.zone}.Spell(read.zoneOf()).CIDR
		if p, ok := ReversePrefix(f.zone); ok && got == "" {
			got = p.String()
		}
		if got != cidr || !bytes.Equal(read.Render(), f.Render()) {
			t.Errorf("%s is read back as %q from %s", cidr, got, f.Render())
		}
	}
	if f := parseZoneFile("0.10.in-addr.arpa", []byte(prefixMarker+"10.1.16.0/20\n")); f.prefix != "" {
		t.Errorf("the prefix of another zone is taken: %s", f.prefix)
	}
}
