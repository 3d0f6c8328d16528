package keepalived

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
)

func TestWhatCannotWorkIsRefusedAtItsAttribute(t *testing.T) {
	if problems := sample().Validate(); problems != nil {
		t.Fatalf("the sample is in order: %v", problems)
	}
	if problems := rich().Validate(); problems != nil {
		t.Fatalf("everything at once is in order: %v", problems)
	}
	six := func(v *VIP) {
		v.Addresses, v.Version, v.AuthPass = prefixes("fd00:100::250/64"), 3, ""
		v.Members[0].Address, v.Members[1].Address = netip.MustParseAddr("fe80::101"), netip.MustParseAddr("fe80::102")
	}
	for name, c := range map[string]struct {
		spoil       func(v *VIP)
		path, words string
	}{
		"password of nine":               {func(v *VIP) { v.AuthPass = "ninechars" }, "[auth_pass]", "at most 8 characters, and this one has 9"},
		"password that ends its line":    {func(v *VIP) { v.AuthPass = "a\nb" }, "[auth_pass]", "letters and digits"},
		"password of version 3":          {func(v *VIP) { v.Version = 3 }, "[auth_pass]", "no authentication"},
		"id below":                       {func(v *VIP) { v.RouterID = 0 }, "[virtual_router_id]", "1 to 255, not 0"},
		"id above":                       {func(v *VIP) { v.RouterID = 256 }, "[virtual_router_id]", "1 to 255, not 256"},
		"half a second in version 2":     {func(v *VIP) { v.AdvertInterval = 0.5 }, "[advert_int]", "write version = 3"},
		"IPv6 in version 2":              {func(v *VIP) { six(v); v.Version, v.Unicast = 2, false }, "[version]", "no IPv6"},
		"no addresses":                   {func(v *VIP) { v.Addresses = nil }, "[addresses]", "at least one"},
		"a network's address":            {func(v *VIP) { v.Addresses = prefixes("10.0.100.0/24") }, "[addresses 0]", "address of the network 10.0.100.0/24"},
		"an address twice":               {func(v *VIP) { v.Addresses = prefixes("10.0.100.250/24", "10.0.100.250/32") }, "[addresses 1]", "in the list already"},
		"address outside the subnet":     {func(v *VIP) { v.Addresses = prefixes("10.9.9.250/24") }, "[members svc-1 address]", "10.0.100.101 is not in 10.9.9.0/24"},
		"a member's own as virtual":      {func(v *VIP) { v.Addresses = prefixes("10.0.100.102/24") }, "[members svc-2 address]", "always has"},
		"members of the other family":    {func(v *VIP) { v.Addresses, v.Version, v.AuthPass = prefixes("fd00::1/64"), 3, "" }, "[members svc-1 address]", "family of the first"},
		"a link-local address, unicast":  {six, "[members svc-1 address]", "unicast = false"},
		"a member twice":                 {func(v *VIP) { v.Members[1].ID = "a" }, "[members svc-2 service_node]", `members["svc-1"]`},
		"an interface with a blank":      {func(v *VIP) { v.Members[0].Interface = "eth 0" }, "[members svc-1 interface]", "network device"},
		"a name with a comma":            {func(v *VIP) { v.Members[0].Name = "a,b" }, "[members]", "without spaces, commas"},
		"priority 255":                   {func(v *VIP) { v.Members[0].Priority = 255 }, "[members svc-1 priority]", "1 to 254"},
		"a state of its own":             {func(v *VIP) { v.Members[0].State = "OWNER" }, "[members svc-1 state]", `"MASTER" or "BACKUP"`},
		"MASTER that does not preempt":   {func(v *VIP) { v.Preempt, v.Members[0].State = false, "MASTER" }, "[members svc-1 state]", `write "BACKUP"`},
		"MASTER that preempts later":     {func(v *VIP) { v.PreemptDelay, v.Members[0].State = 5, "MASTER" }, "[members svc-1 state]", `write "BACKUP"`},
		"delay without preemption":       {func(v *VIP) { v.PreemptDelay, v.Preempt = 5, false }, "[preempt_delay]", "leave preempt_delay out"},
		"a script below somewhere":       {func(v *VIP) { v.Track[0].Script = "bin/check" }, "[track 0 script]", "full path of a program, or its name alone"},
		"a script with a quote":          {func(v *VIP) { v.Track[0].Script = `/bin/sh -c "true"` }, "[track 0 script]", "script_content"},
		"nobody's script":                {func(v *VIP) { v.Track[0].User = "No Body" }, "[track 0 user]", "name of a user"},
		"a script and an interface":      {func(v *VIP) { v.Track[0].Interface = "eth1" }, "[track 0 name]", "exactly one"},
		"a weight in a sync group":       {func(v *VIP) { v.SyncGroup = "pair" }, "[track 0 weight]", "leave weight out"},
		"a weight out of range":          {func(v *VIP) { v.Track[0].Weight = 254 }, "[track 0 weight]", "-253 to 253"},
		"a script that never runs":       {func(v *VIP) { v.Track[0].Interval = 0 }, "[track 0 interval]", "at least 1"},
		"a negative repeat":              {func(v *VIP) { v.GARP = map[string]int{"garp_master_repeat": -1} }, "[garp master_repeat]", "1 to"},
		"gratuitous ARP sent never":      {func(v *VIP) { v.GARP = map[string]int{"garp_master_repeat": 0} }, "[garp master_repeat]", "1 to"},
		"a refresh sent never":           {func(v *VIP) { v.GARP = map[string]int{"garp_master_refresh_repeat": 0} }, "[garp master_refresh_repeat]", "1 to"},
		"a delay beyond keepalived's":    {func(v *VIP) { v.GARP = map[string]int{"garp_master_delay": 4295} }, "[garp master_delay]", "4294"},
		"an interval beyond it":          {func(v *VIP) { v.Track[0].Interval = 4295 }, "[track 0 interval]", "at most 4294"},
		"two commands":                   {func(v *VIP) { v.Track[0].Script = "/bin/true && /bin/false" }, "[track 0 script]", "without a shell"},
		"a command with a NUL":           {func(v *VIP) { v.Track[0].Script = "/bin/true\x00" }, "[track 0 script]", "single spaces"},
		"a command that is a sequence":   {func(v *VIP) { v.Track[0].Script = "/bin/true ~SEQ(a,1,9)" }, "[track 0 script]", "single spaces"},
		"a process with a line feed":     {func(v *VIP) { v.Track[0].Script, v.Track[0].Process = "", "a\nb" }, "[track 0 process]", "without quotes"},
		"a script and its content":       {func(v *VIP) { v.Track[0].Content = "#!/bin/sh\n" }, "[track 0 name]", "exactly one"},
		"a script that nothing runs":     {func(v *VIP) { v.Track[0].Script, v.Track[0].Content = "", "true\n" }, "[track 0 script_content]", "#!/bin/sh"},
		"a script for Windows":           {func(v *VIP) { v.Track[0].Script, v.Track[0].Content = "", "#!/bin/sh\r\ntrue\r\n" }, "[track 0 script_content]", "line feed"},
		"a member's address with a zone": {func(v *VIP) { v.Members[0].Address = netip.MustParseAddr("fe80::1%x; include /etc/shadow") }, "[members svc-1 address]", "leave %x"},
		"a name that would be a comment": {func(v *VIP) { v.Name = "a#b" }, "[name]", "letters"},
	} {
		t.Run(name, func(t *testing.T) {
			v := sample()
			c.spoil(&v)
			for _, p := range v.Validate() {
				if fmt.Sprint(p.Path) == c.path && strings.Contains(p.Detail, c.words) {
					return
				}
			}
			t.Errorf("nothing at %s says %q: %v", c.path, c.words, v.Validate())
		})
	}
}

