package keepalived

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
)

func TestConfigurationMatchesTheGoldenFiles(t *testing.T) {
	tr := tree("")
	ingress := sample()
	ingress.Name, ingress.RouterID, ingress.Addresses, ingress.AuthPass = "ocp4-ingress", 61, prefixes("10.0.100.249/24"), "ocp4_ing"
	ingress.Track[0].Name, ingress.Track[0].Script = "healthz", "/usr/bin/curl -o /dev/null -Lfs http://localhost:1936/healthz"
	set(t, tr, sample().Instance("a"))
	set(t, tr, ingress.Instance("a"))
	golden(t, "openshift.conf", tr[Path].Content)
	golden(t, "openshift.unit", tr[UnitPath].Content)
	golden(t, "openshift.release", tr[releasePath].Content)

	tr = tree("")
	six := sample()
	six.Name, six.RouterID, six.Addresses = "six", 8, prefixes("fd00:100::253/64")
	six.Version, six.AdvertInterval, six.AuthPass, six.Unicast, six.Track = 3, 0.5, "", false, nil
	for i, address := range []string{"fd00:100::1", "fd00:100::2"} {
		six.Members[i].Address = netip.MustParseAddr(address)
	}
	inside, outside := grouped("inside", 9), grouped("outside", 10)
	outside.Preempt = true
	inside.Addresses, outside.Addresses = prefixes("10.0.100.248/24"), prefixes("10.0.100.247/24")
	for _, v := range []VIP{rich(), six, inside, outside} {
		if problems := v.Validate(); len(problems) > 0 {
			t.Fatalf("%s: %v", v.Name, problems)
		}
		set(t, tr, v.Instance("a"))
	}
	golden(t, "everything.conf", tr[Path].Content)
}

func TestParseUndoesRender(t *testing.T) {
	for _, v := range []VIP{sample(), rich()} {
		t.Run(v.Name, func(t *testing.T) {
			t.Parallel()
			want := v.Instance("b")
			got, ok, err := parseInstance(want.Render(), v.Name)
			if err != nil || !ok {
				t.Fatalf("%s: %v %v", v.Name, ok, err)
			}
			want.SyncGroup = "" // one block for all instances, outside of these
			// Tracks come back by kind, and a tracked interface by its own name.
			if string(got.Render()) != string(want.Render()) {
				t.Fatalf("%s: rendered again:\n%s\nwant:\n%s", v.Name, got.Render(), want.Render())
			}
			got.Track, want.Track = nil, nil
			if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(Instance{}), cmp.Comparer(func(a, b netip.Addr) bool { return a == b }), cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })); diff != "" {
				t.Fatalf("%s (-want +got):\n%s", v.Name, diff)
			}
		})
	}
}

const byHand = `! by a person
global_defs {
   router_id gateway
}

vrrp_script chk {
    script "/usr/bin/true"   # always
}
vrrp_instance VI_1 {
    state MASTER
    interface eth0
    virtual_router_id 51
    priority 100
    advert_int 1
    authentication { 
        auth_type PASS
        auth_pass 1111
    }
    virtual_ipaddress
    {
        192.168.200.16 dev eth0 label eth0:1
    }
    track_script {
        chk weight 20
    }
}
# the end`

func TestWhatAPersonWroteStays(t *testing.T) {
	tr := tree(byHand)
	set(t, tr, sample().Instance("a"))
	set(t, tr, rich().Instance("a"))
	if content := string(tr[Path].Content); !strings.HasPrefix(content, strings.TrimSuffix(byHand, "# the end")) {
		t.Fatalf("a person's part changed:\n%s", content)
	}
	if perm := tr[Path].Perm(); perm != 0o640 {
		t.Fatalf("a file with passwords has mode %o", perm)
	}
	if err := Drop(tr, "ocp4-api"); err != nil {
		t.Fatal(err)
	}
	if err := Drop(tr, "all"); err != nil {
		t.Fatal(err)
	}
	if perm := tr[Path].Perm(); perm != 0o644 {
		t.Fatalf("the file comes back with mode %o, and had 644", perm)
	}
	if got := string(tr[Path].Content); strings.TrimSuffix(got, "\n") != byHand {
		t.Fatalf("not as before:\n%s", got)
	}
	if _, there := tr[UnitPath]; there {
		t.Fatal("the unit's drop-in is left")
	}
}

