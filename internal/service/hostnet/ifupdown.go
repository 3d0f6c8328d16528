package hostnet

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
)

// ifupdown keeps devices by a file in /etc/network/interfaces.d (interfaces(5)). All stanzas of one device count there, so those that
// a person wrote for it are turned into comments, and back when the one of this provider is gone.
type ifupdown struct{}

const interfacesDir = "/etc/network/interfaces.d/"

func (ifupdown) Path(device string) string { return interfacesDir + "virtcluster-" + device }

// stanzasScript prints the files that have stanzas of devices, or of ones that were turned into comments; and fails where the
// directory is not read. Arguments: devices.
const stanzasScript = `grep -Eq '^[[:space:]]*source(-directory)?[[:space:]]+(/etc/network/)?interfaces\.d' /etc/network/interfaces || {
  echo '/etc/network/interfaces does not read /etc/network/interfaces.d: add "source /etc/network/interfaces.d/*" to it' >&2
  exit 1
}
for file in /etc/network/interfaces /etc/network/interfaces.d/*; do
  case $file in */virtcluster-*) continue ;; esac
  [ -f "$file" ] || continue
  for device; do
    if grep -qwF -e "$device" "$file"; then echo "$file"; break; fi
  done
done`

func (i ifupdown) Files(ctx context.Context, h host.Host, from, to []Setup, mark owner.Mark) ([]File, error) {
	var files []File
	var devices []string
	for _, s := range append(slices.Clone(from), to...) {
		if s.Bridge == nil && !slices.Contains(devices, s.Device) {
			devices = append(devices, s.Device)
		}
	}
	out, err := h.Run(ctx, host.Script("look for stanzas", stanzasScript, devices...))
	if err != nil {
		return nil, err
	}
	for path := range strings.FieldsSeq(string(out)) {
		text, err := h.Read(ctx, path)
		if err != nil {
			return nil, err
		}
		changed := string(text)
		for _, device := range devices {
			changed = bringBack(changed, device)
			if contains(to, device) {
				changed = commentOut(changed, device)
			}
		}
		if changed != string(text) {
			files = append(files, File{Path: path, Content: changed})
		}
	}
	for _, s := range to {
		files = append(files, File{Path: i.Path(s.Device), Content: renderStanza(s, mark)})
	}
	for _, s := range gone(from, to) {
		files = append(files, File{Path: i.Path(s.Device), Absent: true})
	}
	return files, nil
}

func renderStanza(s Setup, mark owner.Mark) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# virtcluster %s\n", mark)
	if s.Master != "" {
		// The bridge's stanza takes it up: it has none that begins by itself.
		fmt.Fprintf(&b, "iface %s inet manual\n  pre-up ip link set dev %[1]s master %s up\n", s.Device, s.Master)
		if s.MTU != 0 {
			fmt.Fprintf(&b, "  pre-up ip link set dev %s mtu %d\n", s.Device, s.MTU)
		}
		return b.String()
	}
	method := "manual"
	if s.DHCP {
		method = "dhcp"
	}
	fmt.Fprintf(&b, "auto %s\niface %[1]s inet %s\n", s.Device, method)
	if s.Bridge != nil {
		fmt.Fprintf(&b, "  pre-up ip link show dev %s >/dev/null 2>&1 || ip link add name %[1]s address %s type bridge\n", s.Device, s.Bridge.MAC)
		fmt.Fprintf(&b, "  pre-up ip link set dev %s type bridge stp_state %d forward_delay %d\n", s.Device, bit(s.Bridge.STP), 200+1300*bit(s.Bridge.STP))
		fmt.Fprintf(&b, "  pre-up for stanza in %svirtcluster-*; do sed -n 's/^  pre-up \\(ip link set dev [^ ]* master %s up\\)$/\\1/p' $stanza; done | sh\n", interfacesDir, s.Device)
		fmt.Fprintf(&b, "  post-down ip link del dev %s\n", s.Device)
	}
	if s.MTU != 0 {
		fmt.Fprintf(&b, "  pre-up ip link set dev %s mtu %d\n", s.Device, s.MTU)
	}
	fmt.Fprintf(&b, "  pre-up ip link set dev %s up\n", s.Device)
	for _, setting := range s.Settings() {
		fmt.Fprintf(&b, "  up ip %s replace %s dev %s\n", setting.Object, setting.Text, s.Device)
		if s.Bridge == nil {
			fmt.Fprintf(&b, "  down ip %s del %s dev %s || :\n", setting.Object, setting.Text, s.Device)
		}
	}
	if s.DHCP && s.Metric != 0 {
		fmt.Fprintf(&b, "  metric %d\n", s.Metric)
	}
	if len(s.Nameservers) > 0 {
		fmt.Fprintf(&b, "  dns-nameservers %s\n", joined(s.Nameservers))
	}
	if len(s.Search) > 0 {
		fmt.Fprintf(&b, "  dns-search %s\n", strings.Join(s.Search, " "))
	}
	return b.String()
}

