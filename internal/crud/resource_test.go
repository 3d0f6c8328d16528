package crud_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
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
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

// shelf is where boxes live: name → size. fault is what the next call answers.
type shelf struct {
	boxes map[string]int64
	fault error
	// marks are the owners of the boxes; nil where boxes have none.
	marks map[string]owner.Mark
}

type box struct {
	name string
	size int64
}

func (b box) Validate() []service.Problem {
	if b.size < 0 {
		return []service.Problem{service.Problemf([]any{"size"}, "Invalid size", "write a size from 0 on")}
	}
	return nil
}

type boxModel struct {
	ID   types.String `tfsdk:"id"`
	Name types.String `tfsdk:"name"`
	Size types.Int64  `tfsdk:"size"`
}

type boxStore struct {
	*shelf
	name string
}

func (s boxStore) Get(context.Context) (box, error) {
	if s.fault != nil {
		return box{}, s.fault
	}
	size, ok := s.boxes[s.name]
	if !ok {
		return box{}, fmt.Errorf("box %q: %w", s.name, crud.ErrAbsent)
	}
	return box{name: s.name, size: size}, nil
}

func (s boxStore) Create(_ context.Context, b box) (box, error) {
	if s.fault != nil {
		return b, s.fault
	}
	s.boxes[b.name] = b.size
	return b, nil
}

func (s boxStore) Update(ctx context.Context, _, b box) (box, error) { return s.Create(ctx, b) }

func (s boxStore) Delete(context.Context) error { delete(s.boxes, s.name); return s.fault }

// Warnings says what a change of a large box is worth saying.
func (s boxStore) Warnings() []service.Problem {
	if s.boxes[s.name] < 100 {
		return nil
	}
	return []service.Problem{service.Warningf([]any{"size"}, "Large", "it will not fit through the door")}
}

func boxes(s *shelf) resource.Resource {
	return crud.New(crud.Type[boxModel, box]{
		Name: "box", Noun: "box", Key: []string{"name"},
		Label: func(m *boxModel) string { return m.Name.ValueString() },
		Schema: func(context.Context) schema.Schema {
			return schema.Schema{Attributes: map[string]schema.Attribute{
				"id": schema.StringAttribute{Computed: true}, "name": schema.StringAttribute{Required: true}, "size": schema.Int64Attribute{Required: true},
			}}
		},
		ID:    func(m *boxModel) string { return "shelf#" + m.Name.ValueString() },
		SetID: func(m *boxModel, id string) { m.ID = types.StringValue(id) },
		Split: func(m *boxModel, id string) error {
			name, ok := strings.CutPrefix(id, "shelf#")
			if !ok {
				return errors.New("write shelf#NAME")
			}
			m.Name = types.StringValue(name)
			return nil
		},
		Spec: func(_ context.Context, m *boxModel) (box, diag.Diagnostics) {
			return box{name: m.Name.ValueString(), size: m.Size.ValueInt64()}, nil
		},
		Fill: func(_ context.Context, m *boxModel, got box) diag.Diagnostics {
			m.Size = types.Int64Value(got.size)
			return nil
		},
		Open: func(_ context.Context, at crud.Opening, m *boxModel) (crud.Store[box], error) {
			if s.marks != nil {
				return &ownedBoxStore{boxStore{shelf: s, name: m.Name.ValueString()}, at.Claim}, nil
			}
			return boxStore{shelf: s, name: m.Name.ValueString()}, nil
		},
	})
}

// toy is a provider with boxes and nothing else.
type toy struct{ shelf *shelf }

func (p toy) Metadata(_ context.Context, _ provider.MetadataRequest, resp *provider.MetadataResponse) {
	resp.TypeName = "toy"
}
func (p toy) Schema(context.Context, provider.SchemaRequest, *provider.SchemaResponse) {}
func (p toy) Configure(_ context.Context, _ provider.ConfigureRequest, resp *provider.ConfigureResponse) {
	resp.ResourceData = fleet.New(fleet.Config{URI: "test:///default"})
}
func (p toy) DataSources(context.Context) []func() datasource.DataSource { return nil }
func (p toy) Resources(context.Context) []func() resource.Resource {
	return []func() resource.Resource{func() resource.Resource { return boxes(p.shelf) }}
}

