package bind

import (
	"bytes"
	"errors"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

var update = flag.Bool("update", false, "write the golden files")

var noon = time.Unix(1800000000, 0)

// debian is the configuration that Debian 12 installs.
func debian(t *testing.T) transaction.Tree {
	t.Helper()
	tree := transaction.Tree{}
	files, err := filepath.Glob("testdata/debian/named.conf*")
	if err != nil || len(files) != 4 {
		t.Fatalf("files %v, error %v", files, err)
	}
	for _, f := range files {
		content, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		path := "/etc/bind/" + filepath.Base(f)
		tree[path] = host.File{Path: path, Content: content, Mode: 0o644, Owner: "root", Group: "bind"}
	}
	return tree
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// okd is a configuration with what OpenShift asks for, in two views.
func okd(t *testing.T, tree transaction.Tree) {
	t.Helper()
	must(t, addView(tree, View{Name: "external", Order: 20, MatchClients: []string{"any"}}))
	must(t, addView(tree, View{
		Name: "internal", Order: 10, MatchClients: []string{"!10.19.41.0/24", "10.0.0.0/8", "localhost"}, Recursion: true,
		Forwarders: []string{"10.19.41.2", "10.19.41.3:5353"}, Options: map[string]string{"minimal-responses": "yes"},
	}))
	must(t, setServer(tree, Server{ListenOn: []string{"127.0.0.1", "10.0.0.100"}, AllowQuery: []string{"any"}, DNSSECValidation: "no"}))
	must(t, addZone(tree, okdZone(), noon))
	must(t, addZone(tree, Zone{View: "external", Name: "okd.example", TTL: 300, SOA: DefaultSOA, NameServers: []string{DefaultNameServer}, Records: Records{
		"api": {"A": {"10.19.41.160"}},
	}}, noon))
	must(t, addZone(tree, Zone{
		View: "internal", CIDR: "10.0.0.0/24", TTL: 60, SOA: DefaultSOA, NameServers: []string{"ns1.okd.example."},
		Pointers: map[string]string{"10.0.0.1": "m1.okd.example", "10.0.0.250": "api.okd.example."},
	}, noon))
	for _, c := range [][2]string{{"192.0.2.128/25", "192.0.2.130"}, {"10.77.16.0/20", "10.77.17.1"}} {
		must(t, addZone(tree, Zone{
			View: "internal", CIDR: c[0], TTL: 60, SOA: DefaultSOA, NameServers: []string{DefaultNameServer},
			Pointers: map[string]string{c[1]: "edge.okd.example."},
		}, noon))
	}
	must(t, addZone(tree, Zone{View: "internal", Name: "corp.example", Forward: &Forward{Servers: []string{"10.19.41.2"}, Only: true}}, noon))
	must(t, addRecordSet(tree, RecordSet{View: "internal", Zone: "okd.example.", Name: "www", Type: "a", TTL: 600, Values: []string{"10.0.0.9", "10.0.0.10"}}, noon))
	must(t, addRecordSet(tree, RecordSet{View: "internal", Zone: "okd.example", Name: "@", Type: "TXT", TTL: InheritTTL, Values: []string{"v=spf1 -all"}}, noon))
}

func okdZone() Zone {
	return Zone{View: "internal", Name: "okd.example", TTL: 60, SOA: DefaultSOA, NameServers: []string{"ns1"}, Records: Records{
		"ns1": {"A": {"10.0.0.100"}, "AAAA": {"FD00:0::100"}}, "m1": {"A": {"10.0.0.1"}}, "m2": {"A": {"10.0.0.2"}},
		"api": {"A": {"10.0.0.250"}}, "api-int": {"A": {"10.0.0.250"}}, "*.apps": {"A": {"10.0.0.250"}},
		"_etcd-server-ssl._tcp": {"SRV": {"0 10 2380 m2", "0 10 2380 m1.okd.example."}},
		"console":               {"CNAME": {"console.apps"}},
		"long":                  {"TXT": {strings.Repeat("0123456789 \\\"; ", 30)}},
		"two":                   {"TXT": {`"one" "two"`}},
		"@":                     {"MX": {"10 mail.example."}, "CAA": {`0 issue "ca.example.net"`}},
	}}
}

// golden compares files of a tree with testdata/golden; -update writes them.
func golden(t *testing.T, tree transaction.Tree) {
	t.Helper()
	before := debian(t)
	for _, path := range slices.Sorted(maps.Keys(tree)) {
		if old, ok := before[path]; ok && bytes.Equal(old.Content, tree[path].Content) {
			continue
		}
		file := "testdata/golden" + path
		if *update {
			must(t, os.MkdirAll(filepath.Dir(file), 0o755))
			must(t, os.WriteFile(file, tree[path].Content, 0o644))
			continue
		}
		want, err := os.ReadFile(file)
		if err != nil || !bytes.Equal(want, tree[path].Content) {
			t.Errorf("%s (error %v):\n%s", path, err, tree[path].Content)
		}
	}
}

func TestConfigurationIsTheGoldenOne(t *testing.T) {
	tree := debian(t)
	okd(t, tree)
	golden(t, tree)
}

func TestEverythingIsGivenBack(t *testing.T) {
	tree := debian(t)
	okd(t, tree)
	for _, set := range []RecordSet{{View: "internal", Zone: "okd.example", Name: "www", Type: "A"}, {View: "internal", Zone: "okd.example", Name: "@", Type: "TXT"}} {
		must(t, DropRecordSet(tree, set, noon))
	}
	for _, z := range [][2]string{{"internal", "okd.example"}, {"external", "okd.example"}, {"internal", "0.0.10.in-addr.arpa"},
		{"internal", "128/25.2.0.192.in-addr.arpa"}, {"internal", "77.10.in-addr.arpa"}, {"internal", "corp.example"}} {
		must(t, DropZone(tree, z[0], z[1]))
	}
	must(t, DropServer(tree))
	if _, err := FindServer(tree); !errors.Is(err, transaction.ErrAbsent) {
		t.Errorf("server: %v", err)
	}
	if !strings.Contains(string(tree["/etc/bind/named.conf"].Content), "listen-on-v6 { any; };") {
		t.Error("the options from before are not back while views stay")
	}
	must(t, DropView(tree, "internal"))
	must(t, DropView(tree, "external"))
	if write, removed := debian(t).Changes(tree); len(write)+len(removed) > 0 {
		t.Errorf("left: %v, gone: %v", write, removed)
	}
}

func TestStripTakesOutAllParts(t *testing.T) {
	tree := debian(t)
	okd(t, tree)
	must(t, Daemon{}.Strip(tree))
	if write, removed := debian(t).Changes(tree); len(write)+len(removed) > 0 {
		t.Errorf("left: %v, gone: %v", write, removed)
	}
}
