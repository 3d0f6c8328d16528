package node_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

func TestAccNodeBadInput(t *testing.T) {
	acctest.BothCLIs(t)
	_, network, image := stage(t, "nodebad")
	virsh(t, "net-update", network, "add", "ip-dhcp-host", "<host mac='52:54:00:77:00:08' ip='10.77.0.8'/>", "--live", "--config")
	t.Cleanup(func() {
		virsh(t, "net-update", network, "delete", "ip-dhcp-host", "<host mac='52:54:00:77:00:08' ip='10.77.0.8'/>", "--live", "--config")
	})
	fails := func(more, want string) resource.TestStep {
		return resource.TestStep{Config: config(image, network, more), ExpectError: regexp.MustCompile(strings.ReplaceAll(want, " ", `\s+`))}
	}
	absent := resource.TestStep{Config: config("/nowhere/image.qcow2", network, oneInterface), ExpectError: regexp.MustCompile("Unknown image")}
	small := resource.TestStep{
		Config:      strings.Replace(config(os.Getenv("SANDBOX_STATE")+"/none", network, ""), "size_gib = 1", "size_gib = 1, pool = \"nopool\"", 1),
		ExpectError: regexp.MustCompile("Unknown storage pool"),
	}
	bridge := func(reference, more string) string {
		return config(image, network, "  network_interfaces = [{ bridge = "+reference+" }]\n"+more)
	}
	plans := func(config string) resource.TestStep {
		return resource.TestStep{Config: config, PlanOnly: true, ExpectNonEmptyPlan: true}
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		Steps: []resource.TestStep{
			absent, small,
			fails("  network_interfaces = [{ network = \"nonet\" }]\n", "Unknown network"),
			fails("  network_interfaces = [{ bridge = \"nobridge\" }]\n", "Unknown bridge"),
			plans(bridge(`"nobridge"`, "  running = false\n")), // it is needed at the start alone
			plans(bridge("virtcluster_network.b.bridge", "") + "resource \"virtcluster_network\" \"b\" {\n  name = \"b\"\n  mode = \"isolated\"\n  bridge = \"nobridge\"\n}\n"),
			plans(bridge("virtcluster_external_bridge.b.name", "") + "resource \"virtcluster_external_bridge\" \"b\" {\n  name = \"nobridge\"\n  interfaces = [{ interface = \"eno1\" }]\n}\n"),
			plans(bridge("virtcluster_external_bridge.b.name", "") + "resource \"virtcluster_external_bridge\" \"b\" {\n  name = \"nobridge\"\n  host = \"local:\"\n  interfaces = [{ interface = \"eno1\" }]\n}\n"),
			fails("  network_interfaces = [{ network = \"NET\", ip = \"10.78.0.1\" }]\n", "(?s)Address outside the network.* network_interfaces\\[0\\].ip: network"),
			fails("  network_interfaces = [{ network = \"NET\", ip = \"10.77.0.254\" }]\n", "Address of the gateway"),
			fails("  network_interfaces = [{ network = \"NET\", addresses = [\"10.77.0.254/24\"] }]\n", "Address of the gateway"),
			fails("  network_interfaces = [{ network = \"NET\", addresses = [\"10.77.0.8/24\"] }]\n", "Address reserved already"),
			fails("  network_interfaces = [{ network = \"NET\", addresses = [\"10.77.0.220/24\"] }]\n", "Address in a DHCP range"),
			fails("  network_interfaces = [{ network = \"NET\", ip = \"10.77.0.220\" }]\n", "(?s)Address in a DHCP range.* network_interfaces\\[0\\].ip: network"),
			fails("  max_memory_mib = 99999999\n", "More memory than the hypervisor has"),
			fails("  machine = \"microvm\"\n", "(?s)Machine type without PCI.* machine = \"microvm\".*write machine = \"q35\""),
			fails("  machine = \"isapc\"\n", "Machine type without PCI"),
			fails("  hypervisor = \"kvm9\"\n", "no hypervisor \"kvm9\""),
			fails("  ignition = \"{\"\n", "Malformed Ignition"),
			fails("  butane = \"variant: fcos\\nversion: 1.5.0\\nstorage:\\n  files:\\n    - path: relative\\n\"\n", "line 5, column 13: path not absolute"),
			fails("  network_interfaces = [{ network = \"NET\", ip = \"10.77.0.8\" }]\n", "10.77.0.8 for 52:54:00:77:00:08"),
			fails("  network_interfaces = [{ network = \"NET\", ip = \"10.77.0.9\", mac = \"52:54:00:77:00:08\" }]\n", "MAC address reserved already"),
			fails("  cloud_init = { user_data = \"#cloud-config\\na: [\" }\n", "line 2"),
			fails(`  network_interfaces = [{ network = "NET", mac = "52:54:00:77:00:02" }]
}
resource "virtcluster_node" "other" {
  name = "other"
  type = "qemu"
  network_interfaces = [{ network = "NET", mac = "52:54:00:77:00:02" }]
  root_disk = { size_gib = 1 }
`, "network_interfaces\\[0\\].mac: MAC address 52:54:00:77:00:02 on all networks belongs to"),
			fails(strings.ReplaceAll(`  disks = { d = { volume = "IMAGE" } }
}
resource "virtcluster_node" "other" {
  name = "other"
  type = "qemu"
  disks = { e = { volume = "IMAGE" } }
`, "IMAGE", image), "disks\\[\"[de]\"\\].volume: use of volume \\S+ on the provider's hypervisor belongs to node"),
		},
	})
}
