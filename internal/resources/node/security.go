package node

import (
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/values"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/machine"
)

// These are what the parts of a security rule may hold.
var (
	portRange  = values.New("port or range of ports", "30000-32767", machine.CheckPorts)
	remoteSide = values.New("address, prefix or node", "10.19.41.0/24", machine.CheckRemote)
)

func securityAttribute() schema.Attribute {
	return schema.ListNestedAttribute{
		Optional: true, Computed: true, PlanModifiers: crud.ListLeftOut(), Validators: []validator.List{values.Objects()},
		MarkdownDescription: "What may pass the interface. A direction with rules passes nothing else but answers, DHCP, ARP and what IPv6 needs of its neighbours; one without rules passes everything. " +
			"Rules are network filters of libvirt beside that of `port_security`; they change while the guest runs, and connections that stay allowed go on. " +
			"What the hypervisor itself sends to the guest, or routes to it from elsewhere, is looked at without following connections: there ICMP passes, and so does what is for the guest's ports from 32768 on. " +
			"The hypervisor needs `net.bridge.bridge-nf-call-iptables = 1` (and `-ip6tables`) for what guests of one bridge say to each other.",
		NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
			"direction": schema.StringAttribute{
				Required: true, Validators: []validator.String{values.OneOf(machine.Ingress, machine.Egress)},
				MarkdownDescription: "`ingress` for what comes to the guest, `egress` for what it sends.",
			},
			"protocol": schema.StringAttribute{
				Required: true, Validators: []validator.String{values.OneOf(machine.SecurityProtocols...)},
				MarkdownDescription: "`tcp`, `udp`, `sctp`, `icmp`, `icmpv6`, `esp`, `ah`, `gre`, `VRRP` or `any`.",
			},
			"ports": schema.StringAttribute{
				Optional: true, Validators: []validator.String{portRange},
				MarkdownDescription: "The port that is reached, `\"22\"`, or a range, `\"30000-32767\"`, of `tcp`, `udp` and `sctp`. Default: all.",
			},
			"remote": schema.StringAttribute{
				Optional: true, Validators: []validator.String{remoteSide},
				MarkdownDescription: "The other side: an address, a prefix, or the name of another node on the same hypervisor, which stands for the addresses that the node was given, whenever these change. " +
					"A name rather than a reference, so that two nodes can name each other; while there is no such node, nobody passes for it. Default: everybody.",
			},
		}},
	}
}

// ruleType is the type of a security rule.
func ruleType() attr.Type {
	return types.ObjectType{AttrTypes: map[string]attr.Type{"direction": types.StringType, "protocol": types.StringType, "ports": types.StringType, "remote": types.StringType}}
}

// readSecurity returns the security rules of a list, and notes which of their attributes are unknown.
func readSecurity(r *reader, list types.List, at []any) []machine.SecurityRule {
	var rules []machine.SecurityRule
	r.noteUnknown(list, at)
	for n, e := range list.Elements() {
		here := func(attribute string) []any { return append(slices.Clone(at), n, attribute) }
		o, ok := e.(types.Object)
		if r.noteUnknown(e, append(slices.Clone(at), n)); !ok || !convert.Known(o) {
			rules = append(rules, machine.SecurityRule{})
			continue
		}
		text := func(attribute string) string {
			v, _ := o.Attributes()[attribute].(types.String)
			return r.readText(v, here(attribute)...)
		}
		rule := machine.SecurityRule{Direction: text("direction"), Protocol: text("protocol"), Ports: text("ports"), Remote: text("remote")}
		rule.Remote = machine.CanonicalAddress(rule.Remote)
		rules = append(rules, rule)
	}
	return rules
}

// listSecurityRules returns the list of security rules that a machine has; null of none.
func listSecurityRules(rules []machine.SecurityRule) types.List {
	if len(rules) == 0 {
		return types.ListNull(ruleType())
	}
	all := make([]attr.Value, 0, len(rules))
	for _, r := range rules {
		all = append(all, types.ObjectValueMust(ruleType().(types.ObjectType).AttrTypes, map[string]attr.Value{
			"direction": types.StringValue(r.Direction), "protocol": types.StringValue(r.Protocol), "ports": convert.Text(r.Ports), "remote": convert.Text(r.Remote),
		}))
	}
	return types.ListValueMust(ruleType(), all)
}

// sameSecurity says whether two lists have the same rules, however these are spelled.
func sameSecurity(a, b types.List) bool {
	if !convert.Known(a) || !convert.Known(b) || len(a.Elements()) == 0 {
		return false
	}
	r := &reader{unknown: machine.Places{}}
	x, y := readSecurity(r, a, nil), readSecurity(r, b, nil)
	return len(r.unknown) == 0 && slices.Equal(x, y)
}
