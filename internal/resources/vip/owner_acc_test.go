package vip_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
)

// remark gives what stands on the machines another owner.
func remark(t *testing.T, by owner.Mark) {
	t.Helper()
	for _, machine := range []string{"svc-1", "svc-2"} {
		acctest.On(t, machine, "sed", "-i", "s/ owner=.*/ "+by.String()+"/", conf)
	}
}

// configurations are the files of the two machines.
func configurations(t *testing.T) string {
	t.Helper()
	text := ""
	for _, machine := range []string{"svc-1", "svc-2"} {
		text += machine + ":\n" + acctest.On(t, machine, "sh", "-c", "cat "+conf+" 2>/dev/null; stat -c %a "+conf+" 2>/dev/null; true")
	}
	return text
}

var theirs = owner.Mark{ID: "theirs", Workspace: "elsewhere"}

func TestAccAnotherStatesVIPIsRefusedAndTakenOverByImport(t *testing.T) {
	acctest.InSandbox(t)
	ids := machines(t, 2)
	config := vip(ids, "10.0.100.250/24", "")
	imported := strings.Replace(config, `"test"`, `"imported"`, 1)
	importID := strings.Join(ids, ",") + "#vmware-api"
	var before string
	marked := func(want bool) resource.TestCheckFunc {
		return func(*terraform.State) error {
			got := configurations(t)
			if strings.Contains(got, "owner=theirs") != want || !want && strings.Count(got, " owner=") != 2 {
				return fmt.Errorf("another's marks there: %t\n%s", !want, got)
			}
			return held(t, "10.0.100.250")(nil)
		}
	}
	refused := regexp.MustCompile(`(?s)vrrp_instance\s+vmware-api.*belongs\s+to\s+another\s+state\s+\(owner\s+theirs\).*import it`)
	t.Cleanup(func() { clean(t, "svc-1"); clean(t, "svc-2") })
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		Steps: []resource.TestStep{
			{Config: config, Check: marked(false)},
			{PreConfig: func() { remark(t, theirs); before = configurations(t) }, Config: config, PlanOnly: true, ExpectError: refused},
			{Config: config, ExpectError: refused},
			{
				PreConfig: func() {
					for _, machine := range []string{"svc-1", "svc-2"} { // nothing but the file tells of it then
						acctest.On(t, machine, "systemctl", "stop", "keepalived")
					}
				},
				Config: config, ExpectError: refused,
			},
			{
				PreConfig: func() {
					if after := configurations(t); after != before {
						t.Errorf("a refused change changed\n%s\nto\n%s", before, after)
					}
					for _, machine := range []string{"svc-1", "svc-2"} {
						acctest.On(t, machine, "systemctl", "start", "keepalived")
					}
					comesTo(t, "10.0.100.250", "svc-1")
				},
				Config: imported, ResourceName: "virtcluster_vip.imported", ImportState: true, ImportStateId: importID, ImportStatePersist: true,
			},
			{ // An import alone changes nothing on a machine, and its plan is empty.
				Config: imported, Check: marked(true),
				ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{plancheck.ExpectResourceAction("virtcluster_vip.imported", plancheck.ResourceActionNoop)}},
			},
			{Config: strings.Replace(imported, "name = ", "preempt_delay = 1\nname = ", 1), Check: marked(false)},
			// The other state takes it back: then a destroy leaves it.
			{PreConfig: func() { remark(t, theirs) }, Config: acctest.Provider(), Check: marked(true)},
		},
	})
}

func TestAccAKilledRunsVIPIsTakenOverFromItsDirectory(t *testing.T) {
	acctest.InSandbox(t)
	ids := machines(t, 2)
	config := vip(ids, "10.0.100.250/24", "")
	t.Cleanup(func() { clean(t, "svc-1"); clean(t, "svc-2") })
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		Steps: []resource.TestStep{
			{Config: config, Check: held(t, "10.0.100.250")},
			{
				// A run from here that was killed when the first machine had its part.
				PreConfig: func() {
					remark(t, owner.Mark{ID: "killed", Workspace: owner.Workspace()})
					acctest.On(t, "svc-2", "sh", "-c", "systemctl stop keepalived; rm -f "+conf)
				},
				Config: config,
				Check: func(*terraform.State) error {
					if got := configurations(t); strings.Contains(got, "owner=killed") || strings.Count(got, " owner=") != 2 {
						return fmt.Errorf("not taken over:\n%s", got)
					}
					return held(t, "10.0.100.250")(nil)
				},
			},
		},
		CheckDestroy: func(*terraform.State) error { return nothingLeft(t, "svc-1", "svc-2") },
	})
}

