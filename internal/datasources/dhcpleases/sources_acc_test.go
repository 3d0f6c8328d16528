package dhcpleases_test

import (
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

const byHand = `<network><name>accsrc0</name><bridge name='accsrcbr0'/><domain name='okd.example'/><ip address='10.94.0.254' prefix='24'>
<dhcp><range start='10.94.0.10' end='10.94.0.20'/><host mac='52:54:00:94:00:01' name='one' ip='10.94.0.1'/></dhcp></ip></network>`

// leaser makes a network with a client on it that has taken a lease, without a virtual machine.
func leaser(t *testing.T) {
	t.Helper()
	define := exec.Command("virsh", "net-define", "/dev/stdin")
	define.Stdin = strings.NewReader(byHand)
	if out, err := define.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	t.Cleanup(func() {
		_ = exec.Command("sh", "-c", "virsh net-destroy accsrc0; virsh net-undefine accsrc0").Run()
	})
	if out, err := exec.Command("virsh", "net-start", "accsrc0").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	// libvirt reads its leases from this file, which its helper of dnsmasq writes.
	lease := fmt.Sprintf(`[{"ip-address": "10.94.0.1", "mac-address": "52:54:00:94:00:01", "hostname": "one", "client-id": "01:52:54:00:94:00:01", "expiry-time": %d}]`, time.Now().Add(time.Hour).Unix())
	write := exec.Command("sh", "-c", "cat >/var/lib/libvirt/dnsmasq/accsrcbr0.status")
	write.Stdin = strings.NewReader(lease)
	if out, err := write.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

func TestAccDataSourcesReadWhatTheHypervisorHas(t *testing.T) {
	acctest.BothCLIs(t)
	acctest.InSandbox(t)
	leaser(t)
	attr := resource.TestCheckResourceAttr
	resource.Test(t, resource.TestCase{ProtoV6ProviderFactories: acctest.Providers, Steps: []resource.TestStep{
		{
			Config: acctest.Provider() + `
data "virtcluster_network" "n" { name = "accsrc0" }
data "virtcluster_dhcp_leases" "l" {
  network = data.virtcluster_network.n.id
  mac     = "52-54-00-94-00-01"
}
data "virtcluster_dhcp_leases" "other" {
  network = "accsrc0"
  mac     = "52:54:00:94:00:02"
}
data "virtcluster_hypervisor" "h" {}
`,
			Check: resource.ComposeTestCheckFunc(
				attr("data.virtcluster_network.n", "cidr", "10.94.0.0/24"), attr("data.virtcluster_network.n", "gateway", "10.94.0.254"),
				attr("data.virtcluster_network.n", "mode", "isolated"), attr("data.virtcluster_network.n", "active", "true"), attr("data.virtcluster_network.n", "domain", "okd.example"),
				attr("data.virtcluster_network.n", "reservations.0.hostname", "one"), attr("data.virtcluster_network.n", "dhcp_ranges.0.end", "10.94.0.20"),
				attr("data.virtcluster_dhcp_leases.l", "leases.#", "1"), attr("data.virtcluster_dhcp_leases.l", "leases.0.ip", "10.94.0.1"), attr("data.virtcluster_dhcp_leases.l", "leases.0.prefix", "24"),
				attr("data.virtcluster_dhcp_leases.other", "leases.#", "0"),
				resource.TestMatchResourceAttr("data.virtcluster_hypervisor.h", "libvirt_version", regexp.MustCompile(`^\d+\.\d+\.\d+$`)),
				resource.TestMatchResourceAttr("data.virtcluster_hypervisor.h", "memory_mib", regexp.MustCompile(`^\d{3,}$`)),
				resource.TestCheckTypeSetElemAttr("data.virtcluster_hypervisor.h", "machines.*", "q35"), attr("data.virtcluster_hypervisor.h", "firmware.0", "bios"),
				attr("data.virtcluster_hypervisor.h", "uri", "qemu:///system"),
			),
		},
		{Config: acctest.Provider() + "data \"virtcluster_network\" \"n\" {\n name = \"nobody\"\n}\n", ExpectError: regexp.MustCompile(`Network not found`)},
		{Config: "provider \"virtcluster\" {\n uri = \"qemu+unix:///system?socket=/nowhere/sock\"\n}\ndata \"virtcluster_hypervisor\" \"h\" {}\n", ExpectError: regexp.MustCompile(`(?s)cannot\s+be\s+reached\s+at\s+/nowhere/sock.*no\s+such\s+file`)},
		{Config: "provider \"virtcluster\" {\n uri = \"test:///default\"\n}\ndata \"virtcluster_network\" \"n\" {\n name = \"default\"\n}\n", Check: attr("data.virtcluster_network.n", "cidr", "192.168.122.0/24")},
	}})
}
