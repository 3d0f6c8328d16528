package crud_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/list"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/fleet"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/plan/ledger"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/run"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

type barrelModel struct {
	ID          types.String `tfsdk:"id"`
	Name        types.String `tfsdk:"name"`
	Hypervisor  types.String `tfsdk:"hypervisor"`
	ServiceNode types.String `tfsdk:"service_node"`
	OVN         types.String `tfsdk:"ovn"`
	Size        types.Int64  `tfsdk:"size"`
}

// barrelStore is a shelf's box with a mark that says more of itself.
type barrelStore struct {
	*ownedBoxStore
	left []service.Unmodelled
}

func (s *barrelStore) Get(ctx context.Context) (box, error) {
	got, err := s.ownedBoxStore.boxStore.Get(ctx)
	if s.ownedBoxStore.boxStore.name == "stuck" {
		err = errors.New("it is nailed up")
	}
	if err == nil {
		s.ownedBoxStore.claim = s.ownedBoxStore.claim.Found(s.marks[s.name])
	}
	return got, err
}

func (s *barrelStore) ListUnmodelled(context.Context) ([]service.Unmodelled, error) {
	return s.left, nil
}

// newBarrelType is a type of what is on a shelf, of which each is at a place that the attribute place names. Its id is one of its own with named, and
// else its name behind its place.
func newBarrelType(s *shelf, name, place string, named bool, across []string) func() resource.Resource {
	at := func(m *barrelModel) *types.String {
		switch place {
		case "hypervisor":
			return &m.Hypervisor
		case "ovn":
			return &m.OVN
		}
		return &m.ServiceNode
	}
	t := crud.Type[barrelModel, box]{
		Name: name, Noun: name, Key: []string{place, "name"},
		Label: func(m *barrelModel) string { return m.Name.ValueString() },
		Schema: func(context.Context) schema.Schema {
			return schema.Schema{Attributes: map[string]schema.Attribute{
				"id": schema.StringAttribute{Computed: true}, "name": schema.StringAttribute{Required: true}, "size": schema.Int64Attribute{Required: true},
				"hypervisor": schema.StringAttribute{Optional: true}, "service_node": schema.StringAttribute{Optional: true}, "ovn": schema.StringAttribute{Optional: true},
			}}
		},
		ID: func(m *barrelModel) string {
			if !named {
				return "uuid-of-" + m.Name.ValueString()
			}
			return strings.TrimPrefix(at(m).ValueString()+"#"+m.Name.ValueString(), "#")
		},
		Split: func(m *barrelModel, id string) error {
			where, name, both := strings.Cut(id, "#")
			if !both {
				where, name = "", id
			}
			m.Name = types.StringValue(name)
			if where != "" {
				*at(m) = types.StringValue(where)
			}
			return nil
		},
		Spec: func(_ context.Context, m *barrelModel) (box, diag.Diagnostics) {
			return box{name: m.Name.ValueString(), size: m.Size.ValueInt64()}, nil
		},
		Fill: func(_ context.Context, m *barrelModel, got box) diag.Diagnostics {
			m.Size = types.Int64Value(got.size)
			return nil
		},
		Open: func(_ context.Context, opening crud.StoreContext, m *barrelModel) (crud.Store[box], error) {
			owned := &ownedBoxStore{boxStore{shelf: s, name: m.Name.ValueString()}, opening.Claim}
			return &barrelStore{owned, []service.Unmodelled{{Place: "/barrel/lid", What: "blue"}}}, nil
		},
		Listing: crud.Listing{Leftovers: func(_ context.Context, _ crud.StoreContext, place string) ([]service.Unmodelled, error) {
			return []service.Unmodelled{{Place: place + ":1", What: "dust"}}, nil
		}},
	}
	if across != nil {
		t.Across = func(context.Context, crud.StoreContext, []string) ([]string, error) { return across, nil }
		return func() resource.Resource { return crud.New(t) }
	}
	t.List = func(_ context.Context, _ crud.StoreContext, place string) (keys []map[string]string, err error) {
		if place == "dark" {
			return nil, errors.New("it is dark there")
		}
		for name := range s.boxes {
			keys = append(keys, map[string]string{"name": name})
		}
		keys = append(keys, map[string]string{"name": "gone"})
		slices.SortFunc(keys, func(a, b map[string]string) int { return strings.Compare(a["name"], b["name"]) })
		return keys, nil
	}
	return func() resource.Resource { return crud.New(t) }
}

// describe is what was found in words: TYPE NAME ID OWNER SIZE, or its error.
func describe(t *testing.T, all []crud.Found) string {
	t.Helper()
	var b strings.Builder
	for _, f := range all {
		if f.Err != nil {
			fmt.Fprintf(&b, "%s %s: %v; ", f.Type, f.Name, f.Err)
			continue
		}
		var m barrelModel
		if diags := f.State.Get(t.Context(), &m); diags.HasError() {
			t.Fatal(diags)
		}
		fmt.Fprintf(&b, "%s %s %s %s %d %v; ", f.Type, f.Name, f.ImportID, f.Owner.ID, m.Size.ValueInt64(), f.Unmodelled)
	}
	return strings.TrimSuffix(b.String(), "; ")
}

