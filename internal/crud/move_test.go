package crud_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/fleet"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/peer"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/plan/ledger"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/run"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

// crateModel is a box on one of several hypervisors, each with a shelf.
type crateModel struct {
	ID         types.String `tfsdk:"id"`
	Name       types.String `tfsdk:"name"`
	Hypervisor types.String `tfsdk:"hypervisor"`
	Size       types.Int64  `tfsdk:"size"`
}

// crates is a provider of crates that volumes of another provider can become; a hypervisor's shelf is at "HYPERVISOR/".
type crates struct {
	toy
	hypervisors map[string]string
	faults      map[string]error
	// lost are the hypervisors that are gone for good, and abandon is told of each crate that is let go of there; nil where it has nothing elsewhere.
	lost    map[string]bool
	abandon func(name string) error
	// unnamed says that not even the names of the hypervisors are known yet.
	unnamed bool
}

func (p crates) Configure(_ context.Context, _ provider.ConfigureRequest, resp *provider.ConfigureResponse) {
	resp.ResourceData = crud.ProviderData{
		Fleet: fleet.New(fleet.Config{URI: "test:///default", Hypervisors: p.hypervisors, Lost: p.lost, HypervisorsUnknown: p.unnamed}), Ledger: &ledger.Ledger{}, Run: run.Begin(),
	}
}

// crateStore fails where its hypervisor does.
type crateStore struct {
	boxStore
	fault error
}

func (s crateStore) Get(ctx context.Context) (box, error) {
	if s.fault != nil {
		return box{}, s.fault
	}
	return s.boxStore.Get(ctx)
}

func (p crates) Resources(context.Context) []func() resource.Resource {
	return []func() resource.Resource{func() resource.Resource {
		t := crud.Type[crateModel, box]{
			Name: "crate", Noun: "crate", Key: []string{"hypervisor", "name"},
			Label: func(m *crateModel) string { return m.Name.ValueString() },
			Schema: func(context.Context) schema.Schema {
				return schema.Schema{Attributes: map[string]schema.Attribute{
					"id": schema.StringAttribute{Computed: true}, "name": schema.StringAttribute{Required: true},
					"hypervisor": schema.StringAttribute{Optional: true}, "size": schema.Int64Attribute{Required: true},
				}}
			},
			ID:    func(m *crateModel) string { return m.ID.ValueString() },
			Split: func(*crateModel, string) error { return nil },
			Moves: crud.Moves[crateModel]{peer.Volume: func(m *crateModel, from peer.Thing) {
				m.ID, m.Name = types.StringValue(from.Path), types.StringValue(from.Name)
			}},
			Spec: func(_ context.Context, m *crateModel) (box, diag.Diagnostics) {
				return box{name: m.Name.ValueString(), size: m.Size.ValueInt64()}, nil
			},
			Fill: func(_ context.Context, m *crateModel, got box) diag.Diagnostics {
				m.Size = types.Int64Value(got.size)
				return nil
			},
			Open: func(_ context.Context, at crud.StoreContext, m *crateModel) (crud.Store[box], error) {
				on := m.Hypervisor.ValueString()
				if _, err := at.Fleet.URI(on); errors.As(err, new(*fleet.LostError)) {
					return nil, err
				}
				return crateStore{boxStore{shelf: p.shelf, name: on + "/" + m.Name.ValueString()}, p.faults[on]}, nil
			},
		}
		if p.abandon != nil {
			t.Abandon = func(_ context.Context, _ crud.StoreContext, m *crateModel) error {
				return p.abandon(m.Name.ValueString())
			}
		}
		return crud.New(t)
	}}
}

var crateType = tftypes.Object{AttributeTypes: map[string]tftypes.Type{"id": tftypes.String, "name": tftypes.String, "hypervisor": tftypes.String, "size": tftypes.Number}}

// serveCrates serves crates, configured or, as programs have it while they move states, not.
func serveCrates(t *testing.T, p crates, configured bool) tfprotov6.ProviderServer {
	t.Helper()
	server, err := providerserver.NewProtocol6WithError(p)()
	if err != nil {
		t.Fatal(err)
	}
	if configured {
		empty := tftypes.Object{}
		config, err := tfprotov6.NewDynamicValue(empty, tftypes.NewValue(empty, map[string]tftypes.Value{}))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := server.ConfigureProvider(t.Context(), &tfprotov6.ConfigureProviderRequest{Config: &config}); err != nil {
			t.Fatal(err)
		}
	}
	return server
}

