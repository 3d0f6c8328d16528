package node

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

func TestAntiSpoofing(t *testing.T) {
	i := &interfaceModel{
		MAC: text("52:54:00:F2:46:A7"), IP: text("10.0.0.100"), IPv6: types.StringNull(), Addresses: textList([]string{"10.19.41.157/24", "fd00::157/64"}),
		AllowedAddresses: textList([]string{"10.19.41.160", "10.128.0.0/14"}),
	}
	got := antiSpoofing("okd-service-01", canonicalMAC(i.MAC.ValueString()), i).xml
	const file = "testdata/filter.xml"
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Error(diff)
	}
}

// Neighbour discovery tells MAC addresses, so it passes in the interface's own name only. What the guest derives
// from its MAC address in the prefix of its own address is its own too: router advertisements make it send from there.
func TestAntiSpoofingOfNeighbourDiscovery(t *testing.T) {
	const (
		mac        = "52:54:00:f2:46:a7"
		linkLocal  = "srcipaddr='fe80::5054:ff:fef2:46a7' srcipmask='128'"
		advertised = "srcipaddr='fd00:88::5054:ff:fef2:46a7' srcipmask='128'"
	)
	for name, c := range map[string]struct {
		addresses []string
		passes    []string
	}{
		"IPv4 alone":    {[]string{"10.88.0.6/24"}, []string{"srcipaddr='::' srcipmask='128' protocol='icmpv6' type='135'", linkLocal + " protocol='icmpv6' type='135'"}},
		"both families": {[]string{"10.88.0.6/24", "fd00:88::6/64"}, []string{"srcipaddr='fd00:88::6' srcipmask='128'", "srcipaddr='::' srcipmask='128' protocol='icmpv6' type='135'", linkLocal, advertised}},
	} {
		t.Run(name, func(t *testing.T) {
			xml := antiSpoofing("n", mac, &interfaceModel{Addresses: textList(c.addresses), AllowedAddresses: textList(nil)}).xml
			// What the filter takes before it drops all solicitations (135) and advertisements (136).
			before, after, found := strings.Cut(xml, "priority='-700'")
			if !found {
				t.Fatal(xml)
			}
			for _, kind := range []string{"135", "136"} {
				if !regexp.MustCompile(`action='drop' direction='out' priority='-700'>\s+<ipv6 protocol='icmpv6' type='` + kind + `'/>`).MatchString(xml) {
					t.Errorf("type %s passes:\n%s", kind, xml)
				}
			}
			var got []string
			for _, m := range regexp.MustCompile(`action='accept' .*\s+<ipv6 (.*)/>`).FindAllStringSubmatch(before, -1) {
				got = append(got, m[1])
			}
			if diff := cmp.Diff(c.passes, got); diff != "" {
				t.Error(diff)
			}
			if !strings.Contains(after, "priority='-600'>\n    <ipv6 srcipaddr='fe80::' srcipmask='10'/>") {
				t.Errorf("DHCPv6 does not pass:\n%s", xml)
			}
		})
	}
}

func TestMarksKeepWhatTheGuestWasTold(t *testing.T) {
	was := interfaceModel{
		Name: text("eth1"), MAC: text("52:54:00:f2:46:a7"), Gateway: text("10.19.41.254"), Addresses: textList([]string{"10.19.41.157/24"}),
		Nameservers: textList([]string{"10.0.0.1", "10.0.0.2"}), AllowedAddresses: textList(nil), Routes: types.ListNull(routeType()),
	}
	is := interfaceModel{MAC: was.MAC}
	unmarkInterface(markInterface(&was), &is)
	if diff := cmp.Diff(was, is); diff != "" {
		t.Error(diff)
	}
}
