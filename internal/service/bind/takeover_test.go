package bind

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

// withLocal is Debian's configuration with what a person wrote into named.conf.local.
func withLocal(t *testing.T, text string) transaction.Tree {
	t.Helper()
	tree := debian(t)
	tree.Put("/etc/bind/named.conf.local", []byte(text), 0o644, "root", "bind")
	return tree
}

func text(tree transaction.Tree, path string) string { return string(tree[path].Content) }

func TestZonesOfAPersonAreServedOn(t *testing.T) {
	tree := withLocal(t, `acl mine { 10.0.0.0/8; };
zone "home.example" { type master; file "/etc/bind/db.home"; };
zone "moving.example" { type master; file "/var/lib/bind/db.moving"; allow-update { key ddns; }; };
`)
	before := tree.Clone()
	must(t, addView(tree, View{Name: "b", Order: 20, MatchClients: []string{"10.2.0.0/16"}}))
	must(t, addView(tree, View{Name: "a", Order: 10, MatchClients: []string{"10.1.0.0/16"}}))
	main, shared, single := text(tree, "/etc/bind/named.conf"), text(tree, "/etc/bind/named.conf.virtcluster-zones"), text(tree, "/etc/bind/named.conf.virtcluster-dynamic-zones")
	if !strings.Contains(main, "acl mine { 10.0.0.0/8; };") || strings.Contains(main, "home.example") {
		t.Errorf("what is no zone is not at the top:\n%s", main)
	}
	if !strings.Contains(shared, `zone "home.example"`) || !strings.Contains(shared, "named.conf.default-zones") || !strings.Contains(single, `zone "moving.example"`) {
		t.Errorf("zones are lost:\n%s\n%s", shared, single)
	}
	a, b, rest := strings.Index(main, `view "a"`), strings.Index(main, `view "b"`), strings.Index(main, `view "virtcluster-rest"`)
	if a < 0 || b < a || rest < b {
		t.Fatalf("views are not in order, or nobody serves who is in none:\n%s", main)
	}
	if strings.Count(main, `include "/etc/bind/named.conf.virtcluster-zones"`) != 3 || strings.Count(main, `include "/etc/bind/named.conf.virtcluster-dynamic-zones"`) != 1 {
		t.Errorf("zones are not where they belong:\n%s", main)
	}
	if strings.Count(main, `zone "moving.example" { in-view "a"; };`) != 2 {
		t.Errorf("the zone that named writes is not shared:\n%s", main)
	}
	must(t, addView(tree, View{Name: "b", Order: 5, MatchClients: []string{"10.2.0.0/16"}}))
	if main = text(tree, "/etc/bind/named.conf"); strings.Count(main, `in-view "b"`) != 2 {
		t.Errorf("the first view changed and the others do not know:\n%s", main)
	}
	must(t, DropView(tree, "a"))
	must(t, DropView(tree, "b"))
	if write, removed := before.Changes(tree); len(write)+len(removed) > 0 {
		t.Errorf("left: %v, gone: %v", write, removed)
	}
}

func TestPartsOfAPersonAreNotTaken(t *testing.T) {
	tree := withLocal(t, `view "mine" { match-clients { any; }; zone "z.example" { type master; file "/etc/bind/db.z"; }; };
`)
	if m, there := ViewMark(tree, "mine"); !there || m != (owner.Mark{}) {
		t.Errorf("view: mark %v, there %v", m, there)
	}
	if m, there := ZoneMark(tree, "mine", "z.example"); !there || m != (owner.Mark{}) {
		t.Errorf("zone in it: mark %v, there %v", m, there)
	}
	if v, err := FindView(tree, "mine"); err != nil || v.MatchClients[0] != "any" {
		t.Errorf("to import: %+v, %v", v, err)
	}
	tree = withLocal(t, `zone "home.example" { type master; file "/etc/bind/db.home"; };`)
	must(t, addView(tree, View{Name: "a", MatchClients: []string{"10.1.0.0/16"}}))
	if err := addZone(tree, Zone{View: "a", Name: "home.example", NameServers: []string{"localhost."}}, noon); err == nil || !strings.Contains(err.Error(), "this provider did not write it") {
		t.Errorf("zone: %v", err)
	}
}

