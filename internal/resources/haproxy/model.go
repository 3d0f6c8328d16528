package haproxy

import (
	"context"
	"maps"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/haproxy/attrs"
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

func (m *model) toSpec(ctx context.Context) (haproxy.Base, diag.Diagnostics) {
	var diags diag.Diagnostics
	b := haproxy.Base{
		Maxconn: m.Maxconn.ValueInt64(), Log: haproxy.Lines(m.Log.ValueString()), Extra: haproxy.Lines(m.Extra.ValueString()),
		DefaultsExtra: haproxy.Lines(m.DefaultsExtra.ValueString()), Mode: m.Mode.ValueString(), Retries: m.Retries.ValueInt64(),
		Options: attrs.Set(m.Options), Timeouts: attrs.ReadTimeouts(m.Timeouts, haproxy.BaseTimeouts),
	}
	var h health
	if attrs.Object(ctx, m.Health, &h, &diags) {
		b.Health = &haproxy.Health{Bind: h.Value(), URI: h.URI.ValueString()}
	}
	var s stats
	if attrs.Object(ctx, m.Stats, &s, &diags) {
		b.Stats = s.toStats()
	}
	return b, diags
}

// writeOnly brings the password from the configuration into the model that is written.
func writeOnly(planned, config *model) {
	from, ok := config.Stats.Attributes()["password_wo"]
	if !ok || from.IsNull() || !convert.Known(planned.Stats) {
		return
	}
	attributes := maps.Clone(planned.Stats.Attributes())
	attributes["password_wo"] = from
	planned.Stats = types.ObjectValueMust(statsTypes(), attributes)
}

func (m *model) fillModel(ctx context.Context, got haproxy.Base) diag.Diagnostics {
	var diags diag.Diagnostics
	importing := m.Mode.IsNull()
	m.Maxconn = attrs.KeepNumber(m.Maxconn, got.Maxconn)
	m.Mode = attrs.KeepText(m.Mode, m.Mode.ValueString(), got.Mode)
	m.Retries = attrs.KeepNumber(m.Retries, got.Retries)
	m.Options = attrs.KeepSet(m.Options, got.Options)
	m.Timeouts = attrs.KeepTimeouts(m.Timeouts, got.Timeouts, haproxy.BaseTimeouts)
	m.Log = attrs.KeepLines(m.Log, got.Log)
	m.Extra = attrs.KeepLines(m.Extra, got.Extra)
	m.DefaultsExtra = attrs.KeepLines(m.DefaultsExtra, got.DefaultsExtra)
	m.fillHealth(ctx, got.Health, &diags)
	m.fillStats(ctx, got.Stats, importing, &diags)
	return diags
}

func (m *model) fillHealth(ctx context.Context, got *haproxy.Health, diags *diag.Diagnostics) {
	if got == nil {
		m.Health = types.ObjectNull(healthTypes())
		return
	}
	var h health
	h.Options = types.ListNull(types.StringType)
	attrs.Object(ctx, m.Health, &h, diags)
	h.Bind = h.Keep(got.Bind)
	h.URI = attrs.KeepText(h.URI, h.URI.ValueString(), got.URI)
	o, d := types.ObjectValueFrom(ctx, healthTypes(), h)
	diags.Append(d...)
	m.Health = o
}

func (m *model) fillStats(ctx context.Context, got *haproxy.Stats, importing bool, diags *diag.Diagnostics) {
	var s stats
	s.Options = types.ListNull(types.StringType)
	attrs.Object(ctx, m.Stats, &s, diags)
	if got == nil {
		m.Stats = types.ObjectNull(statsTypes())
		return
	}
	s.keepRead(*got, importing)
	o, d := types.ObjectValueFrom(ctx, statsTypes(), s)
	diags.Append(d...)
	m.Stats = o
}

// health is the health listener.
type health struct {
	attrs.Bind
	URI types.String `tfsdk:"uri"`
}

func healthTypes() map[string]attr.Type {
	t := attrs.BindTypes()
	t["uri"] = types.StringType
	return t
}
