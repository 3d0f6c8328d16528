// Package ovnbalancer is the resource virtcluster_ovn_load_balancer.
package ovnbalancer

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/ovn"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/attrs/ovnattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/values"
)

// noun is what ids call a load balancer.
const noun = "load_balancer"

// New is the constructor that the provider offers.
func New() resource.Resource {
	return ovnattr.New(ovnattr.Type[model, ovn.LoadBalancer]{
		Noun: noun, Schema: resourceSchema, List: ovn.ListLoadBalancers, Thing: ovn.NewLoadBalancer, Plan: planLoadBalancer,
	})
}

// planLoadBalancer finds what keeps it from working with what is there.
func planLoadBalancer(ctx context.Context, at crud.StoreContext, _ resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse, m *model) {
	want, diags := convert.Plain[ovn.LoadBalancer](m)
	if at.Fleet == nil || m.OVN.IsUnknown() || diags.HasError() || !convert.WhollyKnown(ctx, m.VIPs) || !convert.WhollyKnown(ctx, m.HealthCheck) {
		return
	}
	n, err := at.Fleet.Northbound(ctx, m.OVN.ValueString())
	if err != nil {
		return // the apply says so
	}
	if at.Announce != nil {
		at.Announce() // another one of the plan may want its addresses, and be compared at the same time
	}
	if err := ovn.CheckLoadBalancer(ctx, n, want, ovnattr.FindPlanned(ctx, at, m.OVN.ValueString())); errors.As(err, new(*service.AttributeError)) {
		resp.Diagnostics.Append(crud.Diagnostics([]service.Problem{service.NewProblem("Load balancer that would not work", err)})...)
	}
}

type model struct {
	ovnattr.Model
	Router   types.String `tfsdk:"router"`
	Protocol types.String `tfsdk:"protocol"`
	VIPs     types.Map    `tfsdk:"vips"`

	HealthCheck types.Object `tfsdk:"health_check"`
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

func countAttribute(usual int64, what string) schema.Int64Attribute {
	return values.Between(1, 3600).Default(usual, fmt.Sprintf("%s Default: `%d`.", what, usual))
}

func resourceSchema(context.Context) schema.Schema {
	return schema.Schema{
		MarkdownDescription: "A load balancer of OVN: each chassis spreads its own guests' connections, and the way out those from outside. It is on a router and on all networks that this connects, so that these reach it too. " +
			"With `health_check` it leads to no guest that does not answer.",
		Attributes: ovnattr.Attributes(noun, map[string]schema.Attribute{
			"router":   values.Name.Required("Name of the router that it is on (`virtcluster_ovn_router.lab.name`). One that is missing on a network of it reads as without a router, and an apply mends that."),
			"protocol": values.OneOf(ovn.Protocols...).Default("tcp", "`tcp` or `udp`. Default: `tcp`."),
			"health_check": values.OptionalObject("Has the chassis of each guest ask it whether it answers at the port that is led to: by connecting, or, with `udp`, by a packet that nothing refuses. Guests whose chassis is gone are asked by nobody, and led to as before. Default: nobody asks. Guests need their ports first: write `depends_on` where they are made with it.", values.Attributes{
				"source":           values.Address.Required("Address that asks, in the guests' network, which nobody else has. It reads as none while a guest that has a port is not asked, and an apply mends that.", values.Address.KeepSpelling()),
				"interval_seconds": countAttribute(5, "Seconds between two questions."),
				"timeout_seconds":  countAttribute(2, "Seconds until a question has failed."),
				"success_count":    countAttribute(1, "How many answers in a row have a guest live."),
				"failure_count":    countAttribute(2, "How many failures in a row have it dead."),
			}),
			"vips": values.Each(values.Each(endpoint).Some()).Keys(endpoint).Some().RequiredMap("What it listens at, such as `10.50.0.100:443`, and the guests behind it, such as `[\"10.50.0.11:8443\"]`; the ports may differ. The address is one of a network or of the outside that no guest, gateway, router or floating address has; other load balancers of the router may have it at other ports."),
		}),
	}
}
