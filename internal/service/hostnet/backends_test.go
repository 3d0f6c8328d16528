package hostnet

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/hosttest"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
)

var (
	mark   = owner.Mark{ID: "me", Workspace: "here"}
	bridge = Device{
		Name: "br0", Bridge: &BridgeOptions{MAC: "52:54:00:00:00:01"}, MTU: 1400,
		Addressing: Addressing{
			Addresses: []netip.Prefix{netip.MustParsePrefix("10.19.41.10/24"), netip.MustParsePrefix("2001:db8::10/64")},
			Gateways:  []netip.Addr{netip.MustParseAddr("10.19.41.254")}, Metric: 50,
			Routes:      []StaticRoute{{To: netip.MustParsePrefix("10.77.0.0/16"), Via: netip.MustParseAddr("10.19.41.253")}},
			Nameservers: []netip.Addr{netip.MustParseAddr("10.0.0.100")}, Search: []string{"okd.example"},
		},
	}
	port = Device{Name: "eno1", Master: "br0", MTU: 1400}
)

func TestARouteToOneMachineIsTheOneThatIPTells(t *testing.T) {
	for dst, to := range map[string]string{"10.88.0.0": "10.88.0.0/32", "2001:db8::1": "2001:db8::1/128", "10.88.0.0/16": "10.88.0.0/16", "default": "0.0.0.0/0"} {
		t.Run(dst, func(t *testing.T) {
			t.Parallel()
			want, live := RouteSetting(netip.MustParsePrefix(to), netip.MustParseAddr("10.19.41.253"), 0), Route{Dst: dst, Gateway: "10.19.41.253"}.Setting()
			if !want.Same(live) {
				t.Errorf("%v is not %v", want, live)
			}
		})
	}
}

// networkd gives a bridge that is there no other settings than it was made with.
func TestABridgeThatStaysFollowsItsSettings(t *testing.T) {
	made := func(stp bool) Desired {
		return Desired{Devices: []Device{{Name: "br0", Bridge: &BridgeOptions{STP: stp}}}}
	}
	if got := Backends[Networkd].Switch(made(true), made(false)); !strings.Contains(got, "ip link set dev br0 type bridge stp_state 0 forward_delay 200") {
		t.Errorf("the script is\n%s", got)
	}
	if got := Backends[Networkd].Switch(Desired{}, made(true)); strings.Contains(got, "stp_state") {
		t.Errorf("of a new one it is\n%s", got)
	}
}

func TestEachBackendRendersABridgeAndItsPort(t *testing.T) {
	for name, c := range map[string]struct{ got, want string }{
		"networkd bridge": {renderNetwork(bridge, mark), `# virtcluster owner=me workspace=here
[Match]
Name=br0

[Link]
MTUBytes=1400

[Network]
KeepConfiguration=static
Address=10.19.41.10/24
Address=2001:db8::10/64
DNS=10.0.0.100
Domains=okd.example

[Route]
Gateway=10.19.41.254
Metric=50

[Route]
Destination=10.77.0.0/16
Gateway=10.19.41.253
`},
		"networkd port": {renderNetwork(port, mark), "# virtcluster owner=me workspace=here\n[Match]\nName=eno1\n\n[Link]\nMTUBytes=1400\n\n[Network]\nBridge=br0\nLinkLocalAddressing=no\nIPv6AcceptRA=no\n"},
		"NetworkManager bridge": {renderConnection(bridge, mark), `[connection]
id=virtcluster-br0
uuid=` + connectionUUID("br0") + `
type=bridge
interface-name=br0
autoconnect-priority=900
autoconnect-slaves=1

[ethernet]
cloned-mac-address=52:54:00:00:00:01
mtu=1400

[bridge]
stp=false
forward-delay=2

[ipv4]
method=manual
address1=10.19.41.10/24
dns=10.0.0.100;
dns-search=okd.example;
route1=0.0.0.0/0,10.19.41.254,50
route2=10.77.0.0/16,10.19.41.253

[ipv6]
method=manual
address1=2001:db8::10/64
dns-search=okd.example;

[user]
virtcluster.mark=virtcluster owner=me workspace=here
`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(c.want, c.got); diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
		})
	}
	text := netplan{}.renderYAML([]Device{bridge, port})
	if diff := cmp.Diff(`network:
  version: 2
  ethernets:
    00virtcluster-eno1:
      renderer: networkd
      match:
        name: eno1
      mtu: 1400
      link-local: []
      accept-ra: false
  bridges:
    br0:
      renderer: networkd
      macaddress: 52:54:00:00:00:01
      interfaces:
        - 00virtcluster-eno1
      parameters:
        stp: false
        forward-delay: 2
      mtu: 1400
      dhcp4: false
      addresses:
        - 10.19.41.10/24
        - 2001:db8::10/64
      routes:
        - to: 0.0.0.0/0
          via: 10.19.41.254
          metric: 50
        - to: 10.77.0.0/16
          via: 10.19.41.253
      nameservers:
        search:
          - okd.example
        addresses:
          - 10.0.0.100
`, text); diff != "" {
		t.Errorf("netplan: %s", diff)
	}
	stanza := renderStanza(bridge, Desired{Devices: []Device{bridge, port}, Mark: mark})
	for _, want := range []string{"auto br0\niface br0 inet manual\n", "up ip addr replace 10.19.41.10/24 dev br0\n", "up ip route replace default via 10.19.41.254 metric 50 dev br0\n", "dns-nameservers 10.0.0.100\n"} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			if !strings.Contains(stanza, want) {
				t.Errorf("no %q in\n%s", want, stanza)
			}
		})
	}
}

