package network_test

import (
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

const address = "virtcluster_network.n"

// config is a network with the given attributes.
func config(attributes string) string {
	return acctest.Provider() + "resource \"virtcluster_network\" \"n\" {\n" + attributes + "\n}\n"
}

const management = `
  name    = "acc0"
  bridge  = "accbr0"
  cidr    = "10.91.0.0/24"
  gateway = "10.91.0.254"
`

var shell = acctest.Run

// has checks that libvirt's own client shows all of these in both definitions, and that those are equal but for whose the
// network is: what runs gets that with the next start.
func has(t *testing.T, name string, want ...string) resource.TestCheckFunc {
	return func(*terraform.State) error {
		live, config := shell(t, "virsh", "net-dumpxml", name), shell(t, "virsh", "net-dumpxml", "--inactive", name)
		if a, b := differs.ReplaceAllString(live, ""), differs.ReplaceAllString(config, ""); a != b {
			t.Errorf("running:\n%s\nconfigured:\n%s", a, b)
		}
		for _, w := range want {
			if !strings.Contains(live, w) {
				t.Errorf("%s is not in\n%s", w, live)
			}
		}
		return nil
	}
}

var differs = regexp.MustCompile(`(?s) connections='\d+'|  <metadata>.*</metadata>\n`)

func lacks(t *testing.T, name string, unwanted ...string) resource.TestCheckFunc {
	return func(*terraform.State) error {
		xml := shell(t, "virsh", "net-dumpxml", name)
		for _, w := range unwanted {
			if strings.Contains(xml, w) {
				t.Errorf("%s is in\n%s", w, xml)
			}
		}
		return nil
	}
}

func gone(t *testing.T, name string) resource.TestCheckFunc {
	return func(*terraform.State) error {
		if out := shell(t, "virsh", "net-list", "--all", "--name"); slices.Contains(strings.Fields(out), name) {
			t.Errorf("network %s is left: %s", name, out)
		}
		return nil
	}
}

func test(t *testing.T, name string, steps ...resource.TestStep) {
	t.Helper()
	acctest.InSandbox(t)
	resource.Test(t, resource.TestCase{ProtoV6ProviderFactories: acctest.Providers, CheckDestroy: gone(t, name), Steps: steps})
}

// inPlace checks that a plan updates the network and does not replace it.
var inPlace = resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{plancheck.ExpectResourceAction(address, plancheck.ResourceActionUpdate)}}

// unchanged checks that a plan has nothing to do.
var unchanged = resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{plancheck.ExpectEmptyPlan()}}

// importing checks that an import yields exactly what is in state, but for attributes that the configuration leaves out
// and that an import writes as what they are then.
func importing(id string, leftOut ...string) resource.TestStep {
	return resource.TestStep{ResourceName: address, ImportState: true, ImportStateId: id, ImportStateVerify: true, ImportStateVerifyIgnore: leftOut}
}

