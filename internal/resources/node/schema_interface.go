package node

import (
	"regexp"

	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/ovn"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/values"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/machine"
)

// card is the name of a network card, which libvirt writes in small letters.
var card = values.Matching("network card", "virtio", regexp.MustCompile(`^[a-z0-9][a-z0-9._-]*$`), "a network card in small letters, such as \"virtio\" or \"e1000e\"")

// ovnNetwork is the id of a network of OVN.
var ovnNetwork = values.New("id of a network of OVN", "ssh://root@10.0.0.100#network/nodes", func(text string) error {
	_, _, err := ovn.SplitNetworkID(text)
	return err
})

func interfaceAttributes() map[string]schema.Attribute {
	list := func(description string, of values.Collection) schema.Attribute {
		return of.OptionalComputedList(description, append(crud.ListLeftOut(), of.KeepSpelling())...)
	}
	keep := func(of values.Kind) []planmodifier.String { return []planmodifier.String{of.KeepSpelling()} }
	return map[string]schema.Attribute{
		"network": values.Name.Optional("A libvirt network, by name or id. One of `network`, `bridge`, `direct` and `ovn_network` is required."),
		"bridge":  values.Device.Optional("A bridge of the hypervisor, by device name."),
		"ovn_network": ovnNetwork.Optional("A network of OVN, by the id of its `virtcluster_ovn_network`: the same on every hypervisor that is a chassis. " +
			"Its port, which has the interface's UUID for a name, belongs to the node; `ip`, `port_security`, `allowed_addresses`, `security_groups` and `hostname` are the port's, and change while the guest runs. " +
			"Without `ip` and `addresses`, the network's `dhcp.pool` gives an address. On one with `ipv6_cidr` the port has the address that the guest makes of its MAC address too. Without `port_security` the guest may send from any address, and gets what nobody else is known to have."),
		"name":      values.Device.OptionalComputed("Name inside the guest, given by cloud-init (a guest that Ignition configures chooses its own), and the key in `addresses`. Default: `eth0`, `eth1`, … by position."),
		"mac":       values.MAC.OptionalComputed("MAC address. Default: derived from the node's name and the interface's position, and then kept.", keep(values.MAC)...),
		"ip":        values.Address.Optional("IPv4 address that the network's DHCP gives to this interface: a reservation that belongs to the node, outside of the network's DHCP ranges. Another one under a guest that runs takes the interface's link down for a second, so that the guest asks DHCP again, as systemd-networkd does.", keep(values.Address)...),
		"ipv6":      values.Address.Optional("IPv6 address that the network's DHCP gives to the guest that calls itself `hostname`: a reservation that belongs to the node, outside of the network's DHCP ranges.", keep(values.Address)...),
		"hostname":  values.HostName.OptionalComputed("Host name in the reservation; a network takes each once. Default: the node's name, and for its further reservations on the same network that with the interface's name after it (`okd-master-01-eth1`)."),
		"addresses": list("Addresses with prefix length (`10.19.41.157/24`) that cloud-init or Ignition sets inside the guest. With any IPv4 address here and no `ip`, the guest does not ask DHCP.", values.Each(values.AddressInPrefix)),
		"gateway":   values.Address.Optional("Gateway of the guest's default route on this interface, set by cloud-init or Ignition.", keep(values.Address)...),
		"routes": values.Objects().OptionalComputedListOf("Static routes inside the guest, set by cloud-init or Ignition.", values.Attributes{
			"cidr": values.AddressInPrefix.Required("Destination, as a prefix.", keep(values.AddressInPrefix)...),
			"via":  values.Address.Required("Gateway to it.", keep(values.Address)...),
		}, crud.ListLeftOut()...),
		"nameservers":  list("Name servers inside the guest, set by cloud-init or Ignition.", values.Each(values.Address)),
		"mtu":          values.Between(68, 65535).Optional("Largest packet in bytes, on the hypervisor's side and inside the guest. Default: the network's."),
		"model":        card.OptionalComputed("Network card that the guest sees: `virtio`, `e1000e`, … Default: `virtio`."),
		"bandwidth":    bandwidthAttribute(),
		"virtual_port": values.OneOf(machine.OpenVSwitch).OptionalComputed("`openvswitch` where `bridge` is one of Open vSwitch. A node that exists keeps what is left out while its bridge stays. Default: a bridge of Linux."),
		"interface_id": values.UUID.OptionalComputed("UUID by which Open vSwitch and its controllers know the port (`external_ids:iface-id`), with `virtual_port`. Another one is another port, plugged out and in while the node runs. A node that exists keeps what is left out while its bridge stays. Default: one that libvirt makes up."),
		"vlan":         vlanAttribute(),
		"direct": values.OptionalObject("A device of the hypervisor that the interface is put upon (macvtap), in place of a network or bridge: the guest is on the device's own network, and the hypervisor itself does not reach it there. Another one is plugged out and in while the node runs. A plan finds a device that is missing, that is in a bridge, or that is in use where one is to have all of it.", values.Attributes{
			"device": values.Device.Required("Device of the hypervisor."),
			"mode":   values.OneOf("bridge", "vepa", "private", "passthrough").Default("bridge", "How it is with others upon the device: `bridge`, they reach each other; `vepa`, by way of a switch; `private`, they do not; `passthrough`, there are none, and the device takes on the guest's MAC address. Default: `bridge`."),
		}),
		"trust":             values.Flag.OptionalComputed("Whether the device below the interface (`direct`, or a network of libvirt's upon devices) receives for the guest what that says it listens to: MAC addresses that it gives itself, as for VIPs, and multicast. Only a card of model `virtio` says so. It changes while the node runs. Default: `false`."),
		"port_security":     values.Flag.OptionalComputed("Whether the guest can only send from its own MAC address and its own addresses (`ip`, `ipv6`, `addresses`) and `allowed_addresses`. Addresses that the guest derives from its MAC address (EUI-64) are its own too: the link-local one and, beside an IPv6 address, that of the same /64 (SLAAC). Others that it makes up (stable privacy, temporary) have to be in `allowed_addresses`. libvirt's filters do not see what a neighbour advertisement announces: a guest with an IPv6 address can still claim the IPv6 addresses of its neighbours; one with IPv4 addresses alone cannot. Default: `false`."),
		"allowed_addresses": list("Further addresses or prefixes that `port_security` passes: virtual addresses (VIPs).", values.Each(values.AddressOrPrefix)),
		"security_rules":    securityAttribute(),
		"security_groups":   list("Security groups of OVN that the port is in, by the names of `virtcluster_ovn_security_group`: nothing passes it then but what a rule of one of them lets pass. With `ovn_network` only.", values.Each(values.Word).Distinct()),
	}
}

