package servicenode_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
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
			{
				Config: remote(t) + strings.TrimPrefix(config("qemu-ga://remote/agent-node", `services = ["haproxy", "keepalived"]`), acctest.Provider()),
				Check: resource.ComposeAggregateTestCheckFunc(
					resource.TestCheckResourceAttr(address, "id", "qemu-ga://remote/agent-node"),
					resource.TestMatchResourceAttr(address, "versions.haproxy", regexp.MustCompile(`^\d+\.\d+`)),
				),
			},
		},
	})
}

// remote configures a hypervisor "remote", reached by SSH through a service node whose socket leads back to the
// sandbox's libvirtd.
func remote(t *testing.T) string {
	t.Helper()
	const socket = "/tmp/agent-libvirt.sock"
	node := acctest.ServiceNodes(t, 1)[0]
	_, key := hostKey(t, "svc-1")
	known := filepath.Join(t.TempDir(), "known_hosts")
	if err := os.WriteFile(known, []byte(node+" "+key+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	back := exec.Command("ssh", "-N", "-i", os.Getenv("SANDBOX_SSH_KEY"), "-o", "UserKnownHostsFile="+known, "-o", "StreamLocalBindUnlink=yes", "-R", socket+":/run/libvirt/libvirt-sock", "root@"+node)
	if err := back.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = back.Process.Kill(); _ = back.Wait() })
	acctest.On(t, "svc-1", "sh", "-c", "for try in $(seq 300); do test -S "+socket+" && exit; sleep 0.1; done; exit 1")
	return fmt.Sprintf(`
provider "virtcluster" {
  ssh         = { private_key_file = %q, known_hosts_file = %q }
  hypervisors = { remote = { uri = "qemu+ssh://root@%s/system?socket=%s" } }
}
`, os.Getenv("SANDBOX_SSH_KEY"), known, node, socket)
}