func TestAccNetworkWithEverything(t *testing.T) {
	acctest.BothCLIs(t)
	full := management + `
  domain    = "okd.example"
  ipv6_cidr = "fd00:91::/64"
  ipv6_nat  = true
  mtu       = 1450
  dhcp = {
    ranges        = [{ start = "10.91.0.210", end = "10.91.0.240" }, { start = "fd00:91::100", end = "fd00:91::1ff" }]
    lease_seconds = 3600
    options       = { "ntp-server" = "10.91.0.100", "26" = "1400" }
  }
  dns = {
    local_only = true
    forwarders = [{ domain = "corp.example", address = "10.19.41.1" }, { address = "10.91.0.100" }]
    hosts      = { "10.91.0.250" = ["api", "api-int"] }
  }
  routes = [{ cidr = "10.144.0.0/14", via = "10.91.0.1" }]
  pxe    = { tftp_root = "/srv", boot_file = "pxelinux.0", server = "10.91.0.100" }
`
	respelled := strings.NewReplacer("fd00:91::/64", "FD00:0091:0::/64", "fd00:91::100", "fd00:91:0:0::0100",
		`{ domain = "corp.example", address = "10.19.41.1" }, { address = "10.91.0.100" }`, `{ address = "10.91.0.100" }, { domain = "corp.example", address = "10.19.41.1" }`,
		`"api", "api-int"`, `"api-int", "api"`).Replace(full)
	test(t, "acc0",
		resource.TestStep{Config: config(full), Check: resource.ComposeTestCheckFunc(
			has(t, "acc0", "<range start='10.91.0.210' end='10.91.0.240'>", "<lease expiry='3600' unit='seconds'/>", "<nat ipv6='yes'>", "<mtu size='1450'/>",
				"<forwarder domain='corp.example' addr='10.19.41.1'/>", "<hostname>api-int</hostname>", "<route address='10.144.0.0' prefix='14' gateway='10.91.0.1'/>",
				"<tftp root='/srv'/>", "<bootp file='pxelinux.0' server='10.91.0.100'/>", "dhcp-option=option:ntp-server,10.91.0.100", "localOnly='yes'"),
			resource.TestCheckResourceAttr(address, "ipv6_gateway", "fd00:91::1"),
			resource.TestMatchResourceAttr(address, "mac", regexp.MustCompile("^52:54:00:")),
		)},
		resource.TestStep{Config: config(respelled), ConfigPlanChecks: unchanged},
		importing("acc0"),
	)
}

func TestAccNetworkModes(t *testing.T) {
	acctest.BothCLIs(t)
	for mode, c := range map[string]struct{ more, want string }{
		"nat":      {`cidr = "10.92.0.0/24"`, "<forward mode='nat'>"},
		"route":    {`cidr = "10.92.0.0/24"`, "<forward mode='route'/>"},
		"open":     {`cidr = "10.92.0.0/24"`, "<forward mode='open'/>"},
		"isolated": {``, "<bridge name='virbr"},
		"bridge":   {`bridge = "accforeign"`, "<bridge name='accforeign'/>"},
	} {
		t.Run(mode, func(t *testing.T) {
			acctest.InSandbox(t)
			if mode == "bridge" {
				shell(t, "ip", "link", "add", "accforeign", "type", "bridge")
				t.Cleanup(func() { _ = exec.Command("ip", "link", "del", "accforeign").Run() })
			}
			test(t, "accmode",
				resource.TestStep{Config: config(fmt.Sprintf("name = \"accmode\"\nmode = %q\n%s", mode, c.more)), Check: has(t, "accmode", c.want)},
				importing("accmode", "dns", "pxe"),
			)
		})
	}
}

func TestAccNetworkLiveChangesKeepTheNetworkRunning(t *testing.T) {
	acctest.BothCLIs(t)
	dhcp := func(end string) string {
		return management + `dhcp = { ranges = [{ start = "10.91.0.210", end = "` + end + `" }] }
  dns = { hosts = { "10.91.0.9" = ["nine"] } }`
	}
	var before string
	test(t, "acc0",
		resource.TestStep{Config: config(dhcp("10.91.0.220")), Check: func(*terraform.State) error {
			before = shell(t, "cat", "/sys/class/net/accbr0/ifindex") + shell(t, "virsh", "net-uuid", "acc0")
			return nil
		}},
		resource.TestStep{Config: config(dhcp("10.91.0.230")), ConfigPlanChecks: inPlace, Check: has(t, "acc0", "end='10.91.0.230'")},
		resource.TestStep{Config: config(management + `dns = { hosts = { "10.91.0.9" = ["nine", "neuf"], "10.91.0.10" = ["ten"] } }`), ConfigPlanChecks: inPlace,
			Check: resource.ComposeTestCheckFunc(has(t, "acc0", "<hostname>neuf</hostname>", "<hostname>ten</hostname>"), lacks(t, "acc0", "<dhcp"), func(*terraform.State) error {
				if after := shell(t, "cat", "/sys/class/net/accbr0/ifindex") + shell(t, "virsh", "net-uuid", "acc0"); after != before {
					t.Errorf("the bridge was made anew: %s, then %s", before, after)
				}
				if out, err := exec.Command("sh", "-c", "grep -h dhcp-range /var/lib/libvirt/dnsmasq/acc0.conf").Output(); err == nil {
					t.Errorf("dnsmasq still gives out addresses: %s", out)
				}
				return nil
			})},
		resource.TestStep{Config: config(dhcp("10.91.0.230")), ConfigPlanChecks: inPlace, Check: has(t, "acc0", "end='10.91.0.230'")},
		resource.TestStep{Config: config(management + "active = false\nautostart = false"), ConfigPlanChecks: inPlace, Check: func(*terraform.State) error {
			if info := shell(t, "virsh", "net-info", "acc0"); !regexp.MustCompile(`Active: +no`).MatchString(info) || !regexp.MustCompile(`Autostart: +no`).MatchString(info) {
				t.Error(info)
			}
			return nil
		}},
	)
}