func TestAnInventoryHasWhatIsAtItsPlaces(t *testing.T) {
	t.Parallel()
	s := &shelf{boxes: map[string]int64{"a": 1, "b": 2, "stuck": 3}, marks: map[string]owner.Mark{"b": {ID: "theirs", Workspace: "w"}}}
	all := crud.Inventory{
		newBarrelType(s, "barrel", "hypervisor", false, nil), newBarrelType(s, "cask", "hypervisor", true, nil), newBarrelType(s, "chest", "service_node", true, nil),
		newBarrelType(s, "van", "service_node", true, []string{"m1#a"}), newBarrelType(s, "net", "ovn", true, nil), func() resource.Resource { return boxes(s) },
	}
	p := crud.ProviderData{Fleet: fleet.New(fleet.Config{URI: "test:///default"}), Ledger: &ledger.Ledger{}, Run: run.Begin()}
	if names := fmt.Sprint(all.Types()); names != "[virtcluster_barrel virtcluster_cask virtcluster_chest virtcluster_net virtcluster_van]" {
		t.Errorf("its types are %s", names)
	}
	const lid = "[{/barrel/lid blue}]"
	for name, c := range map[string]struct {
		find func() (crud.Contents, diag.Diagnostics)
		want string
		left int
	}{
		"ids that only a hypervisor knows": {
			func() (crud.Contents, diag.Diagnostics) {
				return all.OnHypervisor(t.Context(), p, types.StringValue("kvm1"), []string{"virtcluster_barrel"})
			},
			"virtcluster_barrel a kvm1/a  1 " + lid + "; virtcluster_barrel b kvm1/b theirs 2 " + lid + "; virtcluster_barrel stuck: it is nailed up", 1,
		},
		"the provider's own hypervisor": {
			func() (crud.Contents, diag.Diagnostics) {
				return all.OnHypervisor(t.Context(), p, types.StringNull(), []string{"virtcluster_cask"})
			},
			"virtcluster_cask a a  1 " + lid + "; virtcluster_cask b b theirs 2 " + lid + "; virtcluster_cask stuck: it is nailed up", 1,
		},
		"a machine": {
			func() (crud.Contents, diag.Diagnostics) { return all.OnMachine(t.Context(), p, "m1", nil) },
			"virtcluster_chest a m1#a  1 " + lid + "; virtcluster_chest b m1#b theirs 2 " + lid + "; virtcluster_chest stuck: it is nailed up", 2,
		},
		"a database of OVN": {
			func() (crud.Contents, diag.Diagnostics) { return all.InOVN(t.Context(), p, "m1", nil) },
			"virtcluster_net a m1#a  1 " + lid + "; virtcluster_net b m1#b theirs 2 " + lid + "; virtcluster_net stuck: it is nailed up", 1,
		},
		"several machines": {
			func() (crud.Contents, diag.Diagnostics) {
				found, diags := all.Across(t.Context(), p, []string{"m1"}, nil)
				return crud.Contents{Found: found}, diags
			},
			"virtcluster_van a m1#a  1 " + lid, 0,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, diags := c.find()
			if said := describe(t, got.Found); diags.HasError() || said != c.want || len(got.Leftovers) != c.left {
				t.Errorf("there is %s, with %v left, %v", said, got.Leftovers, diags)
			}
		})
	}
	if _, diags := all.OnMachine(t.Context(), p, "dark", nil); !diags.HasError() || !strings.Contains(diags.Errors()[0].Detail(), "it is dark there") {
		t.Errorf("a place that cannot be looked at says %v", diags)
	}
}

func TestAListBlockSaysWhereToLook(t *testing.T) {
	t.Parallel()
	s := &shelf{boxes: map[string]int64{}}
	for place, of := range map[string]func() resource.Resource{
		"hypervisor": newBarrelType(s, "barrel", "hypervisor", true, nil), "service_node": newBarrelType(s, "chest", "service_node", true, nil), "service_nodes": newBarrelType(s, "van", "elsewhere", true, []string{"m1#a"}),
	} {
		t.Run(place, func(t *testing.T) {
			t.Parallel()
			all := crud.Lists([]func() resource.Resource{of, func() resource.Resource { return boxes(s) }})
			if len(all) != 1 {
				t.Fatalf("%d types list", len(all))
			}
			var resp list.ListResourceSchemaResponse
			all[0]().ListResourceConfigSchema(t.Context(), list.ListResourceSchemaRequest{}, &resp)
			if names := fmt.Sprint(slices.Sorted(maps.Keys(resp.Schema.Attributes))); names != fmt.Sprint(slices.Sorted(slices.Values([]string{"name_matches", "unmanaged", place}))) {
				t.Errorf("it has %s", names)
			}
			if a := resp.Schema.Attributes[place]; a.IsRequired() == (place == "hypervisor") {
				t.Errorf("that it says where is required: %v", a.IsRequired())
			}
		})
	}
}

