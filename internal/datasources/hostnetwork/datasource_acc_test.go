package hostnetwork_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

func TestAccDataSourcesOfAHostsNetwork(t *testing.T) {
	acctest.BothCLIs(t)
	acctest.InSandbox(t)
	node := acctest.KnownServiceNodes(t, 1)[0]
	acctest.On(t, "svc-1", "sh", "-c", "ip link add accbr7 type bridge; ip link set eth1 mtu 1450; printf 'search okd.example\\nnameserver 10.0.0.100\\n' >/etc/resolv.conf")
	source := func(name, host string) string {
		return fmt.Sprintf("data \"virtcluster_host_network\" %q {\n  host = %q\n}\n", name, host)
	}
	has := func(name string, pairs map[string]string) resource.TestCheckFunc {
		var checks []resource.TestCheckFunc
		for key, value := range pairs {
			checks = append(checks, resource.TestCheckResourceAttr("data.virtcluster_host_network."+name, key, value))
		}
		return resource.ComposeAggregateTestCheckFunc(checks...)
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		Steps: []resource.TestStep{
			{Config: acctest.Provider() + source("bad", "nowhere"), ExpectError: regexp.MustCompile(`endpoint\s+"nowhere"`)},
			{
				Config: acctest.Provider() + source("here", "local:") + source("node", "ssh://root@"+node),
				Check: resource.ComposeAggregateTestCheckFunc(
					has("here", map[string]string{"links.eno1.addresses.0": "10.19.41.10/24", "links.svcbr0.kind": "bridge", "links.svc1.bridge": "svcbr0", "links.eno1.managed_by": "runtime", "routes.0.cidr": "0.0.0.0/0", "routes.0.via": "10.19.41.254"}),
					has("node", map[string]string{
						"links.eth1.addresses.0": "10.19.41.101/24", "links.eth1.managed_by": "systemd-networkd", "links.eth1.mtu": "1450", "links.accbr7.kind": "bridge",
						"links.accbr7.managed_by": "runtime", "links.accbr7.addresses.#": "0", "routes.0.via": "10.0.100.254", "routes.0.device": "eth0",
						"nameservers.0": "10.0.0.100", "search.0": "okd.example", "resolver": "file",
						"links.eth1.mac": strings.TrimSpace(acctest.On(t, "svc-1", "sh", "-c", "ip -br link show dev eth1 | awk '{ print $3 }'")),
					}),
				),
			},
		},
	})
	acctest.On(t, "svc-1", "sh", "-c", "ip link del accbr7; ip link set eth1 mtu 1500; : >/etc/resolv.conf")
}
