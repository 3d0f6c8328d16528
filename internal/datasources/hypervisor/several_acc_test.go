package hypervisor_test

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// several is a configuration with networks, pools, images and the like of the same names on two hypervisors, and a node on
// each; second is what the second node has besides.
func several(uri, second string) string {
	config := fmt.Sprintf(`
provider "virtcluster" {
  hypervisors = { kvm2 = { uri = %q } }
}
`, uri)
	for subnet, key := range []string{"one", "two"} {
		on := []string{"", `hypervisor = "kvm2"`}[subnet]
		// Both libvirtds are in one network namespace here, and each makes libvirt's chains where it finds none.
		after := []string{"", "virtcluster_network.one"}[subnet]
		more := []string{`
  name               = "several-one"
  network_interfaces = [{ network = virtcluster_network.one.name, ip = "10.95.0.11", mac = "52:54:00:95:00:01" }]`, second}[subnet]
		config += fmt.Sprintf(`
resource "virtcluster_network" "%[1]s" {
  %[2]s
  name   = "several"
  mode   = "nat"
  bridge = "several%[3]d"
  cidr   = "10.95.%[3]d.0/24"
  dhcp   = { ranges = [{ start = "10.95.%[3]d.210", end = "10.95.%[3]d.220" }] }

  depends_on = [%[6]s]
}

resource "virtcluster_storage_pool" "%[1]s" {
  %[2]s
  name = "several"
  path = "/var/lib/libvirt/several"
}

resource "virtcluster_image" "%[1]s" {
  %[2]s
  pool   = virtcluster_storage_pool.%[1]s.name
  name   = "tiny.qcow2"
  source = %[4]q
}

resource "virtcluster_volume" "%[1]s" {
  %[2]s
  pool     = virtcluster_storage_pool.%[1]s.name
  name     = "data.qcow2"
  size_gib = 1
}

resource "virtcluster_dhcp_reservation" "%[1]s" {
  %[2]s
  network = virtcluster_network.%[1]s.name
  mac     = "52:54:00:95:00:33"
  ip      = "10.95.%[3]d.33"
}

resource "virtcluster_node" "%[1]s" {
  %[2]s
  type             = "qemu"
  memory_mib       = 64
  shutdown_timeout = "0s"
  root_disk        = { image = virtcluster_image.%[1]s.id, pool = virtcluster_storage_pool.%[1]s.name, size_gib = 1 }
%[5]s
}
`, key, on, subnet, os.Getenv("SANDBOX_TINY_IMAGE"), more, after)
	}
	return config
}

func TestAccSeveralHypervisorsInOneApply(t *testing.T) {
	acctest.BothCLIs(t)
	s := startSecond(t)
	uri := "qemu+tcp://" + s.tcp + "/system"
	network := "  network_interfaces = [{ network = virtcluster_network.two.name, ip = \"10.95.1.11\"%s }]\n"
	good := several(uri, "  name = \"several-two\"\n"+fmt.Sprintf(network, ""))
	has := func(at, node, other, address string) resource.TestCheckFunc {
		return func(*terraform.State) error {
			for command, want := range map[string]string{"list": node, "net-dumpxml several": "ip='" + address + "'", "vol-list several": node + "-root.qcow2"} {
				out, err := virsh(t.Context(), at, strings.Fields(command)...)
				if err != nil || !strings.Contains(out, want) || strings.Contains(out, other) {
					return fmt.Errorf("virsh %s on %s: %s: want %s and not %s:\n%s", command, at, fmt.Sprint(err), want, other, out)
				}
			}
			return nil
		}
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		Steps: []resource.TestStep{
			// Nothing is there yet: what the plan itself holds is compared.
			{
				Config:      several(uri, "  name = \"several-two\"\n"+fmt.Sprintf(network, `, mac = "52:54:00:95:00:01"`)),
				PlanOnly:    true,
				ExpectError: regexp.MustCompile(`(?s)52:54:00:95:00:01.*several-(one|two)`),
			},
			{
				Config: good,
				Check: resource.ComposeTestCheckFunc(
					has("qemu:///system", "several-one", "several-two", "10.95.0.11"),
					has("qemu+unix:///system?socket="+s.socket, "several-two", "several-one", "10.95.1.11"),
				),
			},
			// A machine of someone else's, on the other hypervisor.
			{
				Config: good + `
resource "virtcluster_node" "three" {
  name       = "several-three"
  type       = "qemu"
  memory_mib = 64
  root_disk  = { image = virtcluster_image.one.id, size_gib = 1 }
  network_interfaces = [{ network = "several", mac = "52:54:00:95:00:09" }]
}
`,
				PreConfig: func() {
					sh(t, `cat >"$0/other.xml" <<-EOF
						<domain type='qemu'><name>others</name><memory unit='MiB'>32</memory><os><type arch='x86_64' machine='q35'>hvm</type></os>
						<devices><interface type='network'><source network='several'/><mac address='52:54:00:95:00:09'/></interface></devices></domain>
					EOF
					virsh -c "qemu+unix:///system?socket=$1" define "$0/other.xml"`, s.pki, s.socket)
				},
				PlanOnly:    true,
				ExpectError: regexp.MustCompile(`(?s)"others"\s+on\s+hypervisor\s+qemu\+tcp.*52:54:00:95:00:09`),
			},
			imported("virtcluster_node", "kvm2/several-two"),
			imported("virtcluster_network", "kvm2/several", "dns", "pxe"),
			imported("virtcluster_dhcp_reservation", "kvm2/several/52:54:00:95:00:33"),
			imported("virtcluster_storage_pool", "kvm2/several", "available_bytes"),
			imported("virtcluster_image", "kvm2/several/tiny.qcow2", "source", "checksum"),
			imported("virtcluster_volume", "kvm2/several/data.qcow2"),
			// The network is not destroyed under somebody's machine, be it stopped.
			{PreConfig: func() { sh(t, `virsh -c "qemu+unix:///system?socket=$0" undefine others`, s.socket) }, Config: good, PlanOnly: true},
		},
		CheckDestroy: func(*terraform.State) error {
			for _, at := range []string{"qemu:///system", "qemu+unix:///system?socket=" + s.socket} {
				for _, list := range []string{"list --all", "net-list --all", "pool-list --all"} {
					if out, err := virsh(t.Context(), at, strings.Fields(list)...); err != nil || strings.Contains(out, "several") {
						return fmt.Errorf("%s on %s: %s: %s", list, at, fmt.Sprint(err), out)
					}
				}
			}
			return nil
		},
	})
}

// imported imports what is on the second hypervisor, and compares it with what is in state but for some attributes. An id
// may be another's on the first one, with which it is compared then: pools of one path have one id, and so have volumes.
func imported(kind, id string, but ...string) resource.TestStep {
	return resource.TestStep{
		ResourceName: kind + ".two", ImportState: true, ImportStateId: id, ImportStateVerify: true, ImportStateVerifyIgnore: append(but, "hypervisor"),
		ImportStateCheck: func(states []*terraform.InstanceState) error {
			if len(states) != 1 || states[0].Attributes["hypervisor"] != "kvm2" {
				return fmt.Errorf("%s %s was imported from elsewhere: %v", kind, id, states)
			}
			return nil
		},
	}
}
