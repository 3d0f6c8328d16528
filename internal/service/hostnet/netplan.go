package hostnet

import (
	"fmt"
	"path"
	"strings"

	"github.com/goccy/go-yaml"
)

// netplan keeps devices by a file of netplan's (netplan(5)), rendered for systemd-networkd: a bridge and what is in it by one, as
// netplan knows a device from where it is described on. What a person wrote for a device
// stays as it is: a device that the machine has by itself has an id of this provider's here, whose rendered file comes first, and
// the first file that matches a device counts. Netplan would merge what has the same id.
type netplan struct{}

func (netplan) Path(device string) string { return "/etc/netplan/90-virtcluster-" + device + ".yaml" }

// deviceID is what a device is called in netplan's files, where this provider describes it.
func (netplan) deviceID(d Device) string {
	if d.isCreated() {
		return d.Name
	}
	return "00virtcluster-" + d.Name
}

const netplanRendered = "10-netplan-"

// dropIn says what netplan has no word for: what others give to the device, such as virtual addresses, stays when the
// configuration is read again, and what a person's files have on the device stays on it.
func (n netplan) dropIn(d Device) string {
	return networkdDir + netplanRendered + n.deviceID(d) + ".network.d/virtcluster.conf"
}

// Check implements Backend.
func (n netplan) Check(d Device) error {
	if d.Bridge != nil && d.Bridge.VLANFiltering {
		return fmt.Errorf("netplan has no VLAN filtering for bridge %s: choose the backend \"systemd-networkd\"", d.Name)
	}
	if file := d.Before.Manager.File; file != "" && path.Base(file) < netplanRendered+n.deviceID(d) {
		return fmt.Errorf("%s comes before what netplan would render for %s, so it would go on counting: choose the backend \"systemd-networkd\"", file, d.Name)
	}
	return nil
}

// Render implements Backend: what is in a bridge is described with it.
func (n netplan) Render(d Device, in Desired) []File {
	beside := File{Path: n.dropIn(d), Content: "[Network]\n" + d.formatStacked()}
	if d.Master != "" {
		return []File{beside}
	}
	beside.Content += "KeepConfiguration=static\n"
	return []File{{Path: n.Path(d.Name), Content: fmt.Sprintf("# virtcluster %s\n%s", in.Mark, n.renderYAML(in.Devices)), Mode: 0o600}, beside}
}

// renderYAML is the YAML of devices that belong together: a bridge and what is in it, or an interface.
func (n netplan) renderYAML(all []Device) string {
	network := yaml.MapSlice{{Key: "version", Value: 2}}
	for _, kind := range []string{"ethernets", "bonds", "vlans", "bridges"} {
		var devices yaml.MapSlice
		for _, d := range all {
			if is, out := n.deviceOf(d, all); is == kind {
				devices = append(devices, yaml.MapItem{Key: n.deviceID(d), Value: out})
			}
		}
		if len(devices) > 0 {
			network = append(network, yaml.MapItem{Key: kind, Value: devices})
		}
	}
	text, err := yaml.MarshalWithOptions(yaml.MapSlice{{Key: "network", Value: network}}, yaml.IndentSequence(true))
	if err != nil {
		panic(err) // plain values always marshal
	}
	return string(text)
}