// vlan is the number of one.
var vlan = values.Between(1, 4094)

// vlanAttribute is what an interface has of a bridge with VLANs.
func vlanAttribute() schema.Attribute {
	return values.OptionalComputedObject("VLANs of the port of Open vSwitch that the interface is, with `virtual_port`, or on a network that has one. They change while the node runs. A node that exists keeps what is left out, and `{}` takes them away. Default: none, which is a trunk of all.", values.Attributes{
		"id":    vlan.Optional("VLAN whose packets the guest gets and sends without a tag."),
		"trunk": values.Each(vlan).Distinct().OptionalList("VLANs whose packets it gets and sends with their tags."),
	})
}

// bandwidthAttribute is what bounds an interface.
func bandwidthAttribute() schema.Attribute {
	limit := func(what string) schema.Attribute {
		return values.Between(1, 1<<31-1).Optional(what + " Default: no limit.")
	}
	return values.OptionalComputedObject("Limits of what comes to the guest (inbound) and of what it sends (outbound); they change while the node runs. A node that exists keeps what is left out, and `{}` takes them away. Default: none.", values.Attributes{
		"inbound_average_kib":  limit("KiB that come to the guest in a second."),
		"inbound_peak_kib":     limit("KiB that come to it in a second at most, for as long as the burst lasts."),
		"inbound_burst_kib":    limit("KiB that come to it at the peak's speed at once."),
		"outbound_average_kib": limit("KiB that it sends in a second."),
		"outbound_peak_kib":    limit("KiB that it sends in a second at most, for as long as the burst lasts."),
		"outbound_burst_kib":   limit("KiB that it sends at the peak's speed at once."),
	})
}
