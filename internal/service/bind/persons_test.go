package bind

import (
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

// viewOfOurs is Debian's configuration with a view of ours, into which a person wrote something.
func viewOfOurs(t *testing.T, theirs string) transaction.Tree {
	t.Helper()
	tree := debian(t)
	must(t, addView(tree, View{Name: "a", MatchClients: []string{"10.1.0.0/16"}}))
	editMain(t, tree, "match-clients", theirs+"\n\tmatch-clients")
	return tree
}

// editMain replaces a text of the main file, which has to be there, once.
func editMain(t *testing.T, tree transaction.Tree, old, changed string) {
	t.Helper()
	main := text(tree, "/etc/bind/named.conf")
	if !strings.Contains(main, old) {
		t.Fatalf("there is no %q in\n%s", old, main)
	}
	tree.Put("/etc/bind/named.conf", []byte(strings.Replace(main, old, changed, 1)), 0o644, "root", "bind")
}

func TestARecordSetDoesNotGoIntoAPersonsFile(t *testing.T) {
	t.Parallel()
	const records = "$TTL 60\n@ SOA ns. root. 1 60 60 60 60\n@ NS ns.\n; the printer\nlp A 10.1.0.9\n$INCLUDE /etc/bind/more\n"
	for name, tree := range map[string]transaction.Tree{
		"in a view of ours":   viewOfOurs(t, `zone "lab.example" { type primary; file "/etc/bind/db.lab"; };`),
		"in a person's view":  withLocal(t, `view "a" { zone "lab.example" { type primary; file "/etc/bind/db.lab"; }; };`),
		"below a left marker": viewOfOurs(t, "# virtcluster: zone\n\t// zone \"old.example\" {};\n\t"+`zone "lab.example" { type primary; file "/etc/bind/db.lab"; };`),
	} {
		t.Run(name, func(t *testing.T) {
			tree.Put("/etc/bind/db.lab", []byte(records), 0o644, "root", "bind")
			err := addRecordSet(tree, RecordSet{View: "a", Zone: "lab.example", Name: "www", Type: "A", TTL: InheritTTL, Values: []string{"10.0.0.8"}}, noon)
			if err == nil || !strings.Contains(err.Error(), "import it as virtcluster_dns_zone") {
				t.Errorf("it says %v", err)
			}
			if got := text(tree, "/etc/bind/db.lab"); got != records {
				t.Errorf("the person's file is\n%s", got)
			}
			if err := refuseUnmanageable(tree, "a", "lab.example"); err == nil || !strings.Contains(err.Error(), "would lose what is not read of it") {
				t.Errorf("an import says %v", err)
			}
		})
	}
}

// TestAPersonsStatementBelowTheCommentOfAnotherOneIsThePersons has a person put a zone, or a view, between one of ours and its comment: that one is nobody's,
// and ours is not seen as ours any more.
func TestAPersonsStatementBelowTheCommentOfAnotherOneIsThePersons(t *testing.T) {
	t.Parallel()
	const theirs = `zone "lab.example" { type primary; file "/etc/bind/db.lab"; };`
	tree := viewOfOurs(t, "")
	must(t, SetZone(tree, Zone{View: "a", Name: "okd.example"}, ours, noon))
	if m, there := ZoneMark(tree, "a", "okd.example"); !there || m != ours {
		t.Fatalf("the zone is %v's in\n%s", m, text(tree, "/etc/bind/named.conf"))
	}
	editMain(t, tree, `zone "okd.example" {`, theirs+"\n\t"+`zone "okd.example" {`)
	for _, zone := range []string{"lab.example", "okd.example"} {
		t.Run(zone, func(t *testing.T) {
			if m, there := ZoneMark(tree, "a", zone); !there || m != (owner.Mark{}) {
				t.Errorf("it is there: %t, and %v's", there, m)
			}
		})
	}
	if err := DropView(tree, "a"); err == nil || !strings.Contains(err.Error(), "did not write: lab.example, okd.example") {
		t.Errorf("the view's end says %v", err)
	}
	editMain(t, tree, `view "a" {`, `view "theirs" { match-clients { 10.3.0.0/16; }; };`+"\n"+`view "a" {`)
	for _, view := range []string{"theirs", "a"} {
		t.Run("view "+view, func(t *testing.T) {
			if m, there := ViewMark(tree, view); m != (owner.Mark{}) {
				t.Errorf("it is there: %t, and %v's", there, m)
			}
		})
	}
}

// A person took out what stood below a comment of ours: what follows is not ours by it.
func TestACommentThatIsLeftTakesNothing(t *testing.T) {
	t.Parallel()
	const include = `include "/etc/bind/named.conf.virtcluster-zones";`
	for name, theirs := range map[string]string{
		"made a comment": "// " + include + "\n\tzone \"lab.example\" { type primary; file \"/etc/bind/db.lab\"; };",
		"removed":        "zone \"lab.example\" { type primary; file \"/etc/bind/db.lab\"; };",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tree := viewOfOurs(t, "")
			editMain(t, tree, include, theirs)
			must(t, addView(tree, View{Name: "b", MatchClients: []string{"10.2.0.0/16"}}))
			if main := text(tree, "/etc/bind/named.conf"); !strings.Contains(main, `zone "lab.example"`) || strings.Count(main, "\t"+include) != 2 {
				t.Errorf("the zone went, or a view lacks what it served:\n%s", main)
			}
		})
	}
}

