// Package ovnbalancer is the resource virtcluster_ovn_load_balancer.
package ovnbalancer

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringdefault"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/ovn"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/attrs/ovnattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/values"
)

// noun is what ids call a load balancer.
const noun = "load_balancer"

// New is the constructor that the provider offers.
func New() resource.Resource {
	return crud.New(crud.Type[model, ovn.LoadBalancer]{
		Name:   "ovn_load_balancer",
		Noun:   "OVN load balancer",
		Label:  func(m *model) string { return m.Name.ValueString() },
		Schema: resourceSchema,
		Key:    []string{"ovn", "name"},
		ID:     func(m *model) string { return m.FormatID(noun) },
		Split:  func(m *model, id string) error { return m.Split(id, noun) },
		Spec:   func(_ context.Context, m *model) (ovn.LoadBalancer, diag.Diagnostics) { return m.toSpec() },
		Fill: func(_ context.Context, m *model, got ovn.LoadBalancer) diag.Diagnostics {
			convert.FromPlain(&got, m)
			return nil
		},
		Open: func(ctx context.Context, at crud.StoreContext, m *model) (crud.Store[ovn.LoadBalancer], error) {
			return ovnattr.Open(ctx, at, &m.Model, noun, ovn.NewLoadBalancer(m.Name.ValueString()))
		},
	})
}

type model struct {
	ovnattr.Model
	Router   types.String `tfsdk:"router"`
	Protocol types.String `tfsdk:"protocol"`
	VIPs     types.Map    `tfsdk:"vips"`
}

func (m *model) toSpec() (b ovn.LoadBalancer, diags diag.Diagnostics) {
	diags = convert.ToPlain(m, &b, func(...any) {})
	return b, diags
}

// endpoint is an address with a port.
var endpoint = values.New("address and port", "10.50.0.100:443", func(text string) error {
	where, err := netip.ParseAddrPort(text)
	if err != nil || where.Port() == 0 {
		return errors.New("write an address and a port, such as 10.50.0.100:443 or [fd00::100]:443")
	}
	// OVN keeps it as a text, and has one spelling for it.
	if only := netip.AddrPortFrom(where.Addr().Unmap().WithZone(""), where.Port()).String(); only != text {
		return fmt.Errorf("write it as %s", only)
	}
	return nil
})

func resourceSchema(context.Context) schema.Schema {
	return schema.Schema{
		MarkdownDescription: "A load balancer of OVN: each chassis spreads its own guests' connections, and the way out those from outside. It is on a router and on all networks that this connects, so that these reach it too. " +
			"It asks no backend whether it lives.",
		Attributes: ovnattr.Attributes(noun, "load balancer", map[string]schema.Attribute{
			"router": schema.StringAttribute{
				Required: true, Validators: []validator.String{values.Name},
				MarkdownDescription: "Name of the router that it is on (`virtcluster_ovn_router.lab.name`). One that is missing on a network of it reads as without a router, and an apply mends that.",
			},
			"protocol": schema.StringAttribute{
				Optional: true, Computed: true, Default: stringdefault.StaticString("tcp"), Validators: []validator.String{values.OneOf(ovn.Protocols...)},
				MarkdownDescription: "`tcp` or `udp`. Default: `tcp`.",
			},
			"vips": schema.MapAttribute{
				Required: true, ElementType: types.ListType{ElemType: types.StringType}, Validators: []validator.Map{values.Each(values.Each(endpoint).Some()).Keys(endpoint).Some()},
				MarkdownDescription: "What it listens at, such as `10.50.0.100:443`, and the guests behind it, such as `[\"10.50.0.11:8443\"]`; the ports may differ. The address is one of a network or of the outside that nobody else has.",
			},
		}),
	}
}