func TestPuttingTheSameAgainChangesNothing(t *testing.T) {
	tree := debian(t)
	okd(t, tree)
	before := tree.Clone()
	okd(t, tree)
	if write, removed := before.Changes(tree); len(write)+len(removed) > 0 {
		t.Errorf("changed: %v, gone: %v", write, removed)
	}
}

func TestWhatAPersonAddsSurvives(t *testing.T) {
	tree := debian(t)
	okd(t, tree)
	main := text(tree, "/etc/bind/named.conf")
	main = strings.Replace(main, "\tminimal-responses yes;\n", "\tminimal-responses yes;\n\t// slow down\n\trate-limit { responses-per-second 10; };\n\tmax-cache-ttl 60;\n", 1)
	main += "// mine\nlogging { category default { null; }; };\n"
	tree.Put("/etc/bind/named.conf", []byte(main), 0, "", "")
	v, err := FindView(tree, "internal")
	if err != nil || v.Options["max-cache-ttl"] != "60" {
		t.Errorf("an option set by hand is no drift: %+v, %v", v, err)
	}
	delete(v.Options, "max-cache-ttl")
	must(t, addView(tree, v))
	main = text(tree, "/etc/bind/named.conf")
	if strings.Contains(main, "max-cache-ttl") || !strings.Contains(main, "rate-limit { responses-per-second 10; };") || !strings.Contains(main, "// mine\nlogging") {
		t.Errorf("got\n%s", main)
	}
	// What can stand in the file from before goes on being in effect there; what cannot is kept beside it.
	const more = "acl \"office\" { 10.9.0.0/16; };\nview \"theirs\" { match-clients { office; }; };\noptions { recursion no; };\n"
	tree.Put("/etc/bind/named.conf", []byte(text(tree, "/etc/bind/named.conf")+more), 0, "", "")
	before := text(debian(t), "/etc/bind/named.conf")
	must(t, Daemon{}.Strip(tree))
	if main := text(tree, "/etc/bind/named.conf"); main != before+"// mine\nlogging { category default { null; }; };\nacl \"office\" { 10.9.0.0/16; };\n" {
		t.Errorf("the file from before became\n%s", main)
	}
	edited := text(tree, "/etc/bind/named.conf.virtcluster-edited")
	if !strings.Contains(edited, `view "theirs"`) || !strings.Contains(edited, "recursion no") || strings.Contains(edited, "logging") {
		t.Errorf("beside it is %q", edited)
	}
}

