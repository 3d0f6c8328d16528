// Package haproxystatus is the data source virtcluster_haproxy_status.
package haproxystatus

import (
	"context"
	"errors"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/fleet"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/haproxy"
)

// New is the constructor that the provider offers.
func New() datasource.DataSource { return &source{} }

type source struct{ fleet *fleet.Fleet }

func (*source) Metadata(_ context.Context, req datasource.MetadataRequest, resp *datasource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_haproxy_status"
}

func (*source) Schema(_ context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	resp.Schema = dataSchema()
}

func (s *source) Configure(_ context.Context, req datasource.ConfigureRequest, resp *datasource.ConfigureResponse) {
	if req.ProviderData == nil {
		return
	}
	f, ok := req.ProviderData.(*fleet.Fleet)
	if !ok {
		resp.Diagnostics.AddError("Unexpected provider data", fmt.Sprintf("got %T", req.ProviderData))
		return
	}
	s.fleet = f
}

func (s *source) Read(ctx context.Context, req datasource.ReadRequest, resp *datasource.ReadResponse) {
	var m model
	resp.Diagnostics.Append(req.Config.GetAttribute(ctx, path.Root("service_node"), &m.ServiceNode)...)
	if resp.Diagnostics.HasError() {
		return
	}
	if s.fleet == nil {
		resp.Diagnostics.AddError("Provider is not configured", fleet.ErrUnknown.Error())
		return
	}
	status, running, err := s.status(ctx, m.ServiceNode.ValueString())
	if err != nil {
		resp.Diagnostics.AddError(fmt.Sprintf("Cannot read the status of HAProxy on %q", m.ServiceNode.ValueString()), err.Error())
		return
	}
	m.fill(status, running)
	m.ID = types.StringValue(m.ServiceNode.ValueString())
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
}

func (s *source) status(ctx context.Context, node string) (haproxy.Status, bool, error) {
	h, err := s.fleet.Host(ctx, node)
	if err != nil {
		return haproxy.Status{}, false, err
	}
	running, err := haproxy.Daemon{}.Running(ctx, h)
	if err != nil || !running {
		return haproxy.Status{}, false, err
	}
	tree, err := s.fleet.Engine.Snapshot(ctx, h, haproxy.Daemon{})
	if err != nil {
		return haproxy.Status{}, false, err
	}
	if len(tree) == 0 {
		return haproxy.Status{}, false, errors.New("it stopped while it was asked")
	}
	status, err := haproxy.ReadStatus(ctx, h, tree)
	return status, true, err
}
