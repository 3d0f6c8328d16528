package hostnet

import (
	"fmt"
	"net/netip"
	"regexp"
	"slices"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

// Desired is a machine's own devices as one resource has them: a bridge with all that is in it, or an interface. Each backend renders it whole,
// in the way of a network manager or for the kernel itself. Without any devices it is what a resource leaves when it goes.
type Desired struct {
	// Backend keeps the devices.
	Backend string
	// Mark is whose they are.
	Mark owner.Mark
	// Devices are the bridge before what is in it, and a bond before what it is made of.
	Devices []Device
}

// Device is one device as it shall be.
type Device struct {
	Name string
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
	// Inherited is what a bridge takes over just as its interfaces had it, instead of Addressing, where nothing keeps it; nil where it does
	// not.
	Inherited []Setting
	// Stacked are the devices that are made on it and that the manager may make, by systemd.network(5)'s words: "VLAN=eth0.10". The file that
	// counts for a device has to name them, or they are not there after the next start.
	Stacked []string
	// Before is what the device had and what managed it before this provider configured it, for one that it does not make. A bridge that
	// a manager had before is not made here: a person's files make it, and stay.
	Before DeviceSnapshot
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
func (d Device) isCreated() bool {
	return d.Bridge != nil && d.Before.Manager.Backend == "" || d.VLAN != nil || d.Bond != nil
}

// standsAlone says whether the machine has the device by itself, and it is in no other one: it has addresses of its own before and after.
func (d Device) standsAlone() bool { return !d.isCreated() && d.Master == "" }

// ownSettings are what the device gets of its owner, as ip(8) has it.
func (d Device) ownSettings() []Setting {
	if d.Inherited != nil {
		return d.Inherited
	}
	return d.Settings()
}

// findDevice finds a device by its name.
func (d Desired) findDevice(name string) (Device, bool) {
	i := slices.IndexFunc(d.Devices, func(o Device) bool { return o.Name == name })
	if i < 0 {
		return Device{}, false
	}
	return d.Devices[i], true
}

func (d Desired) hasDevice(name string) bool {
	_, is := d.findDevice(name)
	return is
}

// devicesWithout are the devices that another one has not.
func (d Desired) devicesWithout(other Desired) []Device {
	return slices.DeleteFunc(slices.Clone(d.Devices), func(o Device) bool { return other.hasDevice(o.Name) })
}

// findBridge is the bridge among the devices; false where there is none.
func (d Desired) findBridge() (Device, bool) {
	i := slices.IndexFunc(d.Devices, func(o Device) bool { return o.Bridge != nil })
	if i < 0 {
		return Device{}, false
	}
	return d.Devices[i], true
}

// belongsToPerson says whether a device is a bridge that a person's files make, or is in one.
func (d Desired) belongsToPerson(device Device) bool {
	b, there := d.findBridge()
	return there && !b.isCreated() && (device.Name == b.Name || device.Master == b.Name)
}

// isElsewhere says whether somebody put a device into another one than those desired: there it stays when this provider gives it up.
func (m Machine) isElsewhere(d Desired, device string) bool {
	link, _ := m.Link(device)
	return link.Master != "" && !d.hasDevice(link.Master)
}

// deviceName is what the kernel takes for a device, without what would need quoting in a batch file.
var deviceName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,14}$`)

// ValidDevice says whether a name can be a device's.
func ValidDevice(name string) bool { return deviceName.MatchString(name) }

var searchDomain = regexp.MustCompile(`^[A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9])?\.?$`)

// ValidDomain says whether a text can be a domain.
func ValidDomain(name string) bool { return len(name) <= 253 && searchDomain.MatchString(name) }

// Validate finds what is wrong with addresses, gateways and name servers, at the attributes of a resource that has them.
func (a Addressing) Validate() []service.Problem {
	var problems []service.Problem
	for i, p := range a.Addresses {
		if slices.Index(a.Addresses, p) != i {
			problems = append(problems, service.Problemf([]any{"addresses"}, "Duplicate address", "%s is listed twice", p))
		}
		if ip := p.Addr(); ip.IsMulticast() || ip.IsUnspecified() || ip.IsLoopback() {
			problems = append(problems, service.Problemf([]any{"addresses"}, "Invalid address", "%s is no address that a network interface can have", p))
		}
	}
	for i, g := range a.Gateways {
		at := []any{"gateway"}
		if len(a.Gateways) > 1 {
			at = []any{"gateways", i}
		}
		switch {
		case a.DHCP && g.Is4():
			problems = append(problems, service.Problemf(at, "Gateway beside DHCP", "the default route comes with the address: leave gateway out, or list the addresses"))
		case !a.DHCP && !g.IsLinkLocalUnicast() && !slices.ContainsFunc(a.Addresses, func(p netip.Prefix) bool { return p.Contains(g) }):
			problems = append(problems, service.Problemf(at, "Gateway outside the subnet", "%s is in none of the subnets of %v", g, a.Addresses))
		case slices.ContainsFunc(a.Gateways[:i], func(o netip.Addr) bool { return o.Is4() == g.Is4() }):
			problems = append(problems, service.Problemf(at, "Two gateways of one family", "a machine has one default route of each family and metric: list one IPv4 and one IPv6 gateway at most"))
		case slices.ContainsFunc(a.Addresses, func(p netip.Prefix) bool { return p.Addr() == g }):
			problems = append(problems, service.Problemf(at, "Gateway is the machine itself", "%s is among the addresses: write the address of the router", g))
		}
	}
	for i, domain := range a.Search {
		if !ValidDomain(domain) {
			problems = append(problems, service.Problemf([]any{"search", i}, "Invalid domain", "%q is no domain", domain))
		}
	}
	if a.Metric != 0 && len(a.Gateways) == 0 && !a.DHCP {
		problems = append(problems, service.Problemf([]any{"metric"}, "Metric without gateway", "a metric belongs to the default route: set gateway, or leave metric out"))
	}
	return problems
}

// WithoutManager finds what needs a network manager, for a device that nothing keeps.
func (a Addressing) WithoutManager() []service.Problem {
	var problems []service.Problem
	if a.DHCP {
		problems = append(problems, service.Problemf([]any{"addresses"}, "DHCP without a network manager", "backend \"runtime\" has no DHCP client: list the addresses, or choose another backend"))
	}
	if len(a.Nameservers)+len(a.Search) > 0 {
		problems = append(problems, service.Problemf([]any{"nameservers"}, "Name servers without a network manager", "backend \"runtime\" keeps no name servers: leave nameservers and search out, or choose another backend"))
	}
	return problems
}

// CheckNameservers refuses name servers that a backend cannot keep for a device: NetworkManager takes those of a family only where the device has
// addresses of it.
func (a Addressing) CheckNameservers(backend string) error {
	for _, n := range a.Nameservers {
		has := a.DHCP || a.AcceptRA && n.Is6() || slices.ContainsFunc(a.Addresses, func(p netip.Prefix) bool { return p.Addr().Is4() == n.Is4() })
		if backend == NetworkManager && !has {
			return service.At([]any{"nameservers"}, fmt.Errorf("NetworkManager takes the name server %s only where there are addresses of its family: list one in addresses, or leave it out", n))
		}
	}
	return nil
}

// CheckDefaultRoute refuses a default route that would take the place of another device's; devices are those whose own goes.
func (m Machine) CheckDefaultRoute(a Addressing, devices []string) error {
	for _, route := range m.Routes {
		there := route.Asked()
		if there.To.Bits() != 0 || !there.Via.IsValid() || slices.Contains(devices, route.Dev) {
			continue
		}
		for _, g := range a.Gateways {
			if g.Is4() == there.Via.Is4() && there.Metric == a.Metric {
				return service.At([]any{"gateway"}, fmt.Errorf("the machine has a default route of the same metric via %s dev %s, which stays: give this one a metric, such as 100, or leave gateway out", there.Via, route.Dev))
			}
		}
	}
	return nil
}
