// Package ovnsecuritygroup is the resource virtcluster_ovn_security_group.
package ovnsecuritygroup

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/ovn"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/attrs/ovnattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/values"
)

// noun is what ids call a security group.
const noun = "security_group"

// New is the constructor that the provider offers.
func New() resource.Resource {
	return crud.New(crud.Type[model, ovn.SecurityGroup]{
		Name:    "ovn_security_group",
		Noun:    "OVN security group",
		Label:   func(m *model) string { return m.Name.ValueString() },
		AsksOVN: true,
		Schema:  resourceSchema,
		Key:     []string{"ovn", "name"},
		ID:      func(m *model) string { return m.FormatID(noun) },
		Split:   func(m *model, id string) error { return m.Split(id, noun) },
		List:    ovnattr.List(ovn.ListSecurityGroups),
		Spec:    func(_ context.Context, m *model) (ovn.SecurityGroup, diag.Diagnostics) { return m.toSpec() },
		Fill:    func(_ context.Context, m *model, got ovn.SecurityGroup) diag.Diagnostics { return m.fillModel(got) },
		Open: func(ctx context.Context, at crud.StoreContext, m *model) (crud.Store[ovn.SecurityGroup], error) {
			return ovnattr.Open(ctx, at, &m.Model, noun, ovn.NewSecurityGroup(m.Name.ValueString()))
		},
	})
}

type model struct {
	ovnattr.Model
	Rules       types.List `tfsdk:"rules"`
	AddressSets types.Map  `tfsdk:"address_sets"`
}

func (m *model) toSpec() (g ovn.SecurityGroup, diags diag.Diagnostics) {
	diags = convert.ToPlain(m, &g, func(...any) {})
	return g, diags
}

// fillModel writes what the database has. An address set is kept as it is written where it has the same addresses.
func (m *model) fillModel(got ovn.SecurityGroup) diag.Diagnostics {
	was, diags := m.toSpec()
	for name, members := range was.AddressSets {
		if is, there := got.AddressSets[name]; there && ovn.SameMembers(members, is) {
			got.AddressSets[name] = members
		}
	}
	convert.FromPlain(&got, m)
	return diags
}

// Kinds of values.
var (
	groupName = values.New("name", "web_servers", ovn.CheckGroupName)
	portRange = values.New("port or range of ports", "30000-32767", ovn.CheckPorts)
	remote    = values.New("address, prefix or name", "10.19.41.0/24", ovn.CheckRemote).Same(convert.Canonical)
)

func resourceSchema(context.Context) schema.Schema {
	attributes := ovnattr.Attributes(noun, "security group", map[string]schema.Attribute{
		"rules": schema.ListNestedAttribute{
			Optional: true, Validators: []validator.List{values.Objects()},
			MarkdownDescription: "What may pass, in no order. A changed rule counts for what is asked from then on, and for connections that are there.",
			NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
				"direction": schema.StringAttribute{
					Required: true, Validators: []validator.String{values.OneOf(ovn.Ingress, ovn.Egress)},
					MarkdownDescription: "`ingress` for what comes to the guest, `egress` for what it sends.",
				},
				"protocol": schema.StringAttribute{
					Required: true, Validators: []validator.String{values.OneOf(ovn.SecurityProtocols()...)},
					MarkdownDescription: "`tcp`, `udp`, `sctp`, `icmp`, `icmpv6`, `esp`, `ah`, `gre`, `VRRP` or `any`. Answers pass too, but to `esp`, `ah`, `gre` and `VRRP`, which nobody follows: these take a rule for each direction.",
				},
				"ports": schema.StringAttribute{
					Optional: true, Validators: []validator.String{portRange},
					MarkdownDescription: "The port that is reached, `\"22\"`, or a range, `\"30000-32767\"`, of `tcp`, `udp` and `sctp`. Default: all.",
				},
				"remote": schema.StringAttribute{
					Optional: true, Validators: []validator.String{remote}, PlanModifiers: []planmodifier.String{remote.KeepSpelling()},
					MarkdownDescription: "The other side: an address, a prefix, one of `address_sets`, or the name of a security group, which stands for the addresses of its ports. While there is no such group, nobody passes for it. Default: everybody.",
				},
			}},
		},
		"address_sets": schema.MapAttribute{
			Optional: true, ElementType: types.ListType{ElemType: types.StringType},
			Validators:          []validator.Map{values.Each(values.Each(values.AddressOrPrefix).Some().Distinct()).Keys(groupName)},
			MarkdownDescription: "Addresses and prefixes by a name that rules have for `remote`. Default: none.",
		},
	})
	attributes["name"] = schema.StringAttribute{
		Required: true, PlanModifiers: []planmodifier.String{stringplanmodifier.RequiresReplace()}, Validators: []validator.String{groupName},
		MarkdownDescription: "Name of the group in the database: letters, digits and `_`, as OVN's expressions take it. Another one replaces the resource.",
	}
	return schema.Schema{
		MarkdownDescription: "A security group of OVN: nothing passes a port that is in it (`security_groups` of a node's interface) but what a rule of one of the port's groups lets pass, with the answers to it. " +
			"ARP, DHCP and what IPv6 asks its neighbours pass always. Each chassis sees to its own guests.",
		Attributes: attributes,
	}
}
