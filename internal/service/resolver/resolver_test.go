package resolver

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
)

var (
	mark = owner.Mark{ID: "me", Workspace: "here"}
	all  = Resolver{Nameservers: []netip.Addr{netip.MustParseAddr("10.0.0.100"), netip.MustParseAddr("2001:db8::1")}, Search: []string{"okd.example", "b.example"}, Backend: Auto}
)

func TestEachBackendReadsWhatItWrote(t *testing.T) {
	split := all
	split.Domains = []string{"okd.example", "apps.example"}
	for name, c := range map[string]struct {
		want   Resolver
		format format
		text   string
	}{
		"systemd-resolved":              {all, resolvedFormat, resolvedFormat.writeFile(all, mark)},
		"systemd-resolved, split":       {split, resolvedFormat, resolvedFormat.writeFile(split, mark)},
		"NetworkManager":                {all, managerFormat, managerFormat.writeFile(all, mark)},
		"NetworkManager, with dnsmasq":  {split, dnsmasqFormat, dnsmasqFormat.writeFile(split, mark)},
		"resolv.conf":                   {all, confFormat, all.putInto("", false, mark)},
		"resolv.conf beside a person's": {all, confFormat, all.putInto("options edns0\nnameserver 1.1.1.1\nsearch x.example\n", true, mark)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.want.ActiveBackend = c.format.backend
			if diff := cmp.Diff(c.want, c.format.parseFile(c.text), cmpopts.EquateComparable(netip.Addr{}), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s: %s\n%s", name, diff, c.text)
			}
			if got := parseMark(c.text); got != mark {
				t.Errorf("%s: the mark is %+v", name, got)
			}
		})
	}
}

// systemd-resolved adds what one file says to what the ones before it say, unless a line empties that.
func TestNameServersOfOtherFilesAreNotAskedBeside(t *testing.T) {
	t.Parallel()
	if text := resolvedFormat.render(all); !strings.HasPrefix(text, "[Resolve]\nDNS=\nDomains=\nDNS=10.0.0.100 ") {
		t.Errorf("it is\n%s", text)
	}
}

func TestWhatAPersonTakesOutOfTheFileOrEmptiesIsSeen(t *testing.T) {
	t.Parallel()
	split := all
	split.Domains = []string{"okd.example", "apps.example"}
	for name, c := range map[string]struct {
		format   format
		of       Resolver
		old, new string
		active   string
		servers  int
	}{
		"nothing":                           {resolvedFormat, all, "", "", Resolved, 2},
		"what empties the name servers":     {resolvedFormat, all, "\nDNS=\n", "\n", `systemd-resolved without "DNS=" in `, 2},
		"what empties the domains":          {resolvedFormat, all, "\nDomains=\n", "\n", `systemd-resolved without "Domains=" in `, 2},
		"that every name is asked for":      {resolvedFormat, all, " ~.", "", "systemd-resolved without ", 2},
		"name servers, which are emptied":   {resolvedFormat, all, "\nDomains=okd", "\nDNS=\nDomains=okd", Resolved, 0},
		"nothing, of domains":               {resolvedFormat, split, "", "", Resolved, 2},
		"a section of NetworkManager":       {managerFormat, all, "[global-dns-domain-*]", "", `networkmanager without "[global-dns-domain-*]" in `, 2},
		"a name server of one domain":       {dnsmasqFormat, split, "server=/apps.example/10.0.0.100\n", "", `networkmanager without "server=/apps.example/10.0.0.100" in `, 2},
		"nothing, of /etc/resolv.conf":      {confFormat, all, "", "", File, 2},
		"a name server of /etc/resolv.conf": {confFormat, all, "nameserver 10.0.0.100\n", "", File, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := strings.Replace(c.format.writeFile(c.of, mark), c.old, c.new, 1)
			got, err := kind{}.Read(found{file: c.format.path, own: text})
			if err != nil || !strings.HasPrefix(got.ActiveBackend, c.active) || len(got.Nameservers) != c.servers {
				t.Errorf("%+v, %v of\n%s", got, err, text)
			}
		})
	}
}

