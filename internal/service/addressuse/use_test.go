package addressuse

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/hostnet"
)

const links = `[
 {"ifname":"lo","address":"00:00:00:00:00:00","addr_info":[{"family":"inet","local":"127.0.0.1","prefixlen":8,"scope":"host"}]},
 {"ifname":"eth0","address":"02:00:00:00:00:00","addr_info":[{"family":"inet","local":"10.0.100.101","prefixlen":24,"scope":"global"}]},
 {"ifname":"eth1","address":"02:00:00:00:00:01","addr_info":[
   {"family":"inet","local":"10.19.41.101","prefixlen":24,"scope":"global"},
   {"family":"inet","local":"10.19.41.70","prefixlen":24,"scope":"global"},
   {"family":"inet","local":"10.19.41.71","prefixlen":32,"scope":"global"},
   {"family":"inet6","local":"fd00::70","prefixlen":64,"scope":"global"}]}]`

const (
	ours   = "owner=mine workspace=here"
	theirs = "owner=other workspace=there"
)

// used is a machine that has something of every kind.
func used(t *testing.T) Use {
	t.Helper()
	network, err := hostnet.ParseMachine([]byte(links), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	network.Reached = netip.MustParseAddr("10.0.100.101")
	return newUse("svc-1", network, tree(
		"/etc/systemd/network/10-lan.network", "[Match]\nMACAddress=02:00:00:00:00:01\n[Network]\nAddress=10.19.41.101/24\nAddress=10.19.41.60/24\n",
		"/etc/keepalived/keepalived.conf", `include conf.d/*.conf
static_ipaddress {
  10.19.41.61/24 dev eth1
}
vrrp_instance P {
  interface eth1
  virtual_router_id 9
  virtual_ipaddress {
    @svc-1 10.19.41.62/24 dev eth1
    10.19.41.70/24
  }
}

# Terraform virtcluster_vip "V" `+ours+`
vrrp_instance V {
  interface eth1
  virtual_router_id 10
  virtual_ipaddress {
    10.19.41.71/32
  }
  virtual_ipaddress_excluded {
    fd00::70/64
  }
}
`, "/etc/keepalived/conf.d/x.conf", "# Terraform virtcluster_vip \"W\" "+theirs+"\nvrrp_instance W {\n  virtual_ipaddress {\n    10.19.41.63\n  }\n}\n",
		"/etc/keepalived/keepalived.conf.bak", "vrrp_instance X {\n virtual_ipaddress {\n 10.19.41.69\n}\n}\n",
		exposures+"/e.json", `{"owner":"`+theirs+`","kind":"load_balancer","address":"10.19.41.64","interface":"eth1","configure_address":true}`,
		exposures+"/f.json", `{"owner":"`+theirs+`","kind":"load_balancer","address":"10.19.41.69"}`,
		pools+"/lan.json", `{"owner":"`+ours+`","drawn":{"okd/api":{"ip":"10.19.41.65","owner":"`+theirs+`"}}}`,
		"/var/lib/virtcluster/hostnet/bridge-br0.json", `{"mark":"`+theirs+`","want":{"Addresses":["10.19.41.66/24"],"Inherit":false},"before":[{"name":"eth2","settings":[{"address":"10.19.41.67/24","broadcast":"10.19.41.255"},{"route":{"To":"0.0.0.0/0","Via":"10.19.41.254"}}]}]}`,
		"/run/virtcluster/bridge-br1.json", `{"mark":"`+theirs+`","want":{"Inherit":true},"before":[{"name":"eth3","settings":[{"address":"10.19.41.68/24"}]}]}`,
		"/var/lib/virtcluster/hostnet/interface-eth4.json", `{"mark":"`+theirs+`","want":{"Addresses":["fd00::4/64"]},"before":[{"name":"eth4","settings":[]}]}`,
	))
}

func TestWhoHasAnAddress(t *testing.T) {
	u := used(t)
	claim := func(address string) Claim {
		return Claim{Address: netip.MustParseAddr(address), Suits: func(h Holder) bool { return h.Mark.ID == "mine" }}
	}
	for address, want := range map[string]string{
		"10.0.100.101": "eth0 has it, and nothing of this provider's put it there, and Terraform reaches the machine at it",
		"10.19.41.101": "/etc/systemd/network/10-lan.network, which this provider did not write, gives it to eth1",
		"10.19.41.60":  "/etc/systemd/network/10-lan.network",
		"10.19.41.61":  "/etc/keepalived/keepalived.conf has keepalived put it on a device",
		"10.19.41.62":  "vrrp_instance P in /etc/keepalived/keepalived.conf has it, which this provider did not write",
		"10.19.41.70":  "vrrp_instance P",
		"10.19.41.63":  "vrrp_instance W in /etc/keepalived/conf.d/x.conf has it, of another state (owner other)",
		"10.19.41.64":  `exposure "e" has it, of another state`,
		"10.19.41.65":  `drawn from a pool for key "okd/api", of another state`,
		"10.19.41.66":  "the bridge br0 has it, of another state",
		"10.19.41.67":  "eth2 had it, and gets it back",
		"10.19.41.68":  "the bridge br1 has it",
		"fd00::4":      "the interface eth4 has it",
		"127.0.0.1":    "lo has it",
		// The claimant's own, what nobody has, what only a copy of a file has, and what serves on somebody's address.
		"10.19.41.71": "", "fd00::70": "", "10.19.41.99": "", "10.19.41.69": "",
	} {
		t.Run(address, func(t *testing.T) {
			err := u.Refuse(claim(address))
			switch {
			case want == "" && err != nil:
				t.Error(err)
			case want != "" && (err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), address+" is somebody's on svc-1 already")):
				t.Errorf("%v does not say %q", err, want)
			}
		})
	}
}

