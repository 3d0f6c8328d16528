package faults

import (
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// TestAccGuestIsConfiguredByIgnition boots a guest that Ignition itself configures, from what QEMU hands over, before its
// NetworkManager starts: what the node's interfaces say is in effect, and a file of the user's own wins.
func TestAccGuestIsConfiguredByIgnition(t *testing.T) {
	acctest.InSandbox(t)
	disk, err := exec.Command("./ignition-disk").Output()
	if err != nil {
		t.Fatalf("the packages of the disk are downloaded outside of the sandbox, by test/faults/ignition-disk: %v", err)
	}
	dir := disksOf(t, "ignited", strings.TrimSpace(string(disk)))
	const own = "[connection]\nid=lan0\ntype=ethernet\n\n[ethernet]\nmac-address=52:54:00:75:00:06\n\n[ipv4]\nmethod=manual\naddress1=10.74.0.77/24\n"
	data := func(text string) string { return "data:," + url.PathEscape(text) }
	s := acctest.NewState(t)
	s.DestroyAtEnd()
	s.Apply(acctest.Provider() + fmt.Sprintf(`
resource "virtcluster_network" "routed" {
  name      = "ignited"
  mode      = "route"
  cidr      = "10.75.0.0/24"
  ipv6_cidr = "fd00:75::/64"
}
resource "virtcluster_network" "lan" {
  name = "ignitedlan"
  mode = "isolated"
  cidr = "10.74.0.0/24"
}
resource "virtcluster_node" "guest" {
  name             = "ignited"
  type             = "qemu"
  memory_mib       = 768
  shutdown_timeout = "0s"
  root_disk        = { image = "%s/base.qcow2" }
  network_interfaces = [
    {
      network     = virtcluster_network.routed.name
      name        = "eth0"
      mac         = "52:54:00:75:00:05"
      addresses   = ["10.75.0.5/24", "fd00:75::5/64"]
      gateway     = "10.75.0.1"
      routes      = [{ cidr = "10.128.0.0/14", via = "10.75.0.9" }]
      nameservers = ["10.75.0.1", "fd00:75::1"]
      mtu         = 1400
    },
    {
      network   = virtcluster_network.lan.name
      name      = "lan0"
      mac       = "52:54:00:75:00:06"
      addresses = ["10.74.0.5/24"]
    },
  ]
  ignition = jsonencode({
    ignition = { version = "3.3.0" }
    storage = { files = [
      { path = "/root/.ssh/authorized_keys", mode = 384, contents = { source = %q } },
      { path = "/etc/NetworkManager/system-connections/lan0.nmconnection", mode = 384, contents = { source = %q } },
    ] }
  })
}
`, dir, data(publicKey(t)+"\n"), data(own)))
	t.Log(answers(t, "10.75.0.5", "nmcli -g STATE general"))
	for _, c := range []struct{ want, command string }{
		{"10.75.0.5/24", "ip -br address show eth0"},
		{"fd00:75::5/64", "ip -br address show eth0"},
		{"mtu 1400", "ip link show eth0"},
		{"default via 10.75.0.1 dev eth0", "ip route"},
		{"10.128.0.0/14 via 10.75.0.9 dev eth0", "ip route"},
		{"10.75.0.1", "nmcli -g IP4.DNS device show eth0"},
		{`fd00\:75\:\:1`, "nmcli -g IP6.DNS device show eth0"},
		{"eth0", "nmcli -g GENERAL.CONNECTION device show eth0"},
		{"10.74.0.77/24", "ip -br address show eth1"}, // the user's own
		{"1 received", "ping -c 1 -W 5 10.19.41.10"},  // by the gateway
		{"finished", "journalctl -u ignition --no-pager -o cat; echo finished"},
	} {
		t.Run(c.want, func(t *testing.T) {
			if out, err := inGuest(t.Context(), "10.75.0.5", c.command); err != nil || !strings.Contains(out, c.want) {
				t.Errorf("%s has no %q: %s, %v", c.command, c.want, out, err)
			}
		})
	}
	if out, err := inGuest(t.Context(), "10.75.0.5", "ip -br address show eth1"); err == nil && strings.Contains(out, "10.74.0.5/") {
		t.Errorf("the file of the user's own did not win: %s", out)
	}
	if out, err := exec.CommandContext(t.Context(), "ping", "-c", "1", "-W", "5", "10.75.0.5").CombinedOutput(); err != nil {
		t.Errorf("ping: %s%v", out, err)
	}
	s.Settled()
	if t.Failed() {
		console, _ := os.ReadFile("/var/log/libvirt/ignited.log")
		t.Logf("console:\n%s", console)
	}
}
