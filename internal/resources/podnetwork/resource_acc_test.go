package podnetwork_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// config is a pod network of nodes n1, n2 … with the addresses 10.0.100.101 ….
func config(cidr string, prefix int, nodes ...int) string {
	var list []string
	for _, n := range nodes {
		list = append(list, fmt.Sprintf("n%d = \"10.0.100.%d\"", n, 100+n))
	}
	return fmt.Sprintf("%s\nresource \"virtcluster_pod_network\" \"pods\" {\n  cidr        = %q\n  host_prefix = %d\n  nodes       = { %s }\n}\n",
		acctest.Provider(), cidr, prefix, strings.Join(list, ", "))
}

const name = "virtcluster_pod_network.pods"

func has(pairs ...string) resource.TestCheckFunc {
	var checks []resource.TestCheckFunc
	for i := 0; i < len(pairs); i += 2 {
		checks = append(checks, resource.TestCheckResourceAttr(name, pairs[i], pairs[i+1]))
	}
	return resource.ComposeAggregateTestCheckFunc(checks...)
}

func TestAccPodNetworkLife(t *testing.T) {
	acctest.InSandbox(t)
	network := "\nresource \"virtcluster_network\" \"n\" {\n  name = \"accpods\"\n  mode = \"isolated\"\n  cidr = \"10.129.0.0/24\"\n}\n"
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		Steps: []resource.TestStep{
			{Config: config("10.128.0.1/14", 23, 1), PlanOnly: true, ExpectError: regexp.MustCompile("Invalid network")},
			{Config: config("10.128.0.0/14", 12, 1), PlanOnly: true, ExpectError: regexp.MustCompile("Invalid prefix length")},
			{Config: config("10.0.0.0/16", 24, 1), PlanOnly: true, ExpectError: regexp.MustCompile("(?s)Address inside.*Overlapping subnets|Overlapping subnets|Address inside the pod network")},
			{Config: config("10.19.40.0/23", 26, 1), PlanOnly: true, ExpectError: regexp.MustCompile(`(?s)Overlapping\s+subnets.*10.19.41.0/24`)},
			{Config: config("10.128.0.0/14", 23, 1, 2) + network, PlanOnly: true, ExpectError: regexp.MustCompile(`(?s)Overlapping\s+subnets`)},
			{Config: config("10.128.0.0/14", 23, 1) + "\nresource \"virtcluster_pod_network\" \"twin\" {\n  cidr = \"10.128.0.0/14\"\n  host_prefix = 23\n  nodes = { n2 = \"10.0.100.102\" }\n}\n", PlanOnly: true, ExpectError: regexp.MustCompile(`(?s)Overlapping\s+subnets`)},
			{Config: config("10.128.0.0/14", 23, 1, 2, 3, 4, 5), Check: has("pod_cidrs.n1", "10.128.0.0/23", "pod_cidrs.n2", "10.128.2.0/23", "pod_cidrs.n5", "10.128.8.0/23",
				"routes.n1.#", "4", "routes.n1.0.cidr", "10.128.2.0/23", "routes.n1.0.via", "10.0.100.102")},
			{Config: config("10.128.0.0/14", 23, 1, 3, 4, 5), Check: has("pod_cidrs.%", "4", "pod_cidrs.n1", "10.128.0.0/23", "pod_cidrs.n3", "10.128.4.0/23", "pod_cidrs.n5", "10.128.8.0/23", "routes.n5.#", "3")},
			{Config: config("10.128.0.0/14", 23, 1, 3, 4, 5, 6), Check: has("pod_cidrs.n6", "10.128.2.0/23", "pod_cidrs.n5", "10.128.8.0/23")},
			{ResourceName: name, ImportState: true, ImportStateVerify: true, ImportStateVerifyIdentifierAttribute: "cidr",
				ImportStateId: "10.128.0.0/14,23,n1=10.0.100.101=10.128.0.0/23,n3=10.0.100.103=10.128.4.0/23,n4=10.0.100.104=10.128.6.0/23,n5=10.0.100.105=10.128.8.0/23,n6=10.0.100.106=10.128.2.0/23"},
			{Config: config("10.128.0.0/14", 24, 1, 3), Check: has("pod_cidrs.n1", "10.128.0.0/24", "pod_cidrs.n3", "10.128.1.0/24")},
		},
	})
}
