package hostnet

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
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

func (networkd) netdev(device string) string {
	return networkdDir + "00-virtcluster-" + device + ".netdev"
}

func (n networkd) Files(_ context.Context, _ host.Host, from, to []Setup, mark owner.Mark) ([]File, error) {
	var files []File
	for _, s := range to {
		if other := path.Base(s.Original.File); s.Original.File != "" && other < path.Base(n.Path(s.Device)) {
			return nil, fmt.Errorf("%s comes before %s, so it would go on counting for %s: rename it, to begin with 10 as is usual", s.Original.File, n.Path(s.Device), s.Device)
		}
		files = append(files, File{Path: n.Path(s.Device), Content: renderNetwork(s, mark)})
		if s.Bridge != nil {
			files = append(files, File{Path: n.netdev(s.Device), Content: renderNetdev(s, mark)})
		}
	}
	for _, s := range gone(from, to) {
		files = append(files, File{Path: n.Path(s.Device), Absent: true})
		if s.Bridge != nil {
			files = append(files, File{Path: n.netdev(s.Device), Absent: true})
		}
	}
	return files, nil
}

func renderNetdev(s Setup, mark owner.Mark) string {
	return fmt.Sprintf("# virtcluster %s\n[NetDev]\nName=%s\nKind=bridge\nMACAddress=%s\n\n[Bridge]\nSTP=%s\nForwardDelaySec=%d\n",
		mark, s.Device, s.Bridge.MAC, yesNo(s.Bridge.STP), 2+13*bit(s.Bridge.STP))
}

func renderNetwork(s Setup, mark owner.Mark) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# virtcluster %s\n[Match]\nName=%s\n", mark, s.Device)
	if s.MTU != 0 {
		fmt.Fprintf(&b, "\n[Link]\nMTUBytes=%d\n", s.MTU)
	}
	b.WriteString("\n[Network]\n")
	if s.Master != "" {
		fmt.Fprintf(&b, "Bridge=%s\nLinkLocalAddressing=no\nIPv6AcceptRA=no\n", s.Master)
		return b.String()
	}
	// What others give to the device, such as virtual addresses, stays when the configuration is read again.
	b.WriteString("KeepConfiguration=static\n")
	if s.DHCP {
		b.WriteString("DHCP=ipv4\n")
	}
	if !hasIPv6(s.Addresses) && !s.DHCP {
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
	if s.DHCP && s.Metric != 0 {
		fmt.Fprintf(&b, "\n[DHCPv4]\nRouteMetric=%d\n", s.Metric)
	}
	route := func(to, via string, metric int) {
		b.WriteString("\n[Route]\n")
		for _, line := range []string{setting("Destination", to), setting("Gateway", via)} {
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

func setting(name, value string) string {
	if value == "" {
		return ""
	}
	return name + "=" + value + "\n"
}

func (networkd) Switch(from, to []Setup) string {
	var b strings.Builder
	for _, s := range gone(from, to) {
		if s.Bridge != nil {
			fmt.Fprintf(&b, "ip link del dev %s 2>/dev/null || :\n", s.Device)
		} else if s.Master != "" {
			fmt.Fprintf(&b, "ip link set dev %s nomaster 2>/dev/null || :\n", s.Device)
		}
	}
	b.WriteString("networkctl reload\n")
	for _, s := range append(gone(from, to), to...) {
		if s.Bridge == nil || contains(from, s.Device) && contains(to, s.Device) {
			fmt.Fprintf(&b, "networkctl reconfigure %s\n", s.Device)
		}
	}
	b.WriteString(takeOff(from, to))
	return b.String()
}

// takeOff is the script that takes from devices that stay what they are not to have any more; what is gone already is no error.
func takeOff(from, to []Setup) string {
	var batch Batch
	for _, s := range from {
		for _, t := range to {
			if t.Device == s.Device {
				batch.Take(s.Device, Without(s.Settings(), t.Settings()))
			}
		}
	}
	if len(batch) == 0 {
		return ""
	}
	return quietly(batch)
}

func contains(setups []Setup, device string) bool {
	return len(gone([]Setup{{Device: device}}, setups)) == 0
}

func yesNo(on bool) string {
	if on {
		return "yes"
	}
	return "no"
}

func bit(on bool) int {
	if on {
		return 1
	}
	return 0
}

func isAbsent(err error) bool { return errors.Is(err, fs.ErrNotExist) }