// newCrateType is a type whose objects the machines of hypervisors have, or machines that are named by themselves; nothing without a mark is listed.
func newCrateType(s *shelf, unseen error) func() resource.Resource {
	t := crud.Type[barrelModel, box]{
		Name: "crate", Noun: "crate", Key: []string{"hypervisor", "name"},
		Label: func(m *barrelModel) string { return m.Name.ValueString() },
		Schema: func(context.Context) schema.Schema {
			return schema.Schema{Attributes: map[string]schema.Attribute{
				"id": schema.StringAttribute{Computed: true}, "name": schema.StringAttribute{Required: true}, "size": schema.Int64Attribute{Required: true},
				"hypervisor": schema.StringAttribute{Optional: true}, "service_node": schema.StringAttribute{Optional: true}, "ovn": schema.StringAttribute{Optional: true},
			}}
		},
		ID:    func(m *barrelModel) string { return m.Name.ValueString() },
		Split: func(m *barrelModel, id string) error { m.Name = types.StringValue(id); return nil },
		Fill: func(_ context.Context, m *barrelModel, got box) diag.Diagnostics {
			m.Size = types.Int64Value(got.size)
			return nil
		},
		Spec: func(_ context.Context, m *barrelModel) (box, diag.Diagnostics) {
			return box{name: m.Name.ValueString(), size: m.Size.ValueInt64()}, nil
		},
		Open: func(_ context.Context, opening crud.StoreContext, m *barrelModel) (crud.Store[box], error) {
			return &barrelStore{&ownedBoxStore{boxStore{shelf: s, name: m.Name.ValueString()}, opening.Claim}, nil}, nil
		},
		Listing: crud.Listing{
			ListsMarked: true,
			List: crud.ListOnMachine(func(context.Context, host.Host) ([]string, error) {
				return slices.Sorted(maps.Keys(s.boxes)), unseen
			}),
			Across: func(context.Context, crud.StoreContext, []string) ([]string, error) {
				return slices.Sorted(maps.Keys(s.boxes)), nil
			},
		},
	}
	return func() resource.Resource { return crud.New(t) }
}

func TestOfWhatCannotBeToldWithoutAMarkTheRestIsNotListed(t *testing.T) {
	t.Parallel()
	s := &shelf{boxes: map[string]int64{"a": 1, "b": 2}, marks: map[string]owner.Mark{"b": {ID: "theirs", Workspace: "w"}}}
	p := crud.ProviderData{Fleet: fleet.New(fleet.Config{URI: "test:///default"}), Ledger: &ledger.Ledger{}, Run: run.Begin()}
	const want = "virtcluster_crate b b theirs 2 []"
	got, diags := crud.Inventory{newCrateType(s, nil)}.OnHypervisor(t.Context(), p, types.StringNull(), nil)
	if said := describe(t, got.Found); diags.HasError() || said != want || len(got.Leftovers) != 0 {
		t.Errorf("a hypervisor has %s, %v, %v", said, got.Leftovers, diags)
	}
	across, diags := crud.Inventory{newCrateType(s, nil)}.Across(t.Context(), p, []string{"m1"}, nil)
	if said := describe(t, across); diags.HasError() || said != want {
		t.Errorf("machines have %s, %v", said, diags)
	}
	got, diags = crud.Inventory{newCrateType(s, errors.New("no SSH there"))}.OnHypervisor(t.Context(), p, types.StringNull(), nil)
	if diags.HasError() || len(got.Found) != 0 || len(got.Leftovers) != 1 || !strings.Contains(got.Leftovers[0].What, "not known: no SSH there") {
		t.Errorf("a hypervisor whose machine is not seen has %v, %v, %v", got.Found, got.Leftovers, diags)
	}
	var resp list.ListResourceSchemaResponse
	crud.Lists([]func() resource.Resource{newCrateType(s, nil)})[0]().ListResourceConfigSchema(t.Context(), list.ListResourceSchemaRequest{}, &resp)
	if names := fmt.Sprint(slices.Sorted(maps.Keys(resp.Schema.Attributes))); names != "[hypervisor name_matches service_nodes]" || resp.Schema.Attributes["service_nodes"].IsRequired() {
		t.Errorf("its list block has %s", names)
	}
}

func TestWhatAConfigurationWouldBeRefusedForIsSaidOfWhatWasFound(t *testing.T) {
	t.Parallel()
	s := &shelf{boxes: map[string]int64{"odd": -1}}
	p := crud.ProviderData{Fleet: fleet.New(fleet.Config{URI: "test:///default"}), Ledger: &ledger.Ledger{}, Run: run.Begin()}
	got, diags := crud.Inventory{newBarrelType(s, "chest", "service_node", true, nil)}.OnMachine(t.Context(), p, "m1", nil)
	if diags.HasError() || len(got.Found) != 1 || got.Found[0].Err == nil || !strings.Contains(got.Found[0].Err.Error(), "a configuration of it would be refused, at [size]") {
		t.Errorf("there is %+v, %v", got.Found, diags)
	}
}
