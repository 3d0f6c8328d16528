package crosscheck

import (
	"net/netip"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/haproxy"
)

func TestAnAddressIsExternalWhereTheDefaultRouteLeads(t *testing.T) {
	inside := link{name: "eth0", prefixes: []netip.Prefix{netip.MustParsePrefix("10.0.0.100/24")}}
	outside := link{name: "eth1", prefixes: []netip.Prefix{netip.MustParsePrefix("10.19.41.157/24")}, gateway: true}
	only := link{name: "eth0", prefixes: []netip.Prefix{netip.MustParsePrefix("10.0.0.100/24")}, gateway: true}
	for _, c := range []struct {
		address string
		links   []link
		want    bool
	}{
		{"10.0.0.250", []link{inside, outside}, false},
		{"10.19.41.160", []link{inside, outside}, true},
		{"*", []link{inside, outside}, true},
		{"::", []link{inside, outside}, true},
		{"*", []link{only}, false},
		{"10.0.0.250", []link{only}, false},
		{"127.0.0.1", []link{inside, outside}, false},
		{"203.0.113.7", nil, true},
		{"fd00::7", nil, false},
		{"2001:db8::7", nil, true},
	} {
		if got := exposed(haproxy.Bind{Address: c.address, Port: machineConfigPort}, c.links); (got != "") != c.want {
			t.Errorf("%s with %d links: %q", c.address, len(c.links), got)
		}
	}
}