// moveCrate moves a resource of a type of a provider to a crate.
func moveCrate(t *testing.T, p crates, provider, kind, state string) *tfprotov6.MoveResourceStateResponse {
	t.Helper()
	resp, err := serveCrates(t, p, false).MoveResourceState(t.Context(), &tfprotov6.MoveResourceStateRequest{
		SourceProviderAddress: provider, SourceTypeName: kind, SourceState: &tfprotov6.RawState{JSON: []byte(state)}, TargetTypeName: "toy_crate",
	})
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

const (
	otherProvider = "registry.terraform.io/dmacvicar/libvirt"
	volumeState   = `{"id":"/srv/a","name":"a","pool":"p","size":1}`
)

func TestWhatAMovedBlockCannotHandOverIsRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ provider, kind, state, want string }{
		"another provider": {"registry.terraform.io/hashicorp/libvirt", peer.Volume, volumeState,
			"Cannot move libvirt_volume to virtcluster_crate: It is a resource of registry.terraform.io/hashicorp/libvirt, and only those of dmacvicar/libvirt"},
		"a name that ends alike":  {"registry.terraform.io/notdmacvicar/libvirt", peer.Volume, volumeState, "notdmacvicar"},
		"a type of this one":      {"registry.terraform.io/virtcluster/virtcluster", "virtcluster_image", volumeState, "It is a resource of registry.terraform.io/virtcluster/virtcluster"},
		"a type of its own":       {otherProvider, peer.Domain, `{"id":"u","name":"a"}`, "A crate is not made of it. It becomes a virtcluster_node."},
		"a type that has none":    {otherProvider, peer.CloudInit, `{"id":"1","name":"a"}`, "removed { from = libvirt_cloudinit_disk.NAME } with lifecycle { destroy = false }"},
		"a type of a later time":  {otherProvider, "libvirt_new", `{"id":"1"}`, "removed { from = libvirt_new.NAME }"},
		"a state without a place": {otherProvider, peer.Volume, `{"id":"/srv/a"}`, "does not say in which pool the volume is"},
		"no state":                {otherProvider, peer.Volume, `[]`, "cannot understand the state of libvirt_volume"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			resp := moveCrate(t, crates{}, c.provider, c.kind, c.state)
			if got := text(resp.Diagnostics); resp.TargetState != nil || !strings.Contains(got, c.want) {
				t.Errorf("moved to %v: %s", resp.TargetState, got)
			}
		})
	}
}

func TestOpenTofuMovesFurtherInstancesAsIfTheyWereOfThisProvider(t *testing.T) {
	t.Parallel()
	resp := moveCrate(t, crates{}, "registry.opentofu.org/virtcluster/virtcluster", peer.Volume, volumeState)
	if len(resp.Diagnostics) > 0 || resp.TargetState == nil {
		t.Error(text(resp.Diagnostics))
	}
}

