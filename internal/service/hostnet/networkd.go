package hostnet

import (
	"context"
	"fmt"
	"path"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
)

// networkd keeps devices by files of systemd-networkd (systemd.network(5), systemd.netdev(5)). The first file that matches a device
// counts: a device's own file stays as it is, and counts again when the one of this provider is gone. What netplan renders is below
// /run, and gives way as well.
type networkd struct{}

const networkdDir = "/etc/systemd/network/"

func (networkd) Path(device string) string {
	return networkdDir + "00-virtcluster-" + device + ".network"
}

func (networkd) netdevPath(device string) string {
	return networkdDir + "00-virtcluster-" + device + ".netdev"
}

func (n networkd) Files(_ context.Context, _ host.Host, from, to []Setup, mark owner.Mark) ([]File, error) {
	var files []File
	for _, s := range to {
		if other := path.Base(s.Original.File); s.Original.File != "" && other < path.Base(n.Path(s.Device)) {
			return nil, fmt.Errorf("%s comes before %s, so it would go on counting for %s: rename it, to begin with 10 as is usual", s.Original.File, n.Path(s.Device), s.Device)
		}
		files = append(files, File{Path: n.Path(s.Device), Content: renderNetwork(s, mark)})
		if s.isCreated() {
			files = append(files, File{Path: n.netdevPath(s.Device), Content: renderNetdev(s, mark)})
		}
		if s.VLAN != nil {
			files = append(files, File{Path: n.onParent(s), Content: fmt.Sprintf("# virtcluster %s\n[Network]\nVLAN=%s\n", mark, s.Device)})
		}
	}
	for _, s := range removedSetups(from, to) {
		files = append(files, File{Path: n.Path(s.Device), Absent: true})
		if s.isCreated() {
			files = append(files, File{Path: n.netdevPath(s.Device), Absent: true})
		}
		if s.VLAN != nil {
			files = append(files, File{Path: n.onParent(s), Absent: true})
		}
	}
	return files, nil
}

// onParent is the file that gives a VLAN to its parent, beside the parent's own.
func (networkd) onParent(s Setup) string {
	return networkdDir + path.Base(s.VLAN.Manager.File) + ".d/virtcluster-" + s.Device + ".conf"
}

func renderNetdev(s Setup, mark owner.Mark) string {
	head := func(kind, mac string) string {
		return fmt.Sprintf("# virtcluster %s\n[NetDev]\nName=%s\nKind=%s\n%s", mark, s.Device, kind, formatSetting("MACAddress", mac))
	}
	switch {
	case s.VLAN != nil:
		return head("vlan", "") + fmt.Sprintf("\n[VLAN]\nId=%d\n", s.VLAN.ID)
	case s.Bond != nil:
		return head("bond", s.Bond.MAC) + fmt.Sprintf("\n[Bond]\nMode=%s\nMIIMonitorSec=0.1\n", s.Bond.Mode)
	}
	text := head("bridge", s.Bridge.MAC) + fmt.Sprintf("\n[Bridge]\nSTP=%s\nForwardDelaySec=%d\n", yesNo(s.Bridge.STP), 2+13*toBit(s.Bridge.STP))
	if s.Bridge.VLANFiltering {
		text += "VLANFiltering=yes\n"
	}
	return text
}

func renderNetwork(s Setup, mark owner.Mark) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# virtcluster %s\n[Match]\nName=%s\n", mark, s.Device)
	if s.MTU != 0 {
		fmt.Fprintf(&b, "\n[Link]\nMTUBytes=%d\n", s.MTU)
	}
	b.WriteString("\n[Network]\n")
	if s.Master != "" {
		master := "Bridge"
		if s.InBond {
			master = "Bond"
		}
		fmt.Fprintf(&b, "%s=%s\nLinkLocalAddressing=no\nIPv6AcceptRA=no\n", master, s.Master)
		return b.String()
	}
	// What others give to the device, such as virtual addresses, stays when the configuration is read again.
	b.WriteString("KeepConfiguration=static\n")
	if s.DHCP {
		b.WriteString("DHCP=ipv4\n")
	}
	if s.AcceptRA {
		b.WriteString("IPv6AcceptRA=yes\n") // which a machine that forwards does not do by itself
	} else if !hasIPv6(s.Addresses) && !s.DHCP {
		b.WriteString("IPv6AcceptRA=no\n")
	}
	for _, a := range s.Addresses {
		fmt.Fprintf(&b, "Address=%s\n", a)
	}
	for _, a := range s.Nameservers {
		fmt.Fprintf(&b, "DNS=%s\n", a)
	}
	if len(s.Search) > 0 {
		fmt.Fprintf(&b, "Domains=%s\n", strings.Join(s.Search, " "))
	}
	if s.DHCP {
		b.WriteString(renderDHCP(s))
	}
	route := func(to, via string, metric int) {
		b.WriteString("\n[Route]\n")
		for _, line := range []string{formatSetting("Destination", to), formatSetting("Gateway", via)} {
			b.WriteString(line)
		}
		if metric != 0 {
			fmt.Fprintf(&b, "Metric=%d\n", metric)
		}
	}
	for _, g := range s.Gateways {
		route("", g.String(), s.Metric)
	}
	for _, r := range s.Routes {
		via := ""
		if r.Via.IsValid() {
			via = r.Via.String()
		}
		route(r.To.String(), via, r.Metric)
	}
	return b.String()
}

