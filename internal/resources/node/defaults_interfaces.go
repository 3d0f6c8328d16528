package node

import (
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/alloc"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/machine"
)

// completeInterfaces names the interfaces and gives them addresses. An interface is the same as before where
// its MAC address or else its name says so, or else where it has the same position.
func completeInterfaces(planned, config, prior *version) {
	taken := map[string]bool{}
	for _, i := range config.Interfaces {
		if convert.Known(i.MAC) {
			taken[machine.CanonicalMAC(i.MAC.ValueString())] = true
		}
	}
	was := matchInterfaces(config.Interfaces, prior.Interfaces)
	for n, given := range config.Interfaces {
		if given.MAC.IsNull() && convert.Known(was[n].MAC) {
			taken[machine.CanonicalMAC(was[n].MAC.ValueString())] = true // before any other one could be given it
		}
	}
	for n := range planned.Interfaces {
		i := &planned.Interfaces[n]
		if n >= len(config.Interfaces) {
			break
		}
		given := config.Interfaces[n]
		keepOrDefault(&i.Name, given.Name, was[n].Name, types.StringValue(machine.InterfaceName(n)))
		fillDefault(&i.Hostname, given.Hostname, chooseHostname(planned, n))
		keepOrDefault(&i.Model, given.Model, was[n].Model, types.StringValue("virtio"))
		keepOrDefault(&i.Bandwidth, given.Bandwidth, was[n].Bandwidth, asObject(machine.Bandwidth{}))
		if given.Direct.IsNull() != was[n].Direct.IsNull() {
			was[n].Trust = types.BoolNull() // it was the device's
		}
		keepOrDefault(&i.Trust, given.Trust, was[n].Trust, types.BoolValue(false))
		keepOrDefault(&i.VLAN, given.VLAN, was[n].VLAN, asObject(machine.VLAN{}))
		if !given.Bridge.Equal(was[n].Bridge) {
			was[n].VirtualPort, was[n].InterfaceID = types.StringNull(), types.StringNull() // they were the other bridge's
		}
		keepOrDefault(&i.VirtualPort, given.VirtualPort, was[n].VirtualPort, types.StringNull())
		id := types.StringNull()
		if !i.VirtualPort.IsNull() {
			id = types.StringUnknown()
		}
		keepOrDefault(&i.InterfaceID, given.InterfaceID, was[n].InterfaceID, id)
		keepOrDefault(&i.PortSecurity, given.PortSecurity, was[n].PortSecurity, types.BoolValue(false))
		if given.MAC.IsNull() {
			i.MAC = planMAC(planned.Name, n, was[n].MAC, taken)
		}
	}
}

// chooseHostname returns the name in an interface's reservation where nobody chose one: the node's, and on a network that
// has it for another interface already, because it takes a name once, with the interface's own name after it.
func chooseHostname(v *version, n int) types.String {
	i := v.Interfaces[n]
	reserved := func(i interfaceModel) bool { return !i.IP.IsNull() || !i.IPv6.IsNull() }
	first := !slices.ContainsFunc(v.Interfaces[:n], func(other interfaceModel) bool {
		return reserved(other) && !i.Network.IsNull() && other.Network.Equal(i.Network)
	})
	switch {
	case first || !reserved(i):
		return v.Name
	case v.Name.IsUnknown() || i.Name.IsUnknown():
		return types.StringUnknown()
	}
	return types.StringValue(v.Name.ValueString() + "-" + i.Name.ValueString())
}

// planMAC keeps an address that the interface has, and else derives one that no other interface of the node has.
func planMAC(name types.String, n int, was types.String, taken map[string]bool) types.String {
	switch {
	case convert.Known(was):
		return was
	case name.IsUnknown():
		return types.StringUnknown()
	}
	for ; ; n++ {
		mac := alloc.MAC(name.ValueString(), n).String()
		if !taken[mac] {
			taken[mac] = true
			return types.StringValue(mac)
		}
	}
}

// matchInterfaces finds the prior version of each interface; the zero value has none.
func matchInterfaces(config, prior []interfaceModel) []interfaceModel {
	matched, used := make([]interfaceModel, len(config)), make([]bool, len(prior))
	pass := func(same func(n, p int) bool) {
		for n := range config {
			if convert.Known(matched[n].MAC) {
				continue
			}
			for p := range prior {
				if !used[p] && same(n, p) {
					matched[n], used[p] = prior[p], true
					break
				}
			}
		}
	}
	pass(func(n, p int) bool {
		return convert.Known(config[n].MAC) && machine.CanonicalMAC(config[n].MAC.ValueString()) == machine.CanonicalMAC(prior[p].MAC.ValueString())
	})
	pass(func(n, p int) bool {
		return config[n].MAC.IsNull() && convert.Known(config[n].Name) && config[n].Name.Equal(prior[p].Name)
	})
	pass(func(n, p int) bool { return config[n].MAC.IsNull() && config[n].Name.IsNull() && n == p })
	return matched
}
