package bind

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

// What a helper of a cluster has as the distributions of Red Hat lay it out: zones in no view.
const helperConf = `// by hand
acl trusted { 192.168.7.0/24; localhost; };
key "transfer" { algorithm hmac-sha256; secret "c2VjcmV0"; };
options {
	listen-on port 53 { any; };
	directory "/var/named"; # as packaged
	forwarders { 8.8.8.8; };
};
logging { channel c { file "data/named.run"; }; };
zone "." IN { type hint; file "named.ca"; };
zone "ocp4.example.com" IN {
	type master;
	file "zonefile.db";
};
include "/etc/named.rfc1912.zones";
include "/etc/crypto-policies/back-ends/bind.config";
`

// What people have with views: one zone that can be imported, one that is not primary, and one in a file that is not read.
const viewsConf = `options { directory "/var/cache/bind"; };
view "inside" {
	match-clients { 10.0.0.0/8; };
	recursion yes;
	response-policy { zone "rpz"; };
	zone "lab.example" {
		type primary;
		file "/etc/bind/db.lab.example";
		also-notify { 10.0.0.1; };
	};
	zone "old.example" { type secondary; primaries { 10.0.0.1; }; file "/etc/bind/db.old.example"; };
	zone "far.example" { type primary; file "/srv/far.db"; };
	zone "moving.example" { type primary; file "/etc/bind/db.moving"; allow-update { key ddns; }; };
	include "/etc/bind/named.conf.more";
	include "/etc/bind/named.conf.default-zones";
};
`

const labZone = "$TTL 60\n@ IN SOA ns. root. 1 60 60 60 60\n@ IN NS ns.\nwww IN A 192.0.2.7\n"

func TestWhatBINDHasBesideResourcesIsListedWithItsLine(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		files map[string]string
		want  string
	}{
		"zones in no view": {map[string]string{
			"/etc/named.conf": helperConf, "/etc/named.rfc1912.zones": "zone \"localhost\" IN { type master; file \"named.localhost\"; };\nzone \"lab.example\" { type master; file \"lab.db\"; allow-update { none; }; };\n",
		}, `/etc/named.conf:2: acl trusted { 192.168.7.0/24; localhost; };
/etc/named.conf:3: key "transfer" { algorithm hmac-sha256; secret (a secret); };
/etc/named.conf:4: options { listen-on port 53 { any; }; directory "/var/named"; forwarders { 8.8.8.8; }; };
/etc/named.conf:9: logging { channel c { file "data/named.run"; }; };
/etc/named.rfc1912.zones:2: allow-update { none; };
/etc/named.conf:16: Nothing that it includes is read: include "/etc/crypto-policies/back-ends/bind.config";
`},
		"zones in views": {map[string]string{
			"/etc/bind/named.conf": viewsConf, "/etc/bind/db.lab.example": labZone, "/etc/bind/db.old.example": labZone,
			"/etc/bind/named.conf.more": "zone \"more.example\" { type forward; };\n", "/etc/bind/named.conf.default-zones": "zone \"localhost\" { type master; file \"/etc/bind/db.local\"; };\n",
		}, `/etc/bind/named.conf:1: options { directory "/var/cache/bind"; };
/etc/bind/named.conf:5: response-policy { zone "rpz"; };
/etc/bind/named.conf:9: also-notify { 10.0.0.1; };
/etc/bind/named.conf:11: primaries { 10.0.0.1; };
/etc/bind/named.conf:13: allow-update { key ddns; };
/etc/bind/named.conf.more:1: ` + elsewhere + `zone "more.example" { type forward; };
`},
		"nothing": {nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tree := transaction.Tree{}
			for path, text := range c.files {
				tree.Put(path, []byte(text), 0o644, "root", "bind")
			}
			all, err := ListUnmodelled(tree)
			if err != nil {
				t.Fatal(err)
			}
			var b strings.Builder
			for _, u := range all {
				fmt.Fprintf(&b, "%s: %s\n", u.Place, u.What)
			}
			if b.String() != c.want {
				t.Errorf("it lists\n%s", b.String())
			}
		})
	}
}

func TestAZoneThatWouldBecomeAnotherOneIsNotRead(t *testing.T) {
	t.Parallel()
	tree := transaction.Tree{}
	for path, text := range map[string]string{"/etc/bind/named.conf": viewsConf, "/etc/bind/db.lab.example": labZone, "/etc/bind/db.old.example": labZone} {
		tree.Put(path, []byte(text), 0o644, "root", "bind")
	}
	for zone, want := range map[string]string{
		"lab.example": "", "old.example": `it is of type "secondary"`, "far.example": `its file "/srv/far.db" cannot be read`, "moving.example": "named itself writes its file", "none.example": "not there",
	} {
		t.Run(zone, func(t *testing.T) {
			t.Parallel()
			_, err := NewZonePart("inside", zone, "id", owner.Mark{}, time.Time{}).Find(tree)
			if (err == nil) != (want == "") || err != nil && zone != "none.example" && !strings.Contains(err.Error(), want) {
				t.Errorf("it is read with %v", err)
			}
		})
	}
}
