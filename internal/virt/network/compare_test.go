package network

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
)

func TestAChangeSaysWhatIsLiveAndWhatRestarts(t *testing.T) {
	running := Spec{Definition: full(), State: State{Active: true, Autostart: true}}
	for name, c := range map[string]struct {
		change        func(*Spec)
		live, restart []string
	}{
		"nothing": {func(*Spec) {}, nil, nil},
		"reservations and ranges": {func(s *Spec) {
			s.DHCP.Ranges = s.DHCP.Ranges[:1]
			s.DHCP.Hosts = map[string]Host{"52:54:00:00:00:01": {IP: ip("10.0.0.5")}}
		}, []string{"dhcp"}, nil},
		"records":                  {func(s *Spec) { s.DNS.Hosts = nil }, []string{"dns"}, nil},
		"an option and the domain": {func(s *Spec) { s.DHCP.Options["42"], s.Domain = "10.0.0.1", "x.example" }, nil, []string{"dhcp.options", "domain"}},
		"a restart and a record":   {func(s *Spec) { s.MTU, s.DNS.Hosts = 1400, nil }, []string{"dns"}, []string{"mtu"}},
		"a stop with a new subnet": {func(s *Spec) { s.Active, s.MTU = false, 1400 }, []string{"mtu", "active"}, nil},
		"autostart":                {func(s *Spec) { s.Autostart = false }, []string{"autostart"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			want := Spec{Definition: full(), State: running.State}
			c.change(&want)
			if got := Compare(running, want); !slices.Equal(got.Live, c.live) || !slices.Equal(got.Restart, c.restart) || got.Restarts() != (len(c.restart) > 0) {
				t.Errorf("%s: %+v", name, got)
			}
		})
	}
}

func TestRecordsOfOneAddressAreOne(t *testing.T) {
	t.Parallel()
	const xml = `<network><name>n</name><bridge name="b"/><dns><host ip="10.0.0.5"><hostname>one</hostname></host><host ip="10.0.0.6"><hostname>six</hostname></host>
<host ip="10.0.0.5"><hostname>two</hostname></host></dns><ip address="10.0.0.1" prefix="24"/></network>`
	was, err := Parse(xml)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		hosts   map[netip.Addr][]string
		restart bool
		edits   int
	}{
		"as they are":          {map[netip.Addr][]string{ip("10.0.0.5"): {"two", "one"}, ip("10.0.0.6"): {"six"}}, false, 0},
		"another one changes":  {map[netip.Addr][]string{ip("10.0.0.5"): {"one", "two"}, ip("10.0.0.6"): {"seven"}}, false, 2},
		"another one comes":    {map[netip.Addr][]string{ip("10.0.0.5"): {"one", "two"}, ip("10.0.0.6"): {"six"}, ip("10.0.0.7"): {"x"}}, false, 1},
		"a name of it changes": {map[netip.Addr][]string{ip("10.0.0.5"): {"one", "three"}, ip("10.0.0.6"): {"six"}}, true, 2},
		"a name of it goes":    {map[netip.Addr][]string{ip("10.0.0.5"): {"one"}, ip("10.0.0.6"): {"six"}}, true, 2},
		"it goes":              {map[netip.Addr][]string{ip("10.0.0.6"): {"six"}}, true, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := was
			want.DNS = DNS{Hosts: c.hosts}
			if NeedsRestart(was, want) != c.restart || NeedsRestart(want, was) {
				t.Errorf("%s needs a restart: %t", name, NeedsRestart(was, want))
			}
			if edits, err := ListEdits(xml, nil, was, want); err != nil || len(edits) != c.edits {
				t.Errorf("%s takes %+v, %v", name, edits, err)
			}
			if rendered, err := want.Render(xml); err != nil || strings.Count(rendered, `ip="10.0.0.5"`) > 1 {
				t.Errorf("%v in\n%s", err, rendered)
			}
		})
	}
}
