package crud

import (
	"context"

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
	// Within is set where what the configuration says is enough to read it: nothing outside is asked.
	Within bool
	// Read completes the model, which has the configuration in it.
	Read func(ctx context.Context, p ProviderData, m *M) diag.Diagnostics
}

// NewSource makes the data source.
func NewSource[M any](s Source[M]) datasource.DataSource { return &source[M]{Source: s} }

type source[M any] struct {
	Source[M]
	frame[M]
}

func (s *source[M]) Metadata(_ context.Context, req datasource.MetadataRequest, resp *datasource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_" + s.Name
}

func (s *source[M]) Schema(_ context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	resp.Schema = s.Source.Schema
}

func (s *source[M]) Configure(_ context.Context, req datasource.ConfigureRequest, resp *datasource.ConfigureResponse) {
	s.keepProvided(req.ProviderData, &resp.Diagnostics)
}

func (s *source[M]) Read(ctx context.Context, req datasource.ReadRequest, resp *datasource.ReadResponse) {
	m, ok := s.readConfig(ctx, req.Config, &resp.Diagnostics)
	if !ok {
		return
	}
	if s.provided.Fleet.Offline() && !s.Within {
		resp.Diagnostics.AddError("Cannot read virtcluster_"+s.Name, fleet.ErrOffline.Error()+
			", or, in a test, give what would be read: override_data { target = data.virtcluster_"+s.Name+".NAME, values = { … } }, each on a line of its own.")
		return
	}
	resp.Diagnostics.Append(s.Source.Read(ctx, s.provided, &m)...)
	if !resp.Diagnostics.HasError() {
		resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
	}
}

// NewReadFailures returns the diagnostics of a Read that failed, none for no error: `Cannot read network "okd"`.
func NewReadFailures(what string, err error) diag.Diagnostics {
	if err == nil {
		return nil
	}
	return diag.Diagnostics{NewFailure("read", what, err)}
}
