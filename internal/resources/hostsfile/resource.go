// Package hostsfile is the resource virtcluster_hosts_file.
package hostsfile

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/netip"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework-validators/mapvalidator"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/fleet"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/attrs/hostattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/hostsfile"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/values"
)

// form is what an id looks like.
const form = "HOST#NAME"

// New is the constructor that the provider offers.
func New() resource.Resource {
	return crud.New(crud.Type[model, hostsfile.Block]{
		Name:   "hosts_file",
		Noun:   "hosts file block",
		Label:  func(m *model) string { return m.Name.ValueString() },
		Schema: resourceSchema,
		Key:    []string{"host", "name"},
		ID:     formatID,
		Split:  func(m *model, id string) error { return hostattr.SplitName(id, form, &m.Host, &m.Name) },
		Spec:   func(ctx context.Context, m *model) (hostsfile.Block, diag.Diagnostics) { return m.toSpec(ctx) },
		Fill: func(ctx context.Context, m *model, got hostsfile.Block) diag.Diagnostics {
			return m.fillModel(ctx, got)
		},
		Open:    openStore,
		Listing: crud.Listing{List: listBlocks, Leftovers: listOthers},
		Plan:    planChange,
	})
}

func formatID(m *model) string { return hostattr.JoinID(m.Host, m.Name.ValueString()) }

// listBlocks lists the blocks of a machine's hosts file.
func listBlocks(ctx context.Context, at crud.StoreContext, machine string) (keys []map[string]string, err error) {
	text, err := readFile(ctx, at, machine)
	for _, name := range hostsfile.ListNames(text) {
		keys = append(keys, map[string]string{"name": name})
	}
	return keys, err
}

// listOthers lists what else a machine's hosts file says.
func listOthers(ctx context.Context, at crud.StoreContext, machine string) ([]service.Unmodelled, error) {
	text, err := readFile(ctx, at, machine)
	return hostsfile.ListOthers(text), err
}

// readFile reads a machine's hosts file; nil where there is none.
func readFile(ctx context.Context, at crud.StoreContext, machine string) ([]byte, error) {
	h, err := at.Fleet.Host(ctx, machine)
	if err != nil {
		return nil, err
	}
	text, err := h.Read(ctx, hostsfile.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return text, err
}

func openStore(ctx context.Context, at crud.StoreContext, m *model) (crud.Store[hostsfile.Block], error) {
	return openFile(ctx, at, m)
}

func openFile(ctx context.Context, at crud.StoreContext, m *model) (*hostsfile.Store, error) {
	site, err := hostattr.Open(ctx, at, m.Host)
	if err != nil {
		return nil, err
	}
	return hostsfile.Open(site.Host, m.Name.ValueString(), formatID(m), at.Claim), nil
}

// planChange refuses a block that is somebody else's, and warns of what takes a block away again.
func planChange(ctx context.Context, at crud.StoreContext, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse, m *model) {
	if at.Fleet == nil || m.Host.IsUnknown() || m.Name.IsUnknown() {
		return
	}
	if req.Plan.Raw.Equal(req.State.Raw) || resp.Diagnostics.HasError() {
		return
	}
	what := fmt.Sprintf("hosts file block %q", m.Name.ValueString())
	store, err := openFile(ctx, at, m)
	if err == nil {
		err = store.Plan(ctx, req.State.Raw.IsNull())
	}
	_, placed := errors.AsType[*service.AttributeError](err)
	switch {
	case errors.Is(err, fleet.ErrUnknown):
	case placed:
		resp.Diagnostics.Append(crud.NewFailure("plan", what, err))
	case err != nil:
		resp.Diagnostics.Append(crud.NewUnseen(path.Root("host"), what, err))
	default:
		resp.Diagnostics.Append(crud.Problems(ctx, req.Plan, store.Warn(ctx))...)
	}
}

func resourceSchema(context.Context) schema.Schema {
	return schema.Schema{
		MarkdownDescription: "Names for addresses in a machine's `/etc/hosts`, so that the machine resolves them without DNS: a block between two comments. " +
			"What else is in the file, and blocks of other states, stay as they are. A resolver takes the first line that has a name, so a name that stands above the block keeps its address. " +
			"Where cloud-init writes the file anew at each start (`manage_etc_hosts: true`), the plan warns: the block would be gone then until the next apply.",
		Attributes: map[string]schema.Attribute{
			"id":   hostattr.ID(form),
			"host": hostattr.Host(),
			"name": values.Name.Default("hosts", "Name of the block: one file may have several. Default: `hosts`.", stringplanmodifier.RequiresReplace()),
			"entries": schema.MapAttribute{
				Required: true, ElementType: types.ListType{ElemType: types.StringType},
				MarkdownDescription: "Host names by address: `{ \"10.0.0.100\" = [\"api.okd.example\", \"api-int.okd.example\"] }`. The first name of an address is the canonical one.",
				Validators:          []validator.Map{values.Each(values.Each(values.HostName)).Keys(values.Address), mapvalidator.ValueListsAre()},
			},
		},
	}
}

type model struct {
	ID      types.String `tfsdk:"id"`
	Host    types.String `tfsdk:"host"`
	Name    types.String `tfsdk:"name"`
	Entries types.Map    `tfsdk:"entries"`
}

func (m *model) toSpec(context.Context) (hostsfile.Block, diag.Diagnostics) {
	var diags diag.Diagnostics
	b := hostsfile.Block{Name: m.Name.ValueString(), Entries: map[netip.Addr][]string{}}
	for _, key := range slices.Sorted(maps.Keys(m.Entries.Elements())) {
		at := path.Root("entries").AtMapKey(key)
		a, _, err := hostattr.Address(types.StringValue(key))
		if err != nil {
			diags.AddAttributeError(at, "Invalid address", err.Error())
			continue
		}
		if _, twice := b.Entries[a]; twice {
			diags.AddAttributeError(at, "Address twice", key+" is another spelling of an address that is there already: put all its names in one list")
		}
		list, _ := m.Entries.Elements()[key].(types.List)
		if list.IsUnknown() {
			continue
		}
		b.Entries[a] = convert.KnownTexts(list)
	}
	return b, diags
}

// fillModel writes what the machine has into the model, and keeps the model's own spelling of an address.
func (m *model) fillModel(_ context.Context, got hostsfile.Block) diag.Diagnostics {
	spelled := map[netip.Addr]string{}
	for key := range m.Entries.Elements() {
		if a, err := netip.ParseAddr(key); err == nil {
			spelled[a] = key
		}
	}
	elements := map[string]attr.Value{}
	for a, names := range got.Entries {
		key, own := spelled[a]
		if !own {
			key = a.String()
		}
		elements[key] = types.ListValueMust(types.StringType, convert.Elements(names))
	}
	var diags diag.Diagnostics
	m.Entries, diags = types.MapValue(types.ListType{ElemType: types.StringType}, elements)
	return diags
}
