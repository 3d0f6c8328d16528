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
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

func TestAccServiceNodeByGuestAgent(t *testing.T) {
	acctest.InSandbox(t)
	guest := agentGuest(t)
	moved := strings.Replace(guest, leased, "10.74.0.6", 1)
	node := func(more string) string {
		return config("qemu-ga:///agent-node", `services = ["haproxy", "keepalived"]`+"\n  depends_on = [virtcluster_node.guest]") + more
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		Steps: []resource.TestStep{
			{Config: config("qemu-ga:///no-such-node", ""), ExpectError: regexp.MustCompile(`(?s)no-such-node.*(not\s+found|no\s+domain)`)},
			{ // the machine boots while this waits for it
				Config: node(guest),
				Check: resource.ComposeAggregateTestCheckFunc(
					configuredInside(t),
					resource.TestCheckResourceAttr(address, "id", "qemu-ga:///agent-node"),
					resource.TestCheckNoResourceAttr(address, "host_key"),
					resource.TestMatchResourceAttr(address, "os", regexp.MustCompile("Debian")),
					resource.TestMatchResourceAttr(address, "versions.haproxy", regexp.MustCompile(`^\d+\.\d+`)),
				),
			},
			{ // systemd-networkd asks DHCP again when the link comes back
				Config: node(moved),
				Check: resource.ComposeAggregateTestCheckFunc(
					resource.TestCheckResourceAttr("virtcluster_node.guest", "addresses.dhcp0", "10.74.0.6"),
					func(*terraform.State) error {
						said, err := acctest.InGuest(t.Context(), "agent-node", "ip -br address show dhcp0")
						if err == nil && !strings.Contains(said, " UP ") || strings.Contains(said, leased+"/") || !strings.Contains(said, "10.74.0.6/") {
							t.Errorf("the guest has %s", said)
						}
						return err
					},
				),
			},
			{ResourceName: address, ImportState: true, ImportStateVerify: true},
			{
				Config: remote(t) + moved + strings.TrimPrefix(config("qemu-ga://remote/agent-node", `services = ["haproxy", "keepalived"]`+"\n  depends_on = [virtcluster_node.guest]"), acctest.Provider()),
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
