package hostnet

import (
	"context"
	"fmt"
	"path"
	"slices"
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

// Check implements Backend: the first file that matches counts.
func (n networkd) Check(d Device) error {
	if file := d.Before.Manager.File; file != "" && path.Base(file) < path.Base(n.Path(d.Name)) {
		return fmt.Errorf("%s comes before %s, so it would go on counting for %s: rename it, to begin with 10 as is usual", file, n.Path(d.Name), d.Name)
	}
	return nil
}

// Render implements Backend.
func (n networkd) Render(d Device, in Desired) []File {
	files := []File{{Path: n.Path(d.Name), Content: renderNetwork(d, in.Mark)}}
	if d.isCreated() {
		files = append(files, File{Path: networkdDir + "00-virtcluster-" + d.Name + ".netdev", Content: renderNetdev(d, in.Mark)})
	}
	if d.VLAN != nil {
		files = append(files, File{Path: n.onParent(d), Content: fmt.Sprintf("# virtcluster %s\n[Network]\nVLAN=%s\n", in.Mark, d.Name)})
	}
	return files
}

// onParent is the file that gives a VLAN to its parent, beside the parent's own.
func (networkd) onParent(d Device) string {
	return networkdDir + path.Base(d.VLAN.Manager.File) + ".d/virtcluster-" + d.Name + ".conf"
}

func renderNetdev(d Device, mark owner.Mark) string {
	head := func(kind, mac string) string {
		return fmt.Sprintf("# virtcluster %s\n[NetDev]\nName=%s\nKind=%s\n%s", mark, d.Name, kind, formatSetting("MACAddress", mac))
	}
	switch {
	case d.VLAN != nil:
		return head("vlan", "") + fmt.Sprintf("\n[VLAN]\nId=%d\n", d.VLAN.ID)
	case d.Bond != nil:
		return head("bond", d.Bond.MAC) + fmt.Sprintf("\n[Bond]\nMode=%s\nMIIMonitorSec=0.1\n", d.Bond.Mode)
	}
	text := head("bridge", d.Bridge.MAC) + fmt.Sprintf("\n[Bridge]\nSTP=%s\nForwardDelaySec=%d\n", yesNo(d.Bridge.STP), 2+13*toBit(d.Bridge.STP))
	if d.Bridge.VLANFiltering {
		text += "VLANFiltering=yes\n"
	}
	return text
}

func renderNetwork(d Device, mark owner.Mark) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# virtcluster %s\n[Match]\nName=%s\n", mark, d.Name)
	if d.MTU != 0 {
		fmt.Fprintf(&b, "\n[Link]\nMTUBytes=%d\n", d.MTU)
	}
	b.WriteString("\n[Network]\n")
	if d.Master != "" {
		master := "Bridge"
		if d.InBond {
			master = "Bond"
		}
		fmt.Fprintf(&b, "%s=%s\nLinkLocalAddressing=no\nIPv6AcceptRA=no\n%s", master, d.Master, d.formatStacked())
		return b.String()
	}
	// What others give to the device, such as virtual addresses, stays when the configuration is read again.
	b.WriteString("KeepConfiguration=static\n" + d.formatStacked())
	if d.DHCP {
		b.WriteString("DHCP=ipv4\n")
	}
	if d.AcceptRA {
		b.WriteString("IPv6AcceptRA=yes\n") // which a machine that forwards does not do by itself
	} else if !hasIPv6(d.Addresses) && !d.DHCP {
		b.WriteString("IPv6AcceptRA=no\n")
	}
	for _, a := range d.Addresses {
		fmt.Fprintf(&b, "Address=%s\n", a)
	}
	for _, a := range d.Nameservers {
		fmt.Fprintf(&b, "DNS=%s\n", a)
	}
	if len(d.Search) > 0 {
		fmt.Fprintf(&b, "Domains=%s\n", strings.Join(d.Search, " "))
	}
	if d.DHCP {
		b.WriteString(renderDHCP(d))
	}
	for _, r := range d.allRoutes() {
		b.WriteString("\n[Route]\n")
		if r.To.Bits() > 0 || !r.Via.IsValid() {
			fmt.Fprintf(&b, "Destination=%s\n", r.To)
		}
		if r.Via.IsValid() {
			fmt.Fprintf(&b, "Gateway=%s\n", r.Via)
		}
		if r.OnLink {
			b.WriteString("GatewayOnLink=yes\n")
		}
		if r.Metric != 0 {
			fmt.Fprintf(&b, "Metric=%d\n", r.Metric)
		}
	}
	return b.String()
}

