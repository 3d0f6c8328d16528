package node

import (
	"github.com/hashicorp/terraform-plugin-framework-validators/int64validator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
)

func interfaceAttributes() map[string]schema.Attribute {
	list := func(description string) schema.Attribute {
		return schema.ListAttribute{Optional: true, Computed: true, PlanModifiers: crud.ListLeftOut(), ElementType: types.StringType, MarkdownDescription: description}
	}
	return map[string]schema.Attribute{
		"network":   schema.StringAttribute{Optional: true, Validators: []validator.String{given{}}, MarkdownDescription: "A libvirt network, by name or id. Either `network` or `bridge` is required."},
		"bridge":    schema.StringAttribute{Optional: true, Validators: []validator.String{given{}}, MarkdownDescription: "A bridge of the hypervisor, by device name."},
		"name":      schema.StringAttribute{Optional: true, Computed: true, Validators: []validator.String{stringvalidator.LengthBetween(1, 15)}, MarkdownDescription: "Name inside the guest, given by cloud-init (a guest that Ignition configures chooses its own), and the key in `addresses`. Default: `eth0`, `eth1`, … by position."},
		"mac":       schema.StringAttribute{Optional: true, Computed: true, MarkdownDescription: "MAC address. Default: derived from the node's name and the interface's position, and then kept."},
		"ip":        schema.StringAttribute{Optional: true, MarkdownDescription: "IPv4 address that the network's DHCP gives to this interface: a reservation that belongs to the node, outside of the network's DHCP ranges."},
		"ipv6":      schema.StringAttribute{Optional: true, MarkdownDescription: "IPv6 address that the network's DHCP gives to the guest that calls itself `hostname`: a reservation that belongs to the node, outside of the network's DHCP ranges."},
		"hostname":  schema.StringAttribute{Optional: true, Computed: true, MarkdownDescription: "Host name in the reservation; a network takes each once. Default: the node's name, and for its further reservations on the same network that with the interface's name after it (`okd-master-01-eth1`)."},
		"addresses": list("Addresses with prefix length (`10.19.41.157/24`) that cloud-init or Ignition sets inside the guest. With any IPv4 address here and no `ip`, the guest does not ask DHCP."),
		"gateway":   schema.StringAttribute{Optional: true, MarkdownDescription: "Gateway of the guest's default route on this interface, set by cloud-init or Ignition."},
		"routes": schema.ListNestedAttribute{
			Optional: true, Computed: true, PlanModifiers: crud.ListLeftOut(), MarkdownDescription: "Static routes inside the guest, set by cloud-init or Ignition.",
			NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
				"cidr": schema.StringAttribute{Required: true, MarkdownDescription: "Destination, as a prefix."},
				"via":  schema.StringAttribute{Required: true, MarkdownDescription: "Gateway to it."},
			}},
		},
		"nameservers":       list("Name servers inside the guest, set by cloud-init or Ignition."),
		"mtu":               schema.Int64Attribute{Optional: true, Validators: []validator.Int64{int64validator.Between(68, 65535)}, MarkdownDescription: "Largest packet in bytes, on the hypervisor's side and inside the guest. Default: the network's."},
		"model":             schema.StringAttribute{Optional: true, Computed: true, Validators: []validator.String{stringvalidator.LengthAtLeast(1)}, MarkdownDescription: "Network card that the guest sees: `virtio`, `e1000e`, … Default: `virtio`."},
		"port_security":     schema.BoolAttribute{Optional: true, Computed: true, MarkdownDescription: "Whether the guest can only send from its own MAC address and its own addresses (`ip`, `ipv6`, `addresses`) and `allowed_addresses`. Addresses that the guest derives from its MAC address (EUI-64) are its own too: the link-local one and, beside an IPv6 address, that of the same /64 (SLAAC). Others that it makes up (stable privacy, temporary) have to be in `allowed_addresses`. libvirt's filters do not see what a neighbour advertisement announces: a guest with an IPv6 address can still claim the IPv6 addresses of its neighbours; one with IPv4 addresses alone cannot. Default: `false`."},
		"allowed_addresses": list("Further addresses or prefixes that `port_security` passes: virtual addresses (VIPs)."),
	}
}
