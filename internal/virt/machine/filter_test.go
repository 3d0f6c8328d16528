package machine

import (
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"libvirt.org/go/libvirtxml"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/goldentest"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/sshhost"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
)

// rendered is a filter's XML with the quotes and the empty elements that libvirt spells.
func rendered(t *testing.T, f *libvirtxml.NWFilter) string {
	t.Helper()
	text, err := f.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return regexp.MustCompile(`></(mac|arp|rarp|ip|ipv6)>`).ReplaceAllString(strings.ReplaceAll(text, `"`, "'"), "/>") + "\n"
}

func TestAntiSpoofing(t *testing.T) {
	i := &InterfaceSpec{
		MAC: "52:54:00:f2:46:a7", IP: Address("10.0.0.100"), Addresses: Prefixes("10.19.41.157/24", "fd00::157/64"),
		AllowedAddresses: []string{"10.19.41.160", "10.128.0.0/14"},
	}
	got := rendered(t, buildSpoofFilter("okd-service-01", someUUID, i))
	goldentest.Compare(t, "testdata/filter.xml", got)
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
			xml := rendered(t, buildSpoofFilter("n", someUUID, &InterfaceSpec{MAC: mac, Addresses: Prefixes(c.addresses...)}))
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
	was := InterfaceSpec{
		Name: "eth1", Gateway: Address("10.19.41.254"), Addresses: Prefixes("10.19.41.157/24"), Nameservers: Addresses("10.0.0.1", "10.0.0.2"),
		Routes: []Route{{Prefixes("10.128.0.0/14")[0], Address("10.19.41.1")}}, AllowedAddresses: []string{},
	}
	marked := was.buildMark("n")
	if got := marked.toSpec(); !reflect.DeepEqual(got, was) {
		t.Errorf("%+v, want %+v", got, was)
	}
}

func TestAFilterIsKnownByItsMachine(t *testing.T) {
	const name = "virtcluster-okd-service-01-525400f246a7"
	for whose, c := range map[string]struct {
		uuid string
		own  bool
	}{
		"the machine's":             {filterUUID(someUUID, name), true},
		"another machine's":         {filterUUID("11111111-2222-4333-8444-555555555555", name), false},
		"a person's":                {"11111111-2222-4333-8444-555555555555", false},
		"what its name alone gives": {"e9e831b1-2422-43f3-ac5c-70f797fd1cf7", false},
	} {
		t.Run(whose, func(t *testing.T) {
			t.Parallel()
			if own := isOwnFilter(&libvirtxml.NWFilter{Name: name, UUID: c.uuid}, someUUID); own != c.own {
				t.Errorf("%s: own is %t", whose, own)
			}
		})
	}
}

func TestFiltersAreChosenByTheirMachine(t *testing.T) {
	t.Parallel()
	const base = "virtcluster-okd-service-01-525400f246a7"
	uuids := map[string]string{"clean-traffic": "11111111-2222-4333-8444-555555555555", "virtcluster-okd-service-01-525400000001": "11111111-2222-4333-8444-555555555556"}
	for _, name := range []string{base + rulesSuffix, base} {
		uuids[name] = filterUUID(someUUID, name)
	}
	if got := chooseOwnFilters(uuids, someUUID); !slices.Equal(got, []string{base, base + rulesSuffix}) {
		t.Errorf("its own are %v", got)
	}
}

func TestAFilterThatSomebodyChangedGuardsNothing(t *testing.T) {
	t.Parallel()
	const rules = "virtcluster-n-525400f246a7-rules"
	build := func(change func(*libvirtxml.NWFilter)) *libvirtxml.NWFilter {
		f := buildSpoofFilter("n", someUUID, &InterfaceSpec{MAC: "52:54:00:f2:46:a7", IP: Address("10.0.0.100")})
		change(f)
		return f
	}
	accept := libvirtxml.NWFilterEntry{Rule: &libvirtxml.NWFilterRule{Action: "accept", Direction: "inout", Priority: -999, All: &libvirtxml.NWFilterRuleAll{}}}
	for name, c := range map[string]struct {
		change func(*libvirtxml.NWFilter)
		guards bool
	}{
		"as it is":             {func(*libvirtxml.NWFilter) {}, true},
		"with security rules":  {func(f *libvirtxml.NWFilter) { prependReference(f, rules) }, true},
		"with another filter":  {func(f *libvirtxml.NWFilter) { prependReference(f, "allow-all") }, false},
		"with one rule more":   {func(f *libvirtxml.NWFilter) { f.Entries = append(f.Entries, accept) }, false},
		"with one rule less":   {func(f *libvirtxml.NWFilter) { f.Entries = f.Entries[1:] }, false},
		"that passes all":      {func(f *libvirtxml.NWFilter) { f.Entries = []libvirtxml.NWFilterEntry{accept} }, false},
		"with nothing at all":  {func(f *libvirtxml.NWFilter) { f.Entries = nil }, false},
		"with rules in a row":  {func(f *libvirtxml.NWFilter) { slices.Reverse(f.Entries) }, true}, // their priorities say their order
		"of the rules alone":   {func(f *libvirtxml.NWFilter) { f.Entries = nil; prependReference(f, rules) }, false},
		"with another address": {func(f *libvirtxml.NWFilter) { f.Entries[3].Rule.ARP.ARPSrcIPAddr.Str = "10.0.0.101" }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := guardsAs(build(c.change), build(func(*libvirtxml.NWFilter) {}), rules); got != c.guards {
				t.Errorf("it guards: %t", got)
			}
		})
	}
}

func TestAFilterOfAKilledChangeIsSeen(t *testing.T) {
	t.Parallel()
	m := &Machine{Name: "n", UUID: someUUID}
	const mac = "52:54:00:f2:46:a7"
	build := func(secure bool, allowed ...string) *InterfaceSpec {
		return &InterfaceSpec{MAC: mac, IP: Address("10.0.0.100"), PortSecurity: secure, AllowedAddresses: allowed}
	}
	for name, c := range map[string]struct {
		was   *InterfaceSpec
		guard *libvirtxml.NWFilter
		want  bool
	}{
		"known to have none, and changed": {build(false), buildSpoofFilter("n", someUUID, build(true, "10.0.0.200")), true},
		"known to have none, of another":  {build(false), buildSpoofFilter("n", someUUID, build(true, "10.0.0.201")), false},
		"known to have none, nor has one": {build(false), nil, false},
		"known to have one, and changed":  {build(true), buildSpoofFilter("n", someUUID, build(true, "10.0.0.200")), false},
		"known to have it":                {build(true), buildSpoofFilter("n", someUUID, build(true)), true},
		"not known":                       {nil, buildSpoofFilter("n", someUUID, build(true, "10.0.0.200")), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := readPortSecurity(c.guard, m, c.was, build(false, "10.0.0.200")); got != c.want {
				t.Errorf("it has port_security: %t", got)
			}
		})
	}
}

func TestFiltersAreNotRemovedWhileTheyAreWrittenAnew(t *testing.T) {
	t.Parallel()
	c, err := hypervisor.New("qemu:///system?socket="+t.TempDir()+"/none", sshhost.Options{})
	if err != nil {
		t.Fatal(err)
	}
	unlock := lockFilters(c)
	removed := make(chan error, 1)
	go func() { removed <- removeFilters(t.Context(), c, someUUID, nil) }()
	select {
	case <-removed:
		t.Error("they are removed meanwhile")
	case <-time.After(500 * time.Millisecond):
	}
	unlock()
	if err := <-removed; err == nil {
		t.Error("nobody answered, and they are removed")
	}
}
