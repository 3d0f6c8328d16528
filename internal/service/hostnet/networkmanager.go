package hostnet

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/netip"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
)

// networkManager keeps devices by connections of NetworkManager, as keyfiles (nm-settings-keyfile(5)). A device's own connection
// stays as it is: the one of this provider has a higher priority, and the own one is brought up again when that is gone.
type networkManager struct{}

func (networkManager) Path(device string) string {
	return "/etc/NetworkManager/system-connections/virtcluster-" + device + ".nmconnection"
}

// Check implements Backend.
func (networkManager) Check(Device) error { return nil }

// Render implements Backend.
func (n networkManager) Render(d Device, in Desired) []File {
	return []File{{Path: n.Path(d.Name), Content: renderConnection(d, in.Mark), Mode: 0o600}}
}

// connectionUUID is the same for a device at all times (RFC 9562, version 8).
func connectionUUID(device string) string {
	sum := sha256.Sum256([]byte("virtcluster connection of " + device))
	u := sum[:16]
	u[6], u[8] = u[6]&0x0f|0x80, u[8]&0x3f|0x80
	h := hex.EncodeToString(u)
	return strings.Join([]string{h[:8], h[8:12], h[12:16], h[16:20], h[20:]}, "-")
}

func renderConnection(d Device, mark owner.Mark) string {
	var b strings.Builder
	kind, mac := "ethernet", ""
	switch {
	case d.Bridge != nil:
		kind, mac = "bridge", d.Bridge.MAC
	case d.VLAN != nil:
		kind = "vlan"
	case d.Bond != nil:
		kind, mac = "bond", d.Bond.MAC
	}
	fmt.Fprintf(&b, "[connection]\nid=virtcluster-%s\nuuid=%s\ntype=%s\ninterface-name=%[1]s\nautoconnect-priority=900\n", d.Name, connectionUUID(d.Name), kind)
	if d.Master != "" {
		master := "bridge"
		if d.InBond {
			master = "bond"
		}
		fmt.Fprintf(&b, "master=%s\nslave-type=%s\n", d.Master, master)
	}
	if d.Bridge != nil || d.Bond != nil {
		b.WriteString("autoconnect-slaves=1\n")
	}
	b.WriteString("\n[ethernet]\n" + formatSetting("cloned-mac-address", mac))
	if d.MTU != 0 {
		fmt.Fprintf(&b, "mtu=%d\n", d.MTU)
	}
	switch {
	case d.Bridge != nil:
		fmt.Fprintf(&b, "\n[bridge]\nstp=%t\nforward-delay=%d\n", d.Bridge.STP, 2+13*toBit(d.Bridge.STP))
		if d.Bridge.VLANFiltering {
			b.WriteString("vlan-filtering=true\n")
		}
	case d.VLAN != nil:
		fmt.Fprintf(&b, "\n[vlan]\nparent=%s\nid=%d\nflags=1\n", d.VLAN.Parent, d.VLAN.ID)
	case d.Bond != nil:
		fmt.Fprintf(&b, "\n[bond]\nmode=%s\nmiimon=100\n", d.Bond.Mode)
	}
	if d.Master == "" {
		renderFamily(&b, d, "ipv4", "disabled", netip.Addr.Is4)
		renderFamily(&b, d, "ipv6", "link-local", netip.Addr.Is6)
	}
	// Where NetworkManager keeps it when somebody has it write the file anew, as `nmcli connection modify` does: comments are lost then.
	fmt.Fprintf(&b, "\n[user]\nvirtcluster.mark=virtcluster %s\n", mark)
	return b.String()
}

