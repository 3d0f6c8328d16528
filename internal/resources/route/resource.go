// Package route is the resource virtcluster_route.
package route

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/attrs/hostattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/route"
)

// form is what an id looks like.
const form = "HOST#CIDR or HOST#CIDR,METRIC"

// New is the constructor that the provider offers.
func New() resource.Resource {
	return crud.New(crud.Type[model, route.Route]{
		Name:   "route",
		Noun:   "route",
		Label:  func(m *model) string { return m.CIDR.ValueString() },
		Schema: resourceSchema,
		Key:    []string{"id"},
		ID:     formatID,
		Split:  splitID,
		Spec:   func(_ context.Context, m *model) (route.Route, diag.Diagnostics) { return m.toSpec() },
		Open: func(ctx context.Context, at crud.StoreContext, m *model) (crud.Store[route.Route], error) {
			return openStore(ctx, at, m)
		},
		Plan: planChange,
	})
}

func formatID(m *model) string {
	to := m.CIDR.ValueString()
	if p, err := netip.ParsePrefix(to); err == nil {
		to = p.Masked().String()
	}
	if metric := m.Metric.ValueInt64(); metric != 0 {
		to += "," + strconv.FormatInt(metric, 10)
	}
	return hostattr.JoinID(m.Host, to)
}

func splitID(m *model, id string) error {
	place, rest, err := hostattr.SplitID(id, form)
	if err != nil {
		return err
	}
	cidr, metric, ranked := strings.Cut(rest, ",")
	m.Host, m.CIDR = place, types.StringValue(cidr)
	if _, err := netip.ParsePrefix(cidr); err != nil {
		return fmt.Errorf("write %s: %w", form, err)
	}
	if ranked {
		n, err := strconv.ParseInt(metric, 10, 64)
		if err != nil || n < 1 {
			return errors.New("the metric is a number")
		}
		m.Metric = types.Int64Value(n)
	}
	return nil
}

func openStore(ctx context.Context, at crud.StoreContext, m *model) (*route.Store, error) {
	site, err := hostattr.Open(ctx, at, m.Host)
	if err != nil {
		return nil, err
	}
	key, _ := m.toSpec()
	return route.Open(site, key, formatID(m), at.Claim), nil
}

// planChange completes device and backend from the machine, as far as it is there already, and finds what would keep the route from being
// made.
func planChange(ctx context.Context, at crud.StoreContext, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse, m *model) {
	if at.Fleet == nil || m.Host.IsUnknown() || m.CIDR.IsUnknown() || m.Metric.IsUnknown() {
		return
	}
	resp.Diagnostics.Append(resp.Plan.SetAttribute(ctx, path.Root("id"), formatID(m))...)
	var config model
	resp.Diagnostics.Append(req.Config.Get(ctx, &config)...)
	if resp.Diagnostics.HasError() || m.Via.IsUnknown() || config.Device.IsUnknown() || config.Backend.IsUnknown() {
		return
	}
	want, _ := m.toSpec()
	want.Device = config.Device.ValueString()
	want, ok := hostattr.Preview(ctx, func() (*route.Store, error) { return openStore(ctx, at, m) }, want, "route to "+m.CIDR.ValueString(), path.Root("host"), req, resp)
	if !ok {
		return
	}
	for name, v := range map[string]attr.Value{"device": types.StringValue(want.Device), "active_backend": types.StringValue(want.ActiveBackend)} {
		resp.Diagnostics.Append(resp.Plan.SetAttribute(ctx, path.Root(name), v)...)
	}
}