// What a person writes into the files for zones is served on when the file from before is back, or kept beside it.
func TestZonesThatAPersonAddsToOurFilesSurvive(t *testing.T) {
	const (
		home   = "zone \"home.example\" { type master; file \"/etc/bind/db.home\"; };\n"
		moving = "zone \"moving.example\" { type master; file \"/var/lib/bind/db.moving\"; allow-update { key ddns; }; };\n"
		office = "// of the office\nzone \"office.example\" { type master; file \"/etc/bind/db.office\"; };\n"
		lab    = "zone \"lab.example\" { type slave; masters { 10.0.0.2; }; file \"db.lab\"; };\n"
		all    = "zone \"theirs.example\" { type master; file \"/etc/bind/db.theirs\"; };\n"
	)
	edit := func(t *testing.T, tree transaction.Tree, path, old, new string) {
		t.Helper()
		path = "/etc/bind/named.conf.virtcluster-" + path
		if !strings.Contains(text(tree, path), old) {
			t.Fatalf("no %q in %s:\n%s", old, path, text(tree, path))
		}
		tree.Put(path, []byte(strings.Replace(text(tree, path), old, new, 1)), 0, "", "")
	}
	for name, drop := range map[string]func(transaction.Tree) error{
		"strip": Daemon{}.Strip,
		"drop": func(tree transaction.Tree) error {
			if err := DropZone(tree, "", "all.example"); err != nil {
				return err
			}
			return DropServer(tree)
		},
		"the original is gone": func(tree transaction.Tree) error {
			delete(tree, "/etc/bind/named.conf.virtcluster-original")
			if err := DropZone(tree, "", "all.example"); err != nil {
				return err
			}
			return DropServer(tree)
		},
	} {
		t.Run(name, func(t *testing.T) {
			tree := withLocal(t, "acl mine { 10.0.0.0/8; };\n"+home+moving)
			before := text(tree, "/etc/bind/named.conf")
			must(t, addZone(tree, everywhereZone(), noon))
			must(t, setServer(tree, Server{AllowQuery: []string{"any"}}))
			edit(t, tree, "zones", home, home+office)
			edit(t, tree, "dynamic-zones", moving, moving+lab)
			tree.Put("/etc/bind/named.conf.virtcluster-everywhere", []byte(text(tree, "/etc/bind/named.conf.virtcluster-everywhere")+all), 0, "", "")
			full := tree.Clone()
			must(t, drop(tree))
			if said := strings.Join((Daemon{}).Kept(full, tree), "\n"); name != "the original is gone" && (strings.Count(said, "stands in /etc/bind/named.conf now") != 3 || !strings.Contains(said, "zone office.example, which")) {
				t.Errorf("the warnings are %q", said)
			}
			main := text(tree, "/etc/bind/named.conf")
			if name != "the original is gone" && main != before+office+lab+all {
				t.Errorf("the file from before became\n%s", main)
			}
			for _, zone := range []string{"office.example", "lab.example", "theirs.example"} {
				if strings.Count(main, `zone "`+zone+`"`) != 1 {
					t.Errorf("%s is lost:\n%s", zone, main)
				}
			}
			for path := range tree {
				if strings.Contains(path, "virtcluster") {
					t.Errorf("%s stays: %s", path, text(tree, path))
				}
			}
		})
	}
	t.Run("nothing", func(t *testing.T) {
		tree := withLocal(t, "// mine\nacl mine { 10.0.0.0/8; }; // ten\n// at home\n"+home+"// to share\ninclude \"/etc/bind/zones.more\"; // more\n"+moving)
		tree.Put("/etc/bind/zones.more", []byte("// of the office\n"+office), 0o644, "root", "bind")
		tree.Put("/etc/bind/named.conf", []byte(strings.Replace(text(tree, "/etc/bind/named.conf"), "include \"/etc/bind/named.conf.default-zones\"", "// all have these\ninclude \"/etc/bind/named.conf.default-zones\"", 1)), 0, "", "")
		before := tree.Clone()
		must(t, addView(tree, View{Name: "a", MatchClients: []string{"10.1.0.0/16"}}))
		must(t, DropView(tree, "a"))
		if write, removed := before.Changes(tree); len(write)+len(removed) > 0 {
			t.Errorf("left: %v (%s), gone: %v", write, text(tree, "/etc/bind/named.conf.virtcluster-edited"), removed)
		}
	})
	t.Run("what cannot stand there", func(t *testing.T) {
		tree := withLocal(t, "acl mine { 10.0.0.0/8; };\n// at home\n"+home+moving)
		before := text(tree, "/etc/bind/named.conf")
		const earlier = "// of an earlier time\n"
		tree.Put("/etc/bind/named.conf.virtcluster-edited", []byte(earlier), 0o644, "root", "bind")
		must(t, addView(tree, View{Name: "a", MatchClients: []string{"10.1.0.0/16"}}))
		edit(t, tree, "zones", home, "// moves in May\n"+strings.Replace(home, "db.home", "db.home2", 1))
		edit(t, tree, "dynamic-zones", moving, "// soon to go\n"+moving+"// zone \"old.example\" { type hint; };\n")
		full := tree.Clone()
		must(t, DropView(tree, "a"))
		if said := (Daemon{}).Kept(full, tree); len(said) != 1 || !strings.Contains(said[0], "is in /etc/bind/named.conf.virtcluster-edited, which named does not read") {
			t.Errorf("the warnings are %q", said)
		}
		if main := text(tree, "/etc/bind/named.conf"); main != before {
			t.Errorf("the file from before became\n%s", main)
		}
		edited := text(tree, "/etc/bind/named.conf.virtcluster-edited")
		for _, want := range []string{earlier, "db.home2", "// moves in May", "// soon to go", `// zone "old.example"`} {
			if strings.Count(edited, want) != 1 {
				t.Errorf("%s is lost:\n%s", want, edited)
			}
		}
		if strings.Contains(edited, "moving.example") {
			t.Errorf("what nobody edited is kept too:\n%s", edited)
		}
	})
}