func TestAccNetworkDriftIsSeenAndMended(t *testing.T) {
	acctest.BothCLIs(t)
	c := config(management + `dhcp = { ranges = [{ start = "10.91.0.210", end = "10.91.0.220" }] }
  dns = { hosts = { "10.91.0.9" = ["nine"] } }`)
	mended := has(t, "acc0", "<range start='10.91.0.210' end='10.91.0.220'/>", "<hostname>nine</hostname>", "<forward mode='nat'>")
	step := func(attribute string, argv ...[]string) resource.TestStep {
		return resource.TestStep{
			PreConfig: func() {
				for _, a := range argv {
					shell(t, a...)
				}
			},
			Config: c, ConfigPlanChecks: inPlace, Check: resource.ComposeTestCheckFunc(mended, lacks(t, "acc0", "<hostname>extra", "<txt")),
		}
	}
	virsh := func(argv ...string) []string { return append([]string{"virsh"}, argv...) }
	test(t, "acc0",
		resource.TestStep{Config: c, Check: mended},
		step("active", virsh("net-destroy", "acc0")),
		step("no configuration", virsh("net-undefine", "acc0")),
		step("autostart", virsh("net-autostart", "acc0", "--disable")),
		step("range", virsh("net-update", "acc0", "delete", "ip-dhcp-range", "<range start='10.91.0.210' end='10.91.0.220'/>", "--live", "--config")),
		step("range, running only", virsh("net-update", "acc0", "add", "ip-dhcp-range", "<range start='10.91.0.110' end='10.91.0.120'/>", "--live")),
		step("extra host", virsh("net-update", "acc0", "add", "dns-host", "<host ip='10.91.0.77'><hostname>extra</hostname></host>", "--live", "--config")),
		step("missing host", virsh("net-update", "acc0", "delete", "dns-host", "<host ip='10.91.0.9'><hostname>nine</hostname></host>", "--live", "--config")),
		step("edited XML", []string{"sh", "-c", "virsh net-dumpxml acc0 --inactive | sed \"s/<forward mode='nat'>/<forward mode='route'>/; /<nat>/,/<.nat>/d\" >$TMPDIR/edited.xml && virsh net-define $TMPDIR/edited.xml"}),
		resource.TestStep{PreConfig: func() { // what others own is no drift
			shell(t, "virsh", "net-update", "acc0", "add", "ip-dhcp-host", "<host mac='52:54:00:00:00:07' ip='10.91.0.7'/>", "--live", "--config")
		}, Config: c, ConfigPlanChecks: unchanged},
		resource.TestStep{Config: config(management), ConfigPlanChecks: inPlace, Check: has(t, "acc0", "<host mac='52:54:00:00:00:07' ip='10.91.0.7'/>")},
		resource.TestStep{PreConfig: func() { shell(t, "virsh", "net-destroy", "acc0"); shell(t, "virsh", "net-undefine", "acc0") }, Config: c, Check: mended},
	)
}
