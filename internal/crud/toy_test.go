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
	"github.com/virtcluster/terraform-provider-virtcluster/internal/plan/ledger"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/run"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

// shelf is where boxes live: name → size. fault is what the next call answers.
type shelf struct {
	boxes map[string]int64
	fault error
	// marks are the owners of the boxes; nil where boxes have none.
	marks map[string]owner.Mark
	// late is what a create answers once it has written its mark, stiff what a mark that is to be finished does.
	late, stiff error
	// made is called once a create has made a box.
	made func()
	// full is why the shelf cannot have one more box.
	full error
	// tried counts how often the shelf was asked to try a planned box.
	tried int
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

func (s boxStore) LookAtMachine(context.Context, box) error { return s.full }

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
		ID: func(m *boxModel) string { return "shelf#" + m.Name.ValueString() },
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
		Trials: crud.Trials[boxModel]{Trial: func(context.Context, crud.StoreContext, resource.ModifyPlanRequest, *resource.ModifyPlanResponse, *boxModel) {
			s.tried++
		}},
		Open: func(_ context.Context, at crud.StoreContext, m *boxModel) (crud.Store[box], error) {
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
	resp.ResourceData = crud.ProviderData{Fleet: fleet.New(fleet.Config{URI: "test:///default"}), Ledger: &ledger.Ledger{}, Run: run.Begin()}
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
