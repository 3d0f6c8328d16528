package values

import (
	"context"
	"fmt"
	"math/big"
	"strings"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// Server is a provider's server that says of a number that is not whole, or too large, what it is and where. The framework, which
// reads numbers before any validator sees them, calls it an error in the provider, at the outermost attribute.
func Server(framework tfprotov6.ProviderServer) tfprotov6.ProviderServer {
	return &server{ProviderServer: framework}
}

type server struct{ tfprotov6.ProviderServer }

// unread is what the framework's error about such a number has in it.
const unread = "*big.Float="

// ValidateResourceConfig implements tfprotov6.ResourceServer.
func (s *server) ValidateResourceConfig(ctx context.Context, req *tfprotov6.ValidateResourceConfigRequest) (*tfprotov6.ValidateResourceConfigResponse, error) {
	resp, err := s.ProviderServer.ValidateResourceConfig(ctx, req)
	if err != nil || !aboutNumbers(resp.Diagnostics) {
		return resp, err
	}
	schemas, err := s.GetProviderSchema(ctx, &tfprotov6.GetProviderSchemaRequest{})
	if err == nil && schemas.ResourceSchemas[req.TypeName] != nil {
		resp.Diagnostics = readable(resp.Diagnostics, schemas.ResourceSchemas[req.TypeName], req.Config)
	}
	return resp, err
}

// ValidateDataResourceConfig implements tfprotov6.DataSourceServer.
func (s *server) ValidateDataResourceConfig(ctx context.Context, req *tfprotov6.ValidateDataResourceConfigRequest) (*tfprotov6.ValidateDataResourceConfigResponse, error) {
	resp, err := s.ProviderServer.ValidateDataResourceConfig(ctx, req)
	if err != nil || !aboutNumbers(resp.Diagnostics) {
		return resp, err
	}
	schemas, err := s.GetProviderSchema(ctx, &tfprotov6.GetProviderSchemaRequest{})
	if err == nil && schemas.DataSourceSchemas[req.TypeName] != nil {
		resp.Diagnostics = readable(resp.Diagnostics, schemas.DataSourceSchemas[req.TypeName], req.Config)
	}
	return resp, err
}

func aboutNumbers(all []*tfprotov6.Diagnostic) bool {
	for _, d := range all {
		if strings.Contains(d.Detail, unread) {
			return true
		}
	}
	return false
}

// readable replaces the framework's errors about numbers by one for each number that is not whole, or that no int64 holds.
func readable(all []*tfprotov6.Diagnostic, schema *tfprotov6.Schema, config *tfprotov6.DynamicValue) []*tfprotov6.Diagnostic {
	v, err := config.Unmarshal(schema.ValueType())
	if err != nil {
		return all
	}
	wrong := wrongNumbers(v)
	var out []*tfprotov6.Diagnostic
	for _, d := range all {
		found := false
		for _, n := range wrong {
			if strings.Contains(d.Detail, unread) && d.Attribute != nil && d.Attribute.Steps()[0].Equal(n.Attribute.Steps()[0]) {
				out, found = append(out, n), true
			}
		}
		if !found {
			out = append(out, d)
		}
	}
	return out
}

func wrongNumbers(v tftypes.Value) []*tfprotov6.Diagnostic {
	var wrong []*tfprotov6.Diagnostic
	_ = tftypes.Walk(v, func(at *tftypes.AttributePath, v tftypes.Value) (bool, error) {
		var n big.Float
		isNumber := v.Type().Is(tftypes.Number) && !v.IsNull() && v.IsKnown() && v.As(&n) == nil
		if _, accuracy := n.Int64(); isNumber && accuracy != big.Exact {
			wrong = append(wrong, &tfprotov6.Diagnostic{
				Severity: tfprotov6.DiagnosticSeverityError, Summary: "Not a whole number", Attribute: at,
				Detail: fmt.Sprintf("%swrite a whole number of at most 18 digits, not %s", placed(at), n.Text('g', -1)),
			})
		}
		return true, nil
	})
	return wrong
}

// placed says where in its attribute a number is, as DetailAt does.
func placed(at *tftypes.AttributePath) string {
	if len(at.Steps()) < 2 {
		return ""
	}
	var b strings.Builder
	for i, step := range at.Steps() {
		switch step := step.(type) {
		case tftypes.AttributeName:
			if i > 0 {
				b.WriteByte('.')
			}
			b.WriteString(string(step))
		case tftypes.ElementKeyString:
			fmt.Fprintf(&b, "[%q]", string(step))
		case tftypes.ElementKeyInt:
			fmt.Fprintf(&b, "[%d]", int64(step))
		}
	}
	return b.String() + ": "
}