func TestRefusalsAtApply(t *testing.T) {
	tree := debian(t)
	okd(t, tree)
	for name, c := range map[string]struct {
		err  error
		text string
	}{
		"view with zones":            {DropView(tree.Clone(), "internal"), "still has the zones okd.example"},
		"zone with record sets":      {DropZone(tree.Clone(), "internal", "okd.example"), "@ TXT, www A"},
		"record set of the zone":     {addRecordSet(tree.Clone(), RecordSet{View: "internal", Zone: "okd.example", Name: "api", Type: "A", Values: []string{"10.0.0.1"}}, noon), "its own records"},
		"CNAME beside data":          {addRecordSet(tree.Clone(), RecordSet{View: "internal", Zone: "okd.example", Name: "api", Type: "CNAME", Values: []string{"x"}}, noon), "only record of its name"},
		"zone over a record set":     {addZone(tree.Clone(), Zone{View: "internal", Name: "okd.example", TTL: 60, SOA: DefaultSOA, NameServers: []string{"localhost."}, Records: Records{"www": {"A": {"10.0.0.1"}}}}, noon), "record set of another resource"},
		"zone without its view":      {addZone(tree.Clone(), Zone{View: "none", Name: "x.example"}, noon), "virtcluster_dns_view"},
		"record set without a zone":  {addRecordSet(tree.Clone(), RecordSet{View: "internal", Zone: "none.example", Name: "a", Type: "A", Values: []string{"10.0.0.1"}}, noon), "virtcluster_dns_zone"},
		"view behind one for all":    {addView(tree.Clone(), View{Name: "late", Order: 30, MatchClients: []string{"10.3.0.0/16"}}), "never be asked"},
		"no BIND":                    {addView(transaction.Tree{}, View{Name: "a"}), "not installed"},
		"named.conf that is no such": {addView(transaction.Tree{"/etc/bind/named.conf": host.File{Content: []byte("options {")}}, View{Name: "a"}), "line 1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if c.err == nil || !strings.Contains(c.err.Error(), c.text) {
				t.Errorf("%s: %v", name, c.err)
			}
		})
	}
}

func TestAViewWithZonesOfAPersonStays(t *testing.T) {
	for name, theirs := range map[string]string{
		"zone":    "\t// mine\n\tzone \"theirs.example\" { type master; file \"/etc/bind/db.theirs\"; };\n",
		"include": "\tinclude \"/etc/bind/zones.theirs\";\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tree := withLocal(t, `zone "home.example" { type master; file "/etc/bind/db.home"; };`)
			tree.Put("/etc/bind/zones.theirs", []byte(`zone "theirs.example" { type master; file "/etc/bind/db.theirs"; };`), 0o644, "root", "bind")
			before := tree.Clone()
			must(t, addView(tree, View{Name: "a", MatchClients: []string{"10.1.0.0/16"}}))
			empty := text(tree, "/etc/bind/named.conf")
			tree.Put("/etc/bind/named.conf", []byte(strings.Replace(empty, "\trecursion no;\n", "\trecursion no;\n"+theirs, 1)), 0, "", "")
			must(t, addView(tree, View{Name: "a", MatchClients: []string{"10.2.0.0/16"}}))
			edited := tree.Clone()
			if err := DropView(tree, "a"); err == nil || !strings.Contains(err.Error(), `view "a" holds zones that this provider did not write: theirs.example; move them`) {
				t.Errorf("%s: %v", name, err)
			}
			if write, removed := edited.Changes(tree); len(write)+len(removed) > 0 || !strings.Contains(text(tree, "/etc/bind/named.conf"), "theirs") {
				t.Errorf("%s: changed: %v, gone: %v", name, write, removed)
			}
			tree.Put("/etc/bind/named.conf", []byte(strings.Replace(text(tree, "/etc/bind/named.conf"), strings.TrimSpace(theirs), "", 1)), 0, "", "")
			must(t, DropView(tree, "a"))
			if write, removed := before.Changes(tree); len(write)+len(removed) > 0 {
				t.Errorf("%s: left: %v, gone: %v", name, write, removed)
			}
		})
	}
}

