package node

import (
	"context"
	"net/netip"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/machine"
)

// fillInterfaces reads the interfaces in the order that the version has them in; others come last.
func (n *node) fillInterfaces(ctx context.Context, c *hypervisor.Client, v *version, d *hypervisor.Domain, m *machine.Machine) error {
	position := func(mac string) int {
		i := slices.IndexFunc(v.parts.Interfaces, func(i interfaceModel) bool { return canonicalMAC(i.MAC.ValueString()) == mac })
		if i < 0 {
			return len(v.parts.Interfaces)
		}
		return i
	}
	got := slices.DeleteFunc(slices.Clone(m.Interfaces), func(x machine.Interface) bool {
		return m.Mark.Interface(x.MAC).MAC != "" && d.Active() && machine.FindInterface(d.Live, x.MAC) == nil // somebody took it from what runs
	})
	slices.SortStableFunc(got, func(a, b machine.Interface) int { return position(a.MAC) - position(b.MAC) })
	var all []interfaceModel
	for n2, x := range got {
		i := interfaceModel{
			Addresses: types.ListNull(types.StringType), Nameservers: types.ListNull(types.StringType), AllowedAddresses: types.ListNull(types.StringType),
			Routes: types.ListNull(routeType()),
		}
		was := (*interfaceModel)(nil)
		if p := position(x.MAC); p < len(v.parts.Interfaces) {
			was = &v.parts.Interfaces[p]
		}
		marked := m.Mark.Interface(x.MAC)
		unmarkInterface(marked, &i)
		if i.Name.IsNull() {
			i.Name = types.StringValue(nameOf(n2))
		}
		i.MAC, i.Model, i.Bridge, i.Network = types.StringValue(x.MAC), types.StringValue(x.Model), optional(x.Bridge), optional(x.Network)
		i.Hostname = types.StringValue(m.Name)
		i.PortSecurity = types.BoolValue(x.Filter == filterName(m.Name, x.MAC))
		if x.MTU != 0 {
			i.MTU = types.Int64Value(x.MTU)
		}
		if x.Network != "" {
			if err := n.fillReservation(ctx, c, &i, was, marked); err != nil {
				return err
			}
		}
		if was != nil {
			i.Hostname = orWas(i, was)
			keepSpelling(&i, was)
			keepEmptyLists(&i, was)
			if err := n.keepNetwork(ctx, c, &i, was); err != nil {
				return err
			}
		}
		all = append(all, i)
	}
	v.parts.Interfaces = all
	if len(all) == 0 {
		v.parts.Interfaces = nil
		if !known(v.NetworkInterfaces) || len(v.NetworkInterfaces.Elements()) > 0 {
			v.NetworkInterfaces = types.ListNull(attributeTypes()["network_interfaces"].(types.ListType).ElemType)
		}
	}
	return nil
}

// fillReservation reads the addresses that the network keeps for an interface.
func (n *node) fillReservation(ctx context.Context, c *hypervisor.Client, i, was *interfaceModel, marked machine.MarkedInterface) error {
	network, err := c.Network(ctx, i.Network.ValueString())
	if hypervisor.IsNotFound(err) {
		return nil // and with it its reservations
	}
	if err != nil {
		return err
	}
	for _, h := range hypervisor.DHCPHosts(network.Current()) {
		switch {
		case h.MAC == i.MAC.ValueString():
			i.IP = types.StringValue(h.IP.String())
			if h.Name != "" {
				i.Hostname = types.StringValue(h.Name)
			}
		case keptFor(h, marked), h.IP.Is6() && was != nil && known(was.IPv6) && h.Name == was.Hostname.ValueString():
			i.IPv6 = types.StringValue(h.IP.String())
			if i.IP.IsNull() {
				i.Hostname = types.StringValue(h.Name)
			}
		}
	}
	return nil
}

// orWas keeps the name of an interface without a reservation, which nothing else knows.
func orWas(i interfaceModel, was *interfaceModel) types.String {
	if i.IP.IsNull() && known(was.Hostname) {
		return was.Hostname
	}
	return i.Hostname
}

// keepEmptyLists keeps lists that were written empty: nothing on the hypervisor tells them from none.
func keepEmptyLists(i, was *interfaceModel) {
	for _, pair := range []struct{ got, was *types.List }{
		{&i.Addresses, &was.Addresses}, {&i.Nameservers, &was.Nameservers}, {&i.AllowedAddresses, &was.AllowedAddresses}, {&i.Routes, &was.Routes},
	} {
		if pair.got.IsNull() && known(*pair.was) && len(pair.was.Elements()) == 0 {
			*pair.got = *pair.was
		}
	}
}

// keepNetwork keeps a network's id where the interface is in the network of that id.
func (n *node) keepNetwork(ctx context.Context, c *hypervisor.Client, i, was *interfaceModel) error {
	ref := was.Network.ValueString()
	if !hypervisor.IsUUID(ref) {
		return nil
	}
	name, err := n.facts.networkName(ctx, c, ref)
	if isAbsent(err) {
		return nil
	}
	if err == nil && name == i.Network.ValueString() {
		i.Network = was.Network
	}
	return err
}

// fillAddresses says where the node can be reached, interface by interface.
func (n *node) fillAddresses(ctx context.Context, c *hypervisor.Client, v *version, d *hypervisor.Domain) error {
	addresses := map[string]attr.Value{}
	var fromAgent map[string][]netip.Addr
	asked := false
	for _, i := range v.parts.Interfaces {
		address := planned(&i)
		if address == "" && known(i.Network) && d.Active() {
			leased, err := n.leased(ctx, c, i.Network.ValueString(), i.MAC.ValueString(), nil)
			if err != nil && !hypervisor.IsNotFound(err) {
				return err
			}
			if leased != nil {
				address = preferred(*leased)
			}
		}
		if address == "" && d.Active() && v.GuestAgent.ValueBool() && agentConnected(d) {
			if !asked {
				// An agent that does not answer, because the guest is busy, says nothing.
				fromAgent, _ = c.GuestAddresses(ctx, d.UUID)
				asked = true
			}
			address = preferred(fromAgent[canonicalMAC(i.MAC.ValueString())])
		}
		if address != "" {
			addresses[i.Name.ValueString()] = types.StringValue(address)
		}
	}
	v.Addresses = types.MapValueMust(types.StringType, addresses)
	return nil
}

// planned is the address that an interface has because of its configuration; "" where that says none.
func planned(i *interfaceModel) string {
	if known(i.IP) {
		return canonicalAddress(i.IP.ValueString())
	}
	var all []netip.Addr
	for _, text := range texts(i.Addresses) {
		if p, err := netip.ParsePrefix(text); err == nil {
			all = append(all, p.Addr())
		}
	}
	if known(i.IPv6) {
		if a, err := netip.ParseAddr(i.IPv6.ValueString()); err == nil {
			all = append(all, a)
		}
	}
	return preferred(all)
}

// preferred is the first IPv4 address, or else the first of all.
func preferred(all []netip.Addr) string {
	for _, a := range all {
		if a.Is4() {
			return a.String()
		}
	}
	if len(all) > 0 {
		return all[0].String()
	}
	return ""
}

// agentConnected says whether the guest's agent has opened its channel: only then is it worth asking.
func agentConnected(d *hypervisor.Domain) bool {
	if d.Live == nil || d.Live.Devices == nil {
		return false
	}
	for _, ch := range d.Live.Devices.Channels {
		if ch.Target != nil && ch.Target.VirtIO != nil && ch.Target.VirtIO.Name == "org.qemu.guest_agent.0" {
			return ch.Target.VirtIO.State == "connected"
		}
	}
	return false
}
