// Package dhcpleases is the data source virtcluster_dhcp_leases: what addresses a network's DHCP has given out.
package dhcpleases

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/alloc"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/values"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/values/computed"
)

// New makes the data source.
func New() datasource.DataSource {
	return crud.NewSource(crud.Source[model]{Name: "dhcp_leases", Schema: leasesSchema(), Read: readLeases})
}

type model struct {
	Hypervisor types.String `tfsdk:"hypervisor"`
	Network    types.String `tfsdk:"network"`
	MAC        types.String `tfsdk:"mac"`
	Leases     []lease      `tfsdk:"leases"`
}

type lease struct {
	MAC      types.String `tfsdk:"mac"`
	IP       types.String `tfsdk:"ip"`
	Prefix   types.Int64  `tfsdk:"prefix"`
	Hostname types.String `tfsdk:"hostname"`
	ClientID types.String `tfsdk:"client_id"`
	Expires  types.String `tfsdk:"expires"`
}

func leasesSchema() schema.Schema {
	return schema.Schema{
		MarkdownDescription: "The addresses that a network's DHCP has given out and that have not expired. A network that does not run has none.",
		Attributes: map[string]schema.Attribute{
			"hypervisor": schema.StringAttribute{Validators: []validator.String{values.Name}, Optional: true, MarkdownDescription: "Which of the provider's `hypervisors` the network is on. Default: the provider's `uri`."},
			"network":    schema.StringAttribute{Validators: []validator.String{values.Name}, Required: true, MarkdownDescription: "Name or UUID of the network."},
			"mac":        schema.StringAttribute{Validators: []validator.String{values.MAC}, Optional: true, MarkdownDescription: "MAC address whose leases are wanted. Default: all."},
			"leases": computed.ListOf("The leases by address, IPv4 before IPv6.", computed.Attributes{
				"mac":       computed.Text("MAC address of the machine."),
				"ip":        computed.Text("The address."),
				"prefix":    computed.Number("Prefix length of its subnet."),
				"hostname":  computed.Text("Name that the machine gave; null where it gave none."),
				"client_id": computed.Text("Client identifier (IPv4) or DUID (IPv6) of the machine; null where it gave none."),
				"expires":   computed.Text("When the lease ends, in RFC 3339 and UTC; null for one that never does."),
			}),
		},
	}
}

func readLeases(ctx context.Context, p crud.ProviderData, m *model) (diags diag.Diagnostics) {
	f := p.Fleet
	mac := ""
	if !m.MAC.IsNull() {
		var err error
		if mac, err = alloc.CanonicalMAC(m.MAC.ValueString()); err != nil {
			diags.AddAttributeError(path.Root("mac"), "Invalid MAC address", err.Error())
			return diags
		}
	}
	c, err := f.Hypervisor(ctx, m.Hypervisor.ValueString())
	var all []hypervisor.Lease
	if err == nil {
		all, err = c.Leases(ctx, m.Network.ValueString())
	}
	slices.SortFunc(all, func(a, b hypervisor.Lease) int { return a.IP.Compare(b.IP) })
	m.Leases = []lease{}
	for _, l := range all {
		if mac == "" || l.MAC == mac {
			m.Leases = append(m.Leases, toLease(l))
		}
	}
	return crud.NewReadFailures(fmt.Sprintf("DHCP leases of network %q", m.Network.ValueString()), err)
}

func toLease(l hypervisor.Lease) lease {
	s := lease{
		MAC: convert.Text(l.MAC), IP: types.StringValue(l.IP.String()), Prefix: types.Int64Value(int64(l.Prefix)),
		Hostname: convert.Text(l.Hostname), ClientID: convert.Text(l.ClientID), Expires: types.StringNull(),
	}
	if l.Expires.Unix() > 0 {
		s.Expires = types.StringValue(l.Expires.Format(time.RFC3339))
	}
	return s
}
