package addressuse

import (
	"fmt"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
)

// tree makes files of paths and contents by turns.
func tree(texts ...string) map[string]host.File {
	files := map[string]host.File{}
	for i := 0; i < len(texts); i += 2 {
		files[texts[i]] = host.File{Path: texts[i], Content: []byte(texts[i+1])}
	}
	return files
}

// assigned is what the first file gives to devices: "10.0.0.1 eth0,en*".
func assigned(texts ...string) string {
	var all []string
	for _, a := range parseAssignments(texts[0], tree(texts...)) {
		all = append(all, fmt.Sprintf("%s %s", a.address, strings.Join(a.devices, ",")))
	}
	return strings.Join(all, "; ")
}

func TestAddressesOfNetworkConfiguration(t *testing.T) {
	for name, c := range map[string]struct {
		files []string
		want  string
	}{
		"systemd-networkd": {[]string{"/etc/systemd/network/10-eth1.network", "[Match]\nName=eth1 en*\n[Network]\n# Address=10.0.0.9/24\nAddress=10.0.0.1/24\nGateway=10.0.0.254\nDNS=10.0.0.53\n[Address]\nAddress = fd00::1/64\n[Route]\nAddress=10.9.9.9\n"},
			"10.0.0.1 eth1,en*; fd00::1 eth1,en*"},
		"what is added to a file of systemd-networkd's": {[]string{"/etc/systemd/network/10-eth1.network.d/person.conf", "[Network]\nAddress=10.0.0.1/24\n", "/etc/systemd/network/10-eth1.network", "[Match]\nName=eth1\n"}, "10.0.0.1 eth1"},
		"one that is added below /run":                  {[]string{"/run/systemd/network/10-eth1.network.d/x.conf", "[Network]\nAddress=10.0.0.1/24\n", "/etc/systemd/network/10-eth1.network", "[Match]\nMACAddress=02:00:00:00:00:01\n"}, "10.0.0.1 02:00:00:00:00:01"},
		"one that gives way to another":                 {[]string{"/run/systemd/network/10-eth1.network", "[Match]\nName=eth1\n[Network]\nAddress=10.0.0.1/24\n", "/etc/systemd/network/10-eth1.network", ""}, ""},
		"this provider's connection":                    {[]string{"/etc/NetworkManager/system-connections/virtcluster-br0.nmconnection", "[connection]\ninterface-name=br0\n[ipv4]\naddress1=10.0.0.1/24\n[user]\nvirtcluster.mark=virtcluster owner=abc workspace=def\n"}, ""},
		"this provider's":                               {[]string{"/etc/systemd/network/00-virtcluster-br0.network", "# virtcluster owner=abc workspace=def\n[Match]\nName=br0\n[Network]\nAddress=10.0.0.1/24\n"}, ""},
		"netplan":                                       {[]string{"/etc/netplan/01.yaml", "network:\n  version: 2\n  ethernets:\n    eth1:\n      addresses: [10.0.0.1/24, \"fd00::1/64\"]\n      nameservers: {addresses: [10.0.0.53]}\n"}, "10.0.0.1 eth1; fd00::1 eth1"},
		"netplan with options and a match":              {[]string{"/etc/netplan/01.yaml", "network:\n  bridges:\n    lan:\n      match: {macaddress: \"02:00:00:00:00:01\"}\n      set-name: br0\n      addresses:\n        - 10.0.0.1/24: {label: maas}\n"}, "10.0.0.1 lan,02:00:00:00:00:01,br0"},
		"netplan of more aliases than are followed":     {[]string{"/etc/netplan/01.yaml", strings.Repeat("# *a\n", 21) + "network: {ethernets: {eth1: {addresses: [10.0.0.1/24]}}}\n"}, "10.0.0.1 "},
		"netplan that cannot be read":                   {[]string{"/etc/netplan/01.yaml", "network: [\n"}, ""},
		"what netplan renders":                          {[]string{"/run/systemd/network/10-netplan-eth1.network", "[Match]\nName=eth1\n[Network]\nAddress=10.0.0.1/24\n"}, ""},
		"NetworkManager":                                {[]string{"/etc/NetworkManager/system-connections/lan.nmconnection", "[connection]\nid=lan\ninterface-name=eth1\n[ipv4]\nmethod=manual\naddress1=10.0.0.1/24,10.0.0.254\naddress2=10.0.0.2/24\ndns=10.0.0.53;\n[ipv6]\naddress1=fd00::1/64\n"}, "10.0.0.1 eth1; 10.0.0.2 eth1; fd00::1 eth1"},
		"a connection for what is there":                {[]string{"/run/NetworkManager/system-connections/eth1.nmconnection", "[connection]\ninterface-name=eth1\n[ipv4]\naddress1=10.0.0.1/24\n[.nmmeta]\nnm-generated=true\n"}, ""},
		"ifupdown":                                      {[]string{"/etc/network/interfaces", "auto eth1\niface eth1 inet static\n  address 10.0.0.1/24\n  gateway 10.0.0.254\n# address 10.0.0.9\niface eth1:1 inet static\n  address 10.0.0.2\n  netmask 255.255.255.0\n"}, "10.0.0.1 eth1; 10.0.0.2 eth1"},
		"commands of ifupdown": {[]string{"/etc/network/interfaces.d/x", "iface eth1 inet manual\n  up ip addr add 10.0.0.1/24 dev $IFACE\n  post-up /sbin/ip -6 address replace fd00::1/64 dev eth2 || :\n  up ip route add default via 10.0.0.254\n  down ip addr del 10.0.0.7/24 dev eth1\n"},
			"10.0.0.1 eth1; fd00::1 eth2"},
		"network scripts":    {[]string{"/etc/sysconfig/network-scripts/ifcfg-eth1", "DEVICE=\"eth1\"\nIPADDR=10.0.0.1\nPREFIX=24\nIPADDR2=\"10.0.0.2\"\nIPV6ADDR_SECONDARIES=\"fd00::1/64 fd00::2/64\"\nGATEWAY=10.0.0.254\n"}, "10.0.0.1 eth1; 10.0.0.2 eth1; fd00::1 eth1; fd00::2 eth1"},
		"any other file":     {[]string{"/etc/keepalived/keepalived.conf", "virtual_ipaddress {\n10.0.0.1\n}\n"}, ""},
		"no addresses there": {[]string{"/etc/systemd/network/10-eth1.network", "[Match]\nName=eth1\n[Network]\nDHCP=yes\nAddress=\n"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := assigned(c.files...); got != c.want {
				t.Errorf("%q, not %q", got, c.want)
			}
		})
	}
}

