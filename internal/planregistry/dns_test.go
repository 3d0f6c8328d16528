package planregistry

import (
	"slices"
	"testing"
)

func TestRecordSetsOfOnePlanDoNotOverlap(t *testing.T) {
	var d DNS
	at, other := DNSPlace{"n", "internal", "okd.example"}, DNSPlace{"n", "external", "okd.example"}
	www, api := DNSSet{"www", "A"}, DNSSet{"api", "A"}
	if inZone, twice := d.PutSet(at, www, "10.0.0.1"); inZone || twice {
		t.Error("the first one is in the way of itself")
	}
	if _, twice := d.PutSet(at, www, "10.0.0.1"); twice {
		t.Error("planned again, it is in the way of itself")
	}
	if _, twice := d.PutSet(at, www, "10.0.0.2"); !twice {
		t.Error("two resources have one set")
	}
	if _, twice := d.PutSet(other, www, "10.0.0.2"); twice {
		t.Error("sets of different views collide")
	}
	if taken := d.PutZone(at, []DNSSet{api, www}); !slices.Equal(taken, []DNSSet{www}) {
		t.Errorf("taken: %v", taken)
	}
	if inZone, _ := d.PutSet(at, api, "10.0.0.3"); !inZone {
		t.Error("the zone's own record is not seen")
	}
	if got := d.Types(at, "www", "CNAME"); !slices.Equal(got, []string{"A"}) {
		t.Errorf("types: %v", got)
	}
	if got := d.Names(at); !slices.Equal(got, []string{"api", "www"}) {
		t.Errorf("names: %v", got)
	}
	d.PutView("n", DNSView{Name: "external", ForStrangers: true})
	if v, ok := d.View("n", "external"); !ok || !v.ForStrangers {
		t.Error("the view is forgotten")
	}
}
