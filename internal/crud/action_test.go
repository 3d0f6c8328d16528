package crud

import (
	"context"
	"slices"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/action"
	"github.com/hashicorp/terraform-plugin-framework/action/schema"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/fleet"
)

type toyActionModel struct {
	Name types.String `tfsdk:"name"`
}

func TestAnActionAsksNobodyBeforeItMay(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		provided any
		said     []string // what is checked, done and reported, in turn
		refused  bool
	}{
		"configured":         {ProviderData{Fleet: fleet.New(fleet.Config{URI: "test:///default"})}, []string{"check a", "do a", "report half"}, false},
		"offline":            {ProviderData{Fleet: fleet.New(fleet.Config{URI: "test:///default", Offline: true})}, nil, true},
		"not configured yet": {nil, nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var said []string
			s := schema.Schema{Attributes: map[string]schema.Attribute{"name": schema.StringAttribute{Required: true}}}
			toy := NewAction(Action[toyActionModel]{
				Name: "toy", Schema: s,
				Check: func(_ context.Context, _ ProviderData, m *toyActionModel) diag.Diagnostics {
					said = append(said, "check "+m.Name.ValueString())
					return nil
				},
				Do: func(_ context.Context, _ ProviderData, m *toyActionModel, report func(string)) diag.Diagnostics {
					said = append(said, "do "+m.Name.ValueString())
					report("half")
					return nil
				},
			}).(*modelAction[toyActionModel])
			var configured action.ConfigureResponse
			toy.Configure(t.Context(), action.ConfigureRequest{ProviderData: c.provided}, &configured)
			of := s.Type().TerraformType(t.Context())
			config := tfsdk.Config{Schema: s, Raw: tftypes.NewValue(of, map[string]tftypes.Value{"name": tftypes.NewValue(tftypes.String, "a")})}
			var planned action.ModifyPlanResponse
			toy.ModifyPlan(t.Context(), action.ModifyPlanRequest{Config: config}, &planned)
			invoked := action.InvokeResponse{SendProgress: func(e action.InvokeProgressEvent) { said = append(said, "report "+e.Message) }}
			toy.Invoke(t.Context(), action.InvokeRequest{Config: config}, &invoked)
			if configured.Diagnostics.HasError() || planned.Diagnostics.HasError() || invoked.Diagnostics.HasError() != c.refused || !slices.Equal(said, c.said) {
				t.Errorf("%v: %v, %v, %v", said, configured.Diagnostics, planned.Diagnostics, invoked.Diagnostics)
			}
		})
	}
}
