package hostnet

import (
	"context"
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
)

// ifupdown keeps devices by a file in /etc/network/interfaces.d (interfaces(5)). All stanzas of one device count there, so those that
// a person wrote for it are turned into comments, and back when the one of this provider is gone.
type ifupdown struct{}

const interfacesDir = "/etc/network/interfaces.d/"

func (ifupdown) Path(device string) string { return interfacesDir + "virtcluster-" + device }

// stanzasScript prints the files that have stanzas of devices.
//
//go:embed stanzas.sh
var stanzasScript string

// Check implements Backend.
func (ifupdown) Check(Device) error { return nil }

// Render implements Backend.
func (i ifupdown) Render(d Device, in Desired) []File {
	return []File{{Path: i.Path(d.Name), Content: renderStanza(d, in)}}
}

// turnStanzas are the files of a person in which the stanzas of what is desired become comments, and those of what is not any more count again.
func turnStanzas(ctx context.Context, h host.Host, from, to Desired) ([]File, error) {
	var files []File
	var devices []string
	for _, d := range append(slices.Clone(from.Devices), to.Devices...) {
		if !d.isCreated() && !slices.Contains(devices, d.Name) {
			devices = append(devices, d.Name)
		}
	}
	out, err := h.Run(ctx, host.Script("look for stanzas", stanzasScript, devices...))
	if err != nil {
		return nil, err
	}
	// With its mode and owner: the file is a person's, and may hold a password.
	found, err := host.ReadGlobs(ctx, h, strings.Fields(string(out)))
	if err != nil {
		return nil, err
	}
	for _, path := range slices.Sorted(maps.Keys(found)) {
		text := string(found[path].Content)
		changed := text
		for _, device := range devices {
			changed = bringBack(changed, device)
			if to.hasDevice(device) {
				changed = commentOut(changed, device)
			}
		}
		if changed != text {
			files = append(files, File{Path: path, Content: changed, Mode: found[path].Mode, Owner: found[path].Owner, Group: found[path].Group})
		}
	}
	return files, nil
}

// renderStanza is the file of a device, one of those desired.
func renderStanza(d Device, in Desired) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# virtcluster %s\n", in.Mark)
	if d.Master != "" {
		// The bridge's stanza takes it up: it has none that begins by itself.
		fmt.Fprintf(&b, "iface %s inet manual\n", d.Name)
		return b.String()
	}
	method := "manual"
	if d.DHCP {
		method = "dhcp"
	}
	fmt.Fprintf(&b, "auto %s\niface %[1]s inet %s\n", d.Name, method)
	if d.Bridge != nil {
		fmt.Fprintf(&b, "  pre-up ip link show dev %s >/dev/null 2>&1 || ip link add name %[1]s address %s type bridge\n", d.Name, d.Bridge.MAC)
		fmt.Fprintf(&b, "  pre-up ip link set dev %s address %s type bridge %s\n", d.Name, d.Bridge.MAC, d.Bridge.formatOptions())
		for _, member := range in.Devices {
			memberCommands(&b, member)
		}
		fmt.Fprintf(&b, "  post-down ip link del dev %s\n", d.Name)
		for _, member := range in.Devices {
			if member.isCreated() && member.Bridge == nil {
				fmt.Fprintf(&b, "  post-down ip link del dev %s\n", member.Name)
			}
		}
	}
	if d.MTU != 0 {
		fmt.Fprintf(&b, "  pre-up ip link set dev %s mtu %d\n", d.Name, d.MTU)
	}
	if d.AcceptRA {
		// 2 is heeding them although the machine forwards (ip-sysctl of the kernel's documentation).
		fmt.Fprintf(&b, "  pre-up echo 2 >/proc/sys/net/ipv6/conf/%s/accept_ra || :\n", d.Name)
	}
	fmt.Fprintf(&b, "  pre-up ip link set dev %s up\n", d.Name)
	for _, setting := range d.Settings() {
		fmt.Fprintf(&b, "  up ip %s replace %s dev %s\n", setting.objectWord(), setting, d.Name)
		if !d.isCreated() {
			fmt.Fprintf(&b, "  down ip %s del %s dev %s || :\n", setting.objectWord(), setting, d.Name)
		}
	}
	if d.DHCP && d.Metric != 0 {
		fmt.Fprintf(&b, "  metric %d\n", d.Metric)
	}
	if len(d.Nameservers) > 0 {
		fmt.Fprintf(&b, "  dns-nameservers %s\n", joinTexts(d.Nameservers))
	}
	if len(d.Search) > 0 {
		fmt.Fprintf(&b, "  dns-search %s\n", strings.Join(d.Search, " "))
	}
	return b.String()
}

