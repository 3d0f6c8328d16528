package route_test

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// managed are the scripts that leave svc-1's eth1 to each network manager; its address is 10.19.41.101/24.
var managed = map[string]string{
	"systemd-networkd": ":",
	"networkmanager": `rm /etc/systemd/network/10-eth1.network; networkctl reload
printf '[connection]\nid=lan\nuuid=0ba2d1c0-6f0c-4d4e-a05f-8b7b8f6e1d11\ntype=ethernet\ninterface-name=eth1\n[ipv4]\nmethod=manual\naddress1=10.19.41.101/24\n[ipv6]\nmethod=disabled\n' >/etc/NetworkManager/system-connections/lan.nmconnection
chmod 600 /etc/NetworkManager/system-connections/lan.nmconnection
systemctl enable --now NetworkManager 2>/dev/null
until ip -br address show dev eth1 | grep -q 10.19.41.101; do sleep 0.1; done`,
	"ifupdown": `rm /etc/systemd/network/10-eth1.network; networkctl reload; ip addr flush dev eth1
printf 'auto eth1\niface eth1 inet static\n  address 10.19.41.101/24\n' >/etc/network/interfaces.d/lan
systemctl enable networking 2>/dev/null
ifup eth1`,
}

// unmanaged makes the machine what the sandbox made it.
const unmanaged = `systemctl disable --now NetworkManager networking 2>/dev/null; rm -f /etc/NetworkManager/system-connections/lan.nmconnection /etc/network/interfaces.d/lan
cp /root/10-eth1.network /etc/systemd/network/; ip addr flush dev eth1; networkctl reload; networkctl reconfigure eth1`

func knownHosts(t *testing.T, nodes int) []string {
	t.Helper()
	addresses := acctest.ServiceNodes(t, nodes)
	acctest.On(t, "hypervisor", "sh", "-c", "ssh-keyscan -t ed25519 "+strings.Join(addresses, " ")+" >>/root/.ssh/known_hosts")
	return addresses
}

func config(host, extra string) string {
	return fmt.Sprintf("%s\nresource \"virtcluster_route\" \"test\" {\n  host = \"ssh://root@%s\"\n  %s\n}\n", acctest.Provider(), host, extra)
}

const name = "virtcluster_route.test"

func TestAccRouteKeptByNetworkd(t *testing.T)       { keptOverReboots(t, "systemd-networkd") }
func TestAccRouteKeptByNetworkManager(t *testing.T) { keptOverReboots(t, "networkmanager") }
func TestAccRouteKeptByIfupdown(t *testing.T)       { keptOverReboots(t, "ifupdown") }

func keptOverReboots(t *testing.T, backend string) {
	acctest.InSandbox(t)
	node := knownHosts(t, 1)[0]
	acctest.On(t, "svc-1", "sh", "-c", "cp /etc/systemd/network/10-eth1.network /root; "+managed[backend])
	t.Cleanup(func() {
		if out, err := acctest.Try(context.Background(), "svc-1", "sh", "-c", unmanaged); err != nil {
			t.Error(out)
		}
	})
	look := func() string {
		return acctest.On(t, "svc-1", "sh", "-c", `ip route; find /etc/systemd/network /etc/NetworkManager /etc/network -type f | sort; ls -d /etc/systemd/network/*.d 2>/dev/null; find /etc/systemd/system -name 'virtcluster*'; find /var/lib/virtcluster /run/virtcluster -type f ! -name '*.holder' ! -name '*.lock' 2>/dev/null || :`)
	}
	before := look()
	routes := func(want string) resource.TestCheckFunc {
		return func(*terraform.State) error {
			if now := acctest.On(t, "svc-1", "ip", "route"); !strings.Contains(now, want) || strings.Count(now, "10.88.0.0/16") != 1 {
				return fmt.Errorf("want %q once in\n%s", want, now)
			}
			return nil
		}
	}
	first, second := config(node, "cidr = \"10.88.0.0/16\"\n  via = \"10.19.41.254\""), config(node, "cidr = \"10.88.0.0/16\"\n  via = \"10.19.41.50\"")
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		CheckDestroy: func(*terraform.State) error {
			if after := look(); after != before {
				return fmt.Errorf("left:\n%s\nbefore:\n%s", after, before)
			}
			return nil
		},
		Steps: []resource.TestStep{
			{Config: first, Check: resource.ComposeTestCheckFunc(routes("10.88.0.0/16 via 10.19.41.254 dev eth1"),
				resource.TestCheckResourceAttr(name, "active_backend", backend), resource.TestCheckResourceAttr(name, "device", "eth1"))},
			{PreConfig: func() { acctest.Reboot(t, "svc-1") }, Config: first, PlanOnly: true},
			{ResourceName: name, ImportState: true, ImportStateVerify: true},
			{Config: second, Check: routes("10.88.0.0/16 via 10.19.41.50 dev eth1")},
			{
				PreConfig: func() { acctest.On(t, "svc-1", "ip", "route", "replace", "10.88.0.0/16", "via", "10.19.41.254") },
				Config:    second, Check: routes("10.88.0.0/16 via 10.19.41.50 dev eth1"),
			},
			{PreConfig: func() { acctest.On(t, "svc-1", "ip", "route", "del", "10.88.0.0/16") }, Config: second, Check: routes("10.88.0.0/16 via 10.19.41.50 dev eth1")},
			{PreConfig: func() { acctest.Reboot(t, "svc-1") }, Config: second, PlanOnly: true},
		},
	})
}