// What is moved is read as after an import, on the hypervisor that has it, and is not planned before.
func TestWhatIsMovedIsReadWhereItIs(t *testing.T) {
	t.Parallel()
	both := map[string]string{"h1": "test:///1", "h2": "test:///2"}
	for name, c := range map[string]struct {
		boxes       map[string]int64
		hypervisors map[string]string
		faults      map[string]error
		lost        map[string]bool
		// on is where it is found; want is the error where it is not.
		on, want string
	}{
		"on the provider's own":      {boxes: map[string]int64{"/a": 7}},
		"on a named one":             {boxes: map[string]int64{"h2/a": 7}, hypervisors: both, on: "h2"},
		"while another one is down":  {boxes: map[string]int64{"h2/a": 7}, hypervisors: both, faults: map[string]error{"": fmt.Errorf("no route to host")}, want: "and so may one that could not be asked"},
		"and a pool that is stopped": {boxes: map[string]int64{"h2/a": 7}, hypervisors: both, faults: map[string]error{"": &service.UnseenError{Why: "stopped"}}, want: "Cannot look at crate"},
		"and no pool on another one": {boxes: map[string]int64{"h2/a": 7}, hypervisors: both, on: "h2", faults: map[string]error{"": &service.UnseenError{Why: "no pool", Placeless: true}}},
		"while another one is lost":  {boxes: map[string]int64{"h2/a": 7}, hypervisors: both, on: "h2", lost: map[string]bool{"h1": true}},
		"on none but a lost one":     {hypervisors: both, lost: map[string]bool{"h1": true}, want: `hypervisor "h1" is lost`},
		"gone":                       {hypervisors: both, want: "no hypervisor of the provider has"},
		"on two":                     {boxes: map[string]int64{"/a": 7, "h1/a": 7}, hypervisors: both, want: `hypervisors ["" "h1"] have it`},
		"nobody can say":             {hypervisors: both, faults: map[string]error{"h1": fmt.Errorf("no route to host")}, want: "no route to host"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := crates{toy: toy{shelf: &shelf{boxes: c.boxes}}, hypervisors: c.hypervisors, faults: c.faults, lost: c.lost}
			moved := moveCrate(t, p, otherProvider, peer.Volume, volumeState)
			if len(moved.Diagnostics) > 0 {
				t.Fatal(text(moved.Diagnostics))
			}
			server := serveCrates(t, p, true)
			plan, err := server.PlanResourceChange(t.Context(), &tfprotov6.PlanResourceChangeRequest{
				TypeName: "toy_crate", PriorState: moved.TargetState, ProposedNewState: moved.TargetState, Config: moved.TargetState, PriorPrivate: moved.TargetPrivate,
			})
			if err != nil || !strings.Contains(text(plan.Diagnostics), "Cannot plan what a moved block hands over") {
				t.Errorf("a plan before it is read: %v %s", err, text(plan.Diagnostics))
			}
			resp, err := server.ReadResource(t.Context(), &tfprotov6.ReadResourceRequest{TypeName: "toy_crate", CurrentState: moved.TargetState, Private: moved.TargetPrivate})
			if err != nil {
				t.Fatal(err)
			}
			if got := text(resp.Diagnostics); c.want != "" || got != "" {
				if c.want == "" || !strings.Contains(got, c.want) {
					t.Errorf("%s", got)
				}
				return
			}
			var is map[string]tftypes.Value
			if v, err := resp.NewState.Unmarshal(crateType); err != nil || v.As(&is) != nil {
				t.Fatal(err)
			}
			where := tftypes.NewValue(tftypes.String, c.on)
			if c.on == "" {
				where = tftypes.NewValue(tftypes.String, nil)
			}
			if !is["size"].Equal(tftypes.NewValue(tftypes.Number, 7)) || !is["hypervisor"].Equal(where) {
				t.Errorf("read as %v", is)
			}
			plan, err = server.PlanResourceChange(t.Context(), &tfprotov6.PlanResourceChangeRequest{
				TypeName: "toy_crate", PriorState: resp.NewState, ProposedNewState: resp.NewState, Config: resp.NewState, PriorPrivate: resp.Private,
			})
			if err != nil || len(plan.Diagnostics) > 0 {
				t.Errorf("a plan after it was read: %v %s", err, text(plan.Diagnostics))
			}
		})
	}
}

// What no hypervisor has that is known may be on one whose name is not known yet.
func TestWhatIsMovedWaitsForTheNamesOfHypervisors(t *testing.T) {
	t.Parallel()
	p := crates{toy: toy{shelf: &shelf{}}, unnamed: true}
	moved := moveCrate(t, p, otherProvider, peer.Volume, volumeState)
	resp, err := serveCrates(t, p, true).ReadResource(t.Context(), &tfprotov6.ReadResourceRequest{TypeName: "toy_crate", CurrentState: moved.TargetState, Private: moved.TargetPrivate})
	if err != nil || len(resp.Diagnostics) > 0 {
		t.Fatalf("%v %s", err, text(resp.Diagnostics))
	}
	if gone, err := resp.NewState.IsNull(); err != nil || gone {
		t.Errorf("it is gone from the state: %v", err)
	}
}

// An identity without a hypervisor may have an empty text for one: the state has none then, as the configuration has.
func TestAnImportByAnIdentityWithAnEmptyHypervisorHasNone(t *testing.T) {
	t.Parallel()
	kind := tftypes.Object{AttributeTypes: map[string]tftypes.Type{"name": tftypes.String, "hypervisor": tftypes.String}}
	identity, err := tfprotov6.NewDynamicValue(kind, tftypes.NewValue(kind, map[string]tftypes.Value{
		"name": tftypes.NewValue(tftypes.String, "a"), "hypervisor": tftypes.NewValue(tftypes.String, ""),
	}))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := serveCrates(t, crates{toy: toy{shelf: &shelf{}}}, true).ImportResourceState(t.Context(), &tfprotov6.ImportResourceStateRequest{
		TypeName: "toy_crate", Identity: &tfprotov6.ResourceIdentityData{IdentityData: &identity},
	})
	if err != nil || len(resp.ImportedResources) != 1 {
		t.Fatalf("%v %s", err, text(resp.Diagnostics))
	}
	var is map[string]tftypes.Value
	if v, err := resp.ImportedResources[0].State.Unmarshal(crateType); err != nil || v.As(&is) != nil || !is["hypervisor"].IsNull() {
		t.Errorf("it is %v, %v", is, err)
	}
}
