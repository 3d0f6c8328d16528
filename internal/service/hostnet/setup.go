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

// Setup is one device as it shall be configured over reboots: what each backend writes in its manager's way.
type Setup struct {
	Device string
	// Bridge, VLAN and Bond are nil for a device that the machine has by itself; one of them is set for one that the configuration
	// makes.
	Bridge *BridgeOptions
	VLAN   *VLANOptions
	Bond   *BondOptions
	// Master is the bridge or the bond that the device is in; then it has no addresses of its own. InBond says which.
	Master string
	InBond bool
	// MTU in bytes; 0 leaves it.
	MTU int
	Addressing
	// Original is what managed the device before. A bridge that has one is not made here: a person's files make it, and stay.
	Original Manager
	// Elsewhere says that somebody put the device into another bridge: it stays there when this provider gives it up.
	Elsewhere bool
}

// belongsToPerson says whether a device is a bridge that a person's files make, or is in one among all.
func (s Setup) belongsToPerson(all []Setup) bool {
	if s.Bridge != nil {
		return !s.isCreated()
	}
	return slices.ContainsFunc(all, func(b Setup) bool { return b.Bridge != nil && b.Device == s.Master && !b.isCreated() })
}

// BridgeOptions are those of a bridge that the configuration makes.
type BridgeOptions struct {
	// MAC is the first port's: a DHCP server, and the neighbours, know the machine by it.
	MAC string
	STP bool
	// VLANFiltering has the bridge keep VLANs apart.
	VLANFiltering bool
}

// VLANOptions are those of a VLAN of another device.
type VLANOptions struct {
	Parent string `json:"parent"`
	// ID is 1 to 4094.
	ID int `json:"id"`
	// Manager is what manages the parent.
	Manager Manager `json:"manager"`
}

// BondOptions are those of several devices that act as one.
type BondOptions struct {
	// Mode is one of the kernel's names: "active-backup", "802.3ad".
	Mode string
	MAC  string
}

// isCreated says whether the configuration makes the device.
func (s Setup) isCreated() bool {
	return s.Bridge != nil && s.Original.Backend == "" || s.VLAN != nil || s.Bond != nil
}

// Addressing is what a device has of addresses and what goes with them.
type Addressing struct {
	DHCP bool
	// AcceptRA has the device heed router advertisements, as what it had by them was not made permanent. Where it is not set, that is
	// left to the manager.
	AcceptRA    bool
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

// Addressing is what a device has now, as configuration: what it has by DHCP is asked for by DHCP again, and what it has by router
// advertisements comes with the next ones. Routes that the kernel, DHCP or router advertisements made are not part of it, nor are
// addresses that something else puts on the device.
func (m Machine) Addressing(device string) Addressing {
	a := Addressing{AcceptRA: m.heedsAdvertisements(device)}
	link, _ := m.Link(device)
	for _, l := range link.Addresses {
		switch {
		case l.Scope != "global":
		case l.Dynamic && l.Family == "inet":
			a.DHCP = true
		case !l.Dynamic && m.heldBy(device, l.Local, l.Protocol) == "":
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
var Backends = map[string]Backend{Networkd: networkd{}, NetworkManager: networkManager{}, Netplan: netplan{}, Ifupdown: ifupdown{}}

// ChangeSetups is the change from one configuration of devices to another by a backend.
func ChangeSetups(ctx context.Context, h host.Host, b Backend, from, to []Setup, mark owner.Mark) (Change, error) {
	files, err := b.Files(ctx, h, from, to, mark)
	from = slices.DeleteFunc(slices.Clone(from), func(s Setup) bool { return s.Elsewhere })
	return Change{Files: files, Do: b.Switch(from, to) + awaitScript(to), Undo: b.Switch(to, from)}, err
}

// condition is something that a machine shall have when it follows a setup.
type condition struct {
	// missing says what there is not, test is a shell command that succeeds when it is there. Neither has a single quote in it.
	missing, test string
}

// listConditions are what the device of a setup shall have.
func (s Setup) listConditions() []condition {
	var all []condition
	add := func(missing, test string) { all = append(all, condition{missing, test}) }
	if s.Master != "" {
		add(fmt.Sprintf("%s is not in %s", s.Device, s.Master), fmt.Sprintf(`ip -o link show dev %s | grep -q " master %s "`, s.Device, s.Master))
	}
	for _, a := range s.Addresses {
		add(fmt.Sprintf("%s has no address %s", s.Device, a), fmt.Sprintf(`ip -o address show dev %s | grep -v tentative | grep -qF " %s "`, s.Device, a))
	}
	if s.DHCP {
		add(s.Device+" got no address by DHCP", fmt.Sprintf("ip -o -4 address show dev %s scope global | grep -q inet", s.Device))
	}
	for _, g := range s.Gateways {
		add(fmt.Sprintf("%s has no default route via %s", s.Device, g), fmt.Sprintf(`ip %s route show default dev %s | grep -qF "via %s"`, familyOption(g), s.Device, g))
	}
	for _, r := range s.Routes {
		add(fmt.Sprintf("%s has no route to %s", s.Device, r.To), fmt.Sprintf("ip %s route show %s dev %s | grep -q .", familyOption(r.To.Addr()), r.To, s.Device))
	}
	return all
}

// awaitScript is the commands that wait until devices have what they shall have.
func awaitScript(setups []Setup) string {
	var b strings.Builder
	for _, s := range setups {
		for _, c := range s.listConditions() {
			fmt.Fprintf(&b, "await '%s' '%s'\n", c.missing, c.test)
		}
	}
	return b.String()
}

func familyOption(a netip.Addr) string {
	if a.Is4() {
		return "-4"
	}
	return "-6"
}

// removedSetups are those of from whose devices are not in to.
func removedSetups(from, to []Setup) []Setup {
	return slices.DeleteFunc(slices.Clone(from), func(s Setup) bool {
		return slices.ContainsFunc(to, func(t Setup) bool { return t.Device == s.Device })
	})
}

// joinTexts lists values with a blank between them.
func joinTexts[T fmt.Stringer](values []T) string { return strings.Join(spellAll(values), " ") }
