package bind

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/part"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

func everywhereZone() Zone {
	return Zone{Name: "all.example", TTL: 60, SOA: DefaultSOA, NameServers: []string{DefaultNameServer}, Records: Records{"api": {"A": {"10.0.0.9"}}}}
}

func TestAZoneWithoutAViewIsServedToEveryone(t *testing.T) {
	tree := debian(t)
	must(t, addZone(tree, everywhereZone(), noon))
	if zones, err := listServed(tree); err != nil || len(zones) != 1 || zones[0].view != defaultView || zones[0].zone != "all.example" {
		t.Errorf("served without views: %v, %v", zones, err)
	}
	must(t, addRecordSet(tree, RecordSet{Zone: "all.example", Name: "www", Type: "A", TTL: InheritTTL, Values: []string{"10.0.0.8"}}, noon))
	// Views that come later serve it too, and whoever is in none of them.
	must(t, addView(tree, View{Name: "a", MatchClients: []string{"10.1.0.0/16"}}))
	main := text(tree, "/etc/bind/named.conf")
	if strings.Count(main, `include "/etc/bind/named.conf.virtcluster-everywhere"`) != 2 || !strings.Contains(main, restView) {
		t.Errorf("not in every view:\n%s", main)
	}
	if err := addZone(tree.Clone(), Zone{Name: "late.example", NameServers: []string{DefaultNameServer}}, noon); err == nil || !strings.Contains(err.Error(), "answers by views, a") {
		t.Errorf("a zone without a view beside views: %v", err)
	}
	changed := everywhereZone()
	changed.Records["api"]["A"] = []string{"10.0.0.7"}
	must(t, addZone(tree, changed, noon))
	if got, err := FindZone(tree, "", "all.example"); err != nil || got.Records["api"]["A"][0] != "10.0.0.7" {
		t.Errorf("changed beside views it is %v, %v", got.Records, err)
	}
	if got := (Daemon{}).Owners(tree); !slices.Contains(got, "zone all.example in view a ("+ours.String()+")") || len(got) != 3 {
		t.Errorf("owners: %q", got)
	}
	got, err := FindZone(tree, "", "all.example")
	if err != nil || got.Records["api"] == nil || got.View != "" {
		t.Errorf("found %+v, %v", got, err)
	}
	must(t, DropView(tree, "a"))
	must(t, DropRecordSet(tree, RecordSet{Zone: "all.example", Name: "www", Type: "A"}, noon))
	must(t, DropZone(tree, "", "all.example"))
	if _, err := FindZone(tree, "", "all.example"); !errors.Is(err, transaction.ErrAbsent) {
		t.Errorf("after its end: %v", err)
	}
	if write, removed := debian(t).Changes(tree); len(write)+len(removed) > 0 {
		t.Errorf("left: %v, gone: %v", write, removed)
	}
}

func TestARecordSetRaisesTheServedSerialAndNotTheZonesOwn(t *testing.T) {
	tree := debian(t)
	must(t, addZone(tree, everywhereZone(), noon))
	before, err := FindZone(tree, "", "all.example")
	must(t, err)
	for range 2 {
		must(t, setRecordSet(tree, RecordSet{Zone: "all.example", Name: "www", Type: "A", TTL: InheritTTL, Values: []string{"10.0.0.8"}}, noon.Add(60)))
		must(t, DropRecordSet(tree, RecordSet{Zone: "all.example", Name: "www", Type: "A"}, noon))
	}
	after, err := FindZone(tree, "", "all.example")
	must(t, err)
	if zones, err := listServed(tree); err != nil || zones[0].serial <= before.Serial || after.Serial != before.Serial {
		t.Errorf("serials: before %d, after %d, served %v, %v", before.Serial, after.Serial, zones, err)
	}
	z := everywhereZone()
	z.TTL = 90
	must(t, addZone(tree, z, noon))
	if changed, err := FindZone(tree, "", "all.example"); err != nil || changed.Serial <= before.Serial {
		t.Errorf("the zone changed and its serial is %d, %v", changed.Serial, err)
	}
}

