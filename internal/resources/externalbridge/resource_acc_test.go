package externalbridge_test

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

func config(extra string) string {
	return acctest.Provider() + fmt.Sprintf(`
resource "virtcluster_external_bridge" "test" {
  name       = "accbr1"
  interfaces = [{ interface = "eno1" }]
  %s
}
`, extra)
}

func TestAccExternalBridge(t *testing.T) {
	acctest.BothCLIs(t)
	acctest.InSandbox(t)
	before := acctest.On(t, "hypervisor", "ip", "-br", "-4", "address")
	has := func(device, address string) resource.TestCheckFunc {
		return func(*terraform.State) error {
			if got := acctest.On(t, "hypervisor", "ip", "-br", "-4", "address", "show", "dev", device); !strings.Contains(got, address) {
				return fmt.Errorf("%s has %q, want %s", device, got, address)
			}
			acctest.On(t, "hypervisor", "ping", "-c", "2", "-i", "0.2", "10.19.41.254")
			return nil
		}
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		CheckDestroy: func(*terraform.State) error {
			if after := acctest.On(t, "hypervisor", "ip", "-br", "-4", "address"); after != before {
				return fmt.Errorf("left:\n%s\nbefore:\n%s", after, before)
			}
			return nil
		},
		Steps: []resource.TestStep{
			{Config: strings.ReplaceAll(config(""), "eno1", "eno9"), ExpectError: regexp.MustCompile(`no interface\s+"eno9"`), PlanOnly: true},
			{Config: strings.ReplaceAll(config(""), "accbr1", "a-name-that-is-too-long"), ExpectError: regexp.MustCompile("Invalid name of a network device"), PlanOnly: true},
			{Config: config(""), Check: has("accbr1", "10.19.41.10/24")},
			{
				Config: config("mtu = 1400"), Check: has("accbr1", "10.19.41.10/24"),
				ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
					plancheck.ExpectResourceAction("virtcluster_external_bridge.test", plancheck.ResourceActionUpdate),
				}},
			},
			{ResourceName: "virtcluster_external_bridge.test", ImportState: true, ImportStateVerify: true},
			{
				PreConfig: func() { acctest.On(t, "hypervisor", "ip", "link", "set", "accbr1", "type", "bridge", "stp_state", "1") },
				Config:    config("mtu = 1400"), Check: has("accbr1", "10.19.41.10/24"),
				ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
					plancheck.ExpectResourceAction("virtcluster_external_bridge.test", plancheck.ResourceActionUpdate),
				}},
			},
		},
	})
}

func TestAccExternalBridgeChangesItsAddressesAndImportsThem(t *testing.T) {
	acctest.BothCLIs(t)
	acctest.InSandbox(t)
	network := func() string {
		return acctest.On(t, "hypervisor", "sh", "-c", "ip -br -4 address; ip route")
	}
	before := network()
	shows := func(present, absent string) resource.TestCheckFunc {
		return func(*terraform.State) error {
			if now := network(); !strings.Contains(now, present) || absent != "" && strings.Contains(now, absent) {
				return fmt.Errorf("want %q and not %q in\n%s", present, absent, now)
			}
			return nil
		}
	}
	const name = "virtcluster_external_bridge.test"
	imports := resource.TestStep{ResourceName: name, ImportState: true, ImportStateVerify: true}
	list := `addresses = ["10.19.41.77/24"]`
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		CheckDestroy: func(*terraform.State) error {
			if after := network(); after != before {
				return fmt.Errorf("left:\n%s\nbefore:\n%s", after, before)
			}
			return nil
		},
		Steps: []resource.TestStep{
			{Config: config(""), Check: shows("10.19.41.10/24", "")},
			{Config: config(list + "\ngateway = \"10.19.41.254\"\nmetric = 50\nmtu = 1400\nbackend = \"runtime\"\nrollback_timeout = 20"), Check: shows("default via 10.19.41.254 dev accbr1 metric 50", "10.19.41.10/")},
			imports,
			{Config: config(list), Check: shows("10.19.41.77/24", "default")},
			imports,
			{Config: config(`addressing = "inherit"`), Check: shows("default via 10.19.41.254 dev accbr1", "10.19.41.77")},
			imports,
			{
				PreConfig: func() { acctest.On(t, "hypervisor", "ip", "addr", "del", "10.19.41.10/24", "dev", "accbr1") },
				Config:    config(""), Check: shows("default via 10.19.41.254 dev accbr1", "10.19.41.77"),
			},
			{Config: config(`addressing = "none"`), Check: shows("svcbr0", "10.19.41.")},
			imports,
		},
	})
}

