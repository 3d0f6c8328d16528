package bind

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestRecordSetNamesTheAttribute(t *testing.T) {
	for name, c := range map[string]struct {
		set  RecordSet
		path string
		text string
	}{
		"no address":         {RecordSet{Name: "www", Type: "A", Values: []string{"10.0.0.1", "fd00::1"}}, "[values 1]", "no IPv4 address"},
		"no IPv6 address":    {RecordSet{Name: "www", Type: "AAAA", Values: []string{"10.0.0.1"}}, "[values 0]", `write it like "fd00::1"`},
		"name outside":       {RecordSet{Name: "www.other.example.", Type: "A", Values: []string{"10.0.0.1"}}, "[name]", "outside of zone"},
		"TTL":                {RecordSet{Name: "www", Type: "A", TTL: -7, Values: []string{"10.0.0.1"}}, "[ttl]", "2147483647"},
		"type":               {RecordSet{Name: "www", Type: "B", Values: []string{"x"}}, "[type]", "no record type"},
		"CNAME at the apex":  {RecordSet{Name: "@", Type: "cname", Values: []string{"x"}}, "[type]", "write address records"},
		"two CNAMEs":         {RecordSet{Name: "www", Type: "CNAME", Values: []string{"a", "b"}}, "[values]", "one CNAME at most"},
		"the zone's servers": {RecordSet{Name: "@", Type: "NS", Values: []string{"ns1"}}, "[type]", "name_servers"},
		"no values":          {RecordSet{Name: "www", Type: "A", Values: []string{}}, "[values]", "at least one"},
		"no host name":       {RecordSet{Name: "my_host", Type: "A", Values: []string{"10.0.0.1"}}, "[name]", "check-names"},
	} {
		t.Run(name, func(t *testing.T) {
			c.set.Zone = "okd.example"
			problems := c.set.Validate()
			if len(problems) != 1 || problems[0].Warning || fmt.Sprint(problems[0].Path) != c.path || !strings.Contains(problems[0].Detail, c.text) {
				t.Errorf("got %+v", problems)
			}
		})
	}
	good := RecordSet{Zone: "okd.example", Name: "WWW", Type: "a", TTL: InheritTTL, Values: []string{"10.0.0.1"}}
	if problems := good.Validate(); len(problems) > 0 {
		t.Errorf("a good record set has problems %+v", problems)
	}
}

func TestRecordSetWarnsOfWildcards(t *testing.T) {
	others := map[string][]string{"@": {"A"}, "*.apps": {"A"}, "a.old.apps": {"A"}, "api": {"A"}}
	for name, want := range map[string]string{
		"a.b.apps": "Wildcard does not match below b.apps", "b.old.apps": "", "x": "", "*": "Wildcard does not match below apps",
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, p := range (RecordSet{Zone: "okd.example", Name: name, Type: "A"}).CheckBeside(others) {
				if !p.Warning {
					t.Errorf("%s: %+v is an error", name, p)
				}
				got = append(got, p.Summary)
			}
			if want != strings.Join(got, "; ") && !strings.HasPrefix(strings.Join(got, "; "), want+"; ") {
				t.Errorf("%s: %q", name, got)
			}
		})
	}
}

func TestRecordSetThatStrangersNeedNotKnow(t *testing.T) {
	for name, want := range map[string]string{"api-int": "api-int.okd.example", "API-INT.okd.example.": "api-int.okd.example", "api": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := (RecordSet{Zone: "okd.example", Name: name, Type: "A"}).InternalName(); got != want {
				t.Errorf("%s: %q", name, got)
			}
		})
	}
}

func TestRecordSetsOfResourcesAreListed(t *testing.T) {
	t.Parallel()
	tree := debian(t)
	okd(t, tree)
	before, err := ListRecordSets(tree)
	must(t, err)
	must(t, addRecordSet(tree, RecordSet{View: "internal", Zone: "okd.example", Name: "late", Type: "A", TTL: InheritTTL, Values: []string{"10.0.0.8"}}, noon))
	got, err := ListRecordSets(tree)
	want := RecordSet{View: "internal", Zone: "okd.example", Name: "late", Type: "A"}
	if err != nil || len(got) != len(before)+1 || !slices.ContainsFunc(got, func(r RecordSet) bool {
		return r.View == want.View && r.Zone == want.Zone && r.Name == want.Name && r.Type == want.Type
	}) {
		t.Errorf("listed are %+v, %v", got, err)
	}
}
