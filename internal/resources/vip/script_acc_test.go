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

func TestAccATrackedScriptsContentIsPutOnTheMachines(t *testing.T) {
	acctest.InSandbox(t)
	ids := machines(t, 2)
	const address, path, flag = "10.0.100.250", "/etc/keepalived/virtcluster/vmware-api.both", "/run/fine"
	config := func(content string) string {
		return vip(ids, address+"/24", "track = [{ name = \"both\", user = \"admin\", script_content = <<-EOT\n"+content+"EOT\n}]")
	}
	both := "#!/bin/sh\n/usr/bin/true && /usr/bin/test -e " + flag + "\n"
	for _, machine := range []string{"svc-1", "svc-2"} {
		acctest.On(t, machine, "touch", flag)
		t.Cleanup(func() { clean(t, machine) })
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		Steps: []resource.TestStep{
			{Config: config("true\n"), PlanOnly: true, ExpectError: regexp.MustCompile(`first\s+line\s+has\s+to\s+name\s+the\s+program`)},
			{Config: config("#!/usr/bin/no-such-shell\ntrue\n"), ExpectError: regexp.MustCompile(`cannot\s+run\s+/usr/bin/no-such-shell`)},
			// Of keepalived's check its words are shown, and neither the command nor where the configuration is staged.
			{Config: strings.Replace(config(both), `user = "admin"`, `user = "no-such-user"`, 1), PlanOnly: true, ExpectError: regexp.MustCompile(`would\s+refuse\s+the\s+configuration\s+with\s+this\s+in\s+it:\s+id:\s+.no-such-user.:\s+no\s+such\s+user\s*$`)},
			{Config: config(both), Check: func(*terraform.State) error {
				comesTo(t, address, "svc-1")
				for _, machine := range []string{"svc-1", "svc-2"} {
					if got := acctest.On(t, machine, "sh", "-c", "stat -c '%a %U %G' "+path+"; cat "+path); got != "755 root root\n"+strings.TrimSpace(both) {
						return fmt.Errorf("the script on %s is\n%s", machine, got)
					}
				}
				acctest.On(t, "svc-1", "rm", flag) // what comes after && counts
				comesTo(t, address, "svc-2")
				acctest.On(t, "svc-1", "touch", flag)
				comesTo(t, address, "svc-1")
				return nil
			}},
			{
				PreConfig: func() { acctest.On(t, "svc-2", "sh", "-c", "echo true >>"+path) },
				Config:    config(both), PlanOnly: true, ExpectNonEmptyPlan: true,
			},
			{
				PreConfig: func() { acctest.On(t, "svc-2", "sh", "-c", "chmod 644 "+path) },
				Config:    config(both), Check: func(*terraform.State) error {
					if got := acctest.On(t, "svc-2", "sh", "-c", "stat -c %a "+path+"; cat "+path); got != "755\n"+strings.TrimSpace(both) {
						return fmt.Errorf("the script is not mended:\n%s", got)
					}
					return nil
				},
			},
			{Config: config(both + "# changed\n")},
			{Config: vip(ids, address+"/24", ""), Check: func(*terraform.State) error {
				if left := acctest.On(t, "svc-1", "sh", "-c", "ls /etc/keepalived"); strings.Contains(left, "virtcluster\n") {
					return fmt.Errorf("the script's directory is left:\n%s", left)
				}
				return nil
			}},
		},
		CheckDestroy: func(*terraform.State) error { return nothingLeft(t, "svc-1", "svc-2") },
	})
}