const interfaces = `# The loopback network interface
source /etc/network/interfaces.d/*
auto lo eth1
allow-hotplug eth0
iface lo inet loopback

iface eth1 inet static
    address 10.19.41.101/24
    # a word on this
    gateway 10.19.41.254

iface eth0 inet dhcp
`

func TestCommentedStanzasComeBackByteForByte(t *testing.T) {
	out := commentOut(interfaces, "eth1")
	for _, gone := range []string{"\nauto lo eth1\n", "\niface eth1", "\n    address"} {
		t.Run(gone, func(t *testing.T) {
			t.Parallel()
			if strings.Contains(out, gone) {
				t.Errorf("%q still counts in\n%s", gone, out)
			}
		})
	}
	for _, stays := range []string{"\nauto lo\n", "\niface lo inet loopback\n", "\niface eth0 inet dhcp\n", "allow-hotplug eth0\n"} {
		t.Run(stays, func(t *testing.T) {
			t.Parallel()
			if !strings.Contains(out, stays) {
				t.Errorf("%q is gone from\n%s", stays, out)
			}
		})
	}
	if diff := cmp.Diff(interfaces, bringBack(out, "eth1")); diff != "" {
		t.Error(diff)
	}
	rapid.Check(t, func(t *rapid.T) {
		lines := rapid.SliceOf(rapid.SampledFrom(strings.SplitAfter(interfaces, "\n"))).Draw(t, "lines")
		text := strings.Join(lines, "")
		device := rapid.SampledFrom([]string{"eth0", "eth1", "lo"}).Draw(t, "device")
		if back := bringBack(commentOut(text, device), device); back != text {
			t.Fatalf("%q came back as %q", text, back)
		}
	})
}

// Devices of one line are commented out, and come back, in any order, by one resource or several.
func TestDevicesOfOneLineComeBackByteForByte(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		lines := rapid.SliceOf(rapid.SampledFrom(append(strings.SplitAfter(interfaces, "\n"), "auto eth0 eth1\n", "auto eth1 lo eth0:1 eth0\n"))).Draw(t, "lines")
		text := strings.Join(lines, "")
		devices := []string{"eth0", "eth1", "lo"}
		out := text
		for _, device := range rapid.Permutation(devices).Draw(t, "taken") {
			out = commentOut(out, device)
		}
		again := out
		for _, device := range rapid.Permutation(devices).Draw(t, "again") {
			again = commentOut(bringBack(again, device), device)
		}
		for _, device := range rapid.Permutation(devices).Draw(t, "given back") {
			out, again = bringBack(out, device), bringBack(again, device)
		}
		if out != text || again != text {
			t.Fatalf("%q came back as %q, and as %q", text, out, again)
		}
	})
}

func TestBridgeIsKnownToDHCPByItsHardwareAddress(t *testing.T) {
	leased := Device{Name: "br0", Bridge: &BridgeOptions{MAC: "52:54:00:00:00:01"}, Addressing: Addressing{DHCP: true, Metric: 50}}
	if text := renderNetwork(leased, mark); !strings.Contains(text, "DHCP=ipv4\n") || !strings.Contains(text, "\n[DHCPv4]\nClientIdentifier=mac\nRouteMetric=50\n") {
		t.Errorf("systemd-networkd:\n%s", text)
	}
	text := netplan{}.renderYAML([]Device{leased})
	if !strings.Contains(text, "dhcp4: true\n      dhcp-identifier: mac\n") {
		t.Errorf("netplan:\n%s", text)
	}
	// An interface has the lease of who asked for it before.
	leased.Bridge, leased.Metric = nil, 0
	if text := renderNetwork(leased, mark); strings.Contains(text, "[DHCPv4]") {
		t.Errorf("an interface:\n%s", text)
	}
}

