package bind

import (
	"maps"
	"slices"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/plan"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/plan/ledger"
)

func TestRecordSetsOfOnePlanDoNotOverlap(t *testing.T) {
	var l ledger.Ledger
	put := func(id string, u plan.User) (said []string) {
		for _, c := range l.Register(plan.Holder{ID: id, Places: []string{"n"}}, u.Uses()) {
			said = append(said, c.Rule.Summary+": "+c.Detail())
		}
		return said
	}
	expect := func(what string, got []string, want ...string) {
		t.Helper()
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, not %q", what, got, want)
		}
	}
	www := RecordSet{View: "internal", Zone: "OKD.example.", Name: "WWW", Type: "a", Values: []string{"10.0.0.1"}}
	expect("the first", put("www", www))
	expect("itself, planned again", put("www", www))
	expect("another resource", put("copy", www), `Record set twice: another resource has www A of zone "okd.example" of view "internal" too; put all values in one`)
	other := www
	other.View = ""
	expect("another view", put("outside", other))
	zone := Zone{View: "internal", Name: "okd.example", Records: Records{"www": {"A": {"10.0.0.2"}}, "api": {"A": {"10.0.0.3"}, "TXT": {"x"}}}}
	expect("the zone", put("zone", zone), "Records of another resource: www A is a virtcluster_dns_record_set too; keep it in one place", "Records of another resource: www A is a virtcluster_dns_record_set too; keep it in one place")
	api := RecordSet{View: "internal", Zone: "okd.example", Name: "api", Type: "CNAME", Values: []string{"www"}}
	expect("beside the zone's", put("api", api))
	beside := api.PlannedBeside(&l, "n")
	if got := slices.Sorted(maps.Keys(beside)); !slices.Equal(got, []string{"api", "www"}) || len(api.PlannedBeside(&l, "m")) > 0 {
		t.Errorf("names: %v", got)
	}
	if problems := api.CheckBeside(beside); len(problems) != 1 || problems[0].Detail != `"api" has A, TXT records too; a CNAME must be the only record of its name` {
		t.Errorf("beside the zone's own: %v", problems)
	}
	api.Type = "AAAA"
	if problems := api.CheckBeside(map[string][]string{"api": {"CNAME"}}); len(problems) != 1 || problems[0].Summary != "Data beside a CNAME" {
		t.Errorf("beside a CNAME: %v", problems)
	}
	api.Type = "A"
	expect("the zone's own", put("api", api), `Records that the zone has itself: zone "okd.example" of view "internal" has api A in its records; keep them in one place`)
	put("view", View{Name: "internal", Order: 7})
	if views := PlannedViews(&l, "n"); len(views) != 1 || !views[0].ForStrangers() || len(PlannedViews(&l, "")) > 0 {
		t.Errorf("views: %+v", views)
	}
}