var boxType = tftypes.Object{AttributeTypes: map[string]tftypes.Type{"id": tftypes.String, "name": tftypes.String, "size": tftypes.Number}}

func value(t *testing.T, id, name any, size any) *tfprotov6.DynamicValue {
	t.Helper()
	v, err := tfprotov6.NewDynamicValue(boxType, tftypes.NewValue(boxType, map[string]tftypes.Value{
		"id": tftypes.NewValue(tftypes.String, id), "name": tftypes.NewValue(tftypes.String, name), "size": tftypes.NewValue(tftypes.Number, size),
	}))
	if err != nil {
		t.Fatal(err)
	}
	return &v
}

func null(t *testing.T) *tfprotov6.DynamicValue {
	t.Helper()
	v, err := tfprotov6.NewDynamicValue(boxType, tftypes.NewValue(boxType, nil))
	if err != nil {
		t.Fatal(err)
	}
	return &v
}

func serve(t *testing.T) (*shelf, tfprotov6.ProviderServer) {
	t.Helper()
	s := &shelf{boxes: map[string]int64{}}
	server, err := providerserver.NewProtocol6WithError(toy{shelf: s})()
	if err != nil {
		t.Fatal(err)
	}
	empty := tftypes.Object{}
	config, err := tfprotov6.NewDynamicValue(empty, tftypes.NewValue(empty, map[string]tftypes.Value{}))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := server.ConfigureProvider(t.Context(), &tfprotov6.ConfigureProviderRequest{Config: &config}); err != nil {
		t.Fatal(err)
	}
	return s, server
}

// state decodes a state: nil where the resource is gone.
func state(t *testing.T, v *tfprotov6.DynamicValue) map[string]tftypes.Value {
	t.Helper()
	decoded, err := v.Unmarshal(boxType)
	if err != nil {
		t.Fatal(err)
	}
	if decoded.IsNull() {
		return nil
	}
	var attributes map[string]tftypes.Value
	if err := decoded.As(&attributes); err != nil {
		t.Fatal(err)
	}
	return attributes
}

func text(diags []*tfprotov6.Diagnostic) string {
	var b strings.Builder
	for _, d := range diags {
		fmt.Fprintf(&b, "%s: %s (at %s)\n", d.Summary, d.Detail, d.Attribute)
	}
	return b.String()
}

func TestCreateReadsBackAndSetsTheID(t *testing.T) {
	s, server := serve(t)
	resp, err := server.ApplyResourceChange(t.Context(), &tfprotov6.ApplyResourceChangeRequest{
		TypeName: "toy_box", PriorState: null(t), Config: value(t, nil, "a", 3), PlannedState: value(t, tftypes.UnknownValue, "a", 3),
	})
	if err != nil || len(resp.Diagnostics) > 0 {
		t.Fatalf("%v %s", err, text(resp.Diagnostics))
	}
	if got := state(t, resp.NewState)["id"]; !got.Equal(tftypes.NewValue(tftypes.String, "shelf#a")) || s.boxes["a"] != 3 {
		t.Errorf("id %s, boxes %v", got, s.boxes)
	}
}

func TestAChangeThatSucceedsMayWarn(t *testing.T) {
	_, server := serve(t)
	for _, prior := range []*tfprotov6.DynamicValue{null(t), value(t, "shelf#a", "a", 3)} {
		resp, err := server.ApplyResourceChange(t.Context(), &tfprotov6.ApplyResourceChangeRequest{
			TypeName: "toy_box", PriorState: prior, Config: value(t, nil, "a", 100), PlannedState: value(t, tftypes.UnknownValue, "a", 100),
		})
		if err != nil || len(resp.Diagnostics) != 1 || resp.Diagnostics[0].Severity != tfprotov6.DiagnosticSeverityWarning ||
			text(resp.Diagnostics) != "Large: it will not fit through the door (at AttributeName(\"size\"))\n" {
			t.Fatalf("%v %s", err, text(resp.Diagnostics))
		}
		if got := state(t, resp.NewState)["size"]; !got.Equal(tftypes.NewValue(tftypes.Number, 100)) {
			t.Errorf("size is %s", got)
		}
	}
}

