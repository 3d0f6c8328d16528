package servicenode_test

import (
	"fmt"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// leased is the address that agentGuest has by DHCP.
const leased = "10.74.0.5"

// agentGuest configures a Debian machine: what its interfaces have, cloud-init gave them, but for one address by DHCP. Its cards are
// called otherwise than in the order in which the kernel finds them, so that their names can come from nothing but
// their MAC addresses.
func agentGuest(t *testing.T) string {
	t.Helper()
	image := acctest.DebianImage(t, "agentguest")
	return fmt.Sprintf(`
resource "virtcluster_network" "routed" {
  name      = "agentrouted"
  mode      = "route"
  cidr      = "10.71.0.0/24"
  ipv6_cidr = "fd00:71::/64"
}
resource "virtcluster_network" "isolated" {
  name = "agentisolated"
  mode = "isolated"
  cidr = "10.79.0.0/24"
}
resource "virtcluster_network" "leasing" {
  name = "agentleasing"
  mode = "isolated"
  cidr = "10.74.0.0/24"
  dhcp = {}
}
resource "virtcluster_pod_network" "pods" {
  cidr        = "10.128.0.0/14"
  host_prefix = 23
  nodes       = { agent-node = "10.79.0.5", other = "10.79.0.9" }
}
resource "virtcluster_node" "guest" {
  name             = "agent-node"
  type             = "qemu"
  memory_mib       = 768
  vcpus            = 2
  shutdown_timeout = "0s"
  root_disk        = { image = %q }
  network_interfaces = [
    {
      network   = virtcluster_network.isolated.name
      name      = "lan0"
      addresses = ["10.79.0.5/24"]
      mtu       = 1400
      routes    = virtcluster_pod_network.pods.routes["agent-node"]
    },
    {
      network     = virtcluster_network.routed.name
      name        = "eth0"
      mac         = "52:54:00:78:00:05"
      addresses   = ["10.71.0.5/24", "fd00:71::5/64"]
      gateway     = "10.71.0.1"
      routes      = [{ cidr = "fd00:99::/64", via = "fd00:71::1" }]
      nameservers = ["10.71.0.1", "fd00:71::1"]
    },
    { network = virtcluster_network.leasing.name, name = "dhcp0", ip = "10.74.0.5" },
  ]
  cloud_init = { user_data = "#cloud-config\nwrite_files: [{ path: /run/told, content: by cloud-init }]\n" }
}
`, image)
}

// configuredInside waits until the guest has what its node says.
func configuredInside(t *testing.T) resource.TestCheckFunc {
	const ask = `hostname; cat /run/told; echo; ip -br link; ip -br address; ip -o link; ip route; ip -6 route; cat /run/systemd/netif/links/*; ping -c1 -W5 10.19.41.10`
	want := []string{
		`(?m)^agent-node$`, `(?m)^by cloud-init$`,
		`(?m)^eth0 +UP +52:54:00:78:00:05`, `(?m)^eth0 +UP +10\.71\.0\.5/24 .*fd00:71::5/64`, `(?m)^lan0 +UP +10\.79\.0\.5/24`, `(?m)^dhcp0 +UP +10\.74\.0\.5/24`,
		`: lan0: .* mtu 1400 `, `: eth0: .* mtu 1500 `,
		`(?m)^default via 10\.71\.0\.1 dev eth0 proto static`, `(?m)^10\.128\.2\.0/23 via 10\.79\.0\.9 dev lan0`, `(?m)^fd00:99::/64 via fd00:71::1 dev eth0`,
		`(?m)^DNS=10\.71\.0\.1 fd00:71::1\b`,
		`1 received`,
	}
	return func(*terraform.State) error {
		var said string
		var missing []string
		for deadline := time.Now().Add(3 * time.Minute); time.Now().Before(deadline); time.Sleep(time.Second) {
			said, _ = acctest.InGuest(t.Context(), "agent-node", ask) // what fails is missing in what is said
			missing = slices.DeleteFunc(slices.Clone(want), func(w string) bool { return regexp.MustCompile(w).MatchString(said) })
			if len(missing) == 0 {
				return nil
			}
		}
		t.Errorf("the guest never had %q:\n%s", missing, said)
		return nil
	}
}
