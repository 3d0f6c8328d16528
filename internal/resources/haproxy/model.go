package haproxy

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/attr"
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
	Maxconn       types.Int64  `tfsdk:"maxconn"`
	Mode          types.String `tfsdk:"mode"`
	Retries       types.Int64  `tfsdk:"retries"`
	Options       types.Set    `tfsdk:"options"`
	Timeouts      types.Object `tfsdk:"timeouts"`
	Log           types.String `tfsdk:"log"`
	Stats         types.Object `tfsdk:"stats"`
	Health        types.Object `tfsdk:"health"`
	Extra         types.String `tfsdk:"extra_config"`
	DefaultsExtra types.String `tfsdk:"defaults_extra_config"`
}

func toSpec(ctx context.Context, m *model) (haproxy.Base, diag.Diagnostics) {
	var diags diag.Diagnostics
	b := haproxy.Base{
		Maxconn: m.Maxconn.ValueInt64(), Log: haproxy.Lines(m.Log.ValueString()), Extra: haproxy.Lines(m.Extra.ValueString()),
		DefaultsExtra: haproxy.Lines(m.DefaultsExtra.ValueString()), Mode: m.Mode.ValueString(), Retries: m.Retries.ValueInt64(),
		Options: haproxyattr.SortWords(convert.KnownTexts(m.Options)), Timeouts: haproxyattr.ReadTimeouts(m.Timeouts, haproxy.BaseTimeouts),
	}
	var h health
	if haproxyattr.Object(ctx, m.Health, &h, &diags) {
		b.Health = &haproxy.Health{Bind: h.Value(), URI: h.URI.ValueString()}
	}
	var s stats
	if haproxyattr.Object(ctx, m.Stats, &s, &diags) {
		b.Stats = s.toStats()
	}
	return b, diags
}

// writeOnly brings the password from the configuration into the model that is written.
func writeOnly(planned, config *model) {
	planned.Stats = convert.TakeAttribute(planned.Stats, config.Stats, "password_wo")
}

func fillModel(ctx context.Context, m *model, got haproxy.Base) (diags diag.Diagnostics) {
	var ownHealth health
	var ownStats stats
	haproxyattr.Object(ctx, m.Health, &ownHealth, &diags)
	haproxyattr.Object(ctx, m.Stats, &ownStats, &diags)
	importing := m.Mode.IsNull()
	m.Maxconn, m.Mode, m.Retries = haproxyattr.Number(got.Maxconn), convert.Text(got.Mode), haproxyattr.Number(got.Retries)
	m.Options, m.Timeouts = haproxyattr.OptionSet(m.Options, got.Options), haproxyattr.WriteTimeouts(got.Timeouts, haproxy.BaseTimeouts)
	m.Log, m.Extra, m.DefaultsExtra = haproxyattr.JoinLines(got.Log), haproxyattr.JoinLines(got.Extra), haproxyattr.JoinLines(got.DefaultsExtra)
	m.Health, m.Stats = types.ObjectNull(healthTypes()), types.ObjectNull(statsTypes())
	var d diag.Diagnostics
	if h := got.Health; h != nil {
		m.Health, d = types.ObjectValueFrom(ctx, healthTypes(), health{haproxyattr.NewBind(h.Bind, ownHealth.Bind), convert.Text(h.URI)})
		diags.Append(d...)
	}
	if got.Stats != nil {
		m.Stats, d = types.ObjectValueFrom(ctx, statsTypes(), newStats(*got.Stats, ownStats, importing))
		diags.Append(d...)
	}
	return diags
}

// health is the health listener.
type health struct {
	haproxyattr.Bind
	URI types.String `tfsdk:"uri"`
}

func healthTypes() map[string]attr.Type {
	t := haproxyattr.BindTypes()
	t["uri"] = types.StringType
	return t
}