// memberCommands are the lines by which a bridge's stanza takes up a device that is in it, or in a bond that is.
func memberCommands(b *strings.Builder, d Device) {
	switch {
	case d.Master == "":
		return
	case d.VLAN != nil:
		fmt.Fprintf(b, "  pre-up ip link set dev %s up\n  pre-up ip link show dev %s >/dev/null 2>&1 || ip link add link %[1]s name %[2]s type vlan id %d\n", d.VLAN.Parent, d.Name, d.VLAN.ID)
	case d.Bond != nil:
		fmt.Fprintf(b, "  pre-up ip link show dev %s >/dev/null 2>&1 || ip link add name %[1]s address %s type bond mode %s miimon 100\n", d.Name, d.Bond.MAC, d.Bond.Mode)
	case d.InBond:
		fmt.Fprintf(b, "  pre-up ip link set dev %s down\n", d.Name)
	}
	if d.MTU != 0 {
		fmt.Fprintf(b, "  pre-up ip link set dev %s mtu %d\n", d.Name, d.MTU)
	}
	if d.InBond { // which takes nothing that is up, and kernels before 6.8 would take it up first
		fmt.Fprintf(b, "  pre-up ip link set dev %s master %s\n  pre-up ip link set dev %[1]s up\n", d.Name, d.Master)
		return
	}
	fmt.Fprintf(b, "  pre-up ip link set dev %s master %s up\n", d.Name, d.Master)
}

func (ifupdown) Switch(from, to Desired) string {
	var b strings.Builder
	forget := func(device string) { fmt.Fprintf(&b, "stop_dhcp %s\nforget_state %[1]s\n", device) }
	for _, d := range from.devicesWithout(to) {
		if from.belongsToPerson(d) {
			// A person's stanza makes such a bridge, and could not a second time: it counts again at the next start.
			if !d.DHCP {
				b.WriteString(takeQuietly(d.Name, d.Settings()))
			}
			continue
		}
		forget(d.Name)
		if d.isCreated() {
			fmt.Fprintf(&b, "ip link del dev %s 2>/dev/null || :\n", d.Name)
			continue
		}
		fmt.Fprintf(&b, "ip link set dev %s nomaster 2>/dev/null || :\n", d.Name)
		b.WriteString(takeQuietly(d.Name, d.Settings()))
		if d.DHCP {
			fmt.Fprintf(&b, "ip -4 address flush dev %s scope global\n", d.Name)
		}
		if d.Before.Manager.Backend == Ifupdown {
			fmt.Fprintf(&b, "bring_up_again %s\n", d.Name)
		}
		if d.Master != "" {
			b.WriteString("ask_routers " + d.Name + "\n")
		}
	}
	b.WriteString(takeOff(from, to))
	for _, d := range to.Devices {
		if !from.hasDevice(d.Name) && !d.isCreated() {
			forget(d.Name)
			b.WriteString("forget_routers " + d.Name + "\n")
			fmt.Fprintf(&b, "ip address flush dev %s scope global\n", d.Name)
		}
		switch was, _ := from.findDevice(d.Name); {
		case !was.DHCP:
		case d.DHCP: // ifup starts another client beside the one that runs, and remembers only that
			fmt.Fprintf(&b, "stop_dhcp %s\n", d.Name)
		default:
			forget(d.Name)
			fmt.Fprintf(&b, "ip -4 address flush dev %s scope global\n", d.Name)
		}
	}
	for _, d := range to.Devices {
		if d.Master == "" {
			fmt.Fprintf(&b, "ifup --force %s\n", d.Name)
		}
	}
	return b.String()
}