// A configuration that keepalived would not read says nothing for sure, so nothing in it is anybody's to take.
func TestADamagedConfigurationOfKeepalivedKeepsItsAddresses(t *testing.T) {
	u := newUse("svc-1", hostnet.Machine{}, map[string]host.File{"/etc/keepalived/keepalived.conf": {Content: []byte("vrrp_instance X {\n virtual_ipaddress {\n 10.0.0.1/24\n")}})
	if err := u.Refuse(Claim{Address: netip.MustParseAddr("10.0.0.1"), Suits: func(h Holder) bool { return h.Mark.ID != "" }}); err == nil {
		t.Error("an address of it is nobody's")
	}
}

// A bridge has what its interfaces have, and what files give to them; and nothing of other devices, of keepalived, or of others.
func TestWhatADeviceMayHave(t *testing.T) {
	u := used(t)
	for address, free := range map[string]bool{
		"10.19.41.101": true, "10.19.41.60": true, "10.19.41.99": true, // its own, its file's, nobody's
		"10.0.100.101": false, "10.19.41.62": false, "10.19.41.70": false, "10.19.41.63": false, "10.19.41.64": false, "10.19.41.67": false,
		"10.19.41.66": true, // its record's
	} {
		t.Run(address, func(t *testing.T) {
			devices, mark := []string{"eth1", "br0"}, owner.Mark{}
			if address == "10.19.41.66" {
				mark = owner.Mark{ID: "other"}
			}
			err := u.refuseDevice(devices, mark, []netip.Prefix{netip.MustParsePrefix(address + "/24")})
			if (err == nil) != free {
				t.Errorf("it is free: %t, but: %v", free, err)
			}
		})
	}
	if !hasItself(u.Network, []string{"eth0", "eth1"}, netip.MustParseAddr("10.19.41.101")) || hasItself(u.Network, []string{"eth0"}, netip.MustParseAddr("10.19.41.101")) {
		t.Error("which device has an address is not told")
	}
}