func TestAccRouteBadInput(t *testing.T) {
	acctest.BothCLIs(t)
	acctest.InSandbox(t)
	node := knownHosts(t, 1)[0]
	acctest.On(t, "svc-1", "ip", "route", "add", "10.99.0.0/16", "via", "10.19.41.254")
	t.Cleanup(func() {
		if out, err := acctest.Try(context.Background(), "svc-1", "ip", "route", "del", "10.99.0.0/16", "via", "10.19.41.254"); err != nil {
			t.Errorf("the route that somebody else made is gone: %s", out)
		}
	})
	var steps []resource.TestStep
	for extra, want := range map[string]string{
		`cidr = "10.88.0.1/16"` + "\n" + `via = "10.19.41.254"`:                              "Invalid network",
		`cidr = "10.88.0.0/16"` + "\n" + `via = "2001:db8::1"`:                               "Invalid gateway",
		`cidr = "10.88.0.0/16"`:                                                              "Route to nowhere",
		`cidr = "10.88.0.0/16"` + "\n" + `via = "192.168.7.1"`:                               `no\s+device\s+of\s+the\s+machine\s+is\s+in\s+a\s+network`,
		`cidr = "10.88.0.0/16"` + "\n" + `device = "eth7"`:                                   `no\s+device\s+"eth7"`,
		`cidr = "10.88.0.0/16"` + "\n" + `via = "10.19.41.254"` + "\nbackend = \"ifupdown\"": `managed\s+by\s+systemd-networkd`,
		`cidr = "10.19.41.0/24"` + "\n" + `via = "10.0.100.254"`:                             `network\s+of\s+eth1\s+itself`,
		`cidr = "10.99.0.0/16"` + "\n" + `via = "10.19.41.50"`:                               `(?s)did\s+not\s+write\s+it.*import\s+it\s+as`,
	} {
		steps = append(steps, resource.TestStep{Config: config(node, extra), PlanOnly: true, ExpectError: regexp.MustCompile(want)})
	}
	resource.Test(t, resource.TestCase{ProtoV6ProviderFactories: acctest.Providers, Steps: steps})
}

// podRoutes is a pod network of the first n machines, with every machine's routes to the pods of the others.
func podRoutes(addresses []string) string {
	var nodes []string
	for i, a := range addresses {
		nodes = append(nodes, fmt.Sprintf("n%d = %q", i+1, a))
	}
	return acctest.Provider() + fmt.Sprintf(`
resource "virtcluster_pod_network" "pods" {
  cidr        = "10.128.0.0/16"
  host_prefix = 24
  nodes       = { %s }
}

locals {
  routes = merge([for node, routes in virtcluster_pod_network.pods.routes : {
    for r in routes : "${node} to ${r.cidr}" => { node = node, cidr = r.cidr, via = r.via }
  }]...)
}

resource "virtcluster_route" "pods" {
  for_each = local.routes
  host     = "ssh://root@${virtcluster_pod_network.pods.nodes[each.value.node]}"
  cidr     = each.value.cidr
  via      = each.value.via
}
`, strings.Join(nodes, ", "))
}

func TestAccPodsReachEachOtherAfterANodeIsAdded(t *testing.T) {
	acctest.InSandbox(t)
	addresses := knownHosts(t, 3)
	// Each machine has a pod: an address of its part of the network.
	for i := range addresses {
		acctest.On(t, fmt.Sprintf("svc-%d", i+1), "ip", "addr", "add", fmt.Sprintf("10.128.%d.1/32", i), "dev", "lo")
	}
	t.Cleanup(func() {
		for i := range addresses {
			_, _ = acctest.Try(context.Background(), fmt.Sprintf("svc-%d", i+1), "ip", "addr", "del", fmt.Sprintf("10.128.%d.1/32", i), "dev", "lo")
		}
	})
	ping := func(n int) {
		t.Helper()
		for from := range n {
			for to := range n {
				acctest.On(t, fmt.Sprintf("svc-%d", from+1), "ping", "-c", "1", "-W", "2", "-I", fmt.Sprintf("10.128.%d.1", from), fmt.Sprintf("10.128.%d.1", to))
			}
		}
	}
	state := acctest.NewState(t)
	state.Apply(podRoutes(addresses[:2]))
	ping(2)
	state.Apply(podRoutes(addresses))
	ping(3)
	state.Settled()
	state.Run("destroy", "-auto-approve")
	for i := range addresses {
		if now := acctest.On(t, fmt.Sprintf("svc-%d", i+1), "ip", "route"); strings.Contains(now, "10.128.") {
			t.Errorf("left on svc-%d:\n%s", i+1, now)
		}
	}
}
