package haproxyfrontend

import (
	"context"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/haproxy/attrs"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/haproxy"
)

type model struct {
	crud.ServingModel
	ID             types.String `tfsdk:"id"`
	ServiceNode    types.String `tfsdk:"service_node"`
	Name           types.String `tfsdk:"name"`
	Mode           types.String `tfsdk:"mode"`
	Binds          types.List   `tfsdk:"binds"`
	DefaultBackend types.String `tfsdk:"default_backend"`
	Rules          types.List   `tfsdk:"rules"`
	ACLs           types.Map    `tfsdk:"acls"`
	Options        types.Set    `tfsdk:"options"`
	Timeouts       types.Object `tfsdk:"timeouts"`
	Maxconn        types.Int64  `tfsdk:"maxconn"`
	MonitorURI     types.String `tfsdk:"monitor_uri"`
	Extra          types.String `tfsdk:"extra_config"`
}

type rule struct {
	Backend types.String `tfsdk:"backend"`
	If      types.String `tfsdk:"if"`
	Unless  types.String `tfsdk:"unless"`
}

var ruleTypes = map[string]attr.Type{"backend": types.StringType, "if": types.StringType, "unless": types.StringType}

func (r rule) toRule() haproxy.Rule {
	return haproxy.Rule{Backend: r.Backend.ValueString(), If: attrs.Words(r.If), Unless: attrs.Words(r.Unless)}
}

func (m *model) toSpec(ctx context.Context) (haproxy.Frontend, diag.Diagnostics) {
	var diags diag.Diagnostics
	f := haproxy.Frontend{
		Name: m.Name.ValueString(), Mode: m.Mode.ValueString(), Maxconn: m.Maxconn.ValueInt64(),
		Timeouts: attrs.ReadTimeouts(m.Timeouts, haproxy.FrontendTimeouts), Options: attrs.Set(m.Options),
		Extra: haproxy.Lines(m.Extra.ValueString()), MonitorURI: m.MonitorURI.ValueString(), DefaultBackend: m.DefaultBackend.ValueString(),
	}
	for _, b := range decodeBinds(ctx, m.Binds, &diags) {
		f.Binds = append(f.Binds, b.Value())
	}
	for _, r := range decodeRules(ctx, m.Rules, &diags) {
		f.Rules = append(f.Rules, r.toRule())
	}
	for name, v := range m.ACLs.Elements() {
		if f.ACLs == nil {
			f.ACLs = map[string][]string{}
		}
		if s, ok := v.(types.String); ok {
			f.ACLs[name] = splitCriteria(s)
		}
	}
	return f, diags
}

func (m *model) fillModel(ctx context.Context, got haproxy.Frontend) diag.Diagnostics {
	var diags diag.Diagnostics
	was, d := m.toSpec(ctx)
	diags.Append(d...)
	m.Name = types.StringValue(got.Name)
	m.Mode = attrs.KeepText(m.Mode, was.Mode, got.Mode)
	m.DefaultBackend = attrs.KeepText(m.DefaultBackend, was.DefaultBackend, got.DefaultBackend)
	m.Options = attrs.KeepSet(m.Options, got.Options)
	m.Timeouts = attrs.KeepTimeouts(m.Timeouts, got.Timeouts, haproxy.FrontendTimeouts)
	m.Maxconn = attrs.KeepNumber(m.Maxconn, got.Maxconn)
	m.MonitorURI = attrs.KeepText(m.MonitorURI, was.MonitorURI, got.MonitorURI)
	m.Extra = attrs.KeepLines(m.Extra, got.Extra)
	m.fillBinds(ctx, got.Binds, &diags)
	m.fillRules(ctx, was.Rules, got.Rules, &diags)
	m.fillACLs(got.ACLs)
	return diags
}

func (m *model) fillBinds(ctx context.Context, got []haproxy.Bind, diags *diag.Diagnostics) {
	if len(got) == 0 {
		m.Binds = types.ListNull(types.ObjectType{AttrTypes: attrs.BindTypes()})
		return
	}
	now := decodeBinds(ctx, m.Binds, diags)
	filled := make([]attrs.Bind, len(got))
	for i, b := range got {
		filled[i].Options = types.ListNull(types.StringType)
		if i < len(now) {
			filled[i] = now[i]
		}
		filled[i] = filled[i].Keep(b)
	}
	list, d := types.ListValueFrom(ctx, types.ObjectType{AttrTypes: attrs.BindTypes()}, filled)
	diags.Append(d...)
	m.Binds = list
}

func (m *model) fillRules(ctx context.Context, was, got []haproxy.Rule, diags *diag.Diagnostics) {
	if slices.Equal(was, got) && !m.Rules.IsUnknown() {
		return
	}
	now := decodeRules(ctx, m.Rules, diags)
	var filled []rule
	for i, r := range got {
		var f rule
		if i < len(now) {
			f = now[i]
		}
		old := f.toRule()
		f.Backend = attrs.KeepText(f.Backend, old.Backend, r.Backend)
		f.If = attrs.KeepText(f.If, old.If, r.If)
		f.Unless = attrs.KeepText(f.Unless, old.Unless, r.Unless)
		filled = append(filled, f)
	}
	list, d := types.ListValueFrom(ctx, types.ObjectType{AttrTypes: ruleTypes}, filled)
	diags.Append(d...)
	m.Rules = list
}

func (m *model) fillACLs(got map[string][]string) {
	if len(got) == 0 && m.ACLs.IsNull() {
		return
	}
	now, filled := m.ACLs.Elements(), map[string]attr.Value{}
	for name, lines := range got {
		filled[name] = types.StringValue(strings.Join(lines, "\n"))
		if s, ok := now[name].(types.String); ok && slices.Equal(splitCriteria(s), lines) {
			filled[name] = s
		}
	}
	m.ACLs = types.MapValueMust(types.StringType, filled)
}

// decodeBinds reads the list, with a zero where an element is not known.
func decodeBinds(ctx context.Context, list types.List, diags *diag.Diagnostics) []attrs.Bind {
	return decodeElements[attrs.Bind](ctx, list, diags)
}

func decodeRules(ctx context.Context, list types.List, diags *diag.Diagnostics) []rule {
	return decodeElements[rule](ctx, list, diags)
}

func decodeElements[T any](ctx context.Context, list types.List, diags *diag.Diagnostics) []T {
	out := make([]T, len(list.Elements()))
	for i, e := range list.Elements() {
		if o, ok := e.(types.Object); ok {
			attrs.Object(ctx, o, &out[i], diags)
		}
	}
	return out
}