// renderDHCP is what systemd-networkd's DHCP client shall do otherwise than by itself. A bridge is known to the server by the hardware
// address that it took over, as most clients are: by the machine's DUID and a number of the device it would be somebody new.
func renderDHCP(s Setup) string {
	text := ""
	if s.Bridge != nil && s.isCreated() {
		text += "ClientIdentifier=mac\n"
	}
	if s.Metric != 0 {
		text += fmt.Sprintf("RouteMetric=%d\n", s.Metric)
	}
	if text == "" {
		return ""
	}
	return "\n[DHCPv4]\n" + text
}

func formatSetting(name, value string) string {
	if value == "" {
		return ""
	}
	return name + "=" + value + "\n"
}

func (networkd) Switch(from, to []Setup) string {
	return followNetworkd(from, to, "")
}

// followNetworkd is the script that has systemd-networkd follow its files; render is what writes them before.
func followNetworkd(from, to []Setup, render string) string {
	var b strings.Builder
	for _, s := range removedSetups(from, to) {
		if s.isCreated() {
			fmt.Fprintf(&b, "ip link del dev %s 2>/dev/null || :\n", s.Device)
		} else if s.Master != "" {
			fmt.Fprintf(&b, "ip link set dev %s nomaster 2>/dev/null || :\n", s.Device)
		}
		if s.VLAN != nil {
			fmt.Fprintf(&b, "rmdir %s 2>/dev/null || :\n", path.Dir(networkd{}.onParent(s)))
		}
	}
	b.WriteString(render + "networkctl reload\n")
	for _, s := range removedSetups(from, to) {
		if !s.isCreated() {
			fmt.Fprintf(&b, "reconfigure %s\n", s.Device)
		}
	}
	for _, s := range to {
		switch {
		case s.VLAN != nil && !hasDevice(from, s.Device):
			fmt.Fprintf(&b, "reconfigure_unless %s '[ -e /sys/class/net/%s ]'\n", s.VLAN.Parent, s.Device)
		case s.InBond && !hasDevice(from, s.Device):
			fmt.Fprintf(&b, "ip link set dev %s down\nreconfigure %[1]s\n", s.Device) // a bond takes nothing that is up
		case !s.isCreated() || hasDevice(from, s.Device):
			for _, c := range s.listConditions() {
				fmt.Fprintf(&b, "reconfigure_unless %s '%s'\n", s.Device, c.test)
			}
		}
	}
	for _, s := range to {
		for _, was := range from { // networkd gives these to a bridge that it makes, and to no other
			if s.Device != was.Device || s.Bridge == nil || was.Bridge == nil {
				continue
			}
			if s.Bridge.STP != was.Bridge.STP {
				fmt.Fprintf(&b, "ip link set dev %s type bridge stp_state %d forward_delay %d\n", s.Device, toBit(s.Bridge.STP), 200+1300*toBit(s.Bridge.STP))
			}
			if s.Bridge.VLANFiltering != was.Bridge.VLANFiltering {
				fmt.Fprintf(&b, "ip link set dev %s type bridge vlan_filtering %d\n", s.Device, toBit(s.Bridge.VLANFiltering))
			}
		}
	}
	b.WriteString(takeOff(from, to))
	return b.String()
}

// takeOff is the script that takes from devices that stay what they are not to have any more; what is gone already is no error.
func takeOff(from, to []Setup) string {
	var b strings.Builder
	for _, s := range from {
		for _, t := range to {
			if t.Device == s.Device {
				b.WriteString(TakeQuietly(s.Device, Without(s.Settings(), t.Settings())))
			}
		}
	}
	return b.String()
}

func hasDevice(setups []Setup, device string) bool {
	return len(removedSetups([]Setup{{Device: device}}, setups)) == 0
}

func yesNo(on bool) string {
	if on {
		return "yes"
	}
	return "no"
}

func toBit(on bool) int {
	if on {
		return 1
	}
	return 0
}