// renderFamily writes the settings of one family; none is its method without any address.
func renderFamily(b *strings.Builder, d Device, family, none string, is func(netip.Addr) bool) {
	var lines []string
	method := none
	for _, a := range d.Addresses {
		if is(a.Addr()) {
			method = "manual"
			lines = append(lines, fmt.Sprintf("address%d=%s", len(lines)+1, a))
		}
	}
	if d.DHCP || d.AcceptRA && family == "ipv6" {
		method = "auto" // for IPv6 that is router advertisements
	}
	var dns []string
	for _, a := range d.Nameservers {
		if is(a) {
			dns = append(dns, a.String())
		}
	}
	if len(dns) > 0 && method != none { // or NetworkManager takes none of the connection
		lines = append(lines, "dns="+strings.Join(dns, ";")+";")
	}
	if len(d.Search) > 0 && method != none {
		lines = append(lines, "dns-search="+strings.Join(d.Search, ";")+";")
	}
	if d.Metric != 0 && d.DHCP {
		lines = append(lines, fmt.Sprintf("route-metric=%d", d.Metric))
	}
	n := 0
	for _, r := range d.allRoutes() {
		if !is(r.To.Addr()) {
			continue
		}
		n++
		text := fmt.Sprintf("route%d=%s", n, r.To)
		switch {
		case r.Via.IsValid():
			text += "," + r.Via.String()
		case r.Metric != 0:
			text += ","
		}
		if r.Metric != 0 {
			text += fmt.Sprintf(",%d", r.Metric)
		}
		lines = append(lines, text)
		if r.OnLink {
			lines = append(lines, fmt.Sprintf("route%d_options=onlink=true", n))
		}
	}
	fmt.Fprintf(b, "\n[%s]\nmethod=%s\n", family, method)
	for _, line := range lines {
		b.WriteString(line + "\n")
	}
}

// onDevice names the device to bring a connection up on, but for a bridge's, which makes it where it went with another connection.
func onDevice(d Device) string {
	if d.Bridge != nil {
		return ""
	}
	return " ifname " + d.Name
}

// bringBackConnection is the script that has a device have the connection again that it had before. It has to come up only where the device had
// addresses by it: one without may have no carrier, as before. Where somebody deleted it, the device is let go of, NetworkManager may choose
// another one, and what the device had without a lease is given to it.
func bringBackConnection(d Device) string {
	uuid, may := d.Before.Manager.Connection, ""
	if !d.Before.Addressing.DHCP && len(d.Before.Addressing.Addresses) == 0 {
		may = " || :"
	}
	var had Batch
	if !d.Before.Addressing.DHCP {
		had.Give(d.Name, d.Before.Settings)
	}
	return fmt.Sprintf("if nmcli connection show uuid %s >/dev/null 2>&1; then\nnmcli --wait 30 connection up uuid %[1]s%s%s\nelse\n"+
		"ip link set dev %s nomaster 2>/dev/null || :\nnmcli --wait 30 device connect %[4]s >/dev/null 2>&1 || :\n%sfi\n",
		uuid, onDevice(d), may, d.Name, had.formatQuietScript())
}

func (networkManager) Switch(from, to Desired) string {
	var b strings.Builder
	b.WriteString(guestsStay(from, to) + "nmcli connection reload\n")
	for _, d := range from.devicesWithout(to) {
		if d.isCreated() {
			fmt.Fprintf(&b, "nmcli device delete %s >/dev/null 2>&1 || ip link del dev %[1]s 2>/dev/null || :\n", d.Name)
		}
	}
	for _, d := range from.devicesWithout(to) {
		switch {
		case d.isCreated():
		case d.Before.Manager.Connection != "":
			b.WriteString(bringBackConnection(d))
		default:
			fmt.Fprintf(&b, "ip link set dev %s nomaster 2>/dev/null || :\n", d.Name)
		}
	}
	// A bridge first, then what is made to be in it, then what the machine has.
	for _, turn := range []func(Device) bool{
		func(d Device) bool { return d.Bridge != nil },
		func(d Device) bool { return d.isCreated() && d.Bridge == nil },
		func(d Device) bool { return !d.isCreated() },
	} {
		for _, d := range to.Devices {
			if turn(d) {
				fmt.Fprintf(&b, "nmcli --wait 30 connection up uuid %s\n", connectionUUID(d.Name))
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
