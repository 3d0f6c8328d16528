// Package netinterface is the resource virtcluster_interface.
package netinterface

import (
	"context"
	"fmt"
	"maps"
	"math"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/attrs/hostattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/hostnet"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/netinterface"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/values"
)

// form is what an id looks like.
const form = "HOST#NAME"

// New is the constructor that the provider offers.
func New() resource.Resource {
	return crud.New(crud.Type[model, netinterface.Interface]{
		Name:   "interface",
		Noun:   "interface",
		Label:  func(m *model) string { return m.Name.ValueString() },
		Schema: resourceSchema,
		Key:    []string{"host", "name"},
		ID:     formatID,
		Split:  func(m *model, id string) error { return hostattr.SplitName(id, form, &m.Host, &m.Name) },
		Spec:   toSpec,
		Fill:   fillModel,
		Open: func(ctx context.Context, at crud.StoreContext, m *model) (crud.Store[netinterface.Interface], error) {
			return openStore(ctx, at, m)
		},
		Listing: crud.Listing{List: listInterfaces, ListsMarked: true},
		Plan:    planChange,
		PlanRemoval: func(ctx context.Context, at crud.StoreContext, m *model, replaced bool) diag.Diagnostics {
			return hostattr.PlanRemoval(ctx, func() (*netinterface.Store, error) { return openStore(ctx, at, m) }, replaced)
		},
	})
}

func formatID(m *model) string { return hostattr.JoinID(m.Host, m.Name.ValueString()) }

// listInterfaces lists the interfaces of a machine that this provider has configured.
func listInterfaces(ctx context.Context, at crud.StoreContext, machine string) (keys []map[string]string, err error) {
	site, err := hostattr.Open(ctx, at, types.StringValue(machine))
	if err != nil {
		return nil, err
	}
	names, err := hostnet.ListRecorded(ctx, site.Host, "interface")
	for _, name := range names {
		keys = append(keys, map[string]string{"name": name})
	}
	return keys, err
}

func openStore(ctx context.Context, at crud.StoreContext, m *model) (*netinterface.Store, error) {
	site, err := hostattr.Open(ctx, at, m.Host)
	if err != nil {
		return nil, err
	}
	return netinterface.Open(site, m.Name.ValueString(), formatID(m), at.Claim), nil
}

// planChange chooses what keeps the configuration, as far as the machine is there already, and finds what would keep it from being made.
func planChange(ctx context.Context, at crud.StoreContext, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse, m *model) {
	resp.Diagnostics.Append(hostattr.PlanAddressing(ctx, req, resp)...)
	if at.Fleet == nil || m.Host.IsUnknown() || m.Name.IsUnknown() {
		return
	}
	what := fmt.Sprintf("interface %q", m.Name.ValueString())
	want, _ := toSpec(ctx, m)
	if done, ok := hostattr.Preview(ctx, func() (*netinterface.Store, error) { return openStore(ctx, at, m) }, want, what, path.Root("host"), req, resp); ok {
		resp.Diagnostics.Append(hostattr.PlanBackend(ctx, done.ActiveBackend, req, resp)...)
	}
}

func resourceSchema(context.Context) schema.Schema {
	attributes := map[string]schema.Attribute{
		"id":   hostattr.ID(form),
		"host": hostattr.Host(),
		"name": values.Device.Required("Device name of the interface, such as `eth1`: the machine must have it.", stringplanmodifier.RequiresReplace()),
		"routes": values.Objects().Some().OptionalListOf("Further routes through the interface, that come and go with its configuration. `virtcluster_route` is for a route on its own.", values.Attributes{
			"cidr":   values.AddressInPrefix.Required("The network, such as `10.128.0.0/14`.", values.AddressInPrefix.KeepSpelling()),
			"via":    values.Address.Optional("Address of the gateway. Without it the network is on the interface itself.", values.Address.KeepSpelling()),
			"metric": values.Between(1, math.MaxUint32).Optional("The lowest wins. Default: the kernel's."),
		}),
		"mac": values.KeptText("Hardware address of the interface."),
	}
	maps.Copy(attributes, hostattr.DeviceAttributes("interface", netinterface.DefaultRollback))
	maps.Copy(attributes, hostattr.AddressingAttributes(values.OneOf(hostattr.DHCP, hostattr.Static), "",
		"`dhcp` has the interface ask for an address (IPv6 comes by router advertisements then), `static` gives it `addresses`. Default: `static` beside `addresses`; one of the two has to be written.",
		"IPv4 and IPv6 addresses with prefix lengths. What others give to the interface, such as virtual addresses, stays and is no drift."))
	return schema.Schema{
		MarkdownDescription: "What one network interface of a running machine has of addresses, routes and name servers, over reboots: a guest's after its first boot, a service node's second one. " +
			"It is written beside what the machine's own network manager has, and comes before it. Before a change a rollback is armed on the machine, and disarmed over a new connection: where that cannot be made, " +
			"or a gateway that answered before is silent, the machine goes back to what it had. Destroying it gives the interface back what it had before. " +
			"An interface that somebody configured already is refused; importing it takes it over.",
		Attributes: attributes,
	}
}

type model struct {
	ID     types.String `tfsdk:"id"`
	Host   types.String `tfsdk:"host"`
	Name   types.String `tfsdk:"name"`
	Routes types.List   `tfsdk:"routes"`
	MAC    types.String `tfsdk:"mac"`
	hostattr.Addressing
	hostattr.Device
}

func toSpec(_ context.Context, m *model) (netinterface.Interface, diag.Diagnostics) {
	i, diags := convert.Plain[netinterface.Interface](m)
	a, inherit, problems := m.Addressing.Spec()
	if !inherit { // what the gateways shall be in is known
		a.Routes = i.Routes
	}
	i.Addressing, i.Name, i.MTU, i.Backend, i.RollbackTimeout = a, m.Name.ValueString(), int(m.MTU.ValueInt64()), m.Backend.ValueString(), m.Rollback()
	return i, append(diags, problems...)
}

// fillModel writes what the machine has into the model.
func fillModel(ctx context.Context, m *model, got netinterface.Interface) diag.Diagnostics {
	want, _ := toSpec(ctx, m)
	diags := m.Addressing.Fill(got.Addressing, false)
	m.FillDevice(got.MTU, got.Backend, got.ActiveBackend, got.RollbackTimeout)
	m.ActiveAddresses = convert.SpellList(got.Active)
	convert.FillModel(&want, &got, m)
	return diags
}