// NetworkManager refuses a connection with name servers of a family without addresses.
func TestNetworkManagerGetsNoNameServersOfAFamilyWithoutAddresses(t *testing.T) {
	t.Parallel()
	four, six := netip.MustParseAddr("10.0.0.100"), netip.MustParseAddr("2001:db8::53")
	both := []netip.Addr{four, six}
	lan := []netip.Prefix{netip.MustParsePrefix("10.19.41.10/24")}
	for name, c := range map[string]struct {
		has     Addressing
		written []netip.Addr
		refused string
	}{
		"addresses of one": {Addressing{Addresses: lan, Nameservers: both}, both[:1], "2001:db8::53"},
		"none at all":      {Addressing{Nameservers: both[:1]}, nil, "10.0.0.100"},
		"a lease":          {Addressing{DHCP: true, Nameservers: both}, both, ""},
		"routers":          {Addressing{Addresses: lan, AcceptRA: true, Nameservers: both}, both, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := renderConnection(Device{Name: "eth1", Addressing: c.has}, mark)
			for _, a := range both {
				if want := slices.Contains(c.written, a); strings.Contains(text, "dns="+a.String()+";\n") != want {
					t.Errorf("of %s, which shall be there %t, there is\n%s", a, want, text)
				}
			}
			err := c.has.CheckNameservers(NetworkManager)
			if (err != nil) != (c.refused != "") || err != nil && !strings.Contains(err.Error(), c.refused) {
				t.Errorf("it is refused with %v", err)
			}
			if err := c.has.CheckNameservers(Networkd); err != nil {
				t.Errorf("systemd-networkd refuses it with %v", err)
			}
		})
	}
}

// A connection of a release before this one has its mark in a comment.
func TestTheMarkOfAConnectionIsReadInEitherPlace(t *testing.T) {
	t.Parallel()
	text := renderConnection(port, mark)
	for name, text := range map[string]string{"as written": text, "in a comment": "# virtcluster " + mark.String() + "\n[connection]\n"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := owner.Parse(text); got != mark || name != "in a comment" && strings.Contains(text, "#") {
				t.Errorf("%+v is the mark of\n%s", got, text)
			}
		})
	}
}

// A gateway that is in no subnet of the device stays reachable, whoever keeps the route.
func TestEachBackendKeepsAGatewayOutsideTheSubnet(t *testing.T) {
	t.Parallel()
	m, err := ParseMachine([]byte(`[{"ifname":"eth0"}]`), []byte(`[{"dst":"default","gateway":"172.31.1.1","dev":"eth0","flags":["onlink"]}]`), nil)
	if err != nil {
		t.Fatal(err)
	}
	d := Device{Name: "eth0", Addressing: m.Addressing("eth0")}
	for name, c := range map[string]struct{ text, want string }{
		Networkd:       {renderNetwork(d, mark), "[Route]\nGateway=172.31.1.1\nGatewayOnLink=yes\n"},
		NetworkManager: {renderConnection(d, mark), "route1=0.0.0.0/0,172.31.1.1\nroute1_options=onlink=true\n"},
		Netplan:        {netplan{}.renderYAML([]Device{d}), "via: 172.31.1.1\n          on-link: true\n"},
		Ifupdown:       {renderStanza(d, Desired{Devices: []Device{d}}), "up ip route replace default via 172.31.1.1 onlink dev eth0\n"},
		"the record":   {string(Record[Addressing]{Want: d.Addressing}.Render()), `"OnLink": true`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if !strings.Contains(c.text, c.want) {
				t.Errorf("no %q in\n%s", c.want, c.text)
			}
		})
	}
}

// members are a bridge on a VLAN and a bond of two interfaces.
var members = []Device{
	{Name: "br0", Bridge: &BridgeOptions{MAC: "52:54:00:00:00:01", VLANFiltering: true}},
	{Name: "bond0", Bond: &BondOptions{Mode: "active-backup", MAC: "52:54:00:00:00:02"}, Master: "br0"},
	{Name: "eth0.10", VLAN: &VLANOptions{Parent: "eth0", ID: 10, Manager: Manager{Backend: Networkd, File: "/etc/systemd/network/10-eth0.network"}}, Master: "br0"},
	{Name: "eth1", Master: "bond0", InBond: true},
}