func TestWhatAPersonWritesAboveInResolvConfIsSeenAsItCounts(t *testing.T) {
	t.Parallel()
	plain := all
	plain.Search = nil
	for name, c := range map[string]struct {
		of              Resolver
		above           string
		servers, search string
	}{
		"nothing":                          {all, "", "10.0.0.100,2001:db8::1", "okd.example,b.example"},
		"what counted before":              {all, "#virtcluster: nameserver 9.9.9.9\n", "10.0.0.100,2001:db8::1", "okd.example,b.example"},
		"a name server":                    {all, "nameserver 9.9.9.9\n", "9.9.9.9,10.0.0.100,2001:db8::1", "okd.example,b.example"},
		"domains, where others count":      {all, "search x.example\n", "10.0.0.100,2001:db8::1", "okd.example,b.example"},
		"domains":                          {plain, "search x.example\n", "10.0.0.100,2001:db8::1", "x.example"},
		"one domain, by its other keyword": {plain, "domain x.example\n", "10.0.0.100,2001:db8::1", "x.example"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := c.above + c.of.putInto("", false, mark)
			got, err := kind{}.Read(found{file: resolvConf, own: text, text: text})
			if err != nil || joinAddresses(got.Nameservers, ",") != c.servers || strings.Join(got.Search, ",") != c.search || got.ActiveBackend != File {
				t.Errorf("%+v, %v of\n%s", got, err, text)
			}
			if again := c.of.putInto(text, true, mark); !cmp.Equal(confFormat.parseFile(again).Nameservers, c.of.Nameservers, cmpopts.EquateComparable(netip.Addr{})) {
				t.Errorf("it is put as\n%s", again)
			}
		})
	}
}

func TestResolvConfOfAPersonComesBack(t *testing.T) {
	text := all.putInto("# mine\nnameserver 1.1.1.1\noptions edns0\nsearch x.example\n", true, mark)
	for _, counts := range []string{"\nnameserver 1.1.1.1", "\nsearch x.example"} {
		t.Run(counts, func(t *testing.T) {
			t.Parallel()
			if strings.Contains(text, counts) {
				t.Errorf("%q still counts in\n%s", counts, text)
			}
		})
	}
	if !strings.Contains(text, "\noptions edns0\n") || !strings.Contains(text, "\nnameserver 10.0.0.100\n") {
		t.Errorf("it is\n%s", text)
	}
	lines := []string{"# mine\n", "nameserver 1.1.1.1\n", "search x.example\n", "domain d.example\n", "options edns0\n", "\n"}
	rapid.Check(t, func(t *rapid.T) {
		before := strings.Join(rapid.SliceOf(rapid.SampledFrom(lines)).Draw(t, "lines"), "")
		there := rapid.Bool().Draw(t, "there") || before != ""
		if rapid.Bool().Draw(t, "no final newline") {
			before = strings.TrimSuffix(before, "\n")
		}
		once := all.putInto(before, there, mark)
		if back, is := dropFrom(once); back != before || is != there {
			t.Fatalf("%q, there %t, came back as %q, there %t", before, there, back, is)
		}
		if twice := all.putInto(once, true, mark); twice != once {
			t.Fatalf("written twice: %q", twice)
		}
		since := rapid.SampledFrom([]string{"options rotate\n", "nameserver 9.9.9.9\n", "search since.example\n"}).Draw(t, "since")
		if back, is := dropFrom(once + since); !is || !strings.HasSuffix(back, since) {
			t.Fatalf("what a person wrote behind it: %q", back)
		}
		again := all.putInto(once+since, true, mark)
		if back, _ := dropFrom(again); !strings.HasSuffix(back, since) {
			t.Fatalf("what a person wrote before the last change: %q", back)
		}
		if diff := cmp.Diff(all, confFormat.parseFile(again), cmpopts.IgnoreFields(Resolver{}, "ActiveBackend"), cmpopts.EquateComparable(netip.Addr{}), cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("what a person wrote counts still: %s", diff)
		}
	})
}

