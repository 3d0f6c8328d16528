package crud

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/fleet"
)

// Source describes a data source with the model M: what is its own; all else is alike for all.
type Source[M any] struct {
	// Name is the type's name without the provider's prefix: "haproxy_status".
	Name   string
	Schema schema.Schema
	// Read completes the model, which has the configuration in it.
	Read func(ctx context.Context, f *fleet.Fleet, m *M) diag.Diagnostics
}

// NewSource makes the data source.
func NewSource[M any](s Source[M]) datasource.DataSource { return &source[M]{Source: s} }

type source[M any] struct {
	Source[M]
	fleet *fleet.Fleet
}

func (s *source[M]) Metadata(_ context.Context, req datasource.MetadataRequest, resp *datasource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_" + s.Name
}

func (s *source[M]) Schema(_ context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	resp.Schema = s.Source.Schema
}

func (s *source[M]) Configure(_ context.Context, req datasource.ConfigureRequest, resp *datasource.ConfigureResponse) {
	s.fleet = configured(req.ProviderData, &resp.Diagnostics)
}

func (s *source[M]) Read(ctx context.Context, req datasource.ReadRequest, resp *datasource.ReadResponse) {
	var m M
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	if s.fleet == nil {
		resp.Diagnostics.AddError("Provider is not configured", fleet.ErrUnknown.Error())
	}
	if resp.Diagnostics.HasError() {
		return
	}
	resp.Diagnostics.Append(s.Source.Read(ctx, s.fleet, &m)...)
	if !resp.Diagnostics.HasError() {
		resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
	}
}

// configured is what the provider hands to its resources and data sources; nil while it is not configured.
func configured(data any, diags *diag.Diagnostics) *fleet.Fleet {
	if data == nil {
		return nil
	}
	f, ok := data.(*fleet.Fleet)
	if !ok {
		diags.AddError("Unexpected provider data", fmt.Sprintf("got %T", data))
	}
	return f
}

// Cannot is what Read returns for an error: `Cannot read network "okd"`.
func Cannot(what string, err error) diag.Diagnostics {
	if err == nil {
		return nil
	}
	return diag.Diagnostics{Failure("read", what, err)}
}