// byPerson is an instance that a person wrote, and that is named like the VIP to be.
func byPerson(name string) string { return strings.Replace(foreign, "theirs", name, 1) }

func TestAccAPersonsInstanceIsNeverOverwritten(t *testing.T) {
	acctest.InSandbox(t)
	ids := machines(t, 2)
	refused := regexp.MustCompile(`(?s)vrrp_instance\s+ocp4-api.*this\s+provider\s+did\s+not\s+write\s+it`)
	// keepalived is stopped on svc-2, and runs there with the VIP's instance later.
	acctest.On(t, "svc-2", "sh", "-c", `printf %s "$1" >`+conf+` && chmod 644 `+conf, "sh", byPerson("ocp4-api"))
	t.Cleanup(func() { clean(t, "svc-2") })
	renamed := strings.Replace(vip(ids, "10.0.100.250/24", ""), "vmware-api", "ocp4-api", 1)
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		Steps: []resource.TestStep{
			{Config: renamed, PlanOnly: true, ExpectError: refused},
			{Config: renamed, ExpectError: refused},
			{Config: vip(ids, "10.0.100.250/24", ""), Check: held(t, "10.0.100.250")},
			{Config: renamed, PlanOnly: true, ExpectError: refused},
			{Config: renamed, ExpectError: refused},
		},
		CheckDestroy: func(*terraform.State) error {
			if got := acctest.On(t, "svc-2", "sh", "-c", "stat -c '%a %U %G' "+conf+"; cat "+conf); got != "644 root root\n"+strings.TrimSpace(byPerson("ocp4-api")) {
				return fmt.Errorf("a person's configuration became\n%s", got)
			}
			return nothingLeft(t, "svc-1")
		},
	})
}

func TestAccAVIPDestroyedWhileKeepalivedIsStoppedDoesNotComeBack(t *testing.T) {
	acctest.InSandbox(t)
	ids := machines(t, 2)
	acctest.On(t, "svc-1", "sh", "-c", `printf %s "$1" >`+conf, "sh", foreign)
	acctest.Eventually(t, "a person's keepalived does not start", func() bool {
		_, err := acctest.Try(t.Context(), "svc-1", "systemctl", "start", "keepalived")
		return err == nil
	})
	t.Cleanup(func() { clean(t, "svc-1"); clean(t, "svc-2") })
	config := vip(ids, "10.0.100.250/24", "")
	stop := func() {
		for _, machine := range []string{"svc-1", "svc-2"} {
			acctest.On(t, machine, "systemctl", "stop", "keepalived")
		}
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		Steps: []resource.TestStep{
			{Config: config, Check: held(t, "10.0.100.250")},
			{PreConfig: stop, Config: config, PlanOnly: true, ExpectNonEmptyPlan: true},
			{Config: config, Check: held(t, "10.0.100.250")}, // started again
			{PreConfig: stop, Config: acctest.Provider(), Check: func(*terraform.State) error {
				acctest.On(t, "svc-1", "systemctl", "start", "keepalived")
				acctest.Eventually(t, "a person's instance does not come up", func() bool { return holder(t, "10.19.41.222") == "svc-1" })
				if on := holder(t, "10.0.100.250"); on != "" {
					return fmt.Errorf("the address is back on %s", on)
				}
				if got := acctest.On(t, "svc-1", "cat", conf); got != strings.TrimSpace(foreign) {
					return fmt.Errorf("a person's configuration became\n%s", got)
				}
				return nothingLeft(t, "svc-2")
			}},
		},
	})
}
