package haproxyfrontend

import (
	"context"
	"strings"

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
	return haproxy.Rule{Backend: r.Backend.ValueString(), If: haproxyattr.OneLine(r.If), Unless: haproxyattr.OneLine(r.Unless)}
}

func toSpec(ctx context.Context, m *model) (haproxy.Frontend, diag.Diagnostics) {
	var diags diag.Diagnostics
	f := haproxy.Frontend{
		Name: m.Name.ValueString(), Mode: m.Mode.ValueString(), Maxconn: m.Maxconn.ValueInt64(),
		Timeouts: haproxyattr.ReadTimeouts(m.Timeouts, haproxy.FrontendTimeouts), Options: haproxyattr.SortWords(convert.KnownTexts(m.Options)),
		Extra: haproxy.Lines(m.Extra.ValueString()), MonitorURI: m.MonitorURI.ValueString(), DefaultBackend: m.DefaultBackend.ValueString(),
	}
	for _, b := range decodeElements[haproxyattr.Bind](ctx, m.Binds, &diags) {
		f.Binds = append(f.Binds, b.Value())
	}
	for _, r := range decodeElements[rule](ctx, m.Rules, &diags) {
		f.Rules = append(f.Rules, r.toRule())
	}
	for name, v := range m.ACLs.Elements() {
		if f.ACLs == nil {
			f.ACLs = map[string][]string{}
		}
		if s, ok := v.(types.String); ok {
			f.ACLs[name] = splitCriteria(s.ValueString())
		}
	}
	return f, diags
}

func fillModel(ctx context.Context, m *model, got haproxy.Frontend) (diags diag.Diagnostics) {
	m.Name, m.Mode, m.DefaultBackend = types.StringValue(got.Name), convert.Text(got.Mode), convert.Text(got.DefaultBackend)
	m.Options, m.Timeouts = haproxyattr.OptionSet(m.Options, got.Options), haproxyattr.WriteTimeouts(got.Timeouts, haproxy.FrontendTimeouts)
	m.Maxconn, m.MonitorURI, m.Extra = haproxyattr.Number(got.Maxconn), convert.Text(got.MonitorURI), haproxyattr.JoinLines(got.Extra)
	own := decodeElements[haproxyattr.Bind](ctx, m.Binds, &diags)
	binds := make([]haproxyattr.Bind, 0, len(got.Binds))
	for i, b := range got.Binds {
		var was haproxyattr.Bind
		if i < len(own) {
			was = own[i]
		}
		binds = append(binds, haproxyattr.NewBind(b, was))
	}
	rules := make([]rule, 0, len(got.Rules))
	for _, r := range got.Rules {
		rules = append(rules, rule{convert.Text(r.Backend), convert.Text(r.If), convert.Text(r.Unless)})
	}
	acls := map[string]string{}
	for name, criteria := range got.ACLs {
		acls[name] = strings.Join(criteria, "\n")
	}
	m.Binds, m.Rules = listOrNull(ctx, haproxyattr.BindTypes(), binds, &diags), listOrNull(ctx, ruleTypes, rules, &diags)
	m.ACLs = convert.MapOrNull(acls)
	return diags
}

// listOrNull is a list of objects; none is null.
func listOrNull[T any](ctx context.Context, of map[string]attr.Type, objects []T, diags *diag.Diagnostics) types.List {
	if len(objects) == 0 {
		return types.ListNull(types.ObjectType{AttrTypes: of})
	}
	list, d := types.ListValueFrom(ctx, types.ObjectType{AttrTypes: of}, objects)
	diags.Append(d...)
	return list
}

// decodeElements reads a list of objects, with a zero where an element is not known.
func decodeElements[T any](ctx context.Context, list types.List, diags *diag.Diagnostics) []T {
	out := make([]T, len(list.Elements()))
	for i, e := range list.Elements() {
		if o, ok := e.(types.Object); ok {
			haproxyattr.Object(ctx, o, &out[i], diags)
		}
	}
	return out
}
