package hostnet

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/netip"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
)

// networkManager keeps devices by connections of NetworkManager, as keyfiles (nm-settings-keyfile(5)). A device's own connection
// stays as it is: the one of this provider has a higher priority, and the own one is brought up again when that is gone.
type networkManager struct{}

func (networkManager) Path(device string) string {
	return "/etc/NetworkManager/system-connections/virtcluster-" + device + ".nmconnection"
}

func (n networkManager) Files(_ context.Context, _ host.Host, from, to []Setup, mark owner.Mark) ([]File, error) {
	var files []File
	for _, s := range to {
		files = append(files, File{Path: n.Path(s.Device), Content: renderConnection(s, mark), Mode: 0o600})
	}
	for _, s := range removedSetups(from, to) {
		files = append(files, File{Path: n.Path(s.Device), Absent: true})
	}
	return files, nil
}

// connectionUUID is the same for a device at all times (RFC 9562, version 8).
func connectionUUID(device string) string {
	sum := sha256.Sum256([]byte("virtcluster connection of " + device))
	u := sum[:16]
	u[6], u[8] = u[6]&0x0f|0x80, u[8]&0x3f|0x80
	h := hex.EncodeToString(u)
	return strings.Join([]string{h[:8], h[8:12], h[12:16], h[16:20], h[20:]}, "-")
}

func renderConnection(s Setup, mark owner.Mark) string {
	var b strings.Builder
	kind, mac := "ethernet", ""
	switch {
	case s.Bridge != nil:
		kind, mac = "bridge", s.Bridge.MAC
	case s.VLAN != nil:
		kind = "vlan"
	case s.Bond != nil:
		kind, mac = "bond", s.Bond.MAC
	}
	fmt.Fprintf(&b, "# virtcluster %s\n[connection]\nid=virtcluster-%s\nuuid=%s\ntype=%s\ninterface-name=%[2]s\nautoconnect-priority=900\n", mark, s.Device, connectionUUID(s.Device), kind)
	if s.Master != "" {
		master := "bridge"
		if s.InBond {
			master = "bond"
		}
		fmt.Fprintf(&b, "master=%s\nslave-type=%s\n", s.Master, master)
	}
	if s.Bridge != nil || s.Bond != nil {
		b.WriteString("autoconnect-slaves=1\n")
	}
	b.WriteString("\n[ethernet]\n" + formatSetting("cloned-mac-address", mac))
	if s.MTU != 0 {
		fmt.Fprintf(&b, "mtu=%d\n", s.MTU)
	}
	switch {
	case s.Bridge != nil:
		fmt.Fprintf(&b, "\n[bridge]\nstp=%t\nforward-delay=%d\n", s.Bridge.STP, 2+13*toBit(s.Bridge.STP))
		if s.Bridge.VLANFiltering {
			b.WriteString("vlan-filtering=true\n")
		}
	case s.VLAN != nil:
		fmt.Fprintf(&b, "\n[vlan]\nparent=%s\nid=%d\nflags=1\n", s.VLAN.Parent, s.VLAN.ID)
	case s.Bond != nil:
		fmt.Fprintf(&b, "\n[bond]\nmode=%s\nmiimon=100\n", s.Bond.Mode)
	}
	if s.Master == "" {
		renderFamily(&b, s, "ipv4", "disabled", netip.Addr.Is4)
		renderFamily(&b, s, "ipv6", "link-local", netip.Addr.Is6)
	}
	return b.String()
}

// renderFamily writes the settings of one family; none is its method without any address.
func renderFamily(b *strings.Builder, s Setup, family, none string, is func(netip.Addr) bool) {
	var lines []string
	method := none
	for _, a := range s.Addresses {
		if is(a.Addr()) {
			method = "manual"
			lines = append(lines, fmt.Sprintf("address%d=%s", len(lines)+1, a))
		}
	}
	if s.DHCP || s.AcceptRA && family == "ipv6" {
		method = "auto" // for IPv6 that is router advertisements
	}
	var dns []string
	for _, a := range s.Nameservers {
		if is(a) {
			dns = append(dns, a.String())
		}
	}
	if len(dns) > 0 {
		lines = append(lines, "dns="+strings.Join(dns, ";")+";")
	}
	if len(s.Search) > 0 && method != none {
		lines = append(lines, "dns-search="+strings.Join(s.Search, ";")+";")
	}
	if s.Metric != 0 && s.DHCP {
		lines = append(lines, fmt.Sprintf("route-metric=%d", s.Metric))
	}
	n := 0
	route := func(to netip.Prefix, via netip.Addr, metric int) {
		if !is(to.Addr()) {
			return
		}
		n++
		text := fmt.Sprintf("route%d=%s", n, to)
		switch {
		case via.IsValid():
			text += "," + via.String()
		case metric != 0:
			text += ","
		}
		if metric != 0 {
			text += fmt.Sprintf(",%d", metric)
		}
		lines = append(lines, text)
	}
	for _, g := range s.Gateways {
		route(Everywhere(g), g, s.Metric)
	}
	for _, r := range s.Routes {
		route(r.To, r.Via, r.Metric)
	}
	fmt.Fprintf(b, "\n[%s]\nmethod=%s\n", family, method)
	for _, line := range lines {
		b.WriteString(line + "\n")
	}
}

// onDevice names the device to bring a connection up on, but for a bridge's, which makes it where it went with another connection.
func onDevice(s Setup) string {
	if s.Bridge != nil {
		return ""
	}
	return " ifname " + s.Device
}

func (networkManager) Switch(from, to []Setup) string {
	var b strings.Builder
	b.WriteString(guestsStay(from, to) + "nmcli connection reload\n")
	for _, s := range removedSetups(from, to) {
		if s.isCreated() {
			fmt.Fprintf(&b, "nmcli device delete %s >/dev/null 2>&1 || ip link del dev %[1]s 2>/dev/null || :\n", s.Device)
		}
	}
	for _, s := range removedSetups(from, to) {
		switch {
		case s.isCreated():
		case s.Original.Connection != "":
			fmt.Fprintf(&b, "nmcli --wait 30 connection up uuid %s%s\n", s.Original.Connection, onDevice(s))
		default:
			fmt.Fprintf(&b, "ip link set dev %s nomaster 2>/dev/null || :\n", s.Device)
		}
	}
	// A bridge first, then what is made to be in it, then what the machine has.
	for _, turn := range []func(Setup) bool{
		func(s Setup) bool { return s.Bridge != nil },
		func(s Setup) bool { return s.isCreated() && s.Bridge == nil },
		func(s Setup) bool { return !s.isCreated() },
	} {
		for _, s := range to {
			if turn(s) {
				fmt.Fprintf(&b, "nmcli --wait 30 connection up uuid %s\n", connectionUUID(s.Device))
			}
		}
	}
	return b.String()
}

func hasIPv6(prefixes []netip.Prefix) bool {
	for _, p := range prefixes {
		if p.Addr().Is6() {
			return true
		}
	}
	return false
}
