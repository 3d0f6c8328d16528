package vip_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// configurations are the files of the two machines.
func configurations(t *testing.T) string {
	t.Helper()
	text := ""
	for _, machine := range []string{"svc-1", "svc-2"} {
		text += machine + ":\n" + acctest.On(t, machine, "sh", "-c", "cat "+conf+" 2>/dev/null; stat -c %a "+conf+" 2>/dev/null; true")
	}
	return text
}

func TestAccAnotherStatesVIPIsRefusedAndTakenOverByImport(t *testing.T) {
	acctest.InSandbox(t)
	ids := machines(t, 2)
	one, two := acctest.NewState(t), acctest.NewState(t)
	t.Cleanup(func() { clean(t, "svc-1"); clean(t, "svc-2") })
	config := vip(ids, "10.0.100.250/24", "")
	importID := importID(ids)
	refused := []string{"vrrp_instance vmware-api is in " + conf, "belongs to another state", `import it as "` + importID + `"`}
	one.Apply(config)
	before := configurations(t)
	two.Write(config)
	two.Refused(refused, "plan")
	service := func(verb string) {
		for _, machine := range []string{"svc-1", "svc-2"} {
			acctest.Eventually(t, "keepalived on "+machine+" does not "+verb, func() bool {
				_, err := acctest.Try(t.Context(), machine, "systemctl", verb, "keepalived")
				return err == nil
			})
		}
	}
	service("stop") // nothing but the file tells of it then
	two.Refused(refused, "apply", "-auto-approve")
	if after := configurations(t); after != before {
		t.Errorf("a refused create changed\n%s\nto\n%s", before, after)
	}
	service("start")
	comesTo(t, "10.0.100.250", "svc-1")
	one.Settled()
	// An import takes over knowingly and changes nothing; the first change makes it the importer's.
	two.Run("import", test, importID)
	two.Settled()
	if after := configurations(t); after != before {
		t.Errorf("an import changed\n%s\nto\n%s", before, after)
	}
	two.Apply(vip(ids, "10.0.100.250/24", "preempt_delay = 1"))
	two.Settled()
	if out := one.Run("plan", "-refresh-only"); !strings.Contains(out, "is not this resource's any more") {
		t.Errorf("the first state does not say that its VIP was taken over:\n%s", out)
	}
	one.Run("destroy", "-auto-approve")
	comesTo(t, "10.0.100.250", "svc-1")
	two.Settled()
	two.Run("destroy", "-auto-approve")
	if err := nothingLeft(t, "svc-1", "svc-2"); err != nil {
		t.Error(err)
	}
}

func TestAccAKilledRunsVIPIsTakenOverFromItsDirectory(t *testing.T) {
	acctest.InSandbox(t)
	ids := machines(t, 2)
	one, two := acctest.NewState(t), acctest.NewState(t)
	t.Cleanup(func() { clean(t, "svc-1"); clean(t, "svc-2") })
	config := vip(ids, "10.0.100.250/24", "")
	one.Apply(config)
	// A run that was killed when the first machine had its part.
	one.Forget()
	one.Refused([]string{"finished in this workspace"}, "apply", "-auto-approve")
	acctest.Unfinish(t, "svc-1", conf)
	acctest.On(t, "svc-2", "sh", "-c", "systemctl stop keepalived; rm -f "+conf)
	two.Write(config)
	two.Refused([]string{"belongs to another state"}, "apply", "-auto-approve")
	one.Apply(config)
	one.Settled()
	comesTo(t, "10.0.100.250", "svc-1")
	one.Run("destroy", "-auto-approve")
	if err := nothingLeft(t, "svc-1", "svc-2"); err != nil {
		t.Error(err)
	}
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
				if state := acctest.On(t, "svc-1", "sh", "-c", "systemctl is-active keepalived || true"); state != "inactive" {
					return fmt.Errorf("a keepalived that was stopped by hand is %s after the destroy", state)
				}
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

func TestAccATaintedVIPThatBecameAnothersStays(t *testing.T) {
	acctest.InSandbox(t)
	ids := machines(t, 2)
	s := acctest.NewState(t)
	t.Cleanup(func() { clean(t, "svc-1"); clean(t, "svc-2") })
	s.ReplaceTainted(test, vip(ids, "10.0.100.250/24", acctest.HalfMade), vip(ids, "10.0.100.250/24", ""), func() {
		for _, machine := range []string{"svc-1", "svc-2"} {
			acctest.On(t, machine, "sed", "-i", "s/owner=[^ ]* workspace=[^ ]*/owner=theirs workspace=elsewhere/", conf)
		}
	}, `"vmware-api" stays`, "belongs to another state")
	if text := configurations(t); strings.Count(text, "owner=theirs") != 2 {
		t.Errorf("another state's VIP became\n%s", text)
	}
	comesTo(t, "10.0.100.250", "svc-1")
}

// TestAccASyncGroupIsOfOneState has a state ask for the sync group that another state's virtual address is in.
func TestAccASyncGroupIsOfOneState(t *testing.T) {
	acctest.InSandbox(t)
	ids := machines(t, 2)
	one, two := acctest.NewState(t), acctest.NewState(t)
	t.Cleanup(func() { clean(t, "svc-1"); clean(t, "svc-2") })
	one.Apply(vip(ids, "10.0.100.250/24", `sync_group = "shared"`))
	before := configurations(t)
	two.Write(strings.ReplaceAll(vip(ids, "10.0.100.251/24", `sync_group = "shared"`), "vmware-api", "other"))
	two.Refused([]string{"sync group shared, with vrrp_instance vmware-api,", "belongs to another state"}, "apply", "-auto-approve")
	if after := configurations(t); after != before {
		t.Errorf("a refused create changed\n%s\nto\n%s", before, after)
	}
	one.Settled()
	two.Apply(strings.ReplaceAll(vip(ids, "10.0.100.251/24", ""), "vmware-api", "other"))
	one.Settled()
	two.Run("destroy", "-auto-approve")
	one.Run("destroy", "-auto-approve")
	if err := nothingLeft(t, "svc-1", "svc-2"); err != nil {
		t.Error(err)
	}
}