// The view for whoever none of the others answers is written anew with each change.
func TestWhatAPersonWritesIntoTheRestSurvives(t *testing.T) {
	const (
		office = "zone \"office.example\" { type master; file \"/etc/bind/db.office\"; };"
		option = "minimal-responses yes;"
	)
	taken := func(t *testing.T) transaction.Tree {
		t.Helper()
		tree := withLocal(t, `zone "home.example" { type master; file "/etc/bind/db.home"; };`)
		must(t, addView(tree, View{Name: "a", MatchClients: []string{"10.1.0.0/16"}}))
		main := text(tree, "/etc/bind/named.conf")
		tree.Put("/etc/bind/named.conf", []byte(strings.Replace(main, "view \"virtcluster-rest\" {", "view \"virtcluster-rest\" {\n\t"+office+"\n\t"+option, 1)), 0, "", "")
		must(t, addView(tree, View{Name: "a", MatchClients: []string{"10.2.0.0/16"}}))
		main = text(tree, "/etc/bind/named.conf")
		if _, rest, _ := strings.Cut(main, "view \"virtcluster-rest\" {"); strings.Count(main, office) != 1 || !strings.Contains(rest, office) || !strings.Contains(rest, option) {
			t.Fatalf("it is lost:\n%s", main)
		}
		before := tree.Clone()
		must(t, addView(tree, View{Name: "a", MatchClients: []string{"10.2.0.0/16"}}))
		if write, removed := before.Changes(tree); len(write)+len(removed) > 0 {
			t.Errorf("the same again changed: %v, gone: %v", write, removed)
		}
		return tree
	}
	const main, edited = "/etc/bind/named.conf", "/etc/bind/named.conf.virtcluster-edited"
	t.Run("the original comes back", func(t *testing.T) {
		tree := taken(t)
		must(t, DropView(tree, "a"))
		if strings.Count(text(tree, main), office) != 1 || !strings.Contains(text(tree, edited), option) || strings.Contains(text(tree, edited), office) {
			t.Errorf("there is\n%s\nand beside it\n%s", text(tree, main), text(tree, edited))
		}
	})
	t.Run("the original is gone", func(t *testing.T) {
		tree := taken(t)
		delete(tree, "/etc/bind/named.conf.virtcluster-original")
		must(t, DropView(tree, "a"))
		if strings.Count(text(tree, main), office) != 1 || !strings.Contains(text(tree, edited), option) {
			t.Errorf("there is\n%s\nand beside it\n%s", text(tree, main), text(tree, edited))
		}
	})
	t.Run("another view answers everyone", func(t *testing.T) {
		tree := taken(t)
		before := tree.Clone()
		must(t, addView(tree, View{Name: "b", Order: 200}))
		if strings.Contains(text(tree, main), office) || !strings.Contains(text(tree, edited), office) || !strings.Contains(text(tree, edited), option) {
			t.Errorf("there is\n%s\nand beside it\n%s", text(tree, main), text(tree, edited))
		}
		if said := (Daemon{}).Kept(before, tree); len(said) != 1 || !strings.Contains(said[0], edited) {
			t.Errorf("the warnings are %q", said)
		}
	})
}