func TestWhatAPersonWroteIntoAViewIsKeptBesideWhereTheViewGoes(t *testing.T) {
	t.Parallel()
	for name, drop := range map[string]func(transaction.Tree) error{
		"destroyed": func(tree transaction.Tree) error { return DropView(tree, "a") },
		"stripped":  Daemon{}.Strip,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tree := viewOfOurs(t, "server 10.0.0.9 { bogus yes; };")
			before := tree.Clone()
			must(t, drop(tree))
			if kept := text(tree, "/etc/bind/named.conf.virtcluster-edited"); !strings.Contains(kept, "server 10.0.0.9") || strings.Contains(kept, "virtcluster-zones") {
				t.Errorf("kept is %q", kept)
			}
			if said := (Daemon{}).Kept(before, tree); len(said) != 1 || !strings.Contains(said[0], "virtcluster-edited") {
				t.Errorf("said is %q", said)
			}
		})
	}
}

func TestAViewOfAFileThatAnIncludedOneIncludesIsFound(t *testing.T) {
	t.Parallel()
	tree := withLocal(t, `include "/etc/bind/views.conf";`)
	tree.Put("/etc/bind/views.conf", []byte(`view "internal" { match-clients { 10.0.0.0/8; }; zone "lab.example" { type primary; file "/etc/bind/db.lab"; }; };`), 0o644, "root", "bind")
	zones, err := ListZones(tree)
	if err != nil || len(zones) != 1 || zones[0].View != "internal" {
		t.Errorf("listed are %+v, %v", zones, err)
	}
	must(t, SetView(tree, View{Name: "internal", MatchClients: []string{"10.0.0.0/9"}}, ours))
	if v, err := FindView(tree, "internal"); err != nil || v.MatchClients[0] != "10.0.0.0/9" || strings.Count(text(tree, "/etc/bind/named.conf"), `view "internal" {`) != 1 {
		t.Errorf("%+v, %v in\n%s", v, err, text(tree, "/etc/bind/named.conf"))
	}
}

func TestWhatMayStandTwiceInAViewStays(t *testing.T) {
	t.Parallel()
	tree := viewOfOurs(t, `disable-empty-zone "a.example"; disable-empty-zone "b.example";`)
	must(t, addView(tree, View{Name: "a", MatchClients: []string{"10.3.0.0/16"}}))
	if main := text(tree, "/etc/bind/named.conf"); strings.Count(main, "disable-empty-zone") != 2 {
		t.Errorf("got\n%s", main)
	}
}

func TestAPrimaryZoneKeepsWhomItDoesNotAsk(t *testing.T) {
	t.Parallel()
	tree := viewOfOurs(t, `zone "lab.example" { type primary; file "/etc/bind/db.lab"; forwarders { }; };`)
	tree.Put("/etc/bind/db.lab", []byte("$TTL 60\n@ SOA ns. root. 1 60 60 60 60\n@ NS ns.\n"), 0o644, "root", "bind")
	must(t, refuseUnmanageable(tree, "a", "lab.example"))
	must(t, SetZone(tree, Zone{View: "a", Name: "lab.example", TTL: 60, SOA: DefaultSOA, NameServers: []string{"ns."}}, ours, noon))
	if main := text(tree, "/etc/bind/named.conf"); !strings.Contains(main, "forwarders { };") {
		t.Errorf("got\n%s", main)
	}
	editMain(t, tree, "recursion no;", "recursion no;\n\tzone \"tls.example\" { type primary; file \"/etc/bind/db.lab\"; allow-transfer port 853 transport tls { any; }; };")
	if err := refuseUnmanageable(tree, "a", "tls.example"); err == nil || !strings.Contains(err.Error(), "port 853 transport tls") {
		t.Errorf("it says %v", err)
	}
}

func TestOptionsThatAPersonChangedAreKeptBesideWhereOursTakeTheirPlace(t *testing.T) {
	t.Parallel()
	tree := debian(t)
	tree.Put("/etc/bind/named.conf", []byte("options { directory \"/var/cache/bind\"; version \"one\"; };\n"), 0o644, "root", "bind")
	must(t, addView(tree, View{Name: "a", MatchClients: []string{"10.1.0.0/16"}}))
	same := tree.Clone()
	must(t, SetServer(same, Server{}, ours))
	if _, kept := same["/etc/bind/named.conf.virtcluster-edited"]; kept {
		t.Error("the original's options are kept twice")
	}
	editMain(t, tree, "one", "two")
	must(t, SetServer(tree, Server{}, ours))
	if kept := text(tree, "/etc/bind/named.conf.virtcluster-edited"); !strings.Contains(kept, `version "two"`) {
		t.Errorf("kept is %q", kept)
	}
}
