package machine

import (
	"reflect"
	"slices"

	"libvirt.org/go/libvirtxml"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

// Wiring is how an interface is plugged into its bridge or network: a Spec and a Machine have it alike.
type Wiring struct {
	// VirtualPort is OpenVSwitch for a bridge of Open vSwitch, and "" for one of Linux. A network says it of its own bridge.
	VirtualPort string `attr:"virtual_port"`
	// InterfaceID is the UUID by which a controller of Open vSwitch knows the port; "" has libvirt make one up.
	InterfaceID string `attr:"interface_id"`
	VLAN        VLAN   `attr:"vlan"`
	// Direct is nil where the interface is in a bridge or network.
	Direct *Direct `attr:"direct"`
	// Trust has the device below the interface receive what the guest says that it listens to: MAC addresses that it gives itself, and multicast.
	Trust bool `attr:"trust"`
}

// OpenVSwitch is the virtual port of an interface in a bridge of Open vSwitch.
const OpenVSwitch = "openvswitch"

// VLAN is what an interface has of a bridge with VLANs.
type VLAN struct {
	// ID is the VLAN whose packets the guest gets and sends without a tag; 0 for none.
	ID int64 `attr:"id"`
	// Trunk are those whose packets it gets and sends with their tags.
	Trunk []int64 `attr:"trunk"`
}

func (v VLAN) isNone() bool { return v.ID == 0 && len(v.Trunk) == 0 }

// readWiring reads how an interface is plugged in. What runs on a network says what that has; only a configuration says what is the interface's.
func readWiring(x *libvirtxml.DomainInterface) Wiring {
	w := Wiring{Trust: x.TrustGuestRXFilters == "yes", Direct: readDirect(x)}
	if x.Source.Bridge != nil && x.VirtualPort != nil && x.VirtualPort.Params != nil && x.VirtualPort.Params.OpenVSwitch != nil {
		w.VirtualPort, w.InterfaceID = OpenVSwitch, x.VirtualPort.Params.OpenVSwitch.InterfaceID
	}
	if x.VLan == nil || x.Source.Network != nil && x.Source.Network.Bridge != "" {
		return w
	}
	untagged := len(x.VLan.Tags) == 1 && x.VLan.Trunk != "yes"
	for _, tag := range x.VLan.Tags {
		if untagged || tag.NativeMode == "untagged" {
			w.VLAN.ID = int64(tag.ID)
		} else {
			w.VLAN.Trunk = append(w.VLAN.Trunk, int64(tag.ID))
		}
	}
	return w
}

// needsPort says whether an interface that is wired so has to become another port of its bridge.
func (w Wiring) needsPort(want Wiring) bool {
	return w.VirtualPort != want.VirtualPort || want.InterfaceID != "" && w.InterfaceID != want.InterfaceID
}

// applyWiring has an interface plugged in otherwise, where it is: ports of OVN are bound by others.
func applyWiring(x *libvirtxml.DomainInterface, want *Interface) {
	was := readWiring(x)
	if was.Trust != want.Trust {
		x.TrustGuestRXFilters = ""
		if want.Trust {
			x.TrustGuestRXFilters = "yes"
		}
	}
	if want.Port == "" && was.needsPort(want.Wiring) {
		x.VirtualPort = nil
		if want.VirtualPort == OpenVSwitch {
			x.VirtualPort = newPort(want.InterfaceID)
		}
	}
	if reflect.DeepEqual(was.VLAN, want.VLAN) {
		return
	}
	if x.VLan = nil; want.VLAN.isNone() {
		return
	}
	x.VLan = &libvirtxml.DomainInterfaceVLan{}
	for _, id := range want.VLAN.Trunk {
		x.VLan.Tags = append(x.VLan.Tags, libvirtxml.DomainInterfaceVLanTag{ID: uint(id)})
	}
	native := ""
	if len(want.VLAN.Trunk) > 0 {
		x.VLan.Trunk, native = "yes", "untagged"
	}
	if want.VLAN.ID != 0 {
		x.VLan.Tags = append(x.VLan.Tags, libvirtxml.DomainInterfaceVLanTag{ID: uint(want.VLAN.ID), NativeMode: native})
	}
}

// validateWiring finds a virtual port of what is no bridge, and VLANs that nothing tells apart.
func (i *InterfaceSpec) validateWiring(here []any, unknown func(string) bool) []service.Problem {
	var all []service.Problem
	problem := func(attribute, summary, format string, args ...any) {
		all = append(all, service.Problemf(pathBelow(here, attribute), summary, format, args...))
	}
	i.validateTrust(problem, unknown)
	if i.InterfaceID != "" && i.VirtualPort == "" && !unknown("virtual_port") {
		problem("interface_id", "Interface id without a virtual port", "only a port of Open vSwitch has an id: write virtual_port = \"openvswitch\" and its bridge, or leave interface_id out")
	}
	if i.Direct != nil {
		i.validateDirect(problem)
		return all
	}
	if i.VirtualPort != "" && i.Network+i.OVNNetwork != "" {
		problem("virtual_port", "Virtual port without a bridge", "a network says itself that its bridge is one of Open vSwitch: leave virtual_port out, or write bridge in place of the network")
	}
	v := i.VLAN
	if v.isNone() || unknown("vlan") {
		return all
	}
	if slices.Contains(v.Trunk, v.ID) {
		problem("vlan", "VLAN with and without a tag", "packets of VLAN %d have a tag or have none: write it as id or in trunk", v.ID)
	}
	switch {
	case i.OVNNetwork != "":
		problem("vlan", "VLAN on OVN", "a network of OVN has no VLANs: leave vlan out")
	case i.Bridge != "" && i.VirtualPort == "" && !unknown("virtual_port"):
		problem("vlan", "VLAN without Open vSwitch", "only a bridge of Open vSwitch tells VLANs apart for its ports: write virtual_port = \"openvswitch\" where %q is one, or put the node into a bridge of the VLAN", i.Bridge)
	}
	return all
}

// checkVLAN finds VLANs on a network whose bridge is not one of Open vSwitch.
func (k networkChecker) checkVLAN(network *libvirtxml.Network, i *InterfaceSpec, here []any) {
	port := network.VirtualPort
	if i.VLAN.isNone() || port != nil && port.Params != nil && port.Params.OpenVSwitch != nil {
		return
	}
	k.addProblem(pathBelow(here, "vlan"), "VLAN without Open vSwitch", "the bridge of network %q is not said to be one of Open vSwitch, which tells VLANs apart for its ports: write virtual_port = \"openvswitch\" for the network where it is one, or leave vlan out", network.Name)
}