// One that no network manager keeps: those of each manager are imported by TestAccBridgeOfAPersonIsImported.
func TestAccExternalBridgeThatSomebodyElseMadeIsRefused(t *testing.T) {
	acctest.InSandbox(t)
	acctest.On(t, "hypervisor", "sh", "-ec", "ip link add name accbr1 type bridge; ip link add accveth0 type veth peer name accveth1; ip link set accveth0 master accbr1 up")
	t.Cleanup(func() {
		if out, err := acctest.Try(context.Background(), "hypervisor", "sh", "-ec", "ip link del accbr1; ip link del accveth0"); err != nil {
			t.Errorf("the bridge that somebody else made is gone: %s", out)
		}
	})
	look := func() string {
		return acctest.On(t, "hypervisor", "sh", "-c", "ip link; ip address; ip route; bridge link")
	}
	before := look()
	state := acctest.NewState(t)
	state.Write(strings.ReplaceAll(config(""), "eno1", "accveth0"))
	state.Refused([]string{`bridge "accbr1"`, `import it as "accbr1"`}, "plan")
	state.Run("import", "virtcluster_external_bridge.test", "accbr1")
	state.Settled()
	if out := state.Run("state", "show", "virtcluster_external_bridge.test"); !strings.Contains(out, `active_backend   = "runtime"`) {
		t.Errorf("imported:\n%s", out)
	}
	state.Run("state", "rm", "virtcluster_external_bridge.test")
	if now := look(); now != before {
		t.Errorf("now:\n%s\nbefore:\n%s", now, before)
	}
}

func TestAccExternalBridgeLeavesAnotherInterfacesDefaultRoute(t *testing.T) {
	acctest.InSandbox(t)
	node := acctest.KnownServiceNodes(t, 1)[0]
	routes := func() string { return acctest.On(t, "svc-1", "ip", "route") }
	before := routes()
	on := func(extra string) string {
		return strings.ReplaceAll(config(fmt.Sprintf("host = \"ssh://root@%s\"\naddresses = [\"10.19.41.101/24\"]\ngateway = \"10.19.41.254\"\n%s", node, extra)), "eno1", "eth1")
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		CheckDestroy: func(*terraform.State) error {
			if after := routes(); after != before {
				return fmt.Errorf("left:\n%s\nbefore:\n%s", after, before)
			}
			return nil
		},
		Steps: []resource.TestStep{
			{Config: on(""), PlanOnly: true, ExpectError: regexp.MustCompile(`(?s)default\s+route\s+of\s+the\s+same\s+metric\s+via\s+10.0.100.254\s+dev\s+eth0`)},
			{Config: on("metric = 4242"), Check: func(*terraform.State) error {
				if now := routes(); !strings.Contains(now, "default via 10.0.100.254 dev eth0") || !strings.Contains(now, "default via 10.19.41.254 dev accbr1 proto static metric 4242") {
					return fmt.Errorf("routes:\n%s", now)
				}
				return nil
			}},
		},
	})
}

// Terraform comes through the very address that the bridge takes over, and that its destroy gives back: that plan says so too.
func TestAccExternalBridgeThatTerraformComesThrough(t *testing.T) {
	acctest.InSandbox(t)
	acctest.KnownServiceNodes(t, 1)
	acctest.LeaveToManager(t, "svc-1", "systemd-networkd")
	before := acctest.NetworkOf(t, "svc-1")
	state := acctest.NewState(t)
	state.DestroyAtEnd()
	state.Apply(strings.ReplaceAll(config(`host = "ssh://root@10.19.41.101"`), "eno1", "eth1"))
	state.Settled()
	out := strings.Join(strings.Fields(strings.ReplaceAll(state.Run("plan", "-destroy"), "│", " ")), " ")
	if !strings.Contains(out, "The address that Terraform comes through moves") || !strings.Contains(out, "reached by 10.19.41.101, which is on bridge accbr1, and without it eth1 has what it had before") {
		t.Errorf("the plan does not say that its own address moves:\n%s", out)
	}
	state.Run("destroy", "-auto-approve")
	acctest.Eventually(t, "the machine has what it had", func() bool { return acctest.NetworkOf(t, "svc-1") == before })
}

func TestAccExternalBridgeOfANetworksNameIsRefused(t *testing.T) {
	acctest.InSandbox(t)
	network := func(mode, bridge string) string {
		return fmt.Sprintf("\nresource \"virtcluster_network\" \"n\" {\n  name   = \"accnet1\"\n  mode   = %q\n  bridge = %q\n}\n", mode, bridge)
	}
	taken := regexp.MustCompile(`(?s)Bridge name taken.*bridge\s+accbr1\s+on\s+.*is\s+the\s+one\s+of\s+(external\s+bridge\s+"accbr1"|network\s+"accnet1")`)
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		Steps: []resource.TestStep{
			{Config: config("") + network("isolated", "accbr1"), ExpectError: taken, PlanOnly: true},
			{Config: config(`host = "local:"`) + network("isolated", "accbr1"), ExpectError: taken, PlanOnly: true},
			// These two are meant for each other. By the reference Terraform asks for the bridge first.
			{Config: config("") + strings.Replace(network("bridge", "accbr1"), `"accbr1"`, "virtcluster_external_bridge.test.name", 1), PlanOnly: true, ExpectNonEmptyPlan: true},
		},
	})
}
