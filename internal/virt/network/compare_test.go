package network

import (
	"slices"
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
