package network_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// kernel adds routes to the hypervisor's machine for the time of a test.
func kernel(t *testing.T, routes ...string) {
	t.Helper()
	for _, r := range routes {
		shell(t, append([]string{"ip", "route", "add"}, strings.Fields(r)...)...)
		t.Cleanup(func() { _ = exec.Command("ip", append([]string{"route", "del"}, strings.Fields(r)...)...).Run() })
	}
}

func TestAccNetworkInTheWayOfARouteFailsThePlan(t *testing.T) {
	acctest.BothCLIs(t)
	acctest.InSandbox(t)
	// The halves of all addresses are a VPN's default route, and what is refused or dropped leads nowhere.
	kernel(t, "0.0.0.0/1 via 10.19.41.254", "128.0.0.0/1 via 10.19.41.254", "unreachable 10.80.0.0/12",
		"10.96.0.0/13 via 10.19.41.254", "10.104.0.0/16 dev eno1", "10.105.0.77 dev eno1", "fd00:97::/32 dev eno1", "fd00:98::7/128 dev eno1")
	const name = "name = \"acc0\"\n"
	var steps []resource.TestStep
	for _, c := range []struct{ attributes, want string }{
		{`cidr = "10.97.0.0/24"`, `10.97.0.0/24 overlaps 10.96.0.0/13 that hypervisor qemu:///system reaches through 10.19.41.254 on device eno1`},
		{`cidr = "10.104.3.0/24"`, `10.104.3.0/24 overlaps 10.104.0.0/16 that hypervisor qemu:///system reaches through device eno1`},
		{`cidr = "10.105.0.0/24"`, `10.105.0.0/24 overlaps 10.105.0.77/32 that`},
		{`ipv6_cidr = "fd00:97:1::/64"`, `fd00:97:1::/64 overlaps fd00:97::/32 that hypervisor qemu:///system reaches through device eno1`},
		{`ipv6_cidr = "fd00:98::/64"`, `fd00:98::/64 overlaps fd00:98::7/128 that`},
	} {
		steps = append(steps, resource.TestStep{Config: config(name + c.attributes), PlanOnly: true, ExpectError: spaced(c.want)})
	}
	steps = append(steps,
		resource.TestStep{Config: config(management + "routes = [{ cidr = \"10.112.0.0/16\", via = \"10.91.0.1\" }]")},
		resource.TestStep{PreConfig: func() { kernel(t, "10.91.0.77 via 10.19.41.254") }, // it stands already
			Config: config(management + "routes = [{ cidr = \"10.112.0.0/16\", via = \"10.91.0.1\" }]"), ConfigPlanChecks: unchanged},
		// What other networks have is their own matter.
		resource.TestStep{Config: strings.NewReplacer("acc0", "acc1", "accbr0", "accbr1", "10.91.", "10.112.").Replace(
			strings.Replace(config(management), `"n"`, `"m"`, 1)) + strings.TrimPrefix(config(management+"routes = [{ cidr = \"10.112.0.0/16\", via = \"10.91.0.1\" }]"), acctest.Provider()),
			PlanOnly: true, ExpectNonEmptyPlan: true},
	)
	test(t, "acc0", steps...)
}

// bridgeIndex is the number of the network's bridge, which another one of the same name does not get.
func bridgeIndex(t *testing.T) string { return shell(t, "cat", "/sys/class/net/accbr0/ifindex") }

// settled waits until the bridge forwards to its machine: before, IPv6 has no route to its subnet, and what is missing there
// proves nothing.
func settled(t *testing.T) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(50 * time.Millisecond) {
		carrier, routes := shell(t, "cat", "/sys/class/net/accbr0/carrier"), shell(t, "ip", "-6", "route", "show", "dev", "accbr0")
		if strings.TrimSpace(carrier) == "1" && strings.Contains(routes, "fd00:91::/64") {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the bridge's carrier is %q, its routes are\n%s", carrier, routes)
		}
	}
}