func TestEachBackendRendersVLANsAndBonds(t *testing.T) {
	files, err := renderFiles(t.Context(), nil, networkd{}, Desired{}, Desired{Devices: members, Mark: mark})
	if err != nil {
		t.Fatal(err)
	}
	has := func(what, text string, wants ...string) {
		t.Helper()
		for _, want := range wants {
			if !strings.Contains(text, want) {
				t.Errorf("%s: no %q in\n%s", what, want, text)
			}
		}
	}
	byPath := map[string]string{}
	for _, f := range files {
		byPath[f.Path] = f.Content
	}
	has("networkd bridge", byPath["/etc/systemd/network/00-virtcluster-br0.netdev"], "VLANFiltering=yes\n")
	has("networkd bond", byPath["/etc/systemd/network/00-virtcluster-bond0.netdev"], "Kind=bond\nMACAddress=52:54:00:00:00:02\n", "[Bond]\nMode=active-backup\n")
	has("networkd VLAN", byPath["/etc/systemd/network/00-virtcluster-eth0.10.netdev"], "Kind=vlan\n", "[VLAN]\nId=10\n")
	has("networkd parent", byPath["/etc/systemd/network/10-eth0.network.d/virtcluster-eth0.10.conf"], "[Network]\nVLAN=eth0.10\n")
	has("networkd slave", byPath["/etc/systemd/network/00-virtcluster-eth1.network"], "Bond=bond0\n")
	has("NetworkManager bridge", renderConnection(members[0], mark), "vlan-filtering=true\n")
	has("NetworkManager bond", renderConnection(members[1], mark), "type=bond\n", "master=br0\nslave-type=bridge\n", "[bond]\nmode=active-backup\n")
	has("NetworkManager VLAN", renderConnection(members[2], mark), "type=vlan\n", "[vlan]\nparent=eth0\nid=10\n")
	has("NetworkManager slave", renderConnection(members[3], mark), "master=bond0\nslave-type=bond\n")
	has("ifupdown", renderStanza(members[0], Desired{Devices: members, Mark: mark}), "vlan_filtering 1\n", "type bond mode active-backup", "ip link add link eth0 name eth0.10 type vlan id 10\n", "ip link set dev eth1 down\n  pre-up ip link set dev eth1 master bond0\n  pre-up ip link set dev eth1 up\n")
	if _, err := renderFiles(t.Context(), nil, netplan{}, Desired{}, Desired{Devices: members, Mark: mark}); err == nil || !strings.Contains(err.Error(), "VLAN filtering") {
		t.Errorf("netplan takes VLAN filtering: %v", err)
	}
	members := append([]Device{{Name: "br0", Bridge: &BridgeOptions{MAC: "52:54:00:00:00:01"}}}, members[1:]...)
	text := netplan{}.renderYAML(members)
	has("netplan", text, "  bonds:\n    bond0:\n", "mode: active-backup\n", "  vlans:\n    eth0.10:\n      renderer: networkd\n      id: 10\n      link: eth0\n", "interfaces:\n        - bond0\n        - eth0.10\n")
}

// The file that counts for a device names what a person's files make on it, or that is gone at the next start.
func TestWhatIsMadeOnADeviceIsNamedByTheFileThatCounts(t *testing.T) {
	t.Parallel()
	m := Machine{Links: []Link{{Name: "eth0"}, {Name: "eth0.10", Lower: "eth0"}, {Name: "vx7"}, {Name: "tap0", Lower: "eth0"}}}
	m.Links[1].LinkInfo.Kind, m.Links[2].LinkInfo.Kind, m.Links[3].LinkInfo.Kind = "vlan", "vxlan", "veth"
	m.Links[2].LinkInfo.Data.Link = "eth0"
	for name, c := range map[string]struct {
		device Device
		files  map[string]string
	}{
		"alone":       {Device{Name: "eth0"}, map[string]string{Networkd: "/etc/systemd/network/00-virtcluster-eth0.network", Netplan: "/etc/systemd/network/10-netplan-00virtcluster-eth0.network.d/virtcluster.conf"}},
		"in a bridge": {Device{Name: "eth0", Master: "br0"}, map[string]string{Networkd: "/etc/systemd/network/00-virtcluster-eth0.network", Netplan: "/etc/systemd/network/10-netplan-00virtcluster-eth0.network.d/virtcluster.conf"}},
	} {
		for backend, path := range c.files {
			t.Run(name+" by "+backend, func(t *testing.T) {
				t.Parallel()
				change, err := m.Follow(t.Context(), nil, Desired{}, Desired{Backend: backend, Devices: []Device{c.device}})
				i := slices.IndexFunc(change.Files, func(f File) bool { return f.Path == path })
				if err != nil || i < 0 || !strings.Contains(change.Files[i].Content, "VLAN=eth0.10\nVXLAN=vx7\n") || strings.Contains(change.Files[i].Content, "tap0") {
					t.Errorf("%v: the files are %+v", err, change.Files)
				}
			})
		}
	}
}