// stopDHCP ends the DHCP client that ifupdown started for a device, which would bring its address back.
const stopDHCP = "if [ -s /run/dhclient.%s.pid ]; then kill $(cat /run/dhclient.%[1]s.pid) 2>/dev/null || :; rm -f /run/dhclient.%[1]s.pid; fi\n"

func (ifupdown) Switch(from, to []Setup) string {
	var b strings.Builder
	forget := func(device string) {
		fmt.Fprintf(&b, stopDHCP, device)
		fmt.Fprintf(&b, "[ ! -e /run/network/ifstate ] || sed -i '/^%s=/d' /run/network/ifstate\n", device)
	}
	for _, s := range gone(from, to) {
		forget(s.Device)
		if s.Bridge != nil {
			fmt.Fprintf(&b, "ip link del dev %s 2>/dev/null || :\n", s.Device)
			continue
		}
		fmt.Fprintf(&b, "ip link set dev %s nomaster 2>/dev/null || :\n", s.Device)
		var batch Batch
		batch.Take(s.Device, s.Settings())
		if len(batch) > 0 {
			b.WriteString(quietly(batch))
		}
		if s.Original.Backend == Ifupdown {
			fmt.Fprintf(&b, "ifup --force %s\n", s.Device)
		}
	}
	b.WriteString(takeOff(from, to))
	for _, s := range to {
		if !contains(from, s.Device) && s.Bridge == nil {
			forget(s.Device)
			fmt.Fprintf(&b, "ip address flush dev %s scope global\n", s.Device)
		}
	}
	for _, s := range to {
		if s.Master == "" {
			fmt.Fprintf(&b, "ifup --force %s\n", s.Device)
		}
	}
	return b.String()
}

// quietly runs a batch of which any command may fail.
func quietly(batch Batch) string {
	return strings.Replace(RunBatch(batch, true), " <<'END'", " 2>/dev/null <<'END' || :", 1)
}

// commented begins a line that was a person's, with the device that it was for.
func commented(device string) string { return "#virtcluster " + device + ": " }

// begins are the words that begin a stanza (interfaces(5)).
func begins(line string) (word string, rest []string) {
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

// commentOut turns what a file says of a device into comments.
func commentOut(text, device string) string {
	var b strings.Builder
	inside := false
	for line := range strings.Lines(text) {
		word, rest := begins(line)
		if word != "" {
			inside = word == "iface" && len(rest) > 0 && rest[0] == device
		}
		ups := (word == "auto" || strings.HasPrefix(word, "allow-")) && slices.Contains(rest, device)
		switch {
		case ups:
			b.WriteString(commented(device) + line)
			b.WriteString(withoutDevice(line, device))
		case inside && strings.TrimSpace(line) != "" && !strings.HasPrefix(strings.TrimSpace(line), "#"):
			b.WriteString(commented(device) + line)
		default:
			b.WriteString(line)
		}
	}
	return b.String()
}

// withoutDevice is a line that brings devices up without one of them; "" where there is no other.
func withoutDevice(line, device string) string {
	word, rest := begins(line)
	rest = slices.DeleteFunc(rest, func(d string) bool { return d == device })
	if len(rest) == 0 {
		return ""
	}
	return word + " " + strings.Join(rest, " ") + "\n"
}

// bringBack undoes commentOut.
func bringBack(text, device string) string {
	lines := slices.Collect(strings.Lines(text))
	var b strings.Builder
	for i := 0; i < len(lines); i++ {
		was, ours := strings.CutPrefix(lines[i], commented(device))
		if !ours {
			b.WriteString(lines[i])
			continue
		}
		b.WriteString(was)
		if word, _ := begins(was); word != "" && word != "iface" && i+1 < len(lines) && lines[i+1] == withoutDevice(was, device) {
			i++
		}
	}
	return b.String()
}
