package machine

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
)

func TestStaticInterfaceIsNotWaitedFor(t *testing.T) {
	for _, c := range []struct {
		i      InterfaceSpec
		v4, v6 bool
	}{
		{InterfaceSpec{}, true, false},
		{InterfaceSpec{Addresses: Prefixes("10.0.0.9/24")}, false, false},
		{InterfaceSpec{Addresses: Prefixes("fd00::9/64")}, true, false},
		{InterfaceSpec{Addresses: Prefixes("10.0.0.9/24"), IP: Address("10.1.0.9")}, true, false},
		{InterfaceSpec{Addresses: Prefixes("10.0.0.9/24"), IPv6: Address("fd00::9")}, false, true},
	} {
		t.Run(fmt.Sprint(c.i), func(t *testing.T) {
			t.Parallel()
			if v4, v6 := c.i.asksDHCP(); v4 != c.v4 || v6 != c.v6 {
				t.Errorf("%+v: asks for IPv4 %t, IPv6 %t", c.i, v4, v6)
			}
		})
	}
	want := &Spec{Interfaces: []InterfaceSpec{{Network: "n", Addresses: Prefixes("10.0.0.9/24")}}}
	if missing, err := (&Store{}).listMissing(t.Context(), want, "lease", nil); err != nil || len(missing) != 0 {
		t.Errorf("waits for %v, %v", missing, err)
	}
}

func TestTheAddressThatWasAskedForIsWaitedFor(t *testing.T) {
	a := func(texts ...string) []netip.Addr {
		var all []netip.Addr
		for _, text := range texts {
			all = append(all, netip.MustParseAddr(text))
		}
		return all
	}
	i := InterfaceSpec{Name: "eth0", MAC: "52:54:00:00:00:01", IP: Address("10.0.0.1")}
	for name, c := range map[string]struct {
		i    InterfaceSpec
		got  []netip.Addr
		want string // a part of what is waited for; "" for nothing
	}{
		"nothing yet":               {i, nil, "an address of eth0"},
		"that one":                  {i, a("10.0.0.1"), ""},
		"that one and another":      {i, a("10.0.0.77", "10.0.0.1"), ""},
		"another one":               {i, a("10.0.0.77"), "address 10.0.0.1 of eth0 (52:54:00:00:00:01), which has 10.0.0.77"},
		"any, as none was asked":    {InterfaceSpec{Name: "eth0"}, a("10.0.0.77"), ""},
		"one of another family too": {i, a("fd00::7"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := c.i.missingAddress(c.got); got != c.want && (c.want == "" || !strings.Contains(got, c.want)) {
				t.Errorf("%s: waits for %q", name, got)
			}
		})
	}
}

func TestAddressesAreWhatTheGuestHas(t *testing.T) {
	i := InterfaceSpec{IP: Address("10.0.0.1")}
	for name, c := range map[string]struct {
		leased []netip.Addr
		want   string
	}{
		"no lease yet":                  {nil, "10.0.0.1"},
		"the reserved one":              {[]netip.Addr{netip.MustParseAddr("10.0.0.9"), netip.MustParseAddr("10.0.0.1")}, "10.0.0.1"},
		"the one that it had before":    {[]netip.Addr{netip.MustParseAddr("10.0.0.9")}, "10.0.0.9"},
		"one of the other family alone": {[]netip.Addr{netip.MustParseAddr("fd00::9")}, "10.0.0.1"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := chooseLeasedAddress(c.leased, i.ConfiguredAddress()); got.String() != c.want {
				t.Errorf("%s: %s", name, got)
			}
		})
	}
}