// What people and programs write is read, whatever it is.
func FuzzAssignments(f *testing.F) {
	f.Add("[Match]\nName=eth1\n[Network]\nAddress=10.0.0.1/24\n")
	f.Add("network:\n  ethernets:\n    eth1:\n      addresses: [10.0.0.1/24, {10.0.0.2/24: {label: x}}]\n")
	f.Add("[ipv4]\naddress1=10.0.0.1/24,10.0.0.254\n")
	f.Add("iface eth1 inet static\n  address 10.0.0.1/24\n  up ip addr add 10.0.0.2 dev\n")
	f.Add("IPADDR=\"10.0.0.1\"\n")
	f.Fuzz(func(t *testing.T, text string) {
		for _, file := range []string{
			"/etc/systemd/network/x.network", "/run/systemd/network/x.network.d/y.conf", "/etc/netplan/x.yaml", "/etc/NetworkManager/system-connections/x", "/etc/network/interfaces",
			"/etc/sysconfig/network-scripts/ifcfg-x",
		} {
			for _, a := range parseAssignments(file, tree(file, text)) {
				if !a.address.IsValid() || !strings.Contains(text, a.address.WithZone("").String()) && a.address.Is4() {
					t.Errorf("%s has %v", file, a)
				}
			}
		}
	})
}

func FuzzRecorded(f *testing.F) {
	f.Add(`{"owner":"owner=a workspace=b","address":"10.0.0.1","configure_address":true}`)
	f.Add(`{"drawn":{"k":{"ip":"10.0.0.1","owner":"owner=a"}}}`)
	f.Add(`{"mark":"owner=a","addresses":["10.0.0.1/24"],"inherit":true,"before":[{"name":"eth1","settings":[{"object":"addr","text":"10.0.0.2/24"}]}]}`)
	f.Fuzz(func(_ *testing.T, text string) {
		for _, file := range []string{exposures + "/x.json", pools + "/x.json", "/run/virtcluster/bridge-x.json", "/var/lib/virtcluster/hostnet/interface-x.json"} {
			parseRecord(file, []byte(text))
		}
	})
}