func TestVRRPOverIPv6IsSpokenLinkLocally(t *testing.T) {
	v := sample()
	v.Addresses, v.Version, v.AuthPass, v.Unicast = prefixes("fd00:100::250/64"), 3, "", false
	v.Members[0].Address, v.Members[1].Address = netip.MustParseAddr("fe80::101"), netip.MustParseAddr("fe80::102")
	if problems := v.Validate(); problems != nil {
		t.Error(problems)
	}
}

func TestAMachineThatLostItsAddressShowsAsThat(t *testing.T) {
	known := sample()
	found := func() []Found {
		return []Found{{ID: "a", Instance: known.Instance("a")}, {ID: "b", Instance: known.Instance("b"), LostSource: true}}
	}
	ids := []string{"a", "b"}
	if got := Merge(found(), &known, ids, nil); got.Members[1].Address.IsValid() || !got.Members[0].Address.IsValid() || !got.Unicast {
		t.Errorf("the machine's own address changed: %+v", got)
	}
	edited := found()
	edited[1].Instance.Source = netip.MustParseAddr("10.0.100.99")
	if got := Merge(edited, &known, ids, nil); got.Members[1].Address.IsValid() || !got.Unicast {
		t.Errorf("the file's address changed to one that the machine does not have: %+v", got)
	}
	edited[1].LostSource = false
	if got := Merge(edited, &known, ids, nil); got.Members[1].Address != netip.MustParseAddr("10.0.100.99") || got.Unicast {
		t.Errorf("the member speaks from an address that its peer does not know: %+v", got)
	}
}
