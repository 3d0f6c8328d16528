package machine

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/sshhost"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
)

func TestSecurityFilters(t *testing.T) {
	const mac = "52:54:00:f2:46:a7"
	rules := []resolvedRule{
		{SecurityRule{Ingress, "tcp", "22", "10.19.41.0/24"}, []netip.Prefix{netip.MustParsePrefix("10.19.41.0/24")}},
		{SecurityRule{Ingress, "VRRP", "", "b"}, []netip.Prefix{netip.MustParsePrefix("10.0.0.2/32"), netip.MustParsePrefix("fd00::2/128")}},
		{SecurityRule{Ingress, "udp", "", "absent"}, []netip.Prefix{}},
	}
	var got []string
	for _, f := range buildSecurityFilters("n", someUUID, mac, rules) {
		if !isOwnFilter(f, someUUID) {
			t.Errorf("%s is not marked as the machine's", f.Name)
		}
		got = append(got, f.Name+" "+f.Chain)
		text := rendered(t, f)
		for name, want := range map[string][]string{
			"-ipv4": {"<ip srcipaddr='10.19.41.0' srcipmask='24' protocol='6' dstportstart='22' dstportend='22'", "<ip srcipaddr='10.0.0.2' srcipmask='32' protocol='112'", "action='drop' direction='in' priority='900'>\n    <ip"},
			"-ipv6": {"<ipv6 srcipaddr='fd00::2' srcipmask='128' protocol='112'", "action='drop' direction='in' priority='900'>\n    <ipv6"},
			"-rules": {
				"<filterref filter='virtcluster-n-525400f246a7-ipv4'", "direction='in' priority='500'>\n    <tcp srcipaddr='10.19.41.0' srcipmask='24' dstportstart='22' dstportend='22'",
				"action='accept' direction='out' priority='500'>\n    <all>", "action='drop' direction='in' priority='900'>\n    <tcp>",
			},
		} {
			t.Run(name, func(t *testing.T) {
				if !strings.HasSuffix(f.Name, name) {
					return
				}
				for _, w := range want {
					if !strings.Contains(text, w) {
						t.Errorf("%s has no %s:\n%s", f.Name, w, text)
					}
				}
			})
		}
		// Nothing is filtered of what is sent, and nobody passes for a machine that is not there.
		for _, never := range []string{"action='drop' direction='out'", "direction='in' priority='500'>\n    <udp"} {
			t.Run(never, func(t *testing.T) {
				if strings.Contains(text, never) {
					t.Errorf("%s has %s:\n%s", f.Name, never, text)
				}
			})
		}
	}
	base := filterName("n", mac)
	if diff := cmp.Diff([]string{base + "-ipv4 ipv4-rules", base + "-ipv6 ipv6-rules", base + "-rules root"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestARuleThatNamesNoMachineIsWarnedOf(t *testing.T) {
	c, err := hypervisor.New("test:///default", sshhost.Options{})
	if err != nil {
		t.Fatal(err)
	}
	with := func(rules ...SecurityRule) *Spec {
		return &Spec{Name: "web", Interfaces: []InterfaceSpec{{SecurityRules: rules}}}
	}
	rule := func(remote string) SecurityRule {
		return SecurityRule{Direction: Ingress, Protocol: "VRRP", Remote: remote}
	}
	all := with(rule("test"), rule("tset"), rule("10.0.0.0/24"), rule(""))
	for about, k := range map[string]*Checker{
		"rules that are there": {Want: all, Was: all},
		"rules that are new":   {Want: all, Was: with(rule("test"))},
		"a new machine":        {Want: all, Was: all, Fresh: true},
	} {
		t.Run(about, func(t *testing.T) {
			k.Client, k.Cache = c, &HypervisorCache{}
			for _, at := range []time.Time{time.Now(), time.Now().Add(domainsFor)} {
				know(k, question{c, "domains", at.Truncate(domainsFor).String()}, []*hypervisor.Domain{{Name: "test"}})
			}
			if err := (networkChecker{k}).checkRemotes(t.Context()); err != nil {
				t.Fatal(err)
			}
			want := map[string]int{"rules that are there": 1}[about]
			if len(k.problems) != want || want == 1 && (!k.problems[0].Warning || !strings.Contains(k.problems[0].Detail, `no machine "tset"`)) {
				t.Errorf("%s: %+v", about, k.problems)
			}
		})
	}
}
