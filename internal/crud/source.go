package crud

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/fleet"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/plan/ledger"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/run"
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
	provided ProviderData
}

func (s *source[M]) Metadata(_ context.Context, req datasource.MetadataRequest, resp *datasource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_" + s.Name
}

func (s *source[M]) Schema(_ context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	resp.Schema = s.Source.Schema
}

func (s *source[M]) Configure(_ context.Context, req datasource.ConfigureRequest, resp *datasource.ConfigureResponse) {
	s.provided = readProviderData(req.ProviderData, &resp.Diagnostics)
}

func (s *source[M]) Read(ctx context.Context, req datasource.ReadRequest, resp *datasource.ReadResponse) {
	var m M
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	if s.provided.Fleet == nil {
		resp.Diagnostics.AddError("Provider is not configured", fleet.ErrUnknown.Error())
	}
	if resp.Diagnostics.HasError() {
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

// ProviderData is what the provider hands to its resources and data sources. All are nil while it is not configured.
type ProviderData struct {
	// Fleet has the connections.
	Fleet *fleet.Fleet
	// Ledger has what the resources of the running plan use. It knows no connections, and these do not know it.
	Ledger *ledger.Ledger
	// Run has what the resources did in this run.
	Run *run.Memory
	// Version is the provider's: "1.2.3", or "dev".
	Version string
}

// owners returns what this run made and was told of its state; nil while the provider is not configured.
func (p ProviderData) owners() *owner.Run {
	if p.Run == nil {
		return nil
	}
	return p.Run.Owners
}

// RefuseOffline refuses what would change something while the provider is offline, and says whether it did: `Cannot create node "a"`.
func (p ProviderData) RefuseOffline(verb, what string, diags *diag.Diagnostics) bool {
	if p.Fleet == nil || !p.Fleet.Offline() {
		return false
	}
	diags.AddError(fmt.Sprintf("Cannot %s %s", verb, what), fleet.ErrOffline.Error()+".")
	return true
}

// readProviderData reads it from a request.
func readProviderData(data any, diags *diag.Diagnostics) ProviderData {
	if data == nil {
		return ProviderData{}
	}
	p, ok := data.(ProviderData)
	if !ok {
		diags.AddError("Unexpected provider data", fmt.Sprintf("got %T", data))
	}
	return p
}

// NewReadFailures returns the diagnostics of a Read that failed, none for no error: `Cannot read network "okd"`.
func NewReadFailures(what string, err error) diag.Diagnostics {
	if err == nil {
		return nil
	}
	return diag.Diagnostics{NewFailure("read", what, err)}
}
