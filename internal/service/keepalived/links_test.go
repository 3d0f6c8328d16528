package keepalived

import (
	"net/netip"
	"testing"
)

func TestAMachineSpeaksFromNoAddressThatGoesToAnother(t *testing.T) {
	const own, elsewhere, other = "fd00:100::101", "fd00:200::1", "fd00:100::b0"
	virtual := []netip.Prefix{netip.MustParsePrefix("fd00:100::a0/64")}
	declared := []Declared{{Name: "other", Addresses: []netip.Addr{netip.MustParseAddr(other)}}, {Addresses: []netip.Addr{netip.MustParseAddr(elsewhere)}}}
	for name, c := range map[string]struct {
		has  []string
		want string
	}{
		"the virtual address of another instance first": {[]string{other + "/64", own + "/64"}, own},
		"its own virtual address first":                 {[]string{"fd00:100::a0/64", own + "/64"}, own},
		"nothing else":                                  {[]string{other + "/64"}, ""},
		"what a person has put on it all the time":      {[]string{elsewhere + "/64"}, elsewhere},
		"the network's before another's":                {[]string{elsewhere + "/64", own + "/64"}, own},
	} {
		t.Run(name, func(t *testing.T) {
			l := Links{}
			for _, p := range c.has {
				l["eth0"] = append(l["eth0"], netip.MustParsePrefix(p))
			}
			got, there := l.Own("eth0", virtual, declared)
			if there != (c.want != "") || there && got.String() != c.want {
				t.Errorf("it speaks from %s", got)
			}
		})
	}
}
