package hostnet

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
)

// Setup is one device as it shall be configured over reboots.
type Setup struct {
	Device string
	// Bridge is nil for a device that the machine has by itself.
	Bridge *BridgeOptions
	// Master is the bridge that the device is in; then it has no addresses of its own.
	Master string
	// MTU in bytes; 0 leaves it.
	MTU int
	Addressing
	// Original is what managed the device before.
	Original Manager
}

// BridgeOptions are those of a bridge that the configuration makes.
type BridgeOptions struct {
	// MAC is the first port's: a DHCP server, and the neighbours, know the machine by it.
	MAC string
	STP bool
}

// Addressing is what a device has of addresses and what goes with them.
type Addressing struct {
	DHCP        bool
	Addresses   []netip.Prefix
	Gateways    []netip.Addr
	Metric      int
	Routes      []StaticRoute
	Nameservers []netip.Addr
	Search      []string
}

// StaticRoute is a route to a network through a gateway; Metric 0 leaves it to the kernel.
type StaticRoute struct {
	To     netip.Prefix
	Via    netip.Addr
	Metric int
}

// Settings are the addresses and routes as ip(8) has them.
func (a Addressing) Settings() []Setting {
	var all []Setting
	for _, p := range a.Addresses {
		all = append(all, AddressSetting(p))
	}
	for _, r := range a.Routes {
		all = append(all, RouteSetting(r.To, r.Via, r.Metric))
	}
	for _, g := range a.Gateways {
		all = append(all, RouteSetting(Everywhere(g), g, a.Metric))
	}
	return all
}

// Everywhere is the destination of a default route of an address's family.
func Everywhere(like netip.Addr) netip.Prefix {
	if like.Is4() {
		return netip.PrefixFrom(netip.IPv4Unspecified(), 0)
	}
	return netip.PrefixFrom(netip.IPv6Unspecified(), 0)
}

// Addressing is what a device has now, as configuration: what it has by DHCP is asked for by DHCP again. Routes that the kernel,
// DHCP or router advertisements made are not part of it.
func (m Machine) Addressing(device string) Addressing {
	var a Addressing
	link, _ := m.Link(device)
	for _, l := range link.Addresses {
		switch {
		case l.Scope != "global":
		case l.Dynamic && l.Family == "inet":
			a.DHCP = true
		case !l.Dynamic:
			a.Addresses = append(a.Addresses, netip.PrefixFrom(l.Local, l.PrefixLen))
		}
	}
	for _, r := range m.Routes {
		if r.Dev != device || r.Protocol == "kernel" || r.Protocol == "ra" || r.Protocol == "dhcp" {
			continue
		}
		via, _ := netip.ParseAddr(r.Gateway)
		metric := r.Metric
		if r.Family == "-6" && metric == 1024 {
			metric = 0
		}
		switch to, err := netip.ParsePrefix(r.Dst); {
		case r.Dst == "default" && via.IsValid() && (len(a.Gateways) == 0 || metric == a.Metric):
			a.Gateways, a.Metric = append(a.Gateways, via), metric
		case r.Dst == "default" && via.IsValid():
			a.Routes = append(a.Routes, StaticRoute{Everywhere(via), via, metric})
		case err == nil:
			a.Routes = append(a.Routes, StaticRoute{to, via, metric})
		default:
			if single, err := netip.ParseAddr(r.Dst); err == nil {
				a.Routes = append(a.Routes, StaticRoute{netip.PrefixFrom(single, single.BitLen()), via, metric})
			}
		}
	}
	return a
}

// Backend keeps devices' configuration over reboots, in the way of one network manager.
type Backend interface {
	// Files are those that configure the devices of to, with the mark in them, and the removal of those of from that are not in it.
	Files(ctx context.Context, h host.Host, from, to []Setup, mark owner.Mark) ([]File, error)
	// Switch is the script that has the running machine follow, when the files are in place.
	Switch(from, to []Setup) string
	// Path is the file that carries the mark of a device.
	Path(device string) string
}

// Backends are those that keep something; Runtime does not.
var Backends = map[string]Backend{Networkd: networkd{}, NetworkManager: networkManager{}, Ifupdown: ifupdown{}}

// ChangeSetups is the change from one configuration of devices to another by a backend.
func ChangeSetups(ctx context.Context, h host.Host, b Backend, from, to []Setup, mark owner.Mark) (Change, error) {
	files, err := b.Files(ctx, h, from, to, mark)
	return Change{Files: files, Do: b.Switch(from, to) + await(to), Undo: b.Switch(to, from)}, err
}

// ReadMark returns whose a device's configuration is; ok is false where the backend has none of this provider.
func ReadMark(ctx context.Context, h host.Host, b Backend, device string) (m owner.Mark, ok bool, err error) {
	text, err := h.Read(ctx, b.Path(device))
	if isAbsent(err) {
		return m, false, nil
	}
	return owner.Parse(string(text)), err == nil, err
}

// await is the script that waits until devices have what they shall have.
func await(setups []Setup) string {
	var b strings.Builder
	b.WriteString("await() { n=0; until eval \"$2\"; do n=$((n + 1)); if [ $n -gt 300 ]; then echo \"$1\" >&2; exit 1; fi; sleep 0.1; done; }\n")
	for _, s := range setups {
		if s.Master != "" {
			fmt.Fprintf(&b, "await '%s is not in bridge %s' 'ip -o link show dev %[1]s | grep -q \" master %[2]s \"'\n", s.Device, s.Master)
		}
		for _, a := range s.Addresses {
			fmt.Fprintf(&b, "await '%s has no address %s' 'ip -o address show dev %[1]s | grep -v tentative | grep -qF \" %[2]s \"'\n", s.Device, a)
		}
		if s.DHCP {
			fmt.Fprintf(&b, "await '%s got no address by DHCP' 'ip -o -4 address show dev %[1]s scope global | grep -q inet'\n", s.Device)
		}
		for _, g := range s.Gateways {
			fmt.Fprintf(&b, "await '%s has no default route via %s' 'ip %[3]s route show default dev %[1]s | grep -qF \"via %[2]s\"'\n", s.Device, g, family(g))
		}
		for _, r := range s.Routes {
			fmt.Fprintf(&b, "await '%s has no route to %s' 'ip %[3]s route show %[2]s dev %[1]s | grep -q .'\n", s.Device, r.To, family(r.To.Addr()))
		}
	}
	return b.String()
}

func family(a netip.Addr) string {
	if a.Is4() {
		return "-4"
	}
	return "-6"
}

// gone are the setups of from whose devices are not in to.
func gone(from, to []Setup) []Setup {
	return slices.DeleteFunc(slices.Clone(from), func(s Setup) bool {
		return slices.ContainsFunc(to, func(t Setup) bool { return t.Device == s.Device })
	})
}

// joined lists values with a blank between them.
func joined[T fmt.Stringer](values []T) string {
	var texts []string
	for _, v := range values {
		texts = append(texts, v.String())
	}
	return strings.Join(texts, " ")
}
