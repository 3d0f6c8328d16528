package ovn

import (
	"errors"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/ovn-kubernetes/libovsdb/ovsdb"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
)

// wordsOf are the texts of a set.
func wordsOf(set any) (all []string) {
	for _, text := range set.(ovsdb.OvsSet).GoSet {
		all = append(all, text.(string))
	}
	return all
}

func TestAPortIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	dhcp := "dhcp"
	pool := Network{Name: "nodes", CIDR: netip.MustParsePrefix("10.50.0.0/24"), DHCP: &DHCP{Pool: []string{"10.50.0.100-10.50.0.199"}}}
	address := []netip.Addr{netip.MustParseAddr("10.50.0.11")}
	for name, c := range map[string]struct {
		port            GuestPort
		known, sendable string
		drawn           string
	}{
		"an address of DHCP": {
			GuestPort{MAC: "52:54:00:50:00:01", Addresses: address, DHCP: true, Hostname: "a"},
			"52:54:00:50:00:01 10.50.0.11|unknown", "", "",
		},
		"port security": {
			GuestPort{MAC: "52:54:00:50:00:01", Addresses: address, DHCP: true, Hostname: "a", Secure: true, Allowed: []string{"10.50.0.5", "10.60.0.0/24"}},
			"52:54:00:50:00:01 10.50.0.11", "52:54:00:50:00:01 10.50.0.11 10.50.0.5 10.60.0.0/24", "",
		},
		"addresses inside the guest": {
			GuestPort{MAC: "52:54:00:50:00:01", Addresses: append(slices.Clone(address), netip.MustParseAddr("fd00::11")), Secure: true},
			"52:54:00:50:00:01 10.50.0.11 fd00::11", "52:54:00:50:00:01 10.50.0.11 fd00::11", "",
		},
		"an address of the pool": {
			GuestPort{MAC: "52:54:00:50:00:01", DHCP: true, Drawn: netip.MustParseAddr("10.50.0.100")},
			"52:54:00:50:00:01 dynamic|unknown", "", "52:54:00:50:00:01 10.50.0.100",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			columns := c.port.formatColumns(pool)
			row := Port{Addresses: wordsOf(columns["addresses"]), PortSecurity: wordsOf(columns["port_security"]), Options: withoutEmpty(c.port.formatOptions())}
			if !slices.Equal(row.Addresses, split(c.known)) || !slices.Equal(row.PortSecurity, split(c.sendable)) {
				t.Errorf("it knows %q and lets pass %q", row.Addresses, row.PortSecurity)
			}
			if c.port.DHCP {
				row.DHCPv4 = &dhcp
			}
			if c.drawn != "" {
				row.Drawn = &c.drawn
			}
			var got GuestPort
			got.readRow(&row)
			if !reflect.DeepEqual(got, c.port) {
				t.Errorf("read is %+v\nof      %+v", got, c.port)
			}
		})
	}
}

// split is the texts of a set with "|" between.
func split(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == '|' })
}

// A row that lets the guest send from less than its own addresses, or has no quotes around its host name, shows.
func TestAPortThatAPersonChangedShows(t *testing.T) {
	t.Parallel()
	var got GuestPort
	got.readRow(&Port{Addresses: []string{"52:54:00:50:00:01 10.50.0.11"}, PortSecurity: []string{"52:54:00:50:00:01 10.50.0.12"}, Options: map[string]string{"hostname": "a"}})
	if got.Secure || got.Hostname == "a" {
		t.Errorf("read is %+v", got)
	}
}

func TestWhatANetworkDoesNotGiveAPort(t *testing.T) {
	t.Parallel()
	network := Network{Name: "nodes", CIDR: netip.MustParsePrefix("10.50.0.0/24"), Gateway: netip.MustParseAddr("10.50.0.1"), DHCP: &DHCP{}}
	for name, c := range map[string]struct {
		address string
		on      Network
		wrong   bool
	}{
		"inside":      {"10.50.0.11", network, false},
		"outside":     {"10.51.0.11", network, true},
		"broadcast":   {"10.50.0.255", network, true},
		"the gateway": {"10.50.0.1", network, true},
		"no DHCP":     {"10.50.0.11", Network{Name: "nodes", CIDR: network.CIDR}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := GuestPort{DHCP: true, Addresses: []netip.Addr{netip.MustParseAddr(c.address)}}
			if problems := p.CheckIn(c.on); (len(problems) > 0) != c.wrong {
				t.Errorf("problems are %v", problems)
			}
		})
	}
}

// Another port of the network that has an address or a MAC address is named, with whose it is; the port itself is in nobody's way.
func TestWhatAnotherPortHas(t *testing.T) {
	t.Parallel()
	drawn := "52:54:00:50:00:98 10.50.0.98"
	on := networkRows{network: &Switch{Name: "nodes"}, others: []Port{
		{Name: "self", Addresses: []string{"52:54:00:50:00:01 10.50.0.11"}},
		{Name: "router", Type: "router", Addresses: []string{"router"}},
		{Name: "theirs", Addresses: []string{"52:54:00:50:00:99 10.50.0.99"}, ExternalIDs: map[string]string{markKey: "owner=them"}},
		{Name: "drawn", Addresses: []string{"52:54:00:50:00:98 dynamic"}, Drawn: &drawn},
	}}
	for name, c := range map[string]struct {
		mac, address, at string
	}{
		"nothing":          {"52:54:00:50:00:01", "10.50.0.11", ""},
		"an address":       {"52:54:00:50:00:01", "10.50.0.99", "addresses"},
		"a drawn address":  {"52:54:00:50:00:01", "10.50.0.98", "addresses"},
		"the MAC address":  {"52:54:00:50:00:99", "10.50.0.11", "mac"},
		"in small letters": {"52:54:00:50:00:98", "10.50.0.11", "mac"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := GuestPort{Name: "self", MAC: c.mac, Addresses: []netip.Addr{netip.MustParseAddr(c.address)}}
			problems := p.checkOn(nil, on)
			if c.at == "" {
				if len(problems) > 0 {
					t.Errorf("problems are %v", problems)
				}
				return
			}
			if len(problems) != 1 || problems[0].Path[0] != c.at {
				t.Fatalf("problems are %v", problems)
			}
			if taken, ok := errors.AsType[*TakenError](problems[0].Err); !ok || (taken.By == owner.Mark{ID: "them"}) != (c.mac[15:] == "99" || c.address == "10.50.0.99") {
				t.Errorf("the problem is %#v", problems[0].Err)
			}
		})
	}
}
