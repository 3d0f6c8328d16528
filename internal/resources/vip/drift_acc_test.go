package vip_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

const conf = "/etc/keepalived/keepalived.conf"

// held checks that exactly one of two machines has an address.
func held(t *testing.T, address string) resource.TestCheckFunc {
	return func(*terraform.State) error {
		n := 0
		for _, machine := range []string{"svc-1", "svc-2"} {
			n += strings.Count(acctest.On(t, machine, "ip", "-oneline", "address", "show"), " "+address+"/")
		}
		if n != 1 {
			return fmt.Errorf("%d machines have %s", n, address)
		}
		return nil
	}
}

func TestAccDriftOfAnyMemberShowsAndIsMended(t *testing.T) {
	acctest.InSandbox(t)
	ids := machines(t, 2)
	config := vip(ids, "10.0.100.250/24", `  auth_pass = "secret"
  track = [{ name = "true", script = "/usr/bin/true", weight = 5 }]
`)
	edit := func(machine, script string) func() {
		return func() {
			acctest.On(t, machine, "sh", "-c", "sed -i '"+script+"' "+conf+" && systemctl reload keepalived")
		}
	}
	steps := []resource.TestStep{{Config: config, Check: held(t, "10.0.100.250")}}
	for _, drift := range []struct {
		name string
		do   func()
		has  string
	}{
		{"priority", edit("svc-2", "s/priority 240/priority 120/"), "priority 240"},
		{"id", edit("svc-2", "s/virtual_router_id .*/virtual_router_id 9/"), "virtual_router_id 109"},
		{"version", func() {
			for _, machine := range []string{"svc-1", "svc-2"} {
				edit(machine, "s/version 2/version 3/")()
			}
		}, "version 2"},
		{"password", edit("svc-2", "s/auth_pass .*/auth_pass other/"), "auth_pass secret"},
		{"peers", edit("svc-2", "s/^        10.0.100.101$/        10.0.100.9/"), "10.0.100.101"},
		{"script", edit("svc-2", "s/weight 5/weight 6/"), "weight 5"},
		{"stopped", func() { acctest.On(t, "svc-2", "systemctl", "stop", "keepalived") }, "priority 240"},
		{"file gone", func() { acctest.On(t, "svc-2", "sh", "-c", "rm "+conf+" && systemctl stop keepalived") }, "priority 240"},
	} {
		steps = append(steps,
			resource.TestStep{PreConfig: func() { t.Log(drift.name); drift.do() }, Config: config,
				ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{plancheck.ExpectNonEmptyPlan()}}, Check: resource.ComposeAggregateTestCheckFunc(held(t, "10.0.100.250"), func(*terraform.State) error {
					if content := acctest.On(t, "svc-2", "cat", conf); !strings.Contains(content, drift.has) {
						return fmt.Errorf("%s is not mended:\n%s", drift.name, content)
					}
					acctest.On(t, "svc-2", "systemctl", "is-active", "keepalived")
					return nil
				})})
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers, Steps: steps,
		CheckDestroy: func(*terraform.State) error { return nothingLeft(t, "svc-1", "svc-2") },
	})
}

// TestAccAMachinesNewAddressShowsAndIsToldToTheOthers changes the address that a member speaks from and that
// the configuration does not have.
func TestAccAMachinesNewAddressShowsAndIsToldToTheOthers(t *testing.T) {
	acctest.InSandbox(t)
	ids := machines(t, 2)
	config := strings.ReplaceAll(vip(ids, "10.19.41.160/24", ""), "eth0", "eth1")
	renumber := func(machine, was, is string) {
		if out, err := acctest.Try(context.Background(), machine, "sh", "-c", "ip address delete "+was+"/24 dev eth1 && ip address add "+is+"/24 dev eth1"); err != nil {
			t.Errorf("give %s another address: %v: %s", machine, err, out)
		}
	}
	drift := plancheck.ExpectUnknownValue(test, tfjsonpath.New("instances").AtMapKey("svc-2").AtMapKey("address"))
	unicast := plancheck.ExpectKnownValue(test, tfjsonpath.New("unicast"), knownvalue.Bool(true))
	told := func(address string) resource.TestCheckFunc {
		return resource.ComposeAggregateTestCheckFunc(held(t, "10.19.41.160"), resource.TestCheckResourceAttr(test, "instances.svc-2.address", address), func(*terraform.State) error {
			for machine, line := range map[string]string{"svc-1": "        " + address, "svc-2": "unicast_src_ip " + address} {
				if content := acctest.On(t, machine, "cat", conf); !strings.Contains(content, line) {
					return fmt.Errorf("%s does not know %s:\n%s", machine, address, content)
				}
			}
			return nil
		})
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		Steps: []resource.TestStep{
			{Config: config, Check: told("10.19.41.102")},
			{
				PreConfig: func() {
					renumber("svc-2", "10.19.41.102", "10.19.41.112")
					t.Cleanup(func() { renumber("svc-2", "10.19.41.112", "10.19.41.102") })
				},
				Config: config, Check: told("10.19.41.112"),
				ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{drift, unicast}},
			},
		},
		CheckDestroy: func(*terraform.State) error { return nothingLeft(t, "svc-1", "svc-2") },
	})
}