func TestReadDropsOnlyWhatIsProvenAbsent(t *testing.T) {
	for name, c := range map[string]struct {
		fault error
		gone  bool
	}{
		"absent":          {fault: nil, gone: true},
		"lost connection": {fault: errors.New("connection reset"), gone: false},
	} {
		t.Run(name, func(t *testing.T) {
			s, server := serve(t)
			s.fault = c.fault
			resp, err := server.ReadResource(t.Context(), &tfprotov6.ReadResourceRequest{TypeName: "toy_box", CurrentState: value(t, "shelf#a", "a", 3)})
			if err != nil {
				t.Fatal(err)
			}
			if gone := state(t, resp.NewState) == nil; gone != c.gone {
				t.Errorf("gone: %v", gone)
			}
			if c.fault != nil && !strings.Contains(text(resp.Diagnostics), `Cannot read box "a": connection reset`) {
				t.Errorf("diagnostics: %s", text(resp.Diagnostics))
			}
		})
	}
}

func TestDriftShowsAsWhatTheSystemHas(t *testing.T) {
	s, server := serve(t)
	s.boxes["a"] = 9
	resp, err := server.ReadResource(t.Context(), &tfprotov6.ReadResourceRequest{TypeName: "toy_box", CurrentState: value(t, "shelf#a", "a", 3)})
	if err != nil {
		t.Fatal(err)
	}
	if got := state(t, resp.NewState)["size"]; !got.Equal(tftypes.NewValue(tftypes.Number, 9)) {
		t.Errorf("size is %s", got)
	}
}

func TestImportTakesTheIDAndRefusesAnother(t *testing.T) {
	s, server := serve(t)
	s.boxes["a"] = 3
	resp, err := server.ImportResourceState(t.Context(), &tfprotov6.ImportResourceStateRequest{TypeName: "toy_box", ID: "shelf#a"})
	if err != nil || len(resp.Diagnostics) > 0 {
		t.Fatalf("%v %s", err, text(resp.Diagnostics))
	}
	if got := state(t, resp.ImportedResources[0].State)["name"]; !got.Equal(tftypes.NewValue(tftypes.String, "a")) {
		t.Errorf("name is %s", got)
	}
	resp, err = server.ImportResourceState(t.Context(), &tfprotov6.ImportResourceStateRequest{TypeName: "toy_box", ID: "a"})
	if err != nil || !strings.Contains(text(resp.Diagnostics), "write shelf#NAME") {
		t.Errorf("%v %s", err, text(resp.Diagnostics))
	}
}

func TestPlanRefusesAtTheAttributeAndWaitsOnUnknowns(t *testing.T) {
	_, server := serve(t)
	plan := func(size any) string {
		resp, err := server.PlanResourceChange(t.Context(), &tfprotov6.PlanResourceChangeRequest{
			TypeName: "toy_box", PriorState: null(t), Config: value(t, nil, "a", size), ProposedNewState: value(t, nil, "a", size),
		})
		if err != nil {
			t.Fatal(err)
		}
		return text(resp.Diagnostics)
	}
	if got := plan(-1); !strings.Contains(got, `Invalid size: write a size from 0 on (at AttributeName("size"))`) {
		t.Errorf("diagnostics: %s", got)
	}
	if got := plan(tftypes.UnknownValue); got != "" {
		t.Errorf("an unknown size: %s", got)
	}
}

func TestFailedCreateLeavesNoState(t *testing.T) {
	s, server := serve(t)
	s.fault = errors.New("shelf full")
	resp, err := server.ApplyResourceChange(t.Context(), &tfprotov6.ApplyResourceChangeRequest{
		TypeName: "toy_box", PriorState: null(t), Config: value(t, nil, "a", 3), PlannedState: value(t, tftypes.UnknownValue, "a", 3),
	})
	if err != nil || state(t, resp.NewState) != nil || !strings.Contains(text(resp.Diagnostics), `Cannot create box "a": shelf full`) {
		t.Errorf("%v %s", err, text(resp.Diagnostics))
	}
}

func TestDeleteOfAnAbsentObjectIsNoError(t *testing.T) {
	s, server := serve(t)
	s.fault = crud.ErrAbsent
	resp, err := server.ApplyResourceChange(t.Context(), &tfprotov6.ApplyResourceChangeRequest{
		TypeName: "toy_box", PriorState: value(t, "shelf#a", "a", 3), Config: null(t), PlannedState: null(t),
	})
	if err != nil || len(resp.Diagnostics) > 0 {
		t.Errorf("%v %s", err, text(resp.Diagnostics))
	}
}
