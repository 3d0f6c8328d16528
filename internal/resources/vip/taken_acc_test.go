package vip_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/acctest"
)

// TestAccAVIPTakesNoAddressOfAnybodys has one machine on which another state has a bridge, a VIP on it that was planned before the bridge
// was there, and an exposed service; and a person a file, an address and an instance of keepalived. None of that can be had by a VIP.
func TestAccAVIPTakesNoAddressOfAnybodys(t *testing.T) {
	acctest.InSandbox(t)
	id := machines(t, 1)[0]
	other, own := acctest.NewState(t), acctest.NewState(t)
	vipOf := func(name, device, address, from string, routerID int) string {
		return fmt.Sprintf("resource \"virtcluster_vip\" %q {\n  name = %[1]q\n  addresses = [%q]\n  virtual_router_id = %d\n  members = { svc-1 = { service_node = %q, interface = %s, address = %q } }\n}\n",
			name, address, routerID, id, device, from)
	}
	other.DestroyAtEnd()
	other.Apply(acctest.Provider() + fmt.Sprintf(`resource "virtcluster_external_bridge" "lan" {
  host       = %[1]q
  name       = "brlan"
  interfaces = [{ interface = "eth1" }]
  addresses  = ["10.19.41.101/24", "10.19.41.97/24"]
  backend    = "runtime"
}
resource "virtcluster_exposed_service" "e" {
  service_node      = %[1]q
  name              = "e"
  type              = "load_balancer"
  address           = "10.19.41.98"
  interface         = virtcluster_external_bridge.lan.name
  configure_address = true
  targets           = ["10.0.100.102"]
  ports             = { dns = { port = 53, target_port = 53, protocol = "udp" } }
}
resource "virtcluster_address_pool" "lan" {
  service_node = %[1]q
  name         = "lan"
  ranges       = ["10.19.41.180-10.19.41.189"]
}
resource "virtcluster_address" "drawn" {
  pool = virtcluster_address_pool.lan.id
  key  = "okd/api"
  ip   = "10.19.41.185"
}
`, id) + vipOf("other", "virtcluster_external_bridge.lan.name", "10.19.41.96/24", "10.19.41.101", 45))
	other.Settled()
	acctest.On(t, "svc-1", "sh", "-c", `mkdir -p /etc/systemd/network/10-eth1.network.d
printf '[Network]\nAddress=10.19.41.78/24\n' >/etc/systemd/network/10-eth1.network.d/person.conf
ip address add 10.19.41.95/24 dev brlan
ip address add 10.0.100.7/24 dev eth0
printf '\nvrrp_instance P {\n  interface brlan\n  virtual_router_id 9\n  priority 10\n  virtual_ipaddress {\n    10.19.41.94/24\n  }\n}\n' >>/etc/keepalived/keepalived.conf
systemctl reload keepalived`)
	t.Cleanup(func() {
		_, err := acctest.Try(context.Background(), "svc-1", "sh", "-c", `rm -rf /etc/systemd/network/10-eth1.network.d; ip address del 10.0.100.7/24 dev eth0; ip address del 10.19.41.95/24 dev eth1 2>/dev/null
systemctl disable -q --now keepalived; rm -f /etc/keepalived/keepalived.conf`)
		if err != nil {
			t.Error(err)
		}
	})
	acctest.Eventually(t, "the person's instance has its address", func() bool {
		return strings.Contains(acctest.On(t, "svc-1", "ip", "-4", "-br", "a"), "10.19.41.94/24")
	})
	look := func() string {
		return acctest.On(t, "svc-1", "sh", "-c", "ip -o -4 address show | awk '{ print $2, $4 }' | sort; cat /etc/keepalived/keepalived.conf")
	}
	before := look()
	for _, c := range []struct{ name, device, address, from, words string }{
		{"a person's file", "brlan", "10.19.41.78", "10.19.41.101", "10.19.41.78 is somebody's on root@10.0.100.101 already: /etc/systemd/network/10-eth1.network.d/person.conf, which this provider did not write, gives it to eth1"},
		{"a person's address", "brlan", "10.19.41.95", "10.19.41.101", "brlan has it, and nothing of this provider's put it there"},
		{"a person's instance", "brlan", "10.19.41.94", "10.19.41.101", "vrrp_instance P in /etc/keepalived/keepalived.conf has it, which this provider did not write"},
		{"another state's VIP", "brlan", "10.19.41.96", "10.19.41.101", "vrrp_instance other in /etc/keepalived/keepalived.conf has it, of another state"},
		{"another state's bridge", "brlan", "10.19.41.97", "10.19.41.101", "the bridge brlan has it, of another state"},
		{"another state's exposure", "brlan", "10.19.41.98", "10.19.41.101", `exposure "e" has it, of another state`},
		{"what another state drew", "brlan", "10.19.41.185", "10.19.41.101", `drawn from a pool for key "okd/api", of another state`},
		{"the address of SSH", "eth0", "10.0.100.101", "10.0.100.7", "Terraform reaches the machine at it"},
	} {
		t.Run(c.name, func(t *testing.T) {
			own := own.For(t)
			own.Write(acctest.Provider() + vipOf("mine", fmt.Sprintf("%q", c.device), c.address+"/24", c.from, 46))
			own.Refused([]string{"Taken already", c.words}, "plan")
		})
	}
	t.Run("an id that somebody has", func(t *testing.T) {
		own := own.For(t)
		for id, words := range map[int]string{9: "vrrp_instance P on brlan", 45: "vrrp_instance other on brlan"} {
			own.Write(acctest.Provider() + vipOf("mine", `"brlan"`, "10.19.41.99/24", "10.19.41.101", id))
			own.Refused([]string{fmt.Sprintf("%d is the virtual router id of %s", id, words), "set virtual_router_id to another number"}, "plan")
		}
	})
	t.Run("what somebody took after the plan", func(t *testing.T) {
		own := own.For(t)
		own.Write(acctest.Provider() + vipOf("mine", `"brlan"`, "10.19.41.93/24", "10.19.41.101", 46))
		own.Run("plan", "-out", "planned")
		acctest.On(t, "svc-1", "ip", "address", "add", "10.19.41.93/24", "dev", "brlan")
		own.Refused([]string{"brlan has it"}, "apply", "planned")
		acctest.On(t, "svc-1", "ip", "address", "del", "10.19.41.93/24", "dev", "brlan")
	})
	exposed := func(address string) string {
		return fmt.Sprintf("resource \"virtcluster_exposed_service\" \"mine\" {\n  service_node = %q\n  name = \"mine\"\n  type = \"load_balancer\"\n  address = %q\n  interface = \"brlan\"\n"+
			"  configure_address = true\n  targets = [\"10.0.100.102\"]\n  ports = { dns = { port = 54, target_port = 53, protocol = \"udp\" } }\n}\n", id, address)
	}
	for _, c := range []struct{ name, config, words string }{
		{"an exposure at a person's address", exposed("10.19.41.95"), "brlan has it, and nothing of this provider's put it there"},
		{"an exposure at another state's VIP's", exposed("10.19.41.96"), "vrrp_instance other in /etc/keepalived/keepalived.conf has it, of another state"},
		{"an exposure that keeps a VIP's address of the same plan", exposed("10.19.41.92") + vipOf("mine", `"brlan"`, "10.19.41.92/24", "10.19.41.101", 46), "puts 10.19.41.92 on ssh://root@10.0.100.101 too"},
		{"a bridge", fmt.Sprintf("resource \"virtcluster_external_bridge\" \"mine\" {\n  host = %q\n  name = \"brmine\"\n  interfaces = [{ interface = \"eth0\" }]\n  addresses = [\"10.0.100.101/24\", \"10.19.41.96/24\"]\n  backend = \"runtime\"\n}\n", id),
			"10.19.41.96 is somebody's on root@10.0.100.101 already: vrrp_instance other"},
	} {
		t.Run(c.name, func(t *testing.T) {
			own := own.For(t)
			own.Write(acctest.Provider() + c.config)
			own.Refused([]string{c.words}, "plan")
		})
	}
	if after := look(); after != before {
		t.Errorf("what others have is not as it was:\n%s\nbefore:\n%s", after, before)
	}
	other.Settled()
	// An instance that has a VIP's address too takes it along when it goes, and keepalived does not notice. Then nobody holds it.
	acctest.On(t, "svc-1", "sh", "-c", `cp -p /etc/keepalived/keepalived.conf /root/keepalived.conf
printf '\nvrrp_instance Q {\n  interface brlan\n  virtual_router_id 8\n  priority 10\n  virtual_ipaddress {\n    10.19.41.96/24\n  }\n}\n' >>/etc/keepalived/keepalived.conf
systemctl reload keepalived; sleep 6
mv /root/keepalived.conf /etc/keepalived/keepalived.conf; systemctl reload keepalived`)
	holds := func() bool { return strings.Contains(acctest.On(t, "svc-1", "ip", "-4", "-br", "a"), "10.19.41.96/24") }
	acctest.Eventually(t, "nobody holds the address", func() bool { return !holds() })
	if out := other.Run("apply", "-auto-approve"); !strings.Contains(out, "Nobody holds the addresses") || !strings.Contains(out, "1 changed") || !holds() {
		t.Errorf("the address, which is held: %t, was not taken again by\n%s", holds(), out)
	}
	other.Settled()
}
