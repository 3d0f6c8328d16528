package crud

import (
	"context"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// validateConfig returns why `terraform validate` would refuse a configuration of a resource type; nil where it takes it.
type validateConfig func(ctx context.Context, typeName string, config tftypes.Value) error

// newValidator returns what asks resource types what they say of their configurations, as Terraform asks them: without any machine.
func newValidator(all []func() resource.Resource) validateConfig {
	server := providerserver.NewProtocol6(offering{all})()
	return func(ctx context.Context, typeName string, config tftypes.Value) error {
		raw, err := tfprotov6.NewDynamicValue(config.Type(), config)
		if err != nil {
			return err
		}
		resp, err := server.ValidateResourceConfig(ctx, &tfprotov6.ValidateResourceConfigRequest{TypeName: typeName, Config: &raw})
		if err != nil {
			return err
		}
		var refused []string
		for _, d := range resp.Diagnostics {
			if d.Severity == tfprotov6.DiagnosticSeverityError {
				at := ""
				if d.Attribute != nil && len(d.Attribute.Steps()) > 0 {
					at = d.Attribute.String() + ": "
				}
				refused = append(refused, at+d.Summary+": "+strings.TrimSuffix(d.Detail, "."))
			}
		}
		if refused == nil {
			return nil
		}
		return fmt.Errorf("no configuration says it: %s", strings.Join(refused, "; "))
	}
}

// offering is a provider that has resource types and is connected to nothing.
type offering struct{ all []func() resource.Resource }

var _ provider.Provider = offering{}

// Metadata implements provider.Provider.
func (offering) Metadata(_ context.Context, _ provider.MetadataRequest, resp *provider.MetadataResponse) {
	resp.TypeName = strings.TrimSuffix(typePrefix, "_")
}

// Schema implements provider.Provider.
func (offering) Schema(context.Context, provider.SchemaRequest, *provider.SchemaResponse) {}

// Configure implements provider.Provider.
func (offering) Configure(context.Context, provider.ConfigureRequest, *provider.ConfigureResponse) {}

// DataSources implements provider.Provider.
func (offering) DataSources(context.Context) []func() datasource.DataSource { return nil }

// Resources implements provider.Provider.
func (o offering) Resources(context.Context) []func() resource.Resource { return o.all }