func TestAPersonsInstanceIsReadAndTakenOver(t *testing.T) {
	tr := tree(byHand)
	in, err := Find(tr, "VI_1")
	if err != nil {
		t.Fatal(err)
	}
	want := Instance{
		Name: "VI_1", State: "MASTER", Interface: "eth0", RouterID: 51, Version: 2, Priority: 100, AdvertInterval: 1, AuthPass: "1111",
		Addresses: prefixes("192.168.200.16/32"),
		Track:     []Track{{Name: "chk", Script: "/usr/bin/true", Interval: 1, Rise: 1, Fall: 1, Weight: 20, User: "root"}},
	}
	if diff := cmp.Diff(want, in, cmpopts.IgnoreUnexported(Instance{}), cmp.Comparer(func(a, b netip.Addr) bool { return a == b }), cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })); diff != "" {
		t.Fatalf("(-want +got):\n%s", diff)
	}
	in.Owner = new(owner.Run).New().Mark()
	set(t, tr, in)
	if owners, _ := OwnersOf(tr); owners["VI_1"] != in.Owner {
		t.Fatalf("the provider does not know its own block: %v", owners)
	}
	if got, _ := Find(tr, "VI_1"); !got.Equal(in) {
		t.Fatalf("after the take-over: %+v", got)
	}
}

// What an instance does not say keepalived takes from global_defs.
func TestAPersonsInstanceHasTheVersionOfAll(t *testing.T) {
	t.Parallel()
	for version, text := range map[int]string{3: strings.Replace(byHand, "router_id gateway", "vrrp_version 3", 1), 2: strings.Replace(strings.Replace(byHand, "router_id gateway", "vrrp_version 3", 1), "priority 100", "version 2", 1)} {
		t.Run(fmt.Sprint(version), func(t *testing.T) {
			t.Parallel()
			if in, err := Find(tree(text), "VI_1"); err != nil || in.Version != version {
				t.Errorf("it is %d, %v", in.Version, err)
			}
		})
	}
}

// withMore is an instance of which no attribute says all.
const withMore = `vrrp_script chk {
    script "killall -0 haproxy"
    user nobody nogroup
    init_fail
}
vrrp_instance VI_1 {
    interface eth0
    virtual_router_id 51
    notify_master "/usr/local/bin/tell master" root
    preempt
    unicast_src_ip 192.168.200.1
    unicast_peer {
        192.168.200.2 min_ttl 250 max_ttl 255
        192.168.200.3
    }
    virtual_ipaddress {
        192.168.200.16 dev eth0 label eth0:1
        192.168.200.17/24
    }
    virtual_routes {
        src 192.168.100.1 to 192.168.109.0/24 via 192.168.200.254 dev eth1
    }
    track_file {
        mine weight 3
        virtcluster_yield
    }
    track_script {
        chk reverse
    }
    track_process {
        proxy
    }
    garp_extra_if eth1
}
vrrp_track_process proxy {
    process haproxy
    quorum 2
}
`

func TestWhatNoAttributeSaysOfAnInstanceStays(t *testing.T) {
	t.Parallel()
	tr := tree(withMore)
	in, err := Find(tr, "VI_1")
	if err != nil {
		t.Fatal(err)
	}
	if in.Track[0].User != "nobody" || in.Track[0].Script != "killall -0 haproxy" {
		t.Errorf("its script is %+v", in.Track[0])
	}
	in.Priority = 120
	set(t, tr, in)
	once := string(tr[Path].Content)
	for name, want := range map[string]string{
		"a program":     "    notify_master \"/usr/local/bin/tell master\" root\n",
		"its addresses": "        192.168.200.16/32 dev eth0 label eth0:1\n        192.168.200.17/24\n",
		"its peers":     "    unicast_peer {\n        192.168.200.2 min_ttl 250 max_ttl 255\n        192.168.200.3\n    }\n",
		"more of ARP":   "    garp_extra_if eth1\n",
		"a script":      "    track_script {\n        VI_1.chk reverse\n    }\n",
		"a file":        "    track_file {\n        mine weight 3\n    }\n",
		"a route":       "    virtual_routes {\n        src 192.168.100.1 to 192.168.109.0/24 via 192.168.200.254 dev eth1\n    }\n",
	} {
		t.Run(name, func(t *testing.T) {
			if strings.Count(once, want) != 1 {
				t.Errorf("of %q there is\n%s", want, once)
			}
		})
	}
	set(t, tr, in)
	if again := string(tr[Path].Content); again != once {
		t.Errorf("written again it is\n%s", again)
	}
	left, err := ListUnmodelled(tree(withMore))
	if err != nil {
		t.Fatal(err)
	}
	var places []string
	for _, u := range left {
		places = append(places, strings.TrimPrefix(u.Place, Path+":"))
	}
	if fmt.Sprint(places) != "[3 4 9 20 23 33 37]" || !strings.Contains(left[0].What, "user nobody nogroup") || !strings.Contains(left[3].What, "via 192.168.200.254") {
		t.Errorf("left over is %v", left)
	}
}

func TestAnInstanceThatWouldBecomeAnotherOneIsNotRead(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ old, new, want string }{
		"a part of a second":         {"script \"/usr/bin/true\"", "interval 0.5", "interval is 0.5"},
		"another authentication":     {"auth_type PASS", "auth_type AH", "auth_type is AH"},
		"a variable":                 {"priority 100", "priority $PRIORITY", "$PRIORITY is a variable of keepalived's"},
		"what stands under a choice": {"priority 100", "@high priority 170", "@high is a condition"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := Find(tree(strings.Replace(byHand, c.old, c.new, 1)), "VI_1"); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("it is read with %v", err)
			}
		})
	}
}

