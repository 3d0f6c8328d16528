package servicenode_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// agentDomain is a virtual machine without any network: nothing but its guest agent leads to it.
const agentDomain = `<domain type="qemu">
  <name>agent-node</name>
  <memory unit="MiB">768</memory>
  <vcpu>2</vcpu>
  <os><type arch="x86_64" machine="q35">hvm</type></os>
  <features><acpi/></features>
  <devices>
    <disk type="file" device="disk">
      <driver name="qemu" type="qcow2"/>
      <source file="%s"/>
      <target dev="vda" bus="virtio"/>
    </disk>
    <channel type="unix"><target type="virtio" name="org.qemu.guest_agent.0"/></channel>
    <rng model="virtio"><backend model="random">/dev/urandom</backend></rng>
    <console type="pty"/>
  </devices>
</domain>
`

func TestAccServiceNodeByGuestAgent(t *testing.T) {
	acctest.InSandbox(t)
	dir := "/var/lib/libvirt/images"
	disk, xml := filepath.Join(dir, "agent-node.qcow2"), filepath.Join(t.TempDir(), "domain.xml")
	if err := os.WriteFile(xml, fmt.Appendf(nil, agentDomain, disk), 0o600); err != nil {
		t.Fatal(err)
	}
	acctest.On(t, "hypervisor", "mkdir", "-p", dir)
	acctest.On(t, "hypervisor", "qemu-img", "create", "-q", "-f", "qcow2", "-F", "qcow2", "-b", os.Getenv("SANDBOX_IMAGE"), disk)
	acctest.On(t, "hypervisor", "virsh", "-c", "qemu:///system", "create", xml)
	defer acctest.On(t, "hypervisor", "virsh", "-c", "qemu:///system", "destroy", "agent-node")
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		Steps: []resource.TestStep{
			{Config: config("qemu-ga:///no-such-node", ""), ExpectError: regexp.MustCompile(`(?s)no-such-node.*(not\s+found|no\s+domain)`)},
			{ // the machine boots while this waits for it
				Config: config("qemu-ga:///agent-node", `services = ["haproxy", "keepalived"]`),
				Check: resource.ComposeAggregateTestCheckFunc(
					resource.TestCheckResourceAttr(address, "id", "qemu-ga:///agent-node"),
					resource.TestCheckNoResourceAttr(address, "host_key"),
					resource.TestMatchResourceAttr(address, "os", regexp.MustCompile("Debian")),
					resource.TestMatchResourceAttr(address, "versions.haproxy", regexp.MustCompile(`^\d+\.\d+`)),
				),
			},
			{ResourceName: address, ImportState: true, ImportStateVerify: true},
		},
	})
}
