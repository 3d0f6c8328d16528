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

func config(host, extra string) string {
	return fmt.Sprintf("%s\nresource \"virtcluster_route\" \"test\" {\n  host = \"ssh://root@%s\"\n  %s\n}\n", acctest.Provider(), host, extra)
}

const name = "virtcluster_route.test"

func TestAccRouteKeptByNetworkd(t *testing.T)       { keptOverReboots(t, "systemd-networkd") }
func TestAccRouteKeptByNetworkManager(t *testing.T) { keptOverReboots(t, "networkmanager") }
func TestAccRouteKeptByIfupdown(t *testing.T)       { keptOverReboots(t, "ifupdown") }
func TestAccRouteKeptByNetplan(t *testing.T)        { keptOverReboots(t, "netplan") }

func keptOverReboots(t *testing.T, backend string) {
	acctest.InSandbox(t)
	machine := acctest.TakeMachine(t)
	node := acctest.Address(machine)
	acctest.LeaveToManager(t, machine, backend)
	steps := 7
	if backend == "netplan" {
		// Netplan has no words for a route by itself: the route goes beside what netplan renders, and its life is that of systemd-networkd's.
		backend, steps = "systemd-networkd", 2
	}
	look := func() string { return acctest.NetworkOf(t, machine) }
	before := look()
	routes := func(want string) resource.TestCheckFunc {
		return func(*terraform.State) error {
			if now := acctest.On(t, machine, "ip", "route"); !strings.Contains(now, want) || strings.Count(now, "10.88.0.0/16") != 1 {
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
			{PreConfig: func() { acctest.Reboot(t, machine) }, Config: first, PlanOnly: true},
			{ResourceName: name, ImportState: true, ImportStateVerify: true},
			{Config: second, Check: routes("10.88.0.0/16 via 10.19.41.50 dev eth1")},
			{
				PreConfig: func() { acctest.On(t, machine, "ip", "route", "replace", "10.88.0.0/16", "via", "10.19.41.254") },
				Config:    second, Check: routes("10.88.0.0/16 via 10.19.41.50 dev eth1"),
			},
			{PreConfig: func() { acctest.On(t, machine, "ip", "route", "del", "10.88.0.0/16") }, Config: second, Check: routes("10.88.0.0/16 via 10.19.41.50 dev eth1")},
			{PreConfig: func() { acctest.Reboot(t, machine) }, Config: second, PlanOnly: true},
		}[:steps],
	})
}

// What keeps a route of systemd-networkd's follows the file that counts for the device.
func TestAccRouteFollowsTheFileOfItsDevice(t *testing.T) {
	acctest.InSandbox(t)
	node := acctest.KnownServiceNodes(t, 1)[0]
	const file, dropIn = "/etc/systemd/network/10-eth1.network", "/virtcluster-route-10-88-0-0-16-0.conf"
	before := acctest.NetworkOf(t, "svc-1")
	rename := func(from, to string) {
		acctest.On(t, "svc-1", "sh", "-ec", "mv "+from+" "+to+"; networkctl reload")
		acctest.Eventually(t, to+" counts for eth1", func() bool { return strings.Contains(acctest.On(t, "svc-1", "networkctl", "status", "eth1"), to) })
	}
	const renamed = "/etc/systemd/network/20-lan.network"
	t.Cleanup(func() {
		_, _ = acctest.Try(context.Background(), "svc-1", "sh", "-c", "mv "+renamed+" "+file+"; networkctl reload")
	})
	keptBy := func(file, not string) resource.TestCheckFunc {
		return func(*terraform.State) error {
			if out, err := acctest.Try(t.Context(), "svc-1", "sh", "-c", "cat "+file+".d"+dropIn+" && [ ! -e "+not+".d ] && ip route show 10.88.0.0/16 | grep eth1"); err != nil {
				return fmt.Errorf("it is not kept beside %s alone: %s", file, out)
			}
			return nil
		}
	}
	route := config(node, "cidr = \"10.88.0.0/16\"\n  via = \"10.19.41.254\"")
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		Steps: []resource.TestStep{
			{Config: route, Check: keptBy(file, renamed)},
			{PreConfig: func() { rename(file, renamed) }, Config: route, PlanOnly: true, ExpectNonEmptyPlan: true},
			{Config: route, Check: resource.ComposeTestCheckFunc(keptBy(renamed, file), resource.TestCheckResourceAttr(name, "active_backend", "systemd-networkd"))},
		},
	})
	rename(renamed, file)
	if after := acctest.NetworkOf(t, "svc-1"); after != before {
		t.Errorf("left:\n%s\nbefore:\n%s", after, before)
	}
}

func TestAccRouteBadInput(t *testing.T) {
	acctest.BothCLIs(t)
	acctest.InSandbox(t)
	node := acctest.KnownServiceNodes(t, 1)[0]
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

// podRoutes is a pod network of some machines, with every machine's routes to the pods of the others. The hypervisor, which the
// provider runs on, is one of them where its address is.
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
  host     = virtcluster_pod_network.pods.nodes[each.value.node] == %q ? "local:" : "ssh://root@${virtcluster_pod_network.pods.nodes[each.value.node]}"
  cidr     = each.value.cidr
  via      = each.value.via
}
`, strings.Join(nodes, ", "), hypervisor)
}

// hypervisor is the sandbox's hypervisor on the network of its service nodes.
const hypervisor = "10.0.100.254"

func TestAccPodsReachEachOtherAfterAFourthNodeIsAdded(t *testing.T) {
	acctest.InSandbox(t)
	addresses := append(acctest.KnownServiceNodes(t, 3), hypervisor)
	machines := []string{"svc-1", "svc-2", "svc-3", "hypervisor"}
	// Each machine has a pod: an address of its part of the network.
	for i, machine := range machines {
		acctest.On(t, machine, "ip", "addr", "add", fmt.Sprintf("10.128.%d.1/32", i), "dev", "lo")
	}
	t.Cleanup(func() {
		for i, machine := range machines {
			_, _ = acctest.Try(context.Background(), machine, "ip", "addr", "del", fmt.Sprintf("10.128.%d.1/32", i), "dev", "lo")
		}
	})
	ping := func(n int) {
		t.Helper()
		for from := range n {
			for to := range n {
				acctest.On(t, machines[from], "ping", "-c", "1", "-W", "2", "-I", fmt.Sprintf("10.128.%d.1", from), fmt.Sprintf("10.128.%d.1", to))
			}
		}
	}
	state := acctest.NewState(t)
	state.Apply(podRoutes(addresses[:3]))
	state.DestroyAtEnd()
	ping(3)
	state.Apply(podRoutes(addresses))
	ping(4)
	state.Settled()
	state.Run("destroy", "-auto-approve")
	for _, machine := range machines {
		if now := acctest.On(t, machine, "ip", "route"); strings.Contains(now, "10.128.") {
			t.Errorf("left on %s:\n%s", machine, now)
		}
	}
}
