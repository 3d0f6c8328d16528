package hostnet

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
)

var (
	mark  = owner.Mark{ID: "me", Workspace: "here"}
	setup = Setup{
		Device: "br0", Bridge: &BridgeOptions{MAC: "52:54:00:00:00:01"}, MTU: 1400,
		Addressing: Addressing{
			Addresses: []netip.Prefix{netip.MustParsePrefix("10.19.41.10/24"), netip.MustParsePrefix("2001:db8::10/64")},
			Gateways:  []netip.Addr{netip.MustParseAddr("10.19.41.254")}, Metric: 50,
			Routes:      []StaticRoute{{To: netip.MustParsePrefix("10.77.0.0/16"), Via: netip.MustParseAddr("10.19.41.253")}},
			Nameservers: []netip.Addr{netip.MustParseAddr("10.0.0.100")}, Search: []string{"okd.example"},
		},
	}
	port = Setup{Device: "eno1", Master: "br0", MTU: 1400}
)

func TestEachBackendRendersABridgeAndItsPort(t *testing.T) {
	for name, c := range map[string]struct{ got, want string }{
		"networkd bridge": {renderNetwork(setup, mark), `# virtcluster owner=me workspace=here
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
		"NetworkManager bridge": {renderConnection(setup, mark), `# virtcluster owner=me workspace=here
[connection]
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
`},
	} {
		if diff := cmp.Diff(c.want, c.got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	stanza := renderStanza(setup, mark)
	for _, want := range []string{"auto br0\niface br0 inet manual\n", "up ip addr replace 10.19.41.10/24 dev br0\n", "up ip route replace default via 10.19.41.254 metric 50 dev br0\n", "dns-nameservers 10.0.0.100\n"} {
		if !strings.Contains(stanza, want) {
			t.Errorf("no %q in\n%s", want, stanza)
		}
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
		if strings.Contains(out, gone) {
			t.Errorf("%q still counts in\n%s", gone, out)
		}
	}
	for _, stays := range []string{"\nauto lo\n", "\niface lo inet loopback\n", "\niface eth0 inet dhcp\n", "allow-hotplug eth0\n"} {
		if !strings.Contains(out, stays) {
			t.Errorf("%q is gone from\n%s", stays, out)
		}
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

func TestManagersAreToldApart(t *testing.T) {
	m, err := parseManagers(`== networkmanager
lo:connected (externally):01e47437-05da-43df-9e01-8b4a2c77adf0
eth0:unmanaged:
eth1:connected:11111111-2222-3333-4444-555555555555
== systemd-networkd
{"Interfaces":[{"Name":"lo","AdministrativeState":"unmanaged"},{"Name":"eth0","AdministrativeState":"configured","NetworkFile":"/etc/systemd/network/10-eth0.network"},{"Name":"eth2","AdministrativeState":"configured","NetworkFile":"/run/systemd/network/10-netplan-eth2.network"}]}

== ifupdown
eth1
`)
	if err != nil {
		t.Fatal(err)
	}
	for device, want := range map[string]Manager{
		"lo":   {Backend: Runtime},
		"eth0": {Backend: Networkd, File: "/etc/systemd/network/10-eth0.network"},
		"eth1": {Backend: NetworkManager, Connection: "11111111-2222-3333-4444-555555555555", Others: []string{Ifupdown}},
		"eth2": {Backend: Netplan, File: "/run/systemd/network/10-netplan-eth2.network"},
	} {
		if diff := cmp.Diff(want, m.Of(device)); diff != "" {
			t.Errorf("%s: %s", device, diff)
		}
	}
	if !m.Installed[Ifupdown] || m.Installed[Netplan] {
		t.Errorf("installed: %v", m.Installed)
	}
}
