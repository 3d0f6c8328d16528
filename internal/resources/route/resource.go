// Package route is the resource virtcluster_route.
package route

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"strconv"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/int64planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/attrs/hostattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/hostnet"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/route"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/values"
)

// form is what an id looks like.
const form = "HOST#CIDR or HOST#CIDR,METRIC"

// New is the constructor that the provider offers.
func New() resource.Resource {
	return crud.New(crud.Type[model, route.Route]{
		Name:   "route",
		Noun:   "route",
		Label:  func(m *model) string { return m.CIDR.ValueString() },
		Schema: resourceSchema,
		Key:    []string{"id"},
		ID:     formatID,
		Split:  splitID,
		Open: func(ctx context.Context, at crud.StoreContext, m *model) (crud.Store[route.Route], error) {
			return openStore(ctx, at, m)
		},
		Listing: crud.Listing{Across: listRoutes, ListsMarked: true},
		Plan:    planChange,
	})
}

// listRoutes lists the routes that this provider keeps on machines.
func listRoutes(ctx context.Context, at crud.StoreContext, machines []string) (ids []string, err error) {
	for _, machine := range machines {
		m := model{Host: types.StringValue(machine)}
		site, err := hostattr.Open(ctx, at, m.Host)
		if err != nil {
			return nil, err
		}
		keys, err := route.List(ctx, site.Host)
		if err != nil {
			return nil, err
		}
		for _, key := range keys {
			m.CIDR, m.Metric = types.StringValue(key.To.String()), types.Int64Value(int64(key.Metric))
			ids = append(ids, formatID(&m))
		}
	}
	return ids, nil
}

func formatID(m *model) string {
	to := m.CIDR.ValueString()
	if p, err := netip.ParsePrefix(to); err == nil {
		to = p.Masked().String()
	}
	if metric := m.Metric.ValueInt64(); metric != 0 {
		to += "," + strconv.FormatInt(metric, 10)
	}
	return hostattr.JoinID(m.Host, to)
}

func splitID(m *model, id string) error {
	place, rest, err := hostattr.SplitID(id, form)
	if err != nil {
		return err
	}
	cidr, metric, ranked := strings.Cut(rest, ",")
	m.Host, m.CIDR = place, types.StringValue(cidr)
	if _, err := netip.ParsePrefix(cidr); err != nil {
		return fmt.Errorf("write %s: %w", form, err)
	}
	if ranked {
		n, err := strconv.ParseInt(metric, 10, 64)
		if err != nil || n < 1 {
			return errors.New("the metric is a number")
		}
		m.Metric = types.Int64Value(n)
	}
	return nil
}

func openStore(ctx context.Context, at crud.StoreContext, m *model) (*route.Store, error) {
	site, err := hostattr.Open(ctx, at, m.Host)
	if err != nil {
		return nil, err
	}
	key, _ := convert.Plain[route.Route](m)
	return route.Open(site, key, formatID(m), at.Claim), nil
}

// planChange completes device and backend from the machine, as far as it is there already, and finds what would keep the route from being
// made.
func planChange(ctx context.Context, at crud.StoreContext, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse, m *model) {
	if at.Fleet == nil || m.Host.IsUnknown() || m.CIDR.IsUnknown() || m.Metric.IsUnknown() {
		return
	}
	resp.Diagnostics.Append(resp.Plan.SetAttribute(ctx, path.Root("id"), formatID(m))...)
	var config model
	resp.Diagnostics.Append(req.Config.Get(ctx, &config)...)
	if resp.Diagnostics.HasError() || m.Via.IsUnknown() || config.Device.IsUnknown() || config.Backend.IsUnknown() {
		return
	}
	want, _ := convert.Plain[route.Route](m)
	want.Device = config.Device.ValueString()
	want, ok := hostattr.Preview(ctx, func() (*route.Store, error) { return openStore(ctx, at, m) }, want, "route to "+m.CIDR.ValueString(), path.Root("host"), req, resp)
	if !ok {
		return
	}
	for name, v := range map[string]attr.Value{"device": types.StringValue(want.Device), "active_backend": types.StringValue(want.ActiveBackend)} {
		resp.Diagnostics.Append(resp.Plan.SetAttribute(ctx, path.Root(name), v)...)
	}
}

func resourceSchema(context.Context) schema.Schema {
	return schema.Schema{
		MarkdownDescription: "A static route of a machine that runs, at once and over reboots. What keeps it is a file beside those of the machine's network manager: none of its own is changed. " +
			"A route to the same network of the same metric that this resource did not make is refused; importing it takes it over. " +
			"Where the machine cannot be reached over a new connection any more, it goes back to what it had.",
		Attributes: map[string]schema.Attribute{
			"id":             hostattr.ID(form),
			"host":           hostattr.Host(),
			"cidr":           values.AddressInPrefix.Required("The network that the route leads to, such as `10.128.2.0/23`; `0.0.0.0/0` is the default route.", values.AddressInPrefix.KeepSpelling(), stringplanmodifier.RequiresReplace()),
			"via":            values.Address.Optional("Address of the gateway. Without it the network is on `device` itself.", values.Address.KeepSpelling()),
			"device":         values.Device.OptionalComputed("The network device. Default: the one whose subnet the gateway is in."),
			"metric":         values.Between(1, math.MaxUint32).Optional("Metric: of several routes to one network the lowest wins. Default: 0 for IPv4, the kernel's 1024 for IPv6.", int64planmodifier.RequiresReplace()),
			"backend":        values.OneOf(hostnet.Auto, hostnet.NetworkManager, hostnet.Networkd, hostnet.Ifupdown, hostnet.Runtime).Default(hostnet.Auto, "What keeps the route over reboots: `networkmanager`, `systemd-networkd`, `ifupdown`, or `runtime` for nothing. Default: `auto`, which is what manages the device, `systemd-networkd` where netplan renders for that, and `runtime` where nothing does."),
			"active_backend": schema.StringAttribute{Computed: true, MarkdownDescription: "What keeps the route. It is `runtime` too while the file of the route belongs to a `.network` file that systemd-networkd does not apply to the device any more: the next apply moves it."},
		},
	}
}

type model struct {
	ID            types.String `tfsdk:"id"`
	Host          types.String `tfsdk:"host"`
	CIDR          types.String `tfsdk:"cidr"`
	Via           types.String `tfsdk:"via"`
	Device        types.String `tfsdk:"device"`
	Metric        types.Int64  `tfsdk:"metric"`
	Backend       types.String `tfsdk:"backend"`
	ActiveBackend types.String `tfsdk:"active_backend"`
}
