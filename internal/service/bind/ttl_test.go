package bind

import (
	"slices"
	"strings"
	"testing"
)

// A zone of ocp4-helpernode's says some of its pointers twice, which named takes for one.
func TestARecordThatIsThereTwiceIsOne(t *testing.T) {
	t.Parallel()
	z := parseZoneFile("lab.example", []byte(strings.Replace(ownTTLs, "ns1 IN A 10.0.0.1\n", "ns1 IN A 10.0.0.1\nns1 IN A 10.0.0.2\nNS1 IN A 10.0.0.1\n", 1))).zoneOf()
	if got := z.Records["ns1"]["A"]; !slices.Equal(got, []string{"10.0.0.1", "10.0.0.2"}) {
		t.Errorf("its addresses are %q", got)
	}
}

// people's zones have records with TTLs of their own: they are read, kept and written.
const ownTTLs = `$TTL 604800
@ IN SOA ns1.lab.example. admin.lab.example. (1 604800 86400 2419200 604800)
 IN NS ns1
ns1 IN A 10.0.0.1
_etcd-server-ssl._tcp 86400 IN SRV 0 10 2380 etcd-0
note 60 IN TXT "of today ; ttl 5"
`

func TestARecordKeepsATTLOfItsOwn(t *testing.T) {
	t.Parallel()
	tree := debian(t)
	tree.Put("/etc/bind/named.conf.local", []byte(`zone "lab.example" { type master; file "/etc/bind/db.lab"; };`), 0o644, "root", "bind")
	tree.Put("/etc/bind/db.lab", []byte(ownTTLs), 0o644, "root", "bind")
	z, err := FindZone(tree, "", "lab.example")
	must(t, err)
	srv, note := z.Records["_etcd-server-ssl._tcp"]["SRV"][0], z.Records["note"]["TXT"][0]
	if srv != "0 10 2380 etcd-0.lab.example. ; ttl 86400" || note != `"of today ; ttl 5" ; ttl 60` {
		t.Errorf("they are read as %q and %q", srv, note)
	}
	if problems := z.Validate(); len(problems) > 0 {
		t.Errorf("what is read is refused: %v", problems)
	}
	z.Records["api"] = map[string][]string{"A": {"10.0.0.2"}}
	must(t, SetZone(tree, z, ours, noon))
	written := text(tree, "/etc/bind/virtcluster/zones/_default/lab.example.zone")
	for _, want := range []string{"\t86400\tIN\tSRV\t0 10 2380 etcd-0.lab.example.\n", "note\t60\tIN\tTXT\t\"of today ; ttl 5\"\n"} {
		if !strings.Contains(written, want) {
			t.Errorf("%q is not in\n%s", want, written)
		}
	}
	again, err := FindZone(tree, "", "lab.example")
	must(t, err)
	if spelled := z.Spell(again); spelled.Records["_etcd-server-ssl._tcp"]["SRV"][0] != srv || spelled.Records["note"]["TXT"][0] != note {
		t.Errorf("they are read again as %v", spelled.Records)
	}
}

func TestTTLsOfRecordsThatCannotBeAreRefusedAtTheValue(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ value, want string }{
		"the zone's own": {"10.0.0.1 ; ttl 300", "The zone's own TTL"},
		"too long":       {"10.0.0.1 ; ttl 2147483648", "TTL out of range"},
		"another one":    {"10.0.0.1 ; ttl 60", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			z := Zone{Name: "lab.example", TTL: 300, SOA: DefaultSOA, NameServers: []string{DefaultNameServer}, Records: Records{"api": {"A": {c.value}}}}
			problems := z.Validate()
			if (len(problems) == 0) != (c.want == "") || len(problems) > 0 && !strings.Contains(problems[0].Summary, c.want) {
				t.Errorf("it says %v", problems)
			}
		})
	}
	set := RecordSet{Zone: "lab.example", Name: "www", Type: "A", TTL: InheritTTL, Values: []string{"10.0.0.1 ; ttl 60"}}
	if problems := set.Validate(); len(problems) != 1 || problems[0].Summary != "TTL in a value" {
		t.Errorf("of a record set it says %v", problems)
	}
}