// TestAccKeepalivedWaitsForTheAddressItSpeaksFrom starts keepalived, as a machine does that starts, before the network is configured:
// one that finds no address to speak from while it starts may be at fault for good.
func TestAccKeepalivedWaitsForTheAddressItSpeaksFrom(t *testing.T) {
	acctest.InSandbox(t)
	ids := machines(t, 2)
	config := strings.ReplaceAll(vip(ids, "10.19.41.160/24", ""), "eth0", "eth1")
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		Steps: []resource.TestStep{{Config: config, Check: func(*terraform.State) error {
			acctest.On(t, "svc-1", "sh", "-ec", "systemctl stop keepalived; ip address delete 10.19.41.101/24 dev eth1; systemctl start --no-block keepalived; sleep 1")
			state, _ := acctest.Try(t.Context(), "svc-1", "systemctl", "is-active", "keepalived")
			acctest.On(t, "svc-1", "ip", "address", "add", "10.19.41.101/24", "dev", "eth1")
			if state != "activating" {
				return fmt.Errorf("keepalived is %s while there is no address to speak from", state)
			}
			acctest.Eventually(t, "svc-1 holds the virtual address again", func() bool {
				return strings.Contains(acctest.On(t, "svc-1", "ip", "-br", "address"), " 10.19.41.160/24")
			})
			return nil
		}}},
	})
}

// nothingLeft looks for what a VIP could leave on a machine.
func nothingLeft(t *testing.T, machines ...string) error {
	for _, machine := range machines {
		out := acctest.On(t, machine, "sh", "-c", "ls "+conf+" /etc/systemd/system/keepalived.service.d /tmp/keepalived.json 2>/dev/null; pgrep -l keepalived; ip -o address | grep -F ' 10.0.100.250/'; true")
		if out != "" {
			return fmt.Errorf("left on %s:\n%s", machine, out)
		}
	}
	return nil
}

// clean takes a person's keepalived away, when the test's context is over.
func clean(t *testing.T, machine string) {
	if out, err := acctest.Try(context.Background(), machine, "sh", "-c", "rm -f "+conf+"; systemctl stop keepalived"); err != nil {
		t.Errorf("clean %s: %v: %s", machine, err, out)
	}
}

const foreign = `! by a person
vrrp_instance theirs {
    state BACKUP
    interface eth1
    virtual_router_id 200
    priority 255
    virtual_ipaddress {
        10.19.41.222/24
    }
}
`

func TestAccAPersonsInstancesGoOn(t *testing.T) {
	acctest.InSandbox(t)
	ids := machines(t, 2)
	acctest.On(t, "svc-1", "sh", "-c", `printf %s "$1" >`+conf+` && systemctl start keepalived`, "sh", foreign)
	t.Cleanup(func() { clean(t, "svc-1") })
	acctest.Eventually(t, "a person's instance does not come up", func() bool { return held(t, "10.19.41.222")(nil) == nil })
	named := strings.Replace(vip(ids, "10.0.100.250/24", ""), "vmware-api", "theirs", 1)
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		Steps: []resource.TestStep{
			{Config: named, ExpectError: regexp.MustCompile(`(?s)provider\s+did\s+not\s+write.*import it`)},
			{Config: vip(ids, "10.0.100.250/24", ""), Check: resource.ComposeAggregateTestCheckFunc(held(t, "10.0.100.250"), held(t, "10.19.41.222"))},
		},
		CheckDestroy: func(*terraform.State) error {
			if got := acctest.On(t, "svc-1", "cat", conf); got != strings.TrimSpace(foreign) {
				return fmt.Errorf("a person's configuration became\n%s", got)
			}
			return held(t, "10.19.41.222")(nil)
		},
	})
}

