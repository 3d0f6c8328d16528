package provider_test

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/provider"
)

// What the provider is told may follow from resources that are not there yet: a plan goes on without it.
func TestTheProvidersOwnConfigurationMayBeKnownLater(t *testing.T) {
	t.Parallel()
	of := schemas(t).Provider.ValueType()
	for name, kind := range of.(tftypes.Object).AttributeTypes {
		all := map[string]tftypes.Value{}
		for other, kind := range of.(tftypes.Object).AttributeTypes {
			all[other] = tftypes.NewValue(kind, nil)
		}
		all[name] = tftypes.NewValue(kind, tftypes.UnknownValue)
		server, config := provider.Server("test"), dynamic(t, of, tftypes.NewValue(of, all))
		valid, err := server.ValidateProviderConfig(t.Context(), &tfprotov6.ValidateProviderConfigRequest{Config: config})
		if err != nil || len(onlyErrors(valid.Diagnostics)) > 0 {
			t.Errorf("%s: %v, %v", name, texts(valid.Diagnostics), err)
			continue
		}
		done, err := server.ConfigureProvider(t.Context(), &tfprotov6.ConfigureProviderRequest{TerraformVersion: "1.14.0", Config: config})
		if err != nil || len(onlyErrors(done.Diagnostics)) > 0 {
			t.Errorf("%s: %v, %v", name, texts(done.Diagnostics), err)
		}
	}
}