func TestAccNetworkGetsLostRoutesBack(t *testing.T) {
	four, six := []string{"10.144.0.0/14", "via", "10.91.0.1", "dev", "accbr0"}, []string{"fd00:128::/48", "via", "fd00:91::1:1", "dev", "accbr0"}
	routes := config(management + `  ipv6_cidr = "fd00:91::/64"
  routes = [{ cidr = "10.144.0.0/14", via = "10.91.0.1" }, { cidr = "fd00:128::/48", via = "fd00:91::1:1" }]
`)
	lose := func(lost ...[]string) func() {
		return func() {
			for _, r := range lost {
				shell(t, append([]string{"ip", "route", "del"}, r...)...)
			}
		}
	}
	there := func(*terraform.State) error {
		if out, want := shell(t, "ip", "route")+shell(t, "ip", "-6", "route"), []string{strings.Join(four, " "), strings.Join(six, " ")}; !strings.Contains(out, want[0]) || !strings.Contains(out, want[1]) {
			t.Errorf("%q are not in\n%s", want, out)
		}
		if out := shell(t, "ip", "-o", "link", "show", "master", "accbr0"); strings.Count(out, "vnet") != 1 {
			t.Errorf("the bridge has %q", out)
		}
		return nil
	}
	var before, index string
	stop := func() { _ = exec.Command("virsh", "destroy", "accrouted").Run() }
	t.Cleanup(stop)
	size := func(n string) resource.TestCheckFunc { return resource.TestCheckResourceAttr(address, "routes.#", n) }
	test(t, "acc0",
		resource.TestStep{Config: routes}, // a bridge without a carrier
		resource.TestStep{PreConfig: func() {
			file := filepath.Join(t.TempDir(), "guest.xml")
			xml := `<domain type='qemu'><name>accrouted</name><memory unit='MiB'>32</memory><os><type arch='x86_64' machine='q35'>hvm</type></os><devices>
<interface type='network'><source network='acc0'/><model type='virtio'/></interface></devices></domain>`
			if err := os.WriteFile(file, []byte(xml), 0o600); err != nil {
				t.Fatal(err)
			}
			shell(t, "virsh", "create", file)
			before = plugs(t)
			settled(t)
		}, Config: routes, ConfigPlanChecks: unchanged},
		resource.TestStep{PreConfig: lose(six), RefreshState: true, ExpectNonEmptyPlan: true, Check: size("1")},
		resource.TestStep{PreConfig: lose(four), Config: routes, ConfigPlanChecks: inPlace, Check: resource.ComposeTestCheckFunc(there, size("2"), func(*terraform.State) error {
			if after := plugs(t); after != before {
				t.Errorf("before:\n%s\nafter:\n%s", before, after)
			}
			return nil
		})},
		// A route by another machine is another one.
		resource.TestStep{PreConfig: func() { shell(t, "ip", "route", "replace", "10.144.0.0/14", "via", "10.91.0.2", "metric", "1") }, Config: routes, ConfigPlanChecks: inPlace, Check: there},
		resource.TestStep{PreConfig: stop, Config: routes, ConfigPlanChecks: unchanged},
		// Taken out of the configuration as well, they are struck out on paper, which takes no restart.
		resource.TestStep{PreConfig: func() { lose(four, six)(); index = bridgeIndex(t) }, Config: config(management + "  ipv6_cidr = \"fd00:91::/64\"\n"), ConfigPlanChecks: inPlace, Check: func(*terraform.State) error {
			if xml := shell(t, "virsh", "net-dumpxml", "--inactive", "acc0"); strings.Contains(xml, "<route") {
				t.Error(xml)
			}
			if now := bridgeIndex(t); now != index {
				t.Errorf("the bridge was %s and is %s: the network was restarted", index, now)
			}
			return nil
		}},
		resource.TestStep{Config: config(management + "  ipv6_cidr = \"fd00:91::/64\"\n"), ConfigPlanChecks: unchanged},
	)
}
