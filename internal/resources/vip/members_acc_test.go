package vip_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

func TestAccTheOtherMembersStayWhatTheyAreWhenTheFirstOneGoes(t *testing.T) {
	acctest.BothCLIs(t)
	acctest.InSandbox(t)
	ids := machines(t, 3)
	s := acctest.NewState(t)
	s.DestroyAtEnd()
	p := startProbe(t, "10.0.100.250", "svc-1", "svc-2", "svc-3")
	p.mark("create")
	names := vip(ids, "10.0.100.250/24", "")
	s.Apply(names)
	acctest.Eventually(t, "svc-1 does not hold the address", func() bool { return p.settled("svc-1", false) })
	s.Settled()
	// The priorities that nobody wrote stay too.
	p.mark("the first member goes")
	rest := strings.Replace(names, fmt.Sprintf("    svc-1 = { service_node = %q, interface = \"eth0\" }\n", ids[0]), "", 1)
	s.Write(rest)
	s.Run("plan", "-out=plan")
	var plan struct {
		Changes []struct {
			Change struct{ Before, After map[string]any }
		} `json:"resource_changes"`
	}
	if err := json.Unmarshal([]byte(s.Run("show", "-json", "plan")), &plan); err != nil {
		t.Fatal(err)
	}
	was, is := plan.Changes[0].Change.Before, plan.Changes[0].Change.After
	for _, key := range []string{"members", "instances"} {
		old, next := was[key].(map[string]any), is[key].(map[string]any)
		delete(old, "svc-1")
		if fmt.Sprint(old) != fmt.Sprint(next) || len(next) != 2 {
			t.Errorf("%s: the others go from\n%v\nto\n%v", key, old, next)
		}
		delete(was, key)
		delete(is, key)
	}
	delete(was, "owner") // who will hold the address is not known
	if fmt.Sprint(was) != fmt.Sprint(is) {
		t.Errorf("a member's removal changes\n%v\nto\n%v", was, is)
	}
	s.Run("apply", "plan")
	s.Settled()
	comesTo(t, "10.0.100.250", "svc-2")
	// Who comes back stands behind those that are there.
	p.mark("it comes back")
	s.Apply(names)
	s.Settled()
	if out := s.Run("state", "show", test); !regexp.MustCompile(`priority\s+= 220`).MatchString(out) {
		t.Errorf("a newcomer's priority is not below the others':\n%s", out)
	}
	comesTo(t, "10.0.100.250", "svc-2")
	p.mark("destroy")
	s.Run("destroy", "-auto-approve")
	p.report(t, map[string]time.Duration{"the first member goes": planned, "it comes back": planned})
}

// TestAccMembersThatAreNotKnownYet has members that are not known at all when planning, and one whose attributes are not.
func TestAccMembersThatAreNotKnownYet(t *testing.T) {
	acctest.BothCLIs(t)
	acctest.InSandbox(t)
	ids := machines(t, 2)
	config := func(members string, priority int) string {
		return acctest.Provider() + fmt.Sprintf(`
resource "terraform_data" "all" {
  input = { svc-1 = { service_node = %q, interface = "eth0" }, svc-2 = { service_node = %q, interface = "eth0", priority = %d } }
}
resource "terraform_data" "priority" { input = %d }
resource "virtcluster_vip" "test" {
  name      = "vmware-api"
  addresses = ["10.0.100.250/24"]
  members   = %s
}
`, ids[0], ids[1], priority, priority, members)
	}
	one := fmt.Sprintf(`{ svc-1 = { service_node = %q, interface = "eth0", address = null }, svc-2 = { service_node = %q, interface = "eth0", priority = terraform_data.priority.output } }`, ids[0], ids[1])
	typed := strings.Replace(one, "terraform_data.priority.output", "254", 1)
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		Steps: []resource.TestStep{
			{Config: config("terraform_data.all.output", 200), Check: resource.TestCheckResourceAttr(test, "owner", "svc-1")},
			{Config: config("terraform_data.all.output", 253), Check: resource.TestCheckResourceAttr(test, "owner", "svc-2")},
			{Config: config(one, 254), Check: resource.TestCheckResourceAttr(test, "instances.svc-2.priority", "254")},
			{Config: config(typed, 254), PlanOnly: true},
			{Config: config(one, 255), ExpectError: regexp.MustCompile(`(?s)members\["svc-2"\]\.priority: write\s+a\s+number\s+from\s+1\s+to\s+254`)},
		},
		CheckDestroy: func(*terraform.State) error { return nothingLeft(t, "svc-1", "svc-2") },
	})
}