func TestSettingAnInstanceTwiceChangesNothing(t *testing.T) {
	tr := tree(byHand)
	set(t, tr, sample().Instance("a"))
	set(t, tr, rich().Instance("a"))
	once := string(tr[Path].Content)
	set(t, tr, sample().Instance("a"))
	if diff := cmp.Diff(once, string(tr[Path].Content)); diff != "" {
		t.Fatalf("(-first +second):\n%s", diff)
	}
}

func TestASyncGroupIsReadBackFromWhatKeepalivedActsOn(t *testing.T) {
	tr := tree("")
	first, second := grouped("all", 8), grouped("second", 9)
	set(t, tr, first.Instance("a"))
	if in, _ := Find(tr, "all"); in.SyncGroup != "pair" {
		t.Fatalf("a group of one reads as %q", in.SyncGroup)
	}
	if strings.Contains(string(tr[Path].Content), "vrrp_sync_group") {
		t.Fatal("keepalived refuses a group of one")
	}
	set(t, tr, second.Instance("a"))
	if in, _ := Find(tr, "all"); in.SyncGroup != "pair" {
		t.Fatalf("a group of two reads as %q", in.SyncGroup)
	}
	if strings.Contains(string(tr[Path].Content), "sync_group_tracking_weight") {
		t.Fatal("nobody preempts, and so no priority changes")
	}
	broken := strings.Replace(string(tr[Path].Content), "vrrp_sync_group pair {", "vrrp_sync_group other {", 1)
	if in, _ := Find(tree(broken), "all"); in.SyncGroup != "other" {
		t.Fatalf("an edited group reads as %q", in.SyncGroup)
	}
	if err := Drop(tr, "second"); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(tr[Path].Content), "vrrp_sync_group") {
		t.Fatal("the group outlives its second member")
	}
}

func TestABrokenFileIsAnError(t *testing.T) {
	for name, content := range map[string]string{
		"not closed":  "vrrp_instance a {\n",
		"not opened":  "}\n",
		"not a value": "vrrp_instance a {\n priority high\n}\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := Find(tree(content), "a"); err == nil {
				t.Errorf("%s: no error", name)
			}
		})
	}
}

func FuzzParseUndoesRender(f *testing.F) {
	f.Add("api", 109, 100, "secret", "10.0.100.250/24", "/usr/bin/true -x", 50, true)
	f.Add("v6", 1, 254, "", "fd00::1/64", "", -3, false)
	f.Fuzz(func(t *testing.T, name string, id, priority int, pass, address, script string, weight int, preempt bool) {
		v := sample()
		a, err := netip.ParsePrefix(address)
		if err != nil {
			return
		}
		v.Name, v.RouterID, v.AuthPass, v.Preempt = name, id, pass, preempt
		v.Addresses = []netip.Prefix{a}
		v.Members[0].Priority = priority
		v.Track[0].Script, v.Track[0].Weight = script, weight
		if a.Addr().Is6() {
			v.Version = 3
			v.Members[0].Address, v.Members[1].Address = netip.MustParseAddr("fd00::2"), netip.MustParseAddr("fd00::3")
		}
		if len(v.Validate()) > 0 {
			return
		}
		tr := tree(byHand)
		want := v.Instance("a")
		set(t, tr, want)
		got, err := Find(tr, name)
		if err != nil || !got.Equal(want) {
			t.Fatalf("%v:\n%s\nwant\n%s", err, got.Render(), want.Render())
		}
	})
}

func FuzzWhatIsNotTouchedStays(f *testing.F) {
	f.Add(byHand)
	f.Add("a {\n b { c } }\n")
	f.Fuzz(func(t *testing.T, content string) {
		c, err := parseConfig([]byte(content))
		if err == nil && string(c.toBytes()) != content {
			t.Fatalf("became %q", c.toBytes())
		}
	})
}

// parseInstance reads the instance of a name out of a configuration; ok is false where there is none.
func parseInstance(content []byte, name string) (in Instance, ok bool, err error) {
	chunks, _, err := splitChunks(string(content))
	if err != nil {
		return in, false, err
	}
	c := config{chunks: chunks}
	block, ok := c.findBlock("vrrp_instance", name)
	if !ok {
		return in, false, nil
	}
	in, err = c.readInstance(block)
	return in, true, err
}

func TestWhyKeepalivedRunsNoScriptIsSaid(t *testing.T) {
	t.Parallel()
	if said := explainRefusal("Disabling track script api.up due to insecure"); !strings.HasPrefix(said, "Disabling track script api.up due to insecure: ") || !strings.Contains(said, "/usr/bin") {
		t.Errorf("said %q", said)
	}
	if said := explainRefusal("Unknown keyword 'x'"); said != "Unknown keyword 'x'" {
		t.Errorf("said %q", said)
	}
}
