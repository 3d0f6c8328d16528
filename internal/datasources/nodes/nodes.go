// Package nodes is the data source virtcluster_nodes: the nodes of a hypervisor by role and labels.
package nodes

import (
	"context"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"golang.org/x/sync/errgroup"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/values"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/values/computed"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/machine"
)

// New makes the data source.
func New() datasource.DataSource {
	return crud.NewSource(crud.Source[model]{Name: "nodes", Schema: nodesSchema(), Read: readNodes})
}

type model struct {
	Hypervisor types.String      `tfsdk:"hypervisor"`
	Role       types.String      `tfsdk:"role"`
	Labels     map[string]string `tfsdk:"labels"`
	Nodes      []found           `tfsdk:"nodes"`
}

type found struct {
	ID        string            `tfsdk:"id"`
	Name      string            `tfsdk:"name"`
	Role      types.String      `tfsdk:"role"`
	Labels    map[string]string `tfsdk:"labels"`
	State     string            `tfsdk:"state"`
	Addresses map[string]string `tfsdk:"addresses"`
	MACs      map[string]string `tfsdk:"macs"`
}

func nodesSchema() schema.Schema {
	return schema.Schema{
		MarkdownDescription: "The nodes on a hypervisor that have a role and all of some labels, whichever Terraform state they belong to. Machines that no `virtcluster_node` ever managed are not among them.",
		Attributes: map[string]schema.Attribute{
			"hypervisor": schema.StringAttribute{Validators: []validator.String{values.Name}, Optional: true, MarkdownDescription: "Which of the provider's `hypervisors` to look at. Default: the provider's `uri`."},
			"role":       schema.StringAttribute{Validators: []validator.String{values.Line}, Optional: true, MarkdownDescription: "The role that nodes must have. Default: any."},
			"labels":     schema.MapAttribute{Validators: []validator.Map{values.Each(values.Free)}, Optional: true, ElementType: types.StringType, MarkdownDescription: "Labels that nodes must have, all of them. Default: none."},
			"nodes": computed.ListOf("The nodes by name.", computed.Attributes{
				"id":        computed.Text("The domain's UUID."),
				"name":      computed.Text("The node's name."),
				"role":      computed.Text("The node's role; null where it has none."),
				"labels":    computed.TextMap("The node's labels."),
				"state":     computed.Text("What the hypervisor says about the node: `running`, `shutoff`, …"),
				"addresses": computed.TextMap("Address of each interface by the interface's name, as in `virtcluster_node`."),
				"macs":      computed.TextMap("MAC address of each interface by the interface's name."),
			}),
		},
	}
}

func readNodes(ctx context.Context, p crud.ProviderData, m *model) diag.Diagnostics {
	f := p.Fleet
	c, err := f.Hypervisor(ctx, m.Hypervisor.ValueString())
	if err == nil {
		m.Nodes, err = listNodes(ctx, c, m)
	}
	return crud.NewReadFailures("the nodes", err)
}

// listNodes reads the nodes that match, by name.
func listNodes(ctx context.Context, c *hypervisor.Client, m *model) ([]found, error) {
	domains, err := c.Domains(ctx)
	if err != nil {
		return nil, err
	}
	all := []found{}
	var matching []*hypervisor.Domain
	for _, d := range domains {
		k := machine.Read(d.Config).Mark
		f := found{ID: d.UUID, Name: d.Name, State: d.State, Labels: map[string]string{}}
		if k.Role != "" {
			f.Role = types.StringValue(k.Role)
		}
		for _, l := range k.Labels {
			f.Labels[l.Name] = l.Value
		}
		// A node that is being created may be gone when somebody refers to it.
		if k.IsPresent() && k.Creating == "" && m.wantsNode(&f) {
			all, matching = append(all, f), append(matching, d)
		}
	}
	var group errgroup.Group
	group.SetLimit(8)
	for i, d := range matching {
		group.Go(func() error {
			var err error
			all[i].Addresses, all[i].MACs, err = machine.ListAddresses(ctx, c, d)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	slices.SortFunc(all, func(a, b found) int { return strings.Compare(a.Name, b.Name) })
	return all, nil
}

func (m *model) wantsNode(f *found) bool {
	if !m.Role.IsNull() && m.Role.ValueString() != f.Role.ValueString() {
		return false
	}
	for name, value := range m.Labels {
		if got, has := f.Labels[name]; !has || got != value {
			return false
		}
	}
	return true
}
