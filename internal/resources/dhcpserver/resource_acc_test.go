package dhcpserver_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// config serves the LAN from svc-1, which is not where svc-2 asks by its second card.
func config(node, ranges, more string) string {
	return acctest.Provider() + fmt.Sprintf(`
resource "virtcluster_service_node" "it" {
  endpoint = "ssh://root@%s"
  services = ["kea"]
}
resource "virtcluster_dhcp_server" "it" {
  service_node = virtcluster_service_node.it.id
  interface    = "eth1"
  cidr         = "10.19.41.0/24"
  ranges       = [%s]
  %s
}
`, node, ranges, more)
}

const (
	ranges = `{ start = "10.19.41.150", end = "10.19.41.159" }`
	boot   = `
  hosts   = { "02:AA:00:00:00:07" = { ip = "10.19.41.77", hostname = "seven" } }
  options = { routers = "10.19.41.254", "domain-name-servers" = "10.19.41.101, 10.19.41.102" }
  boot = {
    next_server = "10.19.41.101"
    bios        = "ipxe.pxe"
    uefi_ia32   = "ia32.efi"
    uefi_x64    = "snponly.efi"
    uefi_arm64  = "arm64.efi"
    http_x64    = "http://10.19.41.101:8090/ipxe.efi"
    http_arm64  = "http://10.19.41.101:8090/arm64.efi"
    ipxe        = "http://10.19.41.101:8090/boot.ipxe"
  }`
)

// ask has ISC's client on a machine ask for a lease by a card of its own, and returns the lease as it keeps it; "" where nobody answers. A
// server on the same machine does not hear it: the card is a macvlan.
func ask(t *testing.T, machine, mac, send string) string {
	t.Helper()
	return acctest.On(t, machine, "sh", "-c", `
rm -f /tmp/lease /tmp/dhclient.conf
printf 'timeout 8;\noption arch code 93 = unsigned integer 16;\noption ipxe code 175 = string;\nalso request vendor-class-identifier, bootfile-name, tftp-server-name;\n%s\n' "$2" >/tmp/dhclient.conf
ip link add link eth1 name ask0 address "$1" type macvlan mode bridge
ip link set ask0 up
dhclient -1 -d -sf /bin/true -pf /tmp/dhclient.pid -cf /tmp/dhclient.conf -lf /tmp/lease ask0 >/tmp/dhclient.log 2>&1 &
n=0
until grep -q "^}" /tmp/lease 2>/dev/null || [ $n -gt 90 ]; do n=$((n + 1)); sleep 0.1; done
kill $! 2>/dev/null
ip link del ask0
cat /tmp/lease 2>/dev/null
:`, "sh", mac, send)
}

// leases checks what machines of each kind are told.
func leases(t *testing.T, wants map[string][]string) resource.TestCheckFunc {
	return func(*terraform.State) error {
		for send, want := range wants {
			mac := "02:aa:00:00:00:01"
			if strings.HasPrefix(send, "#seven") {
				mac = "02:aa:00:00:00:07"
			}
			lease := ask(t, "svc-2", mac, send)
			for _, line := range want {
				if !strings.Contains(lease, line) {
					return fmt.Errorf("who sends %q gets %q, want %q", send, lease, line)
				}
			}
		}
		return nil
	}
}

