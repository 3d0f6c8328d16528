package machine

import (
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/ovn"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/plan"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

// Uses implements plan.User: the addresses of the interfaces, what networks keep for them, the volumes, the hypervisor's devices, and the
// limit of its group.
func (s *Spec) Uses() []plan.Use {
	uses := s.listTurnUses()
	for n := range s.Interfaces {
		at := pathTo("network_interfaces", n)
		uses = append(uses, s.Interfaces[n].listUses(at)...)
		if direct := s.Interfaces[n].Direct; s.Running && direct != nil && direct.Device != "" {
			kind := plan.DevicePart
			if direct.Mode == Passthrough {
				kind = plan.HostDevice
			}
			uses = append(uses, plan.Use{Kind: kind, Value: "network device " + direct.Device, Path: pathBelow(at, "direct", "device")})
		}
	}
	if len(s.Interfaces) > 0 && s.Interfaces[0].MAC != "" {
		uses = append(uses, plan.Use{Verb: plan.Gives, Kind: plan.NodeCard, Value: s.Name, For: CanonicalMAC(s.Interfaces[0].MAC), Path: pathTo("network_interfaces", 0, "mac"), Known: []string{"name"}})
	}
	volumes := s.VolumeNames()
	slices.SortFunc(volumes, func(a, b VolumeRef) int { return strings.Compare(a.Name, b.Name) })
	for _, own := range volumes {
		if own.Pool != "" {
			uses = append(uses, plan.Use{Kind: plan.NodeVolume, Scope: plan.InPool(own.Pool), Value: own.Name, Path: pathTo("name"), Known: []string{"name"}})
		}
	}
	if listener := s.Console.listenAddress(); listener != "" {
		uses = append(uses, plan.Use{Kind: plan.ControllerPort, Value: listener, Path: pathTo("console", "port")})
	}
	for n, h := range s.HostDevices {
		if s.Running && h != (HostDevice{}) {
			uses = append(uses, plan.Use{Kind: plan.HostDevice, Value: h.spellName(), Path: pathTo("host_devices", n, h.chooseAttribute())})
		}
	}
	attach := func(volume string, tuning DiskTuning, path []any) {
		if volume == "" {
			return
		}
		uses = append(uses, plan.Use{Kind: plan.AttachedVolume, Verb: plan.Needs, Value: volume, Path: path})
		if s.Running && !tuning.ReadOnly && !tuning.Shareable {
			uses = append(uses, plan.Use{Kind: plan.RunningVolume, Value: volume, Path: path})
		}
	}
	if s.Root != nil {
		attach(s.Root.Volume, s.Root.DiskTuning, pathTo("root_disk", "volume"))
	}
	for _, key := range slices.Sorted(maps.Keys(s.Disks)) {
		attach(s.Disks[key].Volume, s.Disks[key].DiskTuning, pathTo("disks", service.Key(key), "volume"))
	}
	if s.CDROM != nil && s.CDROM.Image != "" {
		uses = append(uses, plan.Use{Kind: plan.AttachedVolume, Verb: plan.Needs, Value: s.CDROM.Image, Path: pathTo("cdrom", "image")})
	}
	return uses
}

// listUses returns what an interface uses: its addresses, of which the network keeps those by DHCP, and the name that these come with.
func (i *InterfaceSpec) listUses(here []any) []plan.Use {
	var uses []plan.Use
	if i.MAC != "" {
		uses = append(uses, plan.Use{Kind: plan.MAC, Scope: "all networks", Value: i.MAC, Path: pathBelow(here, "mac")})
	}
	segment, holder := i.Network, strings.ToLower(i.MAC)
	if i.Bridge != "" {
		segment, holder = "bridge "+i.Bridge, ""
	}
	if i.Direct != nil {
		segment, holder = "device "+i.Direct.Device, ""
	}
	if i.OVNNetwork != "" {
		return append(uses, i.listOVNUses(here)...)
	}
	if segment == "" {
		return uses
	}
	reserve := func(value string, path ...any) {
		if value != "" {
			uses = append(uses, plan.Use{Kind: plan.NodeReservation, Scope: plan.OnNetwork(segment), Value: value, Path: pathBelow(here, path...)})
		}
	}
	address := func(a netip.Addr, path ...any) {
		if a.IsValid() {
			uses = append(uses, plan.Use{Kind: plan.GuestAddress, Scope: plan.OnNetwork(segment), Value: a.String(), Span: plan.SpanOf(a), For: holder, Path: pathBelow(here, path...)})
		}
	}
	if address(i.IP, "ip"); i.IP.IsValid() {
		reserve(i.MAC, "ip")
	}
	address(i.IPv6, "ipv6")
	if i.IP.IsValid() || i.IPv6.IsValid() { // libvirt takes a name once on a network
		reserve(i.Hostname, "hostname")
	}
	for n, a := range i.listAddresses() {
		address(a, "addresses", n)
	}
	return uses
}

// listOVNUses returns the addresses of an interface on a network of OVN, which is one on all hypervisors.
func (i *InterfaceSpec) listOVNUses(here []any) []plan.Use {
	at, network, err := ovn.SplitNetworkID(i.OVNNetwork)
	if err != nil {
		return nil
	}
	var uses []plan.Use
	address := func(a netip.Addr, path ...any) {
		uses = append(uses, plan.Use{Kind: plan.GuestAddress, On: "OVN of " + at, Scope: plan.OnNetwork(network), Value: a.String(), Span: plan.SpanOf(a), Path: pathBelow(here, path...)})
	}
	if i.IP.IsValid() {
		address(i.IP, "ip")
	}
	for n, a := range i.listAddresses() {
		address(a, "addresses", n)
	}
	return uses
}

// validateUses finds what two interfaces of the machine have, and only one can.
func (s *Spec) validateUses() []service.Problem {
	var problems []service.Problem
	var seen []plan.Use
	for n := range s.Interfaces {
		uses := s.Interfaces[n].listUses(pathTo("network_interfaces", n))
		for _, u := range uses {
			if at := slices.IndexFunc(seen, u.IsSame); at >= 0 {
				problems = append(problems, service.Problemf(u.Path, "Taken by another interface", "%s belongs to interface %v of this node: write another one",
					plan.Holder{Places: []string{plan.NameHypervisor(s.Hypervisor)}}.Spell(u), seen[at].Path[1]))
			}
		}
		seen = append(seen, uses...)
	}
	return problems
}

var (
	reservationKinds = []plan.Kind{plan.NodeReservation, plan.Reservation}
	addressKinds     = []plan.Kind{plan.GuestAddress, plan.ReservedAddress, plan.GatewayAddress}
)
