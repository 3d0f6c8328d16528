// Package nodes is the data source virtcluster_nodes: the nodes of all hypervisors by role and labels.
package nodes

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"golang.org/x/sync/errgroup"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/fleet"
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
	OVN        types.String      `tfsdk:"ovn"`
	Role       types.String      `tfsdk:"role"`
	Labels     map[string]string `tfsdk:"labels"`
	Nodes      []found           `tfsdk:"nodes"`
}

type found struct {
	ID         string            `tfsdk:"id"`
	Name       string            `tfsdk:"name"`
	Hypervisor types.String      `tfsdk:"hypervisor"`
	Role       types.String      `tfsdk:"role"`
	Labels     map[string]string `tfsdk:"labels"`
	State      string            `tfsdk:"state"`
	Addresses  map[string]string `tfsdk:"addresses"`
	MACs       map[string]string `tfsdk:"macs"`
}

func nodesSchema() schema.Schema {
	return schema.Schema{
		MarkdownDescription: "The nodes on all of the provider's hypervisors, or on one, that have a role and all of some labels, whichever Terraform state they belong to. Machines that no `virtcluster_node` ever managed are not among them.",
		Attributes: map[string]schema.Attribute{
			"hypervisor": schema.StringAttribute{
				Validators: []validator.String{values.Name}, Optional: true,
				MarkdownDescription: "Which of the provider's `hypervisors` to look at. Default: all of them but those that are `lost`, and the provider's `uri`, which may be without libvirt where it is not written and `hypervisors` are. One that does not answer is an error.",
			},
			"ovn": schema.StringAttribute{
				Validators: []validator.String{values.Endpoint}, Optional: true,
				MarkdownDescription: "OVN's northbound database to ask which addresses nodes have on its networks: the id of a `virtcluster_ovn`, or the endpoint of a machine that runs one. Default: no database is asked, and nodes have the addresses there that they were configured to have, and none that they drew from a pool.",
			},
			"role":   schema.StringAttribute{Validators: []validator.String{values.Line}, Optional: true, MarkdownDescription: "The role that nodes must have. Default: any."},
			"labels": schema.MapAttribute{Validators: []validator.Map{values.Each(values.Free)}, Optional: true, ElementType: types.StringType, MarkdownDescription: "Labels that nodes must have, all of them. Default: none."},
			"nodes": computed.ListOf("The nodes by name.", computed.Attributes{
				"id":         computed.Text("The domain's UUID."),
				"name":       computed.Text("The node's name."),
				"hypervisor": computed.Text("Which of the provider's `hypervisors` it is on; null for the provider's `uri`."),
				"role":       computed.Text("The node's role; null where it has none."),
				"labels":     computed.TextMap("The node's labels."),
				"state":      computed.Text("What the hypervisor says about the node: `running`, `shutoff`, …"),
				"addresses":  computed.TextMap("Address of each interface by the interface's name, as in `virtcluster_node`."),
				"macs":       computed.TextMap("MAC address of each interface by the interface's name."),
			}),
		},
	}
}

func readNodes(ctx context.Context, p crud.ProviderData, m *model) diag.Diagnostics {
	clients, err := m.findHypervisors(ctx, p.Fleet)
	if err == nil {
		m.Nodes, err = m.listNodes(ctx, p.Fleet, clients)
	}
	return crud.NewReadFailures("the nodes", err)
}

// findHypervisors returns the hypervisors to look at, by their names.
func (m *model) findHypervisors(ctx context.Context, f *fleet.Fleet) (map[string]*hypervisor.Client, error) {
	if m.Hypervisor.IsNull() {
		return f.All(ctx)
	}
	c, err := f.Hypervisor(ctx, m.Hypervisor.ValueString())
	return map[string]*hypervisor.Client{m.Hypervisor.ValueString(): c}, err
}

// listNodes reads the nodes that match on all of some hypervisors, by name: each of them once, which may have two names, and from which a node may
// be on its way to another one.
func (m *model) listNodes(ctx context.Context, f *fleet.Fleet, clients map[string]*hypervisor.Client) ([]found, error) {
	names := slices.Sorted(maps.Keys(clients))
	listed := make([][]found, len(names))
	var group errgroup.Group
	for n, name := range names {
		group.Go(func() (err error) {
			listed[n], err = m.listNodesOn(ctx, f, name, clients[name])
			if _, unreachable := errors.AsType[*hypervisor.UnreachableError](err); unreachable && m.Hypervisor.IsNull() && f.IsImplied(name) {
				err = nil
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return mergeNodes(listed), nil
}

// mergeNodes returns the nodes of several hypervisors, by name. Of a node that two of them have, it is the one that runs, and the first one where
// neither does.
func mergeNodes(listed [][]found) []found {
	byID := map[string]found{}
	for _, f := range slices.Concat(listed...) {
		if other, seen := byID[f.ID]; !seen || other.State != running && f.State == running {
			byID[f.ID] = f
		}
	}
	return slices.SortedFunc(maps.Values(byID), func(a, b found) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.Hypervisor.ValueString(), b.Hypervisor.ValueString()), strings.Compare(a.ID, b.ID))
	})
}

// running is libvirt's word for a domain that runs.
const running = "running"

// listNodesOn reads the nodes of one hypervisor that match.
func (m *model) listNodesOn(ctx context.Context, f *fleet.Fleet, name string, c *hypervisor.Client) ([]found, error) {
	domains, err := c.Domains(ctx)
	if err != nil {
		return nil, err
	}
	all := []found{}
	var matching []*hypervisor.Domain
	for _, d := range domains {
		k := machine.Read(d.Config).Mark
		n := found{ID: d.UUID, Name: d.Name, State: d.State, Labels: map[string]string{}}
		if name != "" {
			n.Hypervisor = types.StringValue(name)
		}
		if k.Role != "" {
			n.Role = types.StringValue(k.Role)
		}
		for _, l := range k.Labels {
			n.Labels[l.Name] = l.Value
		}
		// A node that is being created may be gone when somebody refers to it.
		if k.IsPresent() && k.Creating == "" && m.wantsNode(&n) {
			all, matching = append(all, n), append(matching, d)
		}
	}
	var group errgroup.Group
	group.SetLimit(8)
	for i, d := range matching {
		group.Go(func() error {
			var err error
			all[i].Addresses, all[i].MACs, err = machine.ListAddresses(ctx, c, f.NorthboundOnly(m.OVN.ValueString()), d)
			return err
		})
	}
	return all, group.Wait()
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