// deviceOf is what netplan says of one device, and the kind of devices that it is among.
func (n netplan) deviceOf(d Device, all []Device) (kind string, out yaml.MapSlice) {
	kind, out = "ethernets", yaml.MapSlice{{Key: "renderer", Value: "networkd"}}
	add := func(key string, value any) { out = append(out, yaml.MapItem{Key: key, Value: value}) }
	switch {
	case d.Bridge != nil && d.isCreated():
		kind = "bridges"
		add("macaddress", d.Bridge.MAC)
		add("interfaces", n.memberIDs(d.Name, all))
		add("parameters", yaml.MapSlice{{Key: "stp", Value: d.Bridge.STP}, {Key: "forward-delay", Value: 2 + 13*toBit(d.Bridge.STP)}})
	case d.VLAN != nil:
		kind = "vlans"
		add("id", d.VLAN.ID)
		add("link", n.parentID(*d.VLAN))
	case d.Bond != nil:
		kind = "bonds"
		add("macaddress", d.Bond.MAC)
		add("interfaces", n.memberIDs(d.Name, all))
		add("parameters", yaml.MapSlice{{Key: "mode", Value: d.Bond.Mode}, {Key: "mii-monitor-interval", Value: 100}})
	default:
		add("match", yaml.MapSlice{{Key: "name", Value: d.Name}})
	}
	if d.MTU != 0 {
		add("mtu", d.MTU)
	}
	if d.Master != "" {
		add("link-local", []string{})
		add("accept-ra", false)
	} else {
		out = append(out, n.addressingOf(d)...)
	}
	return kind, out
}

// memberIDs are the ids of what is in a bridge or a bond.
func (n netplan) memberIDs(master string, all []Device) []string {
	var ids []string
	for _, d := range all {
		if d.Master == master {
			ids = append(ids, n.deviceID(d))
		}
	}
	return ids
}

// parentID is the id of a VLAN's parent, which netplan must know.
func (netplan) parentID(v VLANOptions) string {
	if id, rendered := strings.CutPrefix(path.Base(v.Manager.File), netplanRendered); rendered {
		return strings.TrimSuffix(id, ".network")
	}
	return v.Parent
}

func (netplan) addressingOf(d Device) yaml.MapSlice {
	var out yaml.MapSlice
	add := func(key string, value any) { out = append(out, yaml.MapItem{Key: key, Value: value}) }
	add("dhcp4", d.DHCP)
	if d.DHCP && d.Bridge != nil && d.isCreated() {
		add("dhcp-identifier", "mac") // as renderDHCP has it
	}
	if d.DHCP && d.Metric != 0 {
		add("dhcp4-overrides", yaml.MapSlice{{Key: "route-metric", Value: d.Metric}})
	}
	if d.AcceptRA || !d.DHCP && !hasIPv6(d.Addresses) {
		add("accept-ra", d.AcceptRA)
	}
	if len(d.Addresses) > 0 {
		add("addresses", spellAll(d.Addresses))
	}
	var routes []yaml.MapSlice
	for _, r := range d.allRoutes() {
		route := yaml.MapSlice{{Key: "to", Value: r.To.String()}}
		if r.Via.IsValid() {
			route = append(route, yaml.MapItem{Key: "via", Value: r.Via.String()})
		} else {
			route = append(route, yaml.MapItem{Key: "scope", Value: "link"})
		}
		if r.OnLink {
			route = append(route, yaml.MapItem{Key: "on-link", Value: true})
		}
		if r.Metric != 0 {
			route = append(route, yaml.MapItem{Key: "metric", Value: r.Metric})
		}
		routes = append(routes, route)
	}
	if len(routes) > 0 {
		add("routes", routes)
	}
	var names yaml.MapSlice
	if len(d.Search) > 0 {
		names = append(names, yaml.MapItem{Key: "search", Value: d.Search})
	}
	if len(d.Nameservers) > 0 {
		names = append(names, yaml.MapItem{Key: "addresses", Value: spellAll(d.Nameservers)})
	}
	if len(names) > 0 {
		add("nameservers", names)
	}
	return out
}

func (n netplan) Switch(from, to Desired) string {
	var b strings.Builder
	b.WriteString("netplan generate\n")
	for _, d := range from.devicesWithout(to) {
		fmt.Fprintf(&b, "rmdir %s 2>/dev/null || :\n", path.Dir(n.dropIn(d)))
	}
	return followNetworkd(from, to, b.String())
}

// spellAll is what values are written as.
func spellAll[T fmt.Stringer](values []T) []string {
	var texts []string
	for _, v := range values {
		texts = append(texts, v.String())
	}
	return texts
}
