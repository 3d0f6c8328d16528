package node_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// The sandbox's machine has no device to give away: what somebody gave to the node by hand is read, kept, missed and taken away.
func TestAccNodeHasHostDevices(t *testing.T) {
	acctest.BothCLIs(t)
	_, network, image := stage(t, "nodehostdevices")
	node := func(more string) string { return config(image, network, "  running = false\n"+more) }
	const all = "  host_devices = [{ pci = \"0000:77:00.0\" }, { usb = \"046d:c52b\" }, { usb = \"1.77\" }, { mdev = \"c2177883-f1bb-47f0-914d-32a22e3a8804\" }]\n"
	give := func() {
		text := regexp.MustCompile(`(?s)<hostdev.*</hostdev>`).ReplaceAllString(virsh(t, "dumpxml", "--inactive", "acc"), "")
		text = regexp.MustCompile(`(<controller type='usb' index='0' )model='none'`).ReplaceAllString(text, "${1}model='qemu-xhci'")
		virsh(t, "define", writeFile(t, strings.Replace(text, "</devices>", `
			<hostdev mode='subsystem' type='pci' managed='yes'><source><address domain='0' bus='0x77' slot='0' function='0'/></source></hostdev>
			<hostdev mode='subsystem' type='usb'><source><vendor id='0x046d'/><product id='0xc52b'/></source></hostdev>
			<hostdev mode='subsystem' type='usb'><source><address bus='1' device='77'/></source></hostdev>
			<hostdev mode='subsystem' type='mdev' model='vfio-pci'><source><address uuid='c2177883-f1bb-47f0-914d-32a22e3a8804'/></source></hostdev>
			</devices>`, 1)))
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		Steps: []resource.TestStep{
			{Config: node("  host_devices = [{ pci = \"0000:77:00.0\", usb = \"1.77\" }]\n"), ExpectError: wrapped("Device without a name")},
			{Config: node("  host_devices = [{ pci = \"77:00.0\" }]\n"), ExpectError: regexp.MustCompile(`0000:03:00\.0`)},
			{Config: node(all), ExpectError: wrapped("No such device")},
			{Config: node("")},
			{PreConfig: give, Config: node(""), PlanOnly: true}, // what is left out stays
			{
				Config: node(all), Check: resource.ComposeTestCheckFunc(
					resource.TestCheckResourceAttr(address, "host_devices.#", "4"),
					resource.TestCheckResourceAttr(address, "host_devices.0.pci", "0000:77:00.0"),
					says(t, "dumpxml acc", `<hostdev mode='subsystem' type='mdev'`),
				),
			},
			{
				ResourceName: address, ImportState: true, ImportStateId: "acc", ImportStateVerify: true,
				ImportStateVerifyIgnore: []string{"root_disk.image"},
			},
			{ // drift: one of them is gone, and the hypervisor has none to give in its place
				PreConfig: func() {
					text := virsh(t, "dumpxml", "--inactive", "acc")
					virsh(t, "define", writeFile(t, regexp.MustCompile(`(?s)<hostdev [^>]*type='pci'.*?</hostdev>`).ReplaceAllString(text, "")))
				},
				Config: node(all), ExpectError: wrapped("No such device"),
			},
			{Config: node("  host_devices = []\n"), ConfigPlanChecks: updates(), Check: lacks(t, "dumpxml acc", `<hostdev`)},
		},
	})
}