func TestFedorasSingleFileIsTakenApart(t *testing.T) {
	const main = `options {
	listen-on port 53 { 127.0.0.1; };
	directory "/var/named";
};
zone "." IN {
	type hint;
	file "named.ca";
};
include "/etc/named.rfc1912.zones";
include "/etc/named.root.key";
`
	tree := transaction.Tree{"/etc/named.conf": host.File{Path: "/etc/named.conf", Content: []byte(main), Mode: 0o640, Owner: "root", Group: "named"}}
	tree["/etc/named.rfc1912.zones"] = host.File{Path: "/etc/named.rfc1912.zones", Content: []byte(`zone "localhost" IN { type master; file "named.localhost"; };`)}
	before := tree.Clone()
	must(t, addView(tree, View{Name: "a", MatchClients: []string{"10.1.0.0/16"}}))
	must(t, addZone(tree, Zone{View: "a", Name: "okd.example", TTL: 60, SOA: DefaultSOA, NameServers: []string{"localhost."}}, noon))
	got := text(tree, "/etc/named.conf")
	if strings.Contains(got, "named.ca") || !strings.Contains(got, "named.root.key") || !strings.Contains(got, "/etc/named/virtcluster/zones/a/okd.example.zone") {
		t.Errorf("got\n%s", got)
	}
	if shared := text(tree, "/etc/named/named.conf.virtcluster-zones"); !strings.Contains(shared, "named.ca") || !strings.Contains(shared, "rfc1912") {
		t.Errorf("got\n%s", shared)
	}
	must(t, DropZone(tree, "a", "okd.example"))
	must(t, DropView(tree, "a"))
	if write, removed := before.Changes(tree); len(write)+len(removed) > 0 {
		t.Errorf("left: %v, gone: %v", write, removed)
	}
}

func TestPartsSayWhoseTheyAre(t *testing.T) {
	tree := debian(t)
	okd(t, tree)
	set := RecordSet{View: "internal", Zone: "okd.example", Name: "www", Type: "A"}
	marks := map[string]func(transaction.Tree) (owner.Mark, bool){
		"server":     ServerMark,
		"view":       func(t transaction.Tree) (owner.Mark, bool) { return ViewMark(t, "internal") },
		"zone":       func(t transaction.Tree) (owner.Mark, bool) { return ZoneMark(t, "internal", "okd.example") },
		"record set": func(t transaction.Tree) (owner.Mark, bool) { return RecordSetMark(t, set) },
	}
	for name, of := range marks {
		t.Run(name, func(t *testing.T) {
			if m, there := of(tree); !there || m != ours {
				t.Errorf("%s: mark %v, there %v", name, m, there)
			}
			if _, there := of(debian(t)); there {
				t.Errorf("%s is in a configuration without any", name)
			}
		})
	}
	if got := (Daemon{}).Owners(tree); len(got) != 11 || !slices.Contains(got, "view internal ("+ours.String()+")") {
		t.Errorf("owners: %q", got)
	}
	if got := (Daemon{}).Owners(debian(t)); len(got) > 0 {
		t.Errorf("owners of what nobody changed: %q", got)
	}
}

func TestEmptyListsAreReadBackAsEmpty(t *testing.T) {
	tree := debian(t)
	must(t, setServer(tree, Server{Forwarders: []string{}, AllowQuery: []string{}, ListenOn: []string{"127.0.0.1"}}))
	got, err := FindServer(tree)
	if err != nil || got.Forwarders == nil || len(got.Forwarders) > 0 || !SameMatches(got.AllowQuery, []string{}) || got.AllowRecursion != nil {
		t.Errorf("%+v, %v", got, err)
	}
	must(t, addView(tree, View{Name: "a", Forwarders: []string{}, MatchClients: []string{"10.0.0.0/8"}}))
	if v, err := FindView(tree, "a"); err != nil || v.Forwarders == nil || v.AllowQuery != nil {
		t.Errorf("%+v, %v", v, err)
	}
}

// TestABrokenFileOfZonesIsNotWrittenAnew has a person leave a brace open in the file of the zones without a view.
func TestABrokenFileOfZonesIsNotWrittenAnew(t *testing.T) {
	tree := debian(t)
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	z := Zone{Name: "a.example"}
	if err := addZone(tree, z, now); err != nil {
		t.Fatal(err)
	}
	d, _ := distributionOf(tree)
	f := tree[d.everywherePath()]
	f.Content = append(f.Content, "zone \"theirs.example\" { type primary;\n"...)
	tree[d.everywherePath()] = f
	before := tree.Clone()
	z.Name = "b.example"
	for what, err := range map[string]error{"set": addZone(tree, z, now), "drop": DropZone(tree, "", "a.example")} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			if err == nil || !strings.Contains(err.Error(), d.everywherePath()) {
				t.Errorf("%s: %v", what, err)
			}
		})
	}
	if diff := cmp.Diff(string(before[d.everywherePath()].Content), string(tree[d.everywherePath()].Content)); diff != "" {
		t.Error(diff)
	}
}