// A person tidied up, and the file that the take-over kept is gone: what serves goes on serving.
func TestNothingIsLostWhereTheKeptOriginalIsGone(t *testing.T) {
	tree := withLocal(t, `zone "home.example" { type master; file "/etc/bind/db.home"; };
acl mine { 10.0.0.0/8; };
`)
	must(t, addView(tree, View{Name: "a", MatchClients: []string{"10.1.0.0/16"}}))
	must(t, setServer(tree, Server{AllowQuery: []string{"any"}}))
	delete(tree, "/etc/bind/named.conf.virtcluster-original")
	must(t, addView(tree, View{Name: "b", MatchClients: []string{"10.2.0.0/16"}}))
	if _, again := tree["/etc/bind/named.conf.virtcluster-original"]; again {
		t.Error("what is ours was taken for the original")
	}
	must(t, DropServer(tree))
	must(t, DropView(tree, "a"))
	must(t, DropView(tree, "b"))
	main := text(tree, "/etc/bind/named.conf")
	for _, want := range []string{`zone "home.example"`, "acl mine", "named.conf.default-zones", `directory "/var/cache/bind"`} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			if !strings.Contains(main, want) {
				t.Errorf("%s is lost:\n%s", want, main)
			}
		})
	}
	if strings.Contains(main, "virtcluster") || strings.Contains(main, "view ") {
		t.Errorf("what is ours stays:\n%s", main)
	}
	for path := range tree {
		if strings.Contains(path, "virtcluster") {
			t.Errorf("%s stays", path)
		}
	}
}

// What a person wrote, and an import took over, stays as it is until something of it changes: a destroy takes nothing of it.
func TestWhatAPersonWroteAndNobodyChangedStays(t *testing.T) {
	t.Parallel()
	const persons = `view "theirs" {
	match-clients { 10.9.0.0/16; };
	zone "inside.example" { type master; file "/etc/bind/db.inside"; };
};
`
	inNone := withLocal(t, "zone \"home.example\" { type master; file \"/etc/bind/db.home\"; };\n")
	besideOurs := inNone.Clone()
	must(t, addView(besideOurs, View{Name: "a", MatchClients: []string{"10.1.0.0/16"}}))
	changed := inNone.Clone()
	changed.Put("/etc/bind/db.home", []byte("$TTL 60\n@ SOA ns. root. 1 60 60 60 60\n@ NS ns.\n"), 0o644, "root", "bind")
	must(t, addZone(changed, Zone{Name: "home.example", TTL: 60, SOA: DefaultSOA, NameServers: []string{DefaultNameServer}}, noon))
	inTheirs := transaction.Tree{}
	inTheirs.Put("/etc/bind/named.conf", []byte(persons), 0o640, "root", "bind")
	inOurs := inTheirs.Clone()
	must(t, addView(inOurs, View{Name: "theirs", MatchClients: []string{"10.9.0.0/16"}}))
	for name, c := range map[string]struct {
		tree       transaction.Tree
		view, zone string
		zoneStays  bool
		viewStays  bool
	}{
		"in no view":            {inNone, "", "home.example", true, false},
		"in no view, beside us": {besideOurs, "", "home.example", true, false},
		"in no view, changed":   {changed, "", "home.example", false, false},
		"in a person's view":    {inTheirs, "theirs", "inside.example", true, true},
		"in a view of ours":     {inOurs, "theirs", "inside.example", false, false},
		"that is not there":     {inNone, "none", "other.example", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			zone := NewZonePart(c.view, c.zone, "", ours, noon).Stays(c.tree)
			view := NewViewPart(part.Identity{Name: c.view}).Stays(c.tree)
			if (zone != "") != c.zoneStays || (view != "") != c.viewStays {
				t.Errorf("of the zone it says %q, and of the view %q", zone, view)
			}
		})
	}
}

// A file of nothing but zones has none of its statements left when views have them.
func TestZonesComeBackToAFileOfNothingElse(t *testing.T) {
	const home = "zone \"home.example\" { type master; file \"/etc/bind/db.home\"; };\n"
	for name, gone := range map[string]bool{"with the original": false, "without it": true} {
		t.Run(name, func(t *testing.T) {
			tree := transaction.Tree{}
			tree.Put("/etc/bind/named.conf", []byte(home), 0o644, "root", "bind")
			must(t, addView(tree, View{Name: "a", MatchClients: []string{"10.1.0.0/16"}}))
			if gone {
				delete(tree, "/etc/bind/named.conf.virtcluster-original")
			}
			must(t, DropView(tree, "a"))
			if main := text(tree, "/etc/bind/named.conf"); strings.TrimSpace(main) != strings.TrimSpace(home) || len(tree) != 1 {
				t.Errorf("there is\n%s\nin %d files", main, len(tree))
			}
		})
	}
}