// The file beside that of a VLAN's parent goes to the one that counts for the parent now.
func TestTheFileOfAVLANFollowsThatOfItsParent(t *testing.T) {
	t.Parallel()
	beside := func(file string) Desired {
		return Desired{Backend: Networkd, Devices: []Device{{Name: "eth0.10", VLAN: &VLANOptions{Parent: "eth0", ID: 10, Manager: Manager{File: "/etc/systemd/network/" + file}}}}}
	}
	files, err := renderFiles(t.Context(), nil, networkd{}, beside("10-eth0.network"), beside("00-virtcluster-eth0.network"))
	if err != nil {
		t.Fatal(err)
	}
	for path, absent := range map[string]bool{"10-eth0.network": true, "00-virtcluster-eth0.network": false} {
		t.Run(path, func(t *testing.T) {
			if !slices.ContainsFunc(files, func(f File) bool {
				return f.Path == "/etc/systemd/network/"+path+".d/virtcluster-eth0.10.conf" && f.Absent == absent
			}) {
				t.Errorf("the files are %+v", files)
			}
		})
	}
	if text := Backends[Networkd].Switch(beside("10-eth0.network"), beside("00-virtcluster-eth0.network")); !strings.Contains(text, "rmdir /etc/systemd/network/10-eth0.network.d ") {
		t.Errorf("the script is\n%s", text)
	}
}

func TestAVLANIsKeptByTheFileThatCountsForItsParent(t *testing.T) {
	t.Parallel()
	v := VLANOptions{Parent: "eth0", ID: 10}
	h := hosttest.New(
		host.File{Path: "/etc/systemd/network/10-lan.network", Content: []byte("[Network]\nVLAN=eth0.10\n")},
		host.File{Path: "/etc/systemd/network/20-lan.network", Content: []byte("[Network]\nVLAN=eth0.100\n")},
		host.File{Path: "/etc/systemd/network/10-netplan-eth0.network.d/virtcluster-eth0.10.conf", Content: []byte("[Network]\nVLAN=eth0.10\n")},
	)
	for file, want := range map[string]bool{"/etc/systemd/network/10-lan.network": true, "/etc/systemd/network/20-lan.network": false, "/run/systemd/network/10-netplan-eth0.network": true, "": true} {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			kept, err := v.IsKept(t.Context(), h, Managers{Devices: map[string]Manager{"eth0": {Backend: Networkd, File: file}}}, "eth0.10")
			if err != nil || kept != want {
				t.Errorf("%t, %v", kept, err)
			}
		})
	}
}

// A port that is let go of has a carrier anew, upon which networkd puts it back into the bridge by the file that it read before.
func TestNetworkdLetsGoOfAPortOnceItHasReadItsFiles(t *testing.T) {
	t.Parallel()
	in := func(port string) Desired {
		return Desired{Devices: []Device{{Name: "br0", Bridge: &BridgeOptions{}}, {Name: port, Master: "br0"}}}
	}
	script := Backends[Networkd].Switch(in("eth1"), in("eth2"))
	_, after, read := strings.Cut(script, "\nreload_networkd br0 eth2 eth1\n")
	if !read || !strings.HasPrefix(script, "note_others br0 eth2 eth1\n") || !strings.HasPrefix(after, "ip link set dev eth1 nomaster 2>/dev/null || :\n") {
		t.Errorf("the script is\n%s", script)
	}
}

// A second order takes the address back that an answer of DHCP's to the first one gave, and systemd-networkd 252 never gives it again.
func TestNetworkdIsToldOnceToFollow(t *testing.T) {
	leased := Desired{Devices: []Device{{Name: "eth1", Addressing: Addressing{DHCP: true}}, {Name: "eth2", Master: "br0"}}}
	for _, name := range []string{Networkd, Netplan} {
		t.Run(name, func(t *testing.T) {
			for what, script := range map[string]string{"to": Backends[name].Switch(Desired{}, leased), "from": Backends[name].Switch(leased, Desired{}), "again": Backends[name].Switch(leased, leased)} {
				if strings.Count(script, "reload_networkd eth1 eth2\n") != 1 || strings.Contains(script, "\nnetworkctl reconfigure") {
					t.Errorf("%s, %s:\n%s", name, what, script)
				}
			}
		})
	}
}