func TestResolverThatNoMachineTakes(t *testing.T) {
	if p := all.Validate(); len(p) > 0 {
		t.Fatalf("a good resolver: %v", p)
	}
	for want, change := range map[string]func(*Resolver){
		"Invalid domain":             func(r *Resolver) { r.Search = []string{"a b"} },
		"Duplicate domain":           func(r *Resolver) { r.Domains = []string{"a.example", "a.example"} },
		"Invalid name server":        func(r *Resolver) { r.Nameservers = []netip.Addr{netip.IPv4Unspecified()} },
		"Duplicate name server":      func(r *Resolver) { r.Nameservers = append(r.Nameservers[:1:1], r.Nameservers[0]) },
		"Domains without a resolver": func(r *Resolver) { r.Backend, r.Domains = File, []string{"a.example"} },
		"Too many name servers": func(r *Resolver) {
			r.Backend, r.Nameservers = File, []netip.Addr{netip.MustParseAddr("10.0.0.9"), netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2"), netip.MustParseAddr("10.0.0.3")}
		},
	} {
		t.Run(want, func(t *testing.T) {
			r := all
			change(&r)
			p := r.Validate()
			if len(p) == 0 || p[len(p)-1].Summary != want {
				t.Errorf("want %q, got %v", want, p)
			}
		})
	}
}

func TestBackendIsTheOneThatProgramsAsk(t *testing.T) {
	here := func(f found, want Resolver) string {
		got, err := kind{}.Complete(t.Context(), nil, f, want)
		if err != nil {
			return err.Error()
		}
		return got.ActiveBackend
	}
	split := all
	split.Domains = []string{"okd.example"}
	explicit := func(backend string) Resolver { r := all; r.Backend = backend; return r }
	stub, file := found{target: "/run/systemd/resolve/stub-resolv.conf", resolved: true}, found{target: "/etc/resolv.conf"}
	nm := found{target: "/etc/resolv.conf", text: "# Generated by NetworkManager\n", mode: "default"}
	masq := nm
	masq.mode = "dnsmasq"
	for _, c := range []struct {
		f    found
		r    Resolver
		want string
	}{
		{stub, all, Resolved}, {stub, split, Resolved}, {file, all, File}, {nm, all, NetworkManager}, {masq, split, NetworkManager},
		{found{target: stub.target, resolved: true, global: "/etc/systemd/resolved.conf"}, split, "/etc/systemd/resolved.conf has name servers"}, {found{target: stub.target, resolved: true, global: "/etc/systemd/resolved.conf"}, all, Resolved},
		{file, split, "knows no domains"}, {nm, split, "dns=dnsmasq"}, {file, explicit(Resolved), "does not run"}, {file, explicit(NetworkManager), "does not run"},
		{nm, explicit(File), "would overwrite it"}, {found{target: "/etc/resolvconf/run/resolv.conf"}, all, "is a link to"},
		{found{target: "/etc/resolv.conf", resolved: true}, explicit(Resolved), "does not lead to"},
	} {
		t.Run(c.want, func(t *testing.T) {
			if got := here(c.f, c.r); !strings.Contains(got, c.want) {
				t.Errorf("%+v, %q: %s, want %s", c.f, c.r.Backend, got, c.want)
			}
		})
	}
}

func TestDhclientIsKeptFromWritingTheFile(t *testing.T) {
	f := found{target: resolvConf, text: "nameserver 1.1.1.1\n", rewriters: rewriters{clients: []string{"dhclient"}, takesHook: true}}
	c, err := kind{}.Put(t.Context(), nil, f, all, mark)
	if err != nil || len(c.Files) != 2 || c.Files[0].Path != hookFile || c.Files[0].Mode != 0o755 || !strings.Contains(c.Files[0].Content, "\nmake_resolv_conf() { :; }\n") {
		t.Fatalf("%+v, %v", c.Files, err)
	}
	if got := parseMark(c.Files[0].Content); got != mark {
		t.Errorf("the hook is of %+v", got)
	}
	if w := (kind{}).Warn(f, all); len(w) > 0 {
		t.Errorf("warned of %v", w)
	}
	written := f
	written.file, written.text, written.own = resolvConf, c.Files[1].Content, c.Files[1].Content
	if got, _ := (kind{}).Read(written); got.ActiveBackend != "dhclient" {
		t.Errorf("without its hook it is written by %q", got.ActiveBackend)
	}
	written.hook = c.Files[0].Content
	if got, _ := (kind{}).Read(written); got.ActiveBackend != File || len(got.Nameservers) != 2 {
		t.Errorf("with its hook it is %+v", got)
	}
	gone := written
	gone.file, gone.own, gone.text = "", "", "nameserver 1.1.1.1\n"
	if got, err := (kind{}).Read(gone); err != nil || len(got.Nameservers) != 0 || gone.Holder().Mark != mark {
		t.Errorf("of the hook alone: %+v, %v, %+v", got, err, gone.Holder())
	}
	drop, err := kind{}.Drop(t.Context(), nil, written)
	if err != nil || len(drop.Files) != 2 || drop.Files[0].Content != "nameserver 1.1.1.1\n" || drop.Files[1].Path != hookFile || !drop.Files[1].Absent {
		t.Errorf("%+v, %v", drop.Files, err)
	}
	written.hook = strings.ReplaceAll(written.hook, "owner=me", "owner=other")
	if _, err := (kind{}).Complete(t.Context(), nil, written, all); err == nil || !strings.Contains(err.Error(), "somebody else's") {
		t.Errorf("another's hook: %v", err)
	}
}

func TestAPlanNamesWhatWritesTheFileToo(t *testing.T) {
	for client, takesHook := range map[string]bool{"dhcpcd": true, "udhcpc": true, "dhclient": false} {
		t.Run(client, func(t *testing.T) {
			f := found{target: resolvConf, rewriters: rewriters{clients: []string{client}, takesHook: takesHook}}
			w := (kind{}).Warn(f, all)
			if len(w) != 1 || !strings.HasPrefix(w[0].Detail, client+" writes it anew") || wayOut[client] == "" {
				t.Errorf("of %s: %v", client, w)
			}
			if c, err := (kind{}).Put(t.Context(), nil, f, all, mark); err != nil || len(c.Files) != 1 {
				t.Errorf("of %s: %+v, %v", client, c.Files, err)
			}
			f.target = "/run/systemd/resolve/stub-resolv.conf"
			if w := (kind{}).Warn(f, all); len(w) != 0 {
				t.Errorf("of %s with systemd-resolved: %v", client, w)
			}
		})
	}
}