func TestZonesOfFilesBelowAreFoundAndGoIntoEveryView(t *testing.T) {
	tree := withLocal(t, `include "/etc/bind/sites/*.conf";
`)
	if got := (Daemon{}).Follow(tree); !slices.Equal(got, []string{"/etc/bind/sites/*.conf"}) {
		t.Fatalf("to read: %q", got)
	}
	tree["/etc/bind/sites/home.conf"] = host.File{Path: "/etc/bind/sites/home.conf", Mode: 0o644, Content: []byte(
		"zone \"home.example\" { type master; file \"/etc/bind/db.home\"; };\ninclude \"/srv/dns/more.conf\";\n")}
	if got := (Daemon{}).Follow(tree); !slices.Equal(got, []string{"/etc/bind/db.home", "/srv/dns/more.conf"}) {
		t.Fatalf("to read then: %q", got)
	}
	tree["/srv/dns/more.conf"] = host.File{Path: "/srv/dns/more.conf", Mode: 0o644, Content: []byte("zone \"more.example\" { type master; file \"/etc/bind/db.more\"; };\n")}
	before := tree.Clone()
	must(t, addView(tree, View{Name: "a", MatchClients: []string{"10.1.0.0/16"}}))
	if shared := text(tree, "/etc/bind/named.conf.virtcluster-zones"); !strings.Contains(shared, "named.conf.local") {
		t.Errorf("a file with nothing but zones is not in every view:\n%s", shared)
	}
	if main := text(tree, "/etc/bind/named.conf"); strings.Contains(main, `include "/etc/bind/named.conf.local"`) {
		t.Errorf("zones stand beside views:\n%s", main)
	}
	if err := addZone(tree.Clone(), Zone{View: "a", Name: "more.example", NameServers: []string{DefaultNameServer}}, noon); err == nil || !strings.Contains(err.Error(), "this provider did not write it") {
		t.Errorf("a zone of theirs: %v", err)
	}
	// The next run reads the machine anew.
	anew := tree.Clone()
	delete(anew, "/etc/bind/sites/home.conf")
	if got := (Daemon{}).Follow(anew); !slices.Equal(got, []string{"/etc/bind/sites/*.conf"}) {
		t.Errorf("to read of the views: %q", got)
	}
	for name, lost := range map[string][]string{"read": nil, "of a pattern that no file has": {"/etc/bind/sites/home.conf"}} {
		t.Run("without the original, includes "+name, func(t *testing.T) {
			left := tree.Clone()
			for _, path := range append(lost, "/etc/bind/named.conf.virtcluster-original") {
				delete(left, path)
			}
			must(t, DropView(left, "a"))
			if main := text(left, "/etc/bind/named.conf"); strings.Count(main, `include "/etc/bind/named.conf.local"`) != 1 || left["/etc/bind/named.conf.virtcluster-edited"].Path != "" {
				t.Errorf("what was included is lost:\n%s", main)
			}
		})
	}
	must(t, DropView(tree, "a"))
	if write, removed := before.Changes(tree); len(write)+len(removed) > 0 {
		t.Errorf("left: %v, gone: %v", write, removed)
	}
}

// helperOf is what a person has on a machine without views: zones in named.conf.local, in a file that this includes, and of all kinds.
func helperOf(t *testing.T) transaction.Tree {
	t.Helper()
	tree := withLocal(t, `// zones of the lab
include "/etc/bind/lab.conf";
zone "old.example" { type secondary; primaries { 10.0.0.1; }; file "/var/cache/bind/old"; };
`)
	tree.Put("/etc/bind/lab.conf", []byte(`# the cluster
zone "ocp4.example" IN { type master; file "zonefile.db"; also-notify { 10.0.0.41; }; };
zone "blocked" { type master; file "db.blocked"; };
zone "7.168.192.in-addr.arpa" IN { type master; file "/etc/bind/db.reverse"; };
`), 0o644, "root", "bind")
	options := strings.Replace(text(tree, "/etc/bind/named.conf.options"), "options {", "options {\n\tresponse-policy { zone \"blocked\"; };", 1)
	tree.Put("/etc/bind/named.conf.options", []byte(options), 0o644, "root", "bind")
	tree.Put("/var/cache/bind/zonefile.db", []byte("$TTL 1W\n@ IN SOA ns1 root 2099010101 3H 30M 2W 1W\n@ IN NS ns1\nns1 IN A 10.0.0.1\napi IN A 10.0.0.1\n"), 0o644, "root", "bind")
	return tree
}

func TestZonesOfAPersonInNoViewAreListed(t *testing.T) {
	t.Parallel()
	tree := helperOf(t)
	names := func() (all []string) {
		zones, err := ListZones(tree)
		must(t, err)
		for _, z := range zones {
			all = append(all, z.View+"/"+z.Name)
		}
		return all
	}
	if got := (Daemon{}).Follow(tree); !slices.Equal(got, []string{"/etc/bind/db.reverse"}) {
		t.Errorf("to read: %q", got)
	}
	want := []string{"/ocp4.example", "/blocked", "/7.168.192.in-addr.arpa", "/old.example"}
	if got := names(); !slices.Equal(got, want) {
		t.Errorf("listed are %q", got)
	}
	must(t, addView(tree, View{Name: "a", MatchClients: []string{"10.1.0.0/16"}}))
	must(t, addView(tree, View{Name: "b", MatchClients: []string{"10.2.0.0/16"}}))
	if got := names(); len(got) != len(want) || slices.ContainsFunc(want, func(name string) bool { return !slices.Contains(got, name) }) {
		t.Errorf("beside views these are listed: %q", got)
	}
	left, err := ListUnmodelled(tree)
	must(t, err)
	for _, u := range left {
		if strings.Contains(u.What, elsewhere) || strings.Contains(u.What, "in-view") {
			t.Errorf("left over is %s: %s", u.Place, u.What)
		}
	}
}

