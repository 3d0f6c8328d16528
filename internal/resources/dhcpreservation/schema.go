package dhcpreservation

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/values"
	virtnetwork "github.com/virtcluster/terraform-provider-virtcluster/internal/virt/network"
)

// duid is a DHCP unique identifier; Validate says what is wrong with its form.
var duid = values.Word.Same(virtnetwork.CanonicalDUID)

func reservationSchema(context.Context) schema.Schema {
	replaces := []planmodifier.String{stringplanmodifier.RequiresReplace()}
	return schema.Schema{
		MarkdownDescription: "A fixed address that a network's DHCP gives to one machine. It is added, changed and removed while the network and its machines run. " +
			"A `virtcluster_node` makes the reservations of its own interfaces by itself; this is for machines that Terraform does not make. " +
			"One that the network lists itself (`dhcp.hosts`), or that somebody made by hand with the same addresses, is used as it is and stays when the resource goes; one of another state is refused, and can be imported.",
		Attributes: map[string]schema.Attribute{
			"id": schema.StringAttribute{
				Computed: true, PlanModifiers: []planmodifier.String{stringplanmodifier.UseStateForUnknown()},
				MarkdownDescription: "`<network>/<mac>`, after `<hypervisor>/` where there is a `hypervisor`; on IPv6 the DUID or the host name stands in the MAC address's place.",
			},
			"hypervisor": crud.HypervisorAttribute("network", "reservation"),
			"network":    schema.StringAttribute{Required: true, Validators: []validator.String{values.Name}, PlanModifiers: replaces, MarkdownDescription: "Name or UUID of the network. A change makes a new reservation."},
			"mac":        values.MAC.Optional("MAC address of the machine's interface. Required for IPv4, where a change makes a new reservation; not possible for IPv6.", values.MAC.KeepSpelling(), stringplanmodifier.RequiresReplace()),
			"duid":       duid.Optional("DHCP unique identifier of the machine, for IPv6, such as `0:3:0:1:52:54:0:aa:6c:b1`. Default: the machine is known by `hostname`. A change makes a new reservation.", duid.KeepSpelling(), stringplanmodifier.RequiresReplace()),
			"ip":         values.Address.Required("Address that the machine gets, inside the network's subnet and outside of its DHCP ranges.", values.Address.KeepSpelling()),
			"hostname":   values.HostName.Optional("Name that the machine is told and that the network's DNS knows it by; a subnet takes each name once. Default: none."),
		},
	}
}
