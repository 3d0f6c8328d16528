// Package haproxystatus is the data source virtcluster_haproxy_status.
package haproxystatus

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/fleet"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/haproxy"
)

// New is the constructor that the provider offers.
func New() datasource.DataSource {
	return crud.NewSource(crud.Source[model]{Name: "haproxy_status", Schema: dataSchema(), Read: readStatus})
}

func readStatus(ctx context.Context, p crud.ProviderData, m *model) diag.Diagnostics {
	f := p.Fleet
	status, running, err := askStatus(ctx, f, m.ServiceNode.ValueString())
	m.fillModel(status, running)
	m.ID = types.StringValue(m.ServiceNode.ValueString())
	return crud.NewReadFailures(fmt.Sprintf("the status of HAProxy on %q", m.ServiceNode.ValueString()), err)
}

func askStatus(ctx context.Context, f *fleet.Fleet, node string) (haproxy.Status, bool, error) {
	h, err := f.Host(ctx, node)
	if err != nil {
		return haproxy.Status{}, false, err
	}
	running, err := haproxy.Daemon{}.Running(ctx, h)
	if err != nil || !running {
		return haproxy.Status{}, false, err
	}
	tree, err := f.Engine.Snapshot(ctx, h, haproxy.Daemon{})
	if err != nil {
		return haproxy.Status{}, false, err
	}
	status, err := haproxy.ReadStatus(ctx, h, tree)
	return status, true, err
}
