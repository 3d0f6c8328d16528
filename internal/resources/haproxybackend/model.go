package haproxybackend

import (
	"cmp"
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/attrs/haproxyattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/haproxy"
)

type model struct {
	crud.ServingModel
	ID            types.String `tfsdk:"id"`
	ServiceNode   types.String `tfsdk:"service_node"`
	Name          types.String `tfsdk:"name"`
	Mode          types.String `tfsdk:"mode"`
	Balance       types.String `tfsdk:"balance"`
	HashType      types.String `tfsdk:"hash_type"`
	Options       types.Set    `tfsdk:"options"`
	Timeouts      types.Object `tfsdk:"timeouts"`
	HTTPCheck     types.Object `tfsdk:"http_check"`
	DefaultServer types.Object `tfsdk:"default_server"`
	Servers       types.Map    `tfsdk:"servers"`
	DrainTimeout  types.String `tfsdk:"drain_timeout"`
	Extra         types.String `tfsdk:"extra_config"`
}

func toSpec(_ context.Context, m *model) (haproxy.Backend, diag.Diagnostics) {
	b, diags := convert.Plain[haproxy.Backend](m)
	b.Balance, b.HashType, b.Options = haproxy.OneLine(b.Balance), haproxy.OneLine(b.HashType), haproxyattr.SortWords(b.Options)
	b.Timeouts, b.Extra = haproxyattr.ReadTimeouts(m.Timeouts, haproxy.BackendTimeouts), haproxy.Lines(m.Extra.ValueString())
	if c := b.HTTPCheck; c != nil {
		c.Version, c.Expect = haproxy.OneLine(c.Version), haproxy.OneLine(c.Expect)
	}
	if p := b.DefaultServer; p != nil {
		p.Options = haproxy.OneLine(p.Options)
	}
	for name, s := range b.Servers {
		s.Address, s.Options = haproxy.CanonicalAddress(s.Address), haproxy.OneLine(s.Options)
		b.Servers[name] = s
	}
	return b, diags
}

func fillModel(ctx context.Context, m *model, got haproxy.Backend) diag.Diagnostics {
	was, diags := toSpec(ctx, m)
	got.DrainTimeout = cmp.Or(got.DrainTimeout, was.DrainTimeout, defaultDrainTimeout) // what a person wrote has none
	convert.FillModel(&was, &got, m)
	m.Timeouts, m.Extra = haproxyattr.WriteTimeouts(got.Timeouts, haproxy.BackendTimeouts), haproxyattr.JoinLines(got.Extra)
	return diags
}
