package node

import (
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/values"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/machine"
)

// These are what the parts of a security rule may hold.
var (
	portRange  = values.New("port or range of ports", "30000-32767", machine.CheckPorts)
	remoteSide = values.New("address, prefix or node", "10.19.41.0/24", machine.CheckRemote).Same(convert.Canonical)
)

func securityAttribute() schema.Attribute {
	return values.Objects().OptionalComputedListOf("What may pass the interface. A direction with rules passes nothing else but answers, DHCP, ARP and what IPv6 needs of its neighbours; one without rules passes everything. "+
		"Rules are network filters of libvirt beside that of `port_security`; they change while the guest runs, and connections that stay allowed go on. "+
		"What the hypervisor itself sends to the guest, or routes to it from elsewhere, is looked at without following connections: there ICMP passes, and so does what is for the guest's ports from 32768 on. "+
		"The hypervisor needs `net.bridge.bridge-nf-call-iptables = 1` (and `-ip6tables`) for what guests of one bridge say to each other.", values.Attributes{
		"direction": values.OneOf(machine.Ingress, machine.Egress).Required("`ingress` for what comes to the guest, `egress` for what it sends."),
		"protocol":  values.OneOf(machine.SecurityProtocols...).Required("`tcp`, `udp`, `sctp`, `icmp`, `icmpv6`, `esp`, `ah`, `gre`, `VRRP` or `any`."),
		"ports":     portRange.Optional("The port that is reached, `\"22\"`, or a range, `\"30000-32767\"`, of `tcp`, `udp` and `sctp`. Default: all."),
		"remote": remoteSide.Optional("The other side: an address, a prefix, or the name of another node on the same hypervisor, which stands for the addresses that the node was given, whenever these change. "+
			"A name rather than a reference, so that two nodes can name each other; while there is no such node, nobody passes for it. Default: everybody.", remoteSide.KeepSpelling()),
	}, crud.ListLeftOut()...)
}