func TestAZoneOfAPersonInNoViewIsManagedWhereItStands(t *testing.T) {
	t.Parallel()
	for name, views := range map[string]bool{"at top level": false, "of every view": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tree := helperOf(t)
			before := tree.Clone()
			if views {
				must(t, addView(tree, View{Name: "a", MatchClients: []string{"10.1.0.0/16"}}))
			}
			if m, there := ZoneMark(tree, "", "ocp4.example"); !there || m.ID != "" {
				t.Errorf("it is there %v, with the mark %v", there, m)
			}
			z, err := NewZonePart("", "ocp4.example", "id", ours, noon).Find(tree)
			if err != nil || z.Serial != 2099010101 || z.TTL != 604800 || z.Records["api"]["A"][0] != "10.0.0.1" || z.AllowTransfer != nil {
				t.Fatalf("it is read as %+v, %v", z, err)
			}
			z.Records["api"]["A"] = []string{"10.0.0.2"}
			must(t, SetZone(tree, z, ours, noon))
			served, err := listServed(tree)
			must(t, err)
			if len(served) == 0 || served[0].zone != "ocp4.example" || served[0].serial <= 2099010101 {
				t.Errorf("served is %v", served)
			}
			statement := text(tree, "/etc/bind/named.conf.virtcluster-everywhere")
			if !strings.Contains(statement, "also-notify { 10.0.0.41; }") || !strings.Contains(statement, "# the cluster") {
				t.Errorf("what the person said of it is lost:\n%s", statement)
			}
			for _, path := range []string{"/etc/bind/named.conf", "/etc/bind/named.conf.virtcluster-zones"} {
				if written := text(tree, path); strings.Contains(written, "ocp4.example") || strings.Contains(written, "lab.conf") || strings.Count(written, "terraform-provider-virtcluster took") > 1 {
					t.Errorf("in %s it is served twice:\n%s", path, written)
				}
			}
			if shared := text(tree, "/etc/bind/named.conf.virtcluster-zones"); !strings.Contains(shared, `zone "7.168.192.in-addr.arpa"`) {
				t.Errorf("the zone beside it is lost:\n%s", shared)
			}
			if shared := text(tree, "/var/cache/bind/zonefile.db") + text(tree, "/etc/bind/lab.conf"); shared != text(before, "/var/cache/bind/zonefile.db")+text(before, "/etc/bind/lab.conf") {
				t.Errorf("the person's files are written:\n%s", shared)
			}
			anew := tree.Clone()
			delete(anew, "/etc/bind/lab.conf")
			if got := (Daemon{}).Follow(anew); !slices.Contains(got, "/etc/bind/lab.conf") {
				t.Errorf("what the original includes is not read with it: %q", got)
			}
			must(t, DropZone(tree, "", "ocp4.example"))
			if views {
				if _, there := ZoneMark(tree, "", "ocp4.example"); there {
					t.Error("it is there after its end")
				}
				must(t, DropView(tree, "a"))
			}
			if write, removed := before.Changes(tree); len(write)+len(removed) > 0 {
				t.Errorf("left: %v, gone: %v: %s", write, removed, text(tree, "/etc/bind/named.conf"))
			}
		})
	}
}

func TestAZoneOfOursIsNotLeftOpenByAHandEdit(t *testing.T) {
	t.Parallel()
	tree := debian(t)
	must(t, addZone(tree, everywhereZone(), noon))
	file := tree["/etc/bind/named.conf.virtcluster-everywhere"]
	file.Content = []byte(strings.Replace(string(file.Content), "allow-transfer { localhost; };", "", 1))
	tree[file.Path] = file
	if z, err := FindZone(tree, "", "all.example"); err != nil || !slices.Equal(z.AllowTransfer, []string{"any"}) {
		t.Errorf("without its statement it may be transferred by %q, %v", z.AllowTransfer, err)
	}
}

func TestARecordSetDoesNotGoIntoAPersonsZoneInNoView(t *testing.T) {
	t.Parallel()
	tree := helperOf(t)
	err := addRecordSet(tree, RecordSet{Zone: "ocp4.example", Name: "www", Type: "A", TTL: InheritTTL, Values: []string{"10.0.0.8"}}, noon)
	if err == nil || !strings.Contains(err.Error(), "import it as virtcluster_dns_zone") {
		t.Errorf("it says %v", err)
	}
}
