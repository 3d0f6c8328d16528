package externalbridge

import (
	"context"
	"maps"

	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/attrs/hostattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/bridge"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/values"
)

func resourceSchema(context.Context) schema.Schema {
	replace := []planmodifier.String{stringplanmodifier.RequiresReplace()}
	attributes := map[string]schema.Attribute{
		"id":         values.KeptText("The name, behind `HOST#` where `host` or `hypervisor` is set."),
		"name":       values.Device.Required("Device name of the bridge, at most 15 bytes.", replace...),
		"host":       values.Endpoint.Optional("Endpoint of the machine: `ssh://[user@]host[:port]`, `local:`, `qemu-ga://[hypervisor]/domain`, or the id of a `virtcluster_service_node`. Default: the hypervisor's own host. "+hostattr.HostKeyText, hostattr.OtherMachineReplaces()...),
		"hypervisor": values.Name.Optional("The entry of the provider's `hypervisors` whose host is meant. Default: the provider's `uri`.", replace...),
		"interfaces": values.Objects().Some().RequiredListOf("What is in the bridge: interfaces, VLANs of them, which become devices such as `eno1.10` while the interface keeps its addresses, and bonds. "+
			"The first physical interface's MAC address becomes the bridge's. With backend `runtime` other VLANs or bonds make the bridge anew.", values.Attributes{
			"interface": values.Device.Required("Device name of the interface, such as `eno1`; beside `bond`, of the bond that is made, such as `bond0`."),
			"vlan":      values.Between(1, 4094).Optional("Only this VLAN of the interface, 1 to 4094."),
			"bond": values.OptionalObject("Interfaces that become one.", values.Attributes{
				"interfaces": values.Each(values.Device).Some().Distinct().RequiredList("Device names, such as `[\"eno1\", \"eno2\"]`."),
				"mode":       values.OneOf("active-backup", "balance-rr", "balance-xor", "broadcast", "802.3ad", "balance-tlb", "balance-alb").Optional("`active-backup` (default), `balance-rr`, `balance-xor`, `broadcast`, `802.3ad`, `balance-tlb` or `balance-alb`."),
			}),
		}),
		"stp":            values.Flag.Default(false, "Whether the bridge takes part in the spanning tree protocol. Default: `false`."),
		"vlan_filtering": values.Flag.Default(false, "Whether the bridge keeps VLANs apart (`bridge vlan` says which port has which); not with backend `netplan`. Default: `false`."),
	}
	maps.Copy(attributes, hostattr.DeviceAttributes("bridge", bridge.DefaultRollback))
	maps.Copy(attributes, hostattr.AddressingAttributes(values.OneOf(hostattr.Inherit, hostattr.DHCP, hostattr.Static, hostattr.None), hostattr.Inherit,
		"`inherit` moves the interfaces' addresses, routes, name servers and search domains to the bridge; what an interface got by DHCP the bridge asks for itself, unless nothing keeps it, and what it has by router advertisements comes with the next of them, which the bridge heeds then. Addresses that keepalived holds, or an exposure put there, are not the interface's own and stay out: the plan warns of them. "+
			"`dhcp` has the bridge ask for an address, `static` gives it `addresses`, and with `none` it has none. Default: `static` beside `addresses`, else `inherit`.",
		"Addresses with prefix length, which replace the interfaces' own. One that another machine answers for is refused."))
	return schema.Schema{
		MarkdownDescription: "A bridge on a host with physical interfaces in it, for guests on an external LAN. Creating it moves the interfaces' addresses and " +
			"routes to the bridge in one step. Before that a rollback is armed on the host, and disarmed over a new connection: where that cannot be made, " +
			"or a gateway that answered before is silent, the host goes back to what it had. Destroying it gives the interfaces back what they had. " +
			"A bridge of that name that this resource did not make is refused; importing it takes it over: `active_backend` says whose files make it. Where those are a person's, they stay, and go on to say what is in the bridge, `stp` and `vlan_filtering`; " +
			"addresses and what goes with them, and `mtu` (not with netplan), are kept by the same manager in files of this provider that come before them, and destroying the resource has the person's count again. What others add to the bridge, such as ports of " +
			"containers and virtual addresses, stays and is no drift; a destroy is refused while ports of others are in it, or devices on it. One that somebody deleted is made again with what it had.",
		Attributes: attributes,
	}
}
