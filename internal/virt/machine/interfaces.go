package machine

import (
	"maps"
	"slices"
	"strings"

	"libvirt.org/go/libvirtxml"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/alloc"
)

// applyInterfaces keeps the XML of interfaces that stay, and, in their places, of kinds that the machine does not model.
func applyInterfaces(d *libvirtxml.Domain, was, m *Machine) {
	byMAC := map[string]libvirtxml.DomainInterface{}
	others := map[int]libvirtxml.DomainInterface{}
	for place, x := range d.Devices.Interfaces {
		if i, ok := readInterface(&x); ok {
			byMAC[i.MAC] = x
			continue
		}
		others[place] = x
	}
	d.Devices.Interfaces = nil
	for _, want := range m.Interfaces {
		x, exists := byMAC[want.MAC]
		if !exists {
			x = *NewInterface(&want)
		}
		changeInterface(&x, &want)
		if !exists || was.Firmware != m.Firmware {
			applyCardProgram(&x, was.Firmware, m.Firmware)
		}
		d.Devices.Interfaces = append(d.Devices.Interfaces, x)
	}
	for _, place := range slices.Sorted(maps.Keys(others)) {
		d.Devices.Interfaces = slices.Insert(d.Devices.Interfaces, min(place, len(d.Devices.Interfaces)), others[place])
	}
}

// secureFirmware is the one that takes only what is signed.
const secureFirmware = "uefi-secure"

// applyCardProgram keeps a card's own program from a machine under Secure Boot, and gives it back to one that is no more. That is iPXE, which nobody
// signed and UEFI trusts all the same, and shim cannot boot from what it says of the network: without it firmware boots from there by itself. Of a
// card and a firmware that stay, what somebody says of the program does too.
func applyCardProgram(x *libvirtxml.DomainInterface, was, firmware string) {
	switch {
	case firmware == secureFirmware:
		x.ROM = &libvirtxml.DomainROM{Enabled: "no"}
	case was == secureFirmware && x.ROM != nil && x.ROM.Enabled == "no":
		x.ROM = nil
	}
}

// NewInterface makes the XML of an interface that the domain does not have yet.
func NewInterface(i *Interface) *libvirtxml.DomainInterface {
	x := &libvirtxml.DomainInterface{MAC: &libvirtxml.DomainInterfaceMAC{Address: i.MAC}, Source: &libvirtxml.DomainInterfaceSource{}}
	changeInterface(x, i)
	return x
}

// changeInterface puts an interface into its XML where that says something else.
func changeInterface(x *libvirtxml.DomainInterface, want *Interface) {
	was, _ := readInterface(x)
	if was.Network != want.Network || was.Bridge != want.Bridge || !samePointed(was.Direct, want.Direct) || want.Port != "" && was.Port != want.Port {
		x.Source, x.VirtualPort = &libvirtxml.DomainInterfaceSource{}, nil
		switch {
		case want.Network != "":
			x.Source.Network = &libvirtxml.DomainInterfaceSourceNetwork{Network: want.Network}
		case want.Direct != nil:
			x.Source.Direct = &libvirtxml.DomainInterfaceSourceDirect{Dev: want.Direct.Device, Mode: want.Direct.Mode}
		default:
			x.Source.Bridge = &libvirtxml.DomainInterfaceSourceBridge{Bridge: want.Bridge}
		}
		if want.Port != "" {
			x.VirtualPort = newPort(want.Port)
		}
		if want.UserSpace && x.Driver == nil {
			x.Driver = driverWithChecksums()
		}
	}
	if was.Model != want.Model {
		x.Model = &libvirtxml.DomainInterfaceModel{Type: want.Model}
	}
	if was.MTU != want.MTU {
		x.MTU = nil
		if want.MTU != 0 {
			x.MTU = &libvirtxml.DomainInterfaceMTU{Size: uint(want.MTU)}
		}
	}
	applyWiring(x, want)
	applyBandwidth(x, want.Bandwidth)
	if was.Filter != want.Filter {
		x.FilterRef = nil
		if want.Filter != "" {
			x.FilterRef = &libvirtxml.DomainInterfaceFilterRef{Filter: want.Filter}
		}
	}
}

// newPort binds an interface to a port of OVN's.
func newPort(name string) *libvirtxml.DomainInterfaceVirtualPort {
	return &libvirtxml.DomainInterfaceVirtualPort{Params: &libvirtxml.DomainInterfaceVirtualPortParams{
		OpenVSwitch: &libvirtxml.DomainInterfaceVirtualPortParamsOpenVSwitch{InterfaceID: name},
	}}
}

// driverWithChecksums has the guest fill in the checksums of what it sends: a chassis in user space does not, and passes on what nobody takes.
func driverWithChecksums() *libvirtxml.DomainInterfaceDriver {
	return &libvirtxml.DomainInterfaceDriver{Name: "qemu", Host: &libvirtxml.DomainInterfaceDriverHost{CSum: "off"}}
}

// readInterface reads an interface of a kind that is modelled; a passed-through one is not. Its port may be anybody's.
func readInterface(x *libvirtxml.DomainInterface) (Interface, bool) {
	var i Interface
	if x.MAC != nil {
		i.MAC = x.MAC.Address
		if canonical, err := alloc.CanonicalMAC(x.MAC.Address); err == nil {
			i.MAC = canonical
		}
	}
	if x.Model != nil {
		i.Model = x.Model.Type
	}
	if x.MTU != nil {
		i.MTU = int64(x.MTU.Size)
	}
	if v := x.VirtualPort; v != nil && v.Params != nil && v.Params.OpenVSwitch != nil {
		i.Port = v.Params.OpenVSwitch.InterfaceID
	}
	i.Bandwidth = readBandwidth(x)
	i.UserSpace = x.Driver != nil && x.Driver.Host != nil && x.Driver.Host.CSum == "off"
	if x.FilterRef != nil && strings.HasPrefix(x.FilterRef.Filter, FilterPrefix) {
		i.Filter = x.FilterRef.Filter
	}
	switch {
	case x.Source == nil:
		return i, false
	case x.Source.Network != nil:
		i.Network = x.Source.Network.Network
	case x.Source.Bridge != nil:
		i.Bridge = x.Source.Bridge.Bridge
	case x.Source.Direct != nil: // readWiring has it
	default:
		return i, false
	}
	i.Wiring = readWiring(x)
	return i, true
}

// FindInterface finds an interface's XML by its MAC address; nil where there is none.
func FindInterface(d *libvirtxml.Domain, mac string) *libvirtxml.DomainInterface {
	if d == nil || d.Devices == nil {
		return nil
	}
	for i := range d.Devices.Interfaces {
		if got, _ := readInterface(&d.Devices.Interfaces[i]); got.MAC == mac {
			return &d.Devices.Interfaces[i]
		}
	}
	return nil
}

// ChangeInterface returns an interface's XML with what the machine models changed to what is wanted.
func ChangeInterface(x *libvirtxml.DomainInterface, want *Interface) *libvirtxml.DomainInterface {
	changed := *x
	changeInterface(&changed, want)
	return &changed
}

// ReplugInterface returns the XML of an interface that is plugged in anew: its XML so far, without the places and names that
// libvirt chose when it was plugged in before.
func ReplugInterface(x *libvirtxml.DomainInterface, want *Interface) *libvirtxml.DomainInterface {
	changed := ChangeInterface(x, want)
	changed.Address, changed.Alias, changed.Target = nil, nil, nil
	return changed
}
