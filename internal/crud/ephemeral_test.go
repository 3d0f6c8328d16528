package crud_test

import (
	"context"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/ephemeral"
	"github.com/hashicorp/terraform-plugin-framework/ephemeral/schema"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/fleet"
)

// What a plan may not ask yet goes on without a value; what is on a lost hypervisor is never read, and an apply would be given nothing.
func TestALostHypervisorIsAnErrorOfAnEphemeralResource(t *testing.T) {
	t.Parallel()
	type note struct {
		Text types.String `tfsdk:"text"`
	}
	of := schema.Schema{Attributes: map[string]schema.Attribute{"text": schema.StringAttribute{Computed: true}}}
	kind := of.Type().TerraformType(t.Context())
	for name, c := range map[string]struct {
		err  error
		fail bool
	}{"not known yet": {fleet.ErrUnknown, false}, "offline": {fleet.ErrOffline, false}, "lost": {&fleet.LostError{Hypervisor: "kvm2"}, true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := crud.NewEphemeral(crud.Ephemeral[note]{
				Name: "note", Schema: of, What: func(*note) string { return "note" },
				Open: func(context.Context, crud.ProviderData, *note) (diag.Diagnostics, error) { return nil, c.err },
			})
			e.(ephemeral.EphemeralResourceWithConfigure).Configure(t.Context(), ephemeral.ConfigureRequest{ProviderData: crud.ProviderData{Fleet: fleet.New(fleet.Config{})}}, &ephemeral.ConfigureResponse{})
			null := tftypes.NewValue(kind, map[string]tftypes.Value{"text": tftypes.NewValue(tftypes.String, nil)})
			resp := ephemeral.OpenResponse{Result: tfsdk.EphemeralResultData{Schema: of, Raw: null}}
			e.Open(t.Context(), ephemeral.OpenRequest{Config: tfsdk.Config{Schema: of, Raw: null}}, &resp)
			if resp.Diagnostics.HasError() != c.fail {
				t.Errorf("it says %v", resp.Diagnostics)
			}
		})
	}
}