func TestAccAWriteOnlyPasswordIsNowhereButOnTheMachines(t *testing.T) {
	acctest.BothCLIs(t)
	acctest.InSandbox(t)
	ids := machines(t, 2)
	config := func(password string, version int) string {
		return vip(ids, "10.0.100.250/24", fmt.Sprintf("auth_pass_wo = %q\nauth_pass_wo_version = %d\n", password, version))
	}
	drawn := "ephemeral \"virtcluster_password\" \"vip\" {\n  length = 8\n}\n" + strings.Replace(config("", 3), `auth_pass_wo = ""`, "auth_pass_wo = ephemeral.virtcluster_password.vip.result", 1)
	on := func(password string) resource.TestCheckFunc {
		return func(*terraform.State) error {
			for _, machine := range []string{"svc-1", "svc-2"} {
				if content := acctest.On(t, machine, "cat", conf); !strings.Contains(content, "auth_pass "+password+"\n") {
					return fmt.Errorf("%s has\n%s", machine, content)
				}
				if mode := acctest.On(t, machine, "stat", "-c", "%a %U", conf); mode != "640 root" {
					return fmt.Errorf("%s on %s is %s", conf, machine, mode)
				}
			}
			return nil
		}
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		Steps: []resource.TestStep{
			{Config: config("toolongapass", 1), ExpectError: regexp.MustCompile(`at most 8\s+characters`)},
			{Config: config("first", 1), Check: resource.ComposeAggregateTestCheckFunc(on("first"), held(t, "10.0.100.250"),
				resource.TestCheckNoResourceAttr(test, "auth_pass"), resource.TestCheckNoResourceAttr(test, "auth_pass_wo"))},
			{Config: config("second", 2), Check: resource.ComposeAggregateTestCheckFunc(on("second"), held(t, "10.0.100.250")),
				// Who holds the address does not hang on the password.
				ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{plancheck.ExpectKnownValue(test, tfjsonpath.New("owner"), knownvalue.StringExact("svc-1"))}}},
			// An import does not bring the password into the state.
			{ResourceName: test, ImportState: true, ImportStateId: importID(ids), ImportStateVerify: true, ImportStateVerifyIgnore: []string{"members"}},
			{
				PreConfig: func() { acctest.On(t, "svc-2", "sh", "-c", "sed -i 's/auth_pass .*/auth_pass third/' "+conf) },
				Config:    config("second", 2), PlanOnly: true, ExpectNonEmptyPlan: true,
			},
			{Config: config("second", 2), Check: on("second")},
			{Config: drawn, Check: func(s *terraform.State) error {
				_, password, _ := strings.Cut(acctest.On(t, "svc-1", "cat", conf), "auth_pass ")
				password, _, _ = strings.Cut(password, "\n")
				if len(password) != 8 || password == "second" {
					return fmt.Errorf("the password that was drawn is %q", password)
				}
				if state := s.String(); strings.Contains(state, password) {
					return fmt.Errorf("the password %q is in the state:\n%s", password, state)
				}
				return on(password)(s)
			}},
		},
		CheckDestroy: func(*terraform.State) error { return nothingLeft(t, "svc-1", "svc-2") },
	})
}

// TestAccAPasswordThatTheProgramCannotKeepOutOfTheStateIsRefused asks a program that is older than write-only attributes, where `make compat` runs
// it with one.
func TestAccAPasswordThatTheProgramCannotKeepOutOfTheStateIsRefused(t *testing.T) {
	acctest.InSandbox(t)
	out, err := exec.Command(cmp.Or(os.Getenv("TF_ACC_TERRAFORM_PATH"), "terraform"), "version", "-json").Output()
	var program struct {
		Version string `json:"terraform_version"`
	}
	if err = errors.Join(err, json.Unmarshal(out, &program)); err != nil {
		t.Fatal(err)
	}
	var major, minor int
	if _, err := fmt.Sscanf(program.Version, "%d.%d", &major, &minor); err != nil {
		t.Fatal(err)
	}
	step := resource.TestStep{Config: vip(machines(t, 2), "10.0.100.250/24", "auth_pass_wo = \"first\"\nauth_pass_wo_version = 1\n"), PlanOnly: true, ExpectNonEmptyPlan: true}
	if major == 1 && minor < 11 {
		step.ExpectError, step.ExpectNonEmptyPlan = regexp.MustCompile(`auth_pass_wo\W[^.]*\.\s+Write-only\s+attributes\s+are\s+only\s+supported\s+in\s+Terraform\s+1\.11`), false
	}
	resource.Test(t, resource.TestCase{ProtoV6ProviderFactories: acctest.Providers, Steps: []resource.TestStep{step}})
}
