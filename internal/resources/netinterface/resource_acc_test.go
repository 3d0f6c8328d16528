package netinterface_test

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

const name = "virtcluster_interface.test"

func config(node, extra string) string {
	return fmt.Sprintf("%s\nresource \"virtcluster_interface\" \"test\" {\n  host = \"ssh://root@%s\"\n  name = \"eth1\"\n  rollback_timeout = 40\n  %s\n}\n", acctest.Provider(), node, extra)
}

// shows waits for nothing: what a machine has of eth1's addresses and routes now.
func shows(t *testing.T, machine string, present, absent []string) resource.TestCheckFunc {
	return func(*terraform.State) error {
		now := acctest.On(t, machine, "sh", "-c", "ip -o address show dev eth1; ip -o link show dev eth1; ip route; ip -6 route")
		for _, want := range present {
			if !strings.Contains(now, want) {
				return fmt.Errorf("no %q in\n%s", want, now)
			}
		}
		for _, want := range absent {
			if strings.Contains(now, want) {
				return fmt.Errorf("%q in\n%s", want, now)
			}
		}
		return nil
	}
}

func TestAccInterfaceKeptByNetworkd(t *testing.T)       { keptOverReboots(t, "systemd-networkd") }
func TestAccInterfaceKeptByNetworkManager(t *testing.T) { keptOverReboots(t, "networkmanager") }
func TestAccInterfaceKeptByIfupdown(t *testing.T)       { keptOverReboots(t, "ifupdown") }
func TestAccInterfaceKeptByNetplan(t *testing.T)        { keptOverReboots(t, "netplan") }

// keptOverReboots is the life of an interface's configuration that a person wrote before, and an import takes over.
func keptOverReboots(t *testing.T, backend string) {
	acctest.InSandbox(t)
	machine := acctest.TakeMachine(t)
	node := acctest.Address(machine)
	// Each machine has addresses of its own.
	here := func(text string) string {
		return strings.NewReplacer("10.19.41.101", acctest.OnLAN(machine, 101), "10.19.41.191", acctest.OnLAN(machine, 191), "10.19.41.195", acctest.OnLAN(machine, 195),
			"41::191", "41::19"+strings.TrimPrefix(machine, "svc-")).Replace(text)
	}
	acctest.LeaveToManager(t, machine, backend)
	before := acctest.NetworkOf(t, machine)
	same := func() bool { return acctest.NetworkOf(t, machine) == before }
	first := config(node, here(`addresses = ["10.19.41.191/24", "2001:db8:41::191/64"]
  gateways    = ["10.19.41.254", "2001:db8:41::1"]
  metric      = 4242
  routes      = [{ cidr = "10.88.0.0/16", via = "10.19.41.253" }, { cidr = "10.89.0.0/16", via = "10.19.41.253", metric = 77 }]
  nameservers = ["10.0.0.100"]
  search      = ["okd.example"]
  mtu         = 1400`))
	has := []string{here("10.19.41.191/24"), here("2001:db8:41::191/64"), "default via 10.19.41.254 dev eth1", "default via 2001:db8:41::1 dev eth1", "metric 4242", "10.88.0.0/16 via 10.19.41.253", "10.89.0.0/16 via 10.19.41.253", "metric 77", "mtu 1400", "default via 10.0.100.254 dev eth0"}
	second := config(node, here(`addresses = ["10.19.41.195/24"]`))
	importID := "ssh://root@" + node + "#eth1"
	state := acctest.NewState(t)
	state.Write(first)
	state.Refused([]string{`the configuration of interface "eth1"`, "import it as"}, "plan")
	if !same() {
		t.Fatalf("the refused plan left:\n%s\nbefore:\n%s", acctest.NetworkOf(t, machine), before)
	}
	update := resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{plancheck.ExpectResourceAction(name, plancheck.ResourceActionUpdate)}}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		CheckDestroy: func(*terraform.State) error {
			acctest.Eventually(t, "what was before the interface's configuration comes back", same)
			return nil
		},
		Steps: []resource.TestStep{
			{
				Config: first, ResourceName: name, ImportState: true, ImportStateId: importID, ImportStatePersist: true,
				ImportStateCheck: func(states []*terraform.InstanceState) error {
					if len(states) != 1 || states[0].Attributes["addresses.#"] == "0" || states[0].Attributes["active_addresses.0"] != here("10.19.41.101/24") {
						return fmt.Errorf("imported %v", states)
					}
					return nil
				},
			},
			{Config: first, ConfigPlanChecks: update, Check: resource.ComposeTestCheckFunc(shows(t, machine, has, []string{here("10.19.41.101/"), "10.77."}), resource.TestCheckResourceAttr(name, "active_backend", backend))},
			{PreConfig: func() { acctest.Reboot(t, machine); settled(t, machine, has) }, Config: first, PlanOnly: true},
			{ResourceName: name, ImportState: true, ImportStateVerify: true, ImportStateId: importID},
			{
				PreConfig: func() {
					acctest.On(t, machine, "sh", "-c", here("ip route del 10.88.0.0/16; ip addr del 2001:db8:41::191/64 dev eth1"))
				},
				Config: first, ConfigPlanChecks: update, Check: shows(t, machine, has, nil),
			},
			{Config: second, ConfigPlanChecks: update, Check: shows(t, machine, []string{here("10.19.41.195/24")}, []string{here("10.19.41.191"), "2001:db8", "10.88.", "10.89.", "4242", "mtu 1400"})},
		},
	})
	// Whatever the files make at a start, they are what they were; that nothing else makes more, one manager shows.
	if backend == "netplan" {
		acctest.Reboot(t, machine)
		acctest.Eventually(t, "what was before is there after a reboot", same)
	}
}