// commentPrefix begins a line that was a person's, with the device that it was for.
func commentPrefix(device string) string { return commentWord + device + ": " }

const commentWord = "#virtcluster "

// parseStanza are the words that begin a stanza (interfaces(5)).
func parseStanza(line string) (word string, rest []string) {
	fields := strings.Fields(line)
	if len(fields) == 0 {
		return "", nil
	}
	switch w := fields[0]; {
	case w == "iface" || w == "mapping" || w == "auto" || strings.HasPrefix(w, "allow-") || w == "source" || w == "source-directory" || w == "no-auto-down" || w == "no-scripts" || w == "rename":
		return w, fields[1:]
	}
	return "", nil
}

// namesDevice says whether a word of a stanza is a device, or a further address of it that has a stanza of its own (eth0:1).
func namesDevice(word, device string) bool {
	name, _, _ := strings.Cut(word, ":")
	return name == device
}

// commentOut turns what a file says of a device into comments.
func commentOut(text, device string) string {
	var b strings.Builder
	inside := false
	for line := range strings.Lines(text) {
		word, rest := parseStanza(line)
		if word != "" {
			inside = word == "iface" && len(rest) > 0 && namesDevice(rest[0], device)
		}
		ups := (word == "auto" || strings.HasPrefix(word, "allow-")) && slices.ContainsFunc(rest, func(word string) bool { return namesDevice(word, device) })
		switch {
		case ups:
			b.WriteString(commentPrefix(device) + line)
			b.WriteString(withoutDevice(line, device))
		case inside && strings.TrimSpace(line) != "" && !strings.HasPrefix(strings.TrimSpace(line), "#"):
			b.WriteString(commentPrefix(device) + line)
		default:
			b.WriteString(line)
		}
	}
	return b.String()
}

// withoutDevice is a line that brings devices up without one of them; "" where there is no other.
func withoutDevice(line, device string) string {
	word, rest := parseStanza(line)
	rest = slices.DeleteFunc(rest, func(word string) bool { return namesDevice(word, device) })
	if len(rest) == 0 {
		return ""
	}
	return word + " " + strings.Join(rest, " ") + "\n"
}

// bringBack undoes commentOut, whatever other devices of the same line were commented out since: they stay so.
func bringBack(text, device string) string {
	lines := slices.Collect(strings.Lines(text))
	var b strings.Builder
	for i := 0; i < len(lines); i++ {
		was, ours := strings.CutPrefix(lines[i], commentPrefix(device))
		if !ours {
			b.WriteString(lines[i])
			continue
		}
		others, remainders := []string(nil), 0
		if word, _ := parseStanza(was); word != "" && word != "iface" {
			others, remainders = findRemainders(lines[i+1:], withoutDevice(was, device))
		}
		for _, other := range others {
			was = commentOut(was, other)
		}
		b.WriteString(was)
		i += remainders
	}
	return b.String()
}

// findRemainders returns how many lines, from the first on, are what commentOut left of a line, and the devices that it took out of that since.
func findRemainders(lines []string, left string) (devices []string, count int) {
	for count < len(lines) && left != "" {
		if lines[count] == left {
			return devices, count + 1
		}
		device, was, commented := strings.Cut(strings.TrimPrefix(lines[count], commentWord), ": ")
		if !commented || was != left || lines[count] != commentPrefix(device)+was {
			break
		}
		devices, left, count = append(devices, device), withoutDevice(left, device), count+1
	}
	return devices, count
}
