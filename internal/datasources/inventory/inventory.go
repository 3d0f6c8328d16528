// Package inventory is the data source virtcluster_inventory: what hypervisors, machines and databases of OVN have, whose it is, and the configuration of what
// nobody manages.
package inventory

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

// Whose a thing is, as `include` says it.
const (
	this   = "this"
	others = "others"
	nobody = "nobody"
)

// New returns the constructor that the provider offers, of what its list resources list.
func New(of crud.Inventory) func() datasource.DataSource {
	return func() datasource.DataSource {
		return crud.NewSource(crud.Source[model]{Name: "inventory", Schema: dataSchema(of), Read: reader{of}.readPlaces})
	}
}

type model struct {
	ID            types.String `tfsdk:"id"`
	Hypervisor    types.String `tfsdk:"hypervisor"`
	ServiceNodes  []string     `tfsdk:"service_nodes"`
	OVN           types.String `tfsdk:"ovn"`
	Types         []string     `tfsdk:"types"`
	Include       []string     `tfsdk:"include"`
	Items         []item       `tfsdk:"items"`
	ImportBlocks  types.String `tfsdk:"import_blocks"`
	Configuration types.String `tfsdk:"configuration"`
	Unmodelled    []leftover   `tfsdk:"unmodelled"`
}

type item struct {
	Type    string       `tfsdk:"type"`
	ID      types.String `tfsdk:"id"`
	Name    string       `tfsdk:"name"`
	Owner   types.String `tfsdk:"owner"`
	Place   string       `tfsdk:"place"`
	Address types.String `tfsdk:"address"`
}

type leftover struct {
	Place string `tfsdk:"place"`
	What  string `tfsdk:"what"`
}

type reader struct{ types crud.Inventory }

// readPlaces looks at every place that the configuration names.
func (r reader) readPlaces(ctx context.Context, p crud.ProviderData, m *model) (diags diag.Diagnostics) {
	var places []string
	c := r.types.NewConfiguration()
	m.Items, m.Unmodelled = []item{}, []leftover{}
	add := func(place string, there crud.Contents, d diag.Diagnostics) {
		places = append(places, place)
		diags.Append(d...)
		for _, f := range there.Found {
			m.addFound(ctx, c, place, f)
		}
		m.addUnmodelled(place, there.Leftovers)
	}
	if len(m.ServiceNodes) == 0 && m.OVN.IsNull() || !m.Hypervisor.IsNull() {
		uri, err := p.Fleet.URI(m.Hypervisor.ValueString())
		if err != nil {
			return crud.NewReadFailures("what a hypervisor has", err)
		}
		there, d := r.types.OnHypervisor(ctx, p, m.Hypervisor, m.Types)
		add(uri, there, d)
	}
	var endpoints []string
	for _, node := range m.ServiceNodes {
		there, d := r.types.OnMachine(ctx, p, node, m.Types)
		endpoints = append(endpoints, showEndpoint(node))
		add(showEndpoint(node), there, d)
	}
	if !m.OVN.IsNull() {
		there, d := r.types.InOVN(ctx, p, m.OVN.ValueString(), m.Types)
		add(showEndpoint(m.OVN.ValueString()), there, d)
	}
	if len(m.ServiceNodes) > 0 {
		found, d := r.types.Across(ctx, p, m.ServiceNodes, m.Types)
		diags.Append(d...)
		for _, f := range found {
			m.addFound(ctx, c, strings.Join(endpoints, ", "), f)
		}
	}
	m.ID = types.StringValue(strings.Join(places, " "))
	resources, err := c.Resources(ctx)
	if err != nil {
		return append(diags, crud.NewReadFailures("what is to be written", err)...)
	}
	m.ImportBlocks, m.Configuration = types.StringValue(c.ImportBlocks()), types.StringValue(resources)
	return diags
}

// showEndpoint is a machine as it is shown: without its host key.
func showEndpoint(machine string) string {
	endpoint, _, _ := strings.Cut(machine, "?")
	return endpoint
}

// addFound adds what was found at a place, where that is wanted, and its configuration, where it may be imported.
func (m *model) addFound(ctx context.Context, c *crud.Configuration, place string, f crud.Found) {
	whose, text := nobody, types.StringNull()
	switch {
	case f.Owner.ID == "":
	case f.Owner.IsHere():
		whose, text = this, types.StringValue("this state")
	default:
		whose, text = others, types.StringValue(f.Owner.ID)
	}
	if len(m.Include) > 0 && !slices.Contains(m.Include, whose) {
		return
	}
	found := item{Type: f.Type, ID: types.StringNull(), Name: f.Name, Owner: text, Place: place, Address: types.StringNull()}
	what := fmt.Sprintf("%s %q on %s", f.Noun, f.Name, place)
	if f.ImportID != "" {
		found.ID = types.StringValue(f.ImportID)
	}
	switch {
	case f.Err != nil:
		m.addLeftover(what, "It cannot be read, and so not be imported: "+f.Err.Error())
	case whose == nobody, whose == this && slices.Contains(m.Include, this):
		address, secrets, err := c.Add(ctx, f)
		if err != nil {
			m.addLeftover(what, "Its configuration cannot be written: "+err.Error())
			break
		}
		found.Address = types.StringValue(address)
		for _, secret := range secrets {
			m.addLeftover(address+"."+secret, "It is secret, and not told: write it.")
		}
		m.addUnmodelled(what, f.Unmodelled)
	}
	m.Items = append(m.Items, found)
}

func (m *model) addUnmodelled(of string, all []service.Unmodelled) {
	for _, u := range all {
		m.addLeftover(of+": "+u.Place, u.What)
	}
}

func (m *model) addLeftover(place, what string) {
	m.Unmodelled = append(m.Unmodelled, leftover{place, what})
}