// settled waits until a machine that just started has what it shall have: some managers are still at it when it answers.
func settled(t *testing.T, machine string, present []string) {
	t.Helper()
	acctest.Eventually(t, fmt.Sprint("eth1 has ", present), func() bool { return shows(t, machine, present, nil)(nil) == nil })
}

func TestAccInterfaceThatNobodyConfigured(t *testing.T) {
	acctest.BothCLIs(t)
	acctest.InSandbox(t)
	node := acctest.KnownServiceNodes(t, 1)[0]
	acctest.LeaveToManager(t, "svc-1", "systemd-networkd")
	acctest.On(t, "svc-1", "sh", "-c", "rm /etc/systemd/network/10-eth1.network; networkctl reload; ip addr flush dev eth1; networkctl reconfigure eth1")
	before := acctest.NetworkOf(t, "svc-1")
	runtime := config(node, "addresses = [\"10.19.41.193/24\"]\n  routes = [{ cidr = \"10.88.0.0/16\", via = \"10.19.41.253\" }]\n  mtu = 1400")
	kept := config(node, "addresses = [\"10.19.41.193/24\"]\n  backend = \"systemd-networkd\"")
	steps := []resource.TestStep{}
	for extra, want := range map[string]string{
		`addresses = ["10.19.41.193"]`: "Invalid address with a prefix length",
		`addressing = "inherit"`:       `write\s+one\s+of\s+"dhcp",\s+"static"`,
		``:                             `No addresses.*addressing\s+=\s+"dhcp"`,
		`addressing = "static"`:        "No addresses",
		"addressing = \"dhcp\"\naddresses = [\"10.19.41.193/24\"]": "Addresses that are not used",
		`addressing = "dhcp"`: `runtime.*has\s+no\s+DHCP\s+client`,
		`addresses = ["10.19.41.193/24"]` + "\nnameservers = [\"10.0.0.100\"]":                                 `keeps\s+no\s+name\s+servers`,
		`addresses = ["10.19.41.193/24"]` + "\ngateway = \"10.19.42.254\"":                                     "Gateway outside the subnet",
		`addresses = ["10.19.41.193/24"]` + "\ngateway = \"10.19.41.254\"":                                     `default\s+route\s+of\s+the\s+same\s+metric`,
		`addresses = ["10.19.41.193/24"]` + "\nroutes = [{ cidr = \"10.88.0.0/16\", via = \"10.7.7.7\" }]":     "Gateway outside the subnet",
		`addresses = ["10.19.41.193/24"]` + "\nroutes = [{ cidr = \"10.88.0.1/16\", via = \"10.19.41.254\" }]": "Invalid network",
		`addresses = ["10.19.41.193/24"]` + "\nbackend = \"ifupdown\"\nsearch = [\"a b\"]":                     "Invalid (domain|host name)",
		`addresses = ["10.19.41.193/24"]` + "\nbackend = \"networkmanager\"":                                   `networkmanager\s+is\s+not\s+in\s+use`,
		`addresses = ["10.19.41.10/24"]`:                                                                       `10\.19\.41\.10\s+is\s+in\s+use:\s+the\s+machine\s+with\s+the\s+hardware\s+address`,
	} {
		steps = append(steps, resource.TestStep{Config: config(node, extra), PlanOnly: true, ExpectError: regexp.MustCompile("(?s)" + want)})
	}
	slices.SortFunc(steps, func(a, b resource.TestStep) int { return strings.Compare(a.Config, b.Config) })
	missing := strings.Replace(runtime, `"eth1"`, `"eth7"`, 1)
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		CheckDestroy: func(*terraform.State) error {
			if after := acctest.NetworkOf(t, "svc-1"); after != before {
				return fmt.Errorf("left:\n%s\nbefore:\n%s", after, before)
			}
			return nil
		},
		Steps: append(steps,
			resource.TestStep{Config: missing, PlanOnly: true, ExpectError: regexp.MustCompile(`no\s+interface\s+"eth7"`)},
			resource.TestStep{Config: runtime, Check: resource.ComposeTestCheckFunc(shows(t, "svc-1", []string{"10.19.41.193/24", "10.88.0.0/16 via 10.19.41.253", "mtu 1400"}, nil), resource.TestCheckResourceAttr(name, "active_backend", "runtime"))},
			resource.TestStep{ResourceName: name, ImportState: true, ImportStateVerify: true},
			resource.TestStep{
				PreConfig: func() { acctest.On(t, "svc-1", "ip", "addr", "add", "10.19.41.99/32", "dev", "eth1") },
				Config:    runtime, PlanOnly: true,
			},
			resource.TestStep{
				PreConfig: func() { acctest.On(t, "svc-1", "ip", "addr", "del", "10.19.41.99/32", "dev", "eth1") },
				Config:    kept, Check: resource.ComposeTestCheckFunc(shows(t, "svc-1", []string{"10.19.41.193/24"}, []string{"10.88.", "mtu 1400"}), resource.TestCheckResourceAttr(name, "active_backend", "systemd-networkd")),
			},
		),
	})
}