func TestAccDHCPServerLife(t *testing.T) {
	acctest.BothCLIs(t)
	acctest.InSandbox(t)
	node := acctest.KnownServiceNodes(t, 2)[0]
	leavesNothing := acctest.LeavesNothing(t, "svc-1", "/etc/kea /etc/systemd/system/*virtcluster* /etc/systemd/system/*/*virtcluster* /var/lib/virtcluster* /run/virtcluster-dhcp* /run/kea /var/lib/kea", "ss -Hlun 'sport = :67'")
	edit := func(script string) func() {
		return func() { acctest.On(t, "svc-1", "sh", "-c", script) }
	}
	stranger := func() {
		acctest.On(t, "lan-client", "sh", "-c", "dnsmasq --conf-file=/dev/null --port=0 --interface=eth0 --bind-interfaces --dhcp-range=10.19.41.60,10.19.41.69 --dhcp-leasefile=/tmp/stranger.leases --pid-file=/tmp/stranger.pid")
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		CheckDestroy:             leavesNothing,
		Steps: []resource.TestStep{
			{Config: strings.Split(config(node, ranges, ""), "resource \"virtcluster_dhcp_server\"")[0]},
			{Config: config(node, `{ start = "10.19.41.20", end = "10.19.42.30" }`, ""), PlanOnly: true, ExpectError: regexp.MustCompile("Range outside the subnet")},
			{Config: config(node, ranges, `options = { "no-such" = "x" }`), PlanOnly: true, ExpectError: regexp.MustCompile("Invalid DHCP option")},
			{Config: strings.Replace(config(node, ranges, ""), `"eth1"`, `"eth9"`, 1), PlanOnly: true, ExpectError: regexp.MustCompile(`there\s+is\s+no\s+interface\s+eth9`)},
			{Config: strings.Replace(config(node, ranges, ""), `"eth1"`, `"eth0"`, 1), PlanOnly: true, ExpectError: regexp.MustCompile(`no\s+address\s+in\s+10.19.41.0/24`)},
			{PreConfig: stranger, Config: config(node, ranges, ""), PlanOnly: true, ExpectError: regexp.MustCompile(`10.19.41.50\s+gives\s+out\s+addresses`)},
			{
				PreConfig: func() {
					acctest.On(t, "lan-client", "sh", "-c", "kill $(cat /tmp/stranger.pid); rm -f /tmp/stranger.*")
					acctest.On(t, "svc-1", "sh", "-c", "socat -u UDP4-RECV:67 OPEN:/dev/null >/dev/null 2>&1 </dev/null & echo $! >/tmp/socat.pid")
				},
				Config: config(node, ranges, ""), PlanOnly: true, ExpectError: regexp.MustCompile(`socat\s+on\s+.*has\s+port\s+67`),
			},
			{
				PreConfig: edit("kill $(cat /tmp/socat.pid); rm /tmp/socat.pid"),
				Config:    config(node, ranges, ""), Check: leases(t, map[string][]string{"": {"fixed-address 10.19.41.15", "dhcp-server-identifier 10.19.41.101"}}),
			},
			{Config: config(node, ranges, boot), Check: leases(t, map[string][]string{
				"":                                      {"option routers 10.19.41.254", "option domain-name-servers 10.19.41.101,10.19.41.102"},
				"#seven\nsend host-name \"x\";":         {"fixed-address 10.19.41.77"},
				"send arch 0;":                          {`filename "ipxe.pxe"`},
				"send arch 7;":                          {`filename "snponly.efi"`},
				"send arch 9;":                          {`filename "snponly.efi"`},
				"send arch 0;send user-class \"iPXE\";": {`filename "http://10.19.41.101:8090/boot.ipxe"`},
				"send arch 7;send ipxe \"\\001\";":      {`filename "http://10.19.41.101:8090/boot.ipxe"`},
				"send arch 6;":                          {`filename "ia32.efi"`},
				"send arch 11;":                         {`filename "arm64.efi"`},
				"send arch 15;send vendor-class-identifier \"HTTPClient:Arch:00015\";": {`filename "http://10.19.41.101:8090/ipxe.efi"`, `vendor-class-identifier "HTTPClient"`},
				"send arch 19;send vendor-class-identifier \"HTTPClient:Arch:00019\";": {`filename "http://10.19.41.101:8090/arm64.efi"`, `vendor-class-identifier "HTTPClient"`},
				"send arch 16;send vendor-class-identifier \"HTTPClient:Arch:00016\";": {`filename "http://10.19.41.101:8090/ipxe.efi"`, `vendor-class-identifier "HTTPClient"`},
			})},
			{ResourceName: "virtcluster_dhcp_server.it", ImportState: true, ImportStateVerify: true, ImportStateVerifyIgnore: []string{"hosts"}},
			{
				PreConfig: edit("sed -i s/10.19.41.150/10.19.41.140/ /etc/kea/virtcluster/eth1/kea-dhcp4.conf"),
				Config:    config(node, ranges, boot), Check: leases(t, map[string][]string{"": {"fixed-address 10.19.41.15"}}),
			},
			{PreConfig: edit("systemctl stop virtcluster-dhcp@eth1"), Config: config(node, ranges, boot), Check: leases(t, map[string][]string{"": {"fixed-address 10.19.41.15"}})},
			{
				PreConfig: edit("systemctl disable virtcluster-dhcp@eth1"),
				Config:    config(node, ranges, boot), Check: func(*terraform.State) error {
					acctest.On(t, "svc-1", "systemctl", "is-enabled", "virtcluster-dhcp@eth1")
					return nil
				},
			},
			{PreConfig: func() { acctest.Reboot(t, "svc-1") }, Config: config(node, ranges, boot), Check: leases(t, map[string][]string{"": {"fixed-address 10.19.41.15"}})},
			{Config: config(node, `{ start = "10.19.41.160", end = "10.19.41.169" }`, ""), Check: leases(t, map[string][]string{"": {"fixed-address 10.19.41.16"}})},
		},
	})
}

// TestAccDHCPServersOfAPairTakeOver has two servers, of which one is stopped.
func TestAccDHCPServersOfAPairTakeOver(t *testing.T) {
	acctest.InSandbox(t)
	nodes := acctest.KnownServiceNodes(t, 3)
	one := func(name, node, role, address, peer string) string {
		return fmt.Sprintf(`
resource "virtcluster_dhcp_server" %q {
  service_node = "ssh://root@%s"
  interface    = "eth1"
  cidr         = "10.19.41.0/24"
  ranges       = [%s]
  pair         = { role = %q, address = %q, peer = %q, port = 8067 }
}
`, name, node, ranges, role, address, peer)
	}
	both := acctest.Provider() + one("first", nodes[0], "primary", nodes[0], nodes[1]) + one("second", nodes[1], "standby", nodes[1], nodes[0])
	await := func(server string) resource.TestCheckFunc {
		return func(*terraform.State) error {
			lease := ""
			// Who comes back takes part again once it has the other one's leases: some heartbeats later.
			for began := time.Now(); time.Since(began) < 90*time.Second; time.Sleep(time.Second) {
				if lease = ask(t, "svc-3", "02:aa:00:00:00:01", ""); strings.Contains(lease, "dhcp-server-identifier "+server) {
					return nil
				}
			}
			return fmt.Errorf("the lease is of another server than %s: %q", server, lease)
		}
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Providers,
		Steps: []resource.TestStep{
			{Config: both, Check: await("10.19.41.101")},
			{PreConfig: func() {
				acctest.On(t, "svc-1", "systemctl", "stop", "virtcluster-dhcp@eth1")
			}, RefreshState: true, ExpectNonEmptyPlan: true, Check: await("10.19.41.102")},
			{Config: both, Check: await("10.19.41.101")},
		},
	})
}