// stackedWords are systemd.network(5)'s words for the kinds of devices that are made on another one. One that systemd-networkd has no .netdev
// file for it leaves to whoever makes it.
var stackedWords = map[string]string{"vlan": "VLAN", "macvlan": "MACVLAN", "macvtap": "MACVTAP", "ipvlan": "IPVLAN", "vxlan": "VXLAN"}

// listStacked lists what is made on a device of which systemd-networkd may make it, as Device.Stacked has it.
func (m Machine) listStacked(device string) []string {
	var lines []string
	for _, name := range m.Upper(device) {
		link, _ := m.Link(name)
		if word, is := stackedWords[link.LinkInfo.Kind]; is {
			lines = append(lines, word+"="+name)
		}
	}
	return lines
}

// IsKept says whether systemd-networkd makes a VLAN at the machine's next start, as the file that counts for its parent names it, or a file beside
// that one. What is not known, as systemd-networkd does not have the parent now, is kept.
func (v VLANOptions) IsKept(ctx context.Context, h host.Host, managers Managers, device string) (bool, error) {
	file := managers.Of(v.Parent).File
	if file == "" {
		return true, nil
	}
	files, err := host.ReadGlobs(ctx, h, []string{file, networkdDir + path.Base(file) + ".d/*.conf"})
	if err != nil {
		return false, fmt.Errorf("read what systemd-networkd makes on %s: %w", v.Parent, err)
	}
	for _, f := range files {
		if slices.Contains(strings.Split(string(f.Content), "\n"), stackedWords["vlan"]+"="+device) {
			return true, nil
		}
	}
	return false, nil
}

func (d Device) formatStacked() string {
	text := ""
	for _, line := range d.Stacked {
		text += line + "\n"
	}
	return text
}

// renderDHCP is what systemd-networkd's DHCP client shall do otherwise than by itself. A bridge is known to the server by the hardware
// address that it took over, as most clients are: by the machine's DUID and a number of the device it would be somebody new.
func renderDHCP(d Device) string {
	text := ""
	if d.Bridge != nil && d.isCreated() {
		text += "ClientIdentifier=mac\n"
	}
	if d.Metric != 0 {
		text += fmt.Sprintf("RouteMetric=%d\n", d.Metric)
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

func (networkd) Switch(from, to Desired) string {
	return followNetworkd(from, to, "")
}

// followNetworkd is the script that has systemd-networkd follow its files; render is what writes them before.
func followNetworkd(from, to Desired, render string) string {
	var b strings.Builder
	b.WriteString("note_others" + listNames(from, to) + "\n")
	release := ""
	for _, d := range from.devicesWithout(to) {
		if d.isCreated() {
			fmt.Fprintf(&b, "ip link del dev %s 2>/dev/null || :\n", d.Name)
		} else if d.Master != "" {
			release += fmt.Sprintf("ip link set dev %s nomaster 2>/dev/null || :\n", d.Name)
		}
	}
	for _, d := range from.Devices {
		if d.VLAN != nil { // whose file beside that of its parent may be another one now
			fmt.Fprintf(&b, "rmdir %s 2>/dev/null || :\n", path.Dir(networkd{}.onParent(d)))
		}
	}
	// A port that is let go of has a carrier anew, upon which networkd puts it back by the file that it read before: so it is let go of again.
	b.WriteString(release + render + "reload_networkd" + listNames(from, to) + "\n" + release)
	for _, d := range from.devicesWithout(to) {
		if !d.isCreated() {
			fmt.Fprintf(&b, "reconfigure %s\n", d.Name)
		}
	}
	for _, d := range to.Devices {
		switch {
		case d.VLAN != nil && !from.hasDevice(d.Name):
			fmt.Fprintf(&b, "reconfigure_unless %s '[ -e /sys/class/net/%s ]'\n", d.VLAN.Parent, d.Name)
		case d.InBond && !from.hasDevice(d.Name):
			fmt.Fprintf(&b, "ip link set dev %s down\nreconfigure %[1]s\n", d.Name) // a bond takes nothing that is up
		case !d.isCreated() || from.hasDevice(d.Name):
			for _, c := range d.listConditions() {
				fmt.Fprintf(&b, "reconfigure_unless %s '%s'\n", d.Name, c.test)
			}
		}
	}
	for _, d := range to.Devices {
		was, _ := from.findDevice(d.Name) // networkd gives these to a bridge that it makes, and to no other
		if d.Bridge == nil || was.Bridge == nil {
			continue
		}
		var changed Batch
		changed.makeLink(linkState{Device: was}, linkState{Device: d})
		for _, line := range changed {
			b.WriteString("ip " + line + "\n")
		}
	}
	b.WriteString(takeOff(from, to))
	return b.String()
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
