package hostnet

import (
	"context"
	"fmt"
	"net/netip"
	"path"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
)

// netplan keeps devices by a file of netplan's (netplan(5)), rendered for systemd-networkd: a bridge and what is in it by one, as
// netplan knows a device from where it is described on. What a person wrote for a device
// stays as it is: a device that the machine has by itself has an id of this provider's here, whose rendered file comes first, and
// the first file that matches a device counts. Netplan would merge what has the same id.
type netplan struct{}

func (netplan) Path(device string) string { return "/etc/netplan/90-virtcluster-" + device + ".yaml" }

// id is what a device is called in netplan's files, where this provider describes it.
func (netplan) id(s Setup) string {
	if s.isCreated() {
		return s.Device
	}
	return "00virtcluster-" + s.Device
}

const netplanRendered = "10-netplan-"

// dropIn says what netplan has no word for: what others give to the device, such as virtual addresses, stays when the
// configuration is read again.
func (n netplan) dropIn(s Setup) string {
	return networkdDir + netplanRendered + n.id(s) + ".network.d/virtcluster.conf"
}

func (n netplan) Files(_ context.Context, _ host.Host, from, to []Setup, mark owner.Mark) ([]File, error) {
	var files []File
	for _, s := range to {
		if s.Bridge != nil && s.Bridge.VLANFiltering {
			return nil, fmt.Errorf("netplan has no VLAN filtering for bridge %s: choose the backend \"systemd-networkd\"", s.Device)
		}
		if other := path.Base(s.Original.File); s.Original.File != "" && other < netplanRendered+n.id(s) {
			return nil, fmt.Errorf("%s comes before what netplan would render for %s, so it would go on counting: choose the backend \"systemd-networkd\"", s.Original.File, s.Device)
		}
		if s.Master != "" {
			continue
		}
		text, err := n.renderYAML(to)
		if err != nil {
			return nil, err
		}
		files = append(files, File{Path: n.Path(s.Device), Content: fmt.Sprintf("# virtcluster %s\n%s", mark, text), Mode: 0o600},
			File{Path: n.dropIn(s), Content: "[Network]\nKeepConfiguration=static\n"})
	}
	for _, s := range removedSetups(from, to) {
		if s.Master == "" {
			files = append(files, File{Path: n.Path(s.Device), Absent: true}, File{Path: n.dropIn(s), Absent: true})
		}
	}
	return files, nil
}

// renderYAML is the YAML of devices that belong together: a bridge and what is in it, or an interface.
func (n netplan) renderYAML(all []Setup) (string, error) {
	network := yaml.MapSlice{{Key: "version", Value: 2}}
	for _, kind := range []string{"ethernets", "bonds", "vlans", "bridges"} {
		var devices yaml.MapSlice
		for _, s := range all {
			if is, d := n.deviceOf(s, all); is == kind {
				devices = append(devices, yaml.MapItem{Key: n.id(s), Value: d})
			}
		}
		if len(devices) > 0 {
			network = append(network, yaml.MapItem{Key: kind, Value: devices})
		}
	}
	text, err := yaml.MarshalWithOptions(yaml.MapSlice{{Key: "network", Value: network}}, yaml.IndentSequence(true))
	return string(text), err
}

// deviceOf is what netplan says of one device, and the kind of devices that it is among.
func (n netplan) deviceOf(s Setup, all []Setup) (kind string, d yaml.MapSlice) {
	kind, d = "ethernets", yaml.MapSlice{{Key: "renderer", Value: "networkd"}}
	add := func(key string, value any) { d = append(d, yaml.MapItem{Key: key, Value: value}) }
	switch {
	case s.Bridge != nil && s.isCreated():
		kind = "bridges"
		add("macaddress", s.Bridge.MAC)
		add("interfaces", n.memberIDs(s.Device, all))
		add("parameters", yaml.MapSlice{{Key: "stp", Value: s.Bridge.STP}, {Key: "forward-delay", Value: 2 + 13*toBit(s.Bridge.STP)}})
	case s.VLAN != nil:
		kind = "vlans"
		add("id", s.VLAN.ID)
		add("link", n.parentID(*s.VLAN))
	case s.Bond != nil:
		kind = "bonds"
		add("macaddress", s.Bond.MAC)
		add("interfaces", n.memberIDs(s.Device, all))
		add("parameters", yaml.MapSlice{{Key: "mode", Value: s.Bond.Mode}, {Key: "mii-monitor-interval", Value: 100}})
	default:
		add("match", yaml.MapSlice{{Key: "name", Value: s.Device}})
	}
	if s.MTU != 0 {
		add("mtu", s.MTU)
	}
	if s.Master != "" {
		add("link-local", []string{})
		add("accept-ra", false)
	} else {
		d = append(d, n.addressingOf(s)...)
	}
	return kind, d
}

// memberIDs are the ids of what is in a bridge or a bond.
func (n netplan) memberIDs(master string, all []Setup) []string {
	var ids []string
	for _, s := range all {
		if s.Master == master {
			ids = append(ids, n.id(s))
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

func (netplan) addressingOf(s Setup) yaml.MapSlice {
	var d yaml.MapSlice
	add := func(key string, value any) { d = append(d, yaml.MapItem{Key: key, Value: value}) }
	add("dhcp4", s.DHCP)
	if s.DHCP && s.Bridge != nil && s.isCreated() {
		add("dhcp-identifier", "mac") // as renderDHCP has it
	}
	if s.DHCP && s.Metric != 0 {
		add("dhcp4-overrides", yaml.MapSlice{{Key: "route-metric", Value: s.Metric}})
	}
	if s.AcceptRA || !s.DHCP && !hasIPv6(s.Addresses) {
		add("accept-ra", s.AcceptRA)
	}
	if len(s.Addresses) > 0 {
		add("addresses", spellAll(s.Addresses))
	}
	var routes []yaml.MapSlice
	route := func(to netip.Prefix, via netip.Addr, metric int) {
		r := yaml.MapSlice{{Key: "to", Value: to.String()}}
		if via.IsValid() {
			r = append(r, yaml.MapItem{Key: "via", Value: via.String()})
		} else {
			r = append(r, yaml.MapItem{Key: "scope", Value: "link"})
		}
		if metric != 0 {
			r = append(r, yaml.MapItem{Key: "metric", Value: metric})
		}
		routes = append(routes, r)
	}
	for _, g := range s.Gateways {
		route(Everywhere(g), g, s.Metric)
	}
	for _, r := range s.Routes {
		route(r.To, r.Via, r.Metric)
	}
	if len(routes) > 0 {
		add("routes", routes)
	}
	var names yaml.MapSlice
	if len(s.Search) > 0 {
		names = append(names, yaml.MapItem{Key: "search", Value: s.Search})
	}
	if len(s.Nameservers) > 0 {
		names = append(names, yaml.MapItem{Key: "addresses", Value: spellAll(s.Nameservers)})
	}
	if len(names) > 0 {
		add("nameservers", names)
	}
	return d
}

func (n netplan) Switch(from, to []Setup) string {
	var b strings.Builder
	b.WriteString("netplan generate\n")
	for _, s := range removedSetups(from, to) {
		fmt.Fprintf(&b, "rmdir %s 2>/dev/null || :\n", path.Dir(n.dropIn(s)))
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