// The machine is reached by the very address that the interface has. What no interface can be configured with is refused by the plan.
func TestAccInterfaceThatTerraformComesThrough(t *testing.T) {
	acctest.InSandbox(t)
	acctest.KnownServiceNodes(t, 1)
	acctest.LeaveToManager(t, "svc-1", "systemd-networkd")
	before := acctest.NetworkOf(t, "svc-1")
	state := acctest.NewState(t)
	moved := strings.Replace(config("10.19.41.101", `addresses = ["10.19.41.194/24"]`), "rollback_timeout = 40", "rollback_timeout = 8", 1)
	state.Write(moved)
	state.Run("import", name, "ssh://root@10.19.41.101#eth1")
	if out := state.Run("plan"); !strings.Contains(out, "The address that Terraform comes through goes") || !strings.Contains(out, "10.19.41.101") {
		t.Errorf("the plan does not say that its own address goes:\n%s", out)
	}
	on := func(script string) { acctest.On(t, "svc-1", "sh", "-c", script) }
	clean := func() {
		if out, err := acctest.Try(context.Background(), "svc-1", "sh", "-c", "rm -f /etc/network/interfaces.d/claimed /etc/netplan/99-broken.yaml; ip link del accother; ip link del accveth0; :"); err != nil {
			t.Error(out)
		}
	}
	t.Cleanup(clean)
	on("printf 'iface eth1 inet manual\n' >/etc/network/interfaces.d/claimed")
	state.Refused([]string{"eth1 is managed by systemd-networkd and by ifupdown", "leave it to one of them"}, "plan")
	on("rm /etc/network/interfaces.d/claimed; printf 'network:\n  version: 2\n  ethernets:\n   - eth1: [\n' >/etc/netplan/99-broken.yaml")
	state.Refused([]string{"netplan cannot read its files"}, "plan")
	on("rm /etc/netplan/99-broken.yaml; ip link add accother type bridge; ip link add accveth0 type veth peer name accveth1; ip link set accveth0 master accother")
	state.Write(moved + strings.NewReplacer(`"test"`, `"inside"`, "eth1", "accveth0").Replace(strings.TrimPrefix(moved, acctest.Provider())))
	state.Refused([]string{`interface "accveth0", which is in accother`}, "plan")
	clean()
	state.Write(moved)
	state.Refused([]string{"10.19.41.101"}, "apply", "-auto-approve")
	acctest.Eventually(t, "the machine goes back by itself", func() bool { return acctest.NetworkOf(t, "svc-1") == before })
	state.Run("state", "rm", name)
}
