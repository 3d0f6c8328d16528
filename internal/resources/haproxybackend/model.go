package haproxybackend

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

type httpCheck struct {
	Method  types.String `tfsdk:"method"`
	URI     types.String `tfsdk:"uri"`
	Version types.String `tfsdk:"version"`
	Expect  types.String `tfsdk:"expect"`
}

var httpCheckTypes = map[string]attr.Type{
	"method": types.StringType, "uri": types.StringType, "version": types.StringType, "expect": types.StringType,
}

func (c httpCheck) toValue() haproxy.HTTPCheck {
	return haproxy.HTTPCheck{
		Method: c.Method.ValueString(), URI: c.URI.ValueString(), Version: haproxyattr.OneLine(c.Version), Expect: haproxyattr.OneLine(c.Expect),
	}
}

func toSpec(ctx context.Context, m *model) (haproxy.Backend, diag.Diagnostics) {
	var diags diag.Diagnostics
	b := haproxy.Backend{
		Name: m.Name.ValueString(), Mode: m.Mode.ValueString(), Balance: haproxyattr.OneLine(m.Balance), HashType: haproxyattr.OneLine(m.HashType),
		Timeouts: haproxyattr.ReadTimeouts(m.Timeouts, haproxy.BackendTimeouts), Options: haproxyattr.SortWords(convert.KnownTexts(m.Options)),
		Extra: haproxy.Lines(m.Extra.ValueString()), DrainTimeout: m.DrainTimeout.ValueString(),
	}
	var check httpCheck
	if haproxyattr.Object(ctx, m.HTTPCheck, &check, &diags) {
		c := check.toValue()
		b.HTTPCheck = &c
	}
	var defaults params
	if haproxyattr.Object(ctx, m.DefaultServer, &defaults, &diags) {
		p := defaults.toValue()
		b.DefaultServer = &p
	}
	for name, s := range m.readServers(ctx, &diags) {
		if b.Servers == nil {
			b.Servers = map[string]haproxy.Server{}
		}
		b.Servers[name] = s.toValue()
	}
	return b, diags
}

// readServers reads the map; a server that is not known at all is a zero one.
func (m *model) readServers(ctx context.Context, diags *diag.Diagnostics) map[string]server {
	out := map[string]server{}
	for name, e := range m.Servers.Elements() {
		var s server
		if o, ok := e.(types.Object); ok {
			haproxyattr.Object(ctx, o, &s, diags)
		}
		out[name] = s
	}
	return out
}

func fillModel(ctx context.Context, m *model, got haproxy.Backend) (diags diag.Diagnostics) {
	var defaults params
	haproxyattr.Object(ctx, m.DefaultServer, &defaults, &diags)
	own := m.readServers(ctx, &diags)
	m.Name, m.Mode, m.Balance, m.HashType = types.StringValue(got.Name), convert.Text(got.Mode), convert.Text(got.Balance), convert.Text(got.HashType)
	m.Options, m.Timeouts, m.Extra = haproxyattr.OptionSet(m.Options, got.Options), haproxyattr.WriteTimeouts(got.Timeouts, haproxy.BackendTimeouts), haproxyattr.JoinLines(got.Extra)
	switch {
	case got.DrainTimeout != "":
		m.DrainTimeout = types.StringValue(got.DrainTimeout)
	case m.DrainTimeout.IsNull(): // an import of what a person wrote
		m.DrainTimeout = types.StringValue(defaultDrainTimeout)
	}
	m.HTTPCheck, m.DefaultServer, m.Servers = types.ObjectNull(httpCheckTypes), types.ObjectNull(paramTypes()), types.MapNull(types.ObjectType{AttrTypes: serverTypes()})
	var d diag.Diagnostics
	if c := got.HTTPCheck; c != nil {
		m.HTTPCheck, d = types.ObjectValueFrom(ctx, httpCheckTypes, httpCheck{convert.Text(c.Method), convert.Text(c.URI), convert.Text(c.Version), convert.Text(c.Expect)})
		diags.Append(d...)
	}
	if got.DefaultServer != nil {
		m.DefaultServer, d = types.ObjectValueFrom(ctx, paramTypes(), newParams(*got.DefaultServer, defaults))
		diags.Append(d...)
	}
	servers := map[string]server{}
	for name, s := range got.Servers {
		servers[name] = newServer(s, own[name])
	}
	if len(servers) > 0 {
		m.Servers, d = types.MapValueFrom(ctx, types.ObjectType{AttrTypes: serverTypes()}, servers)
		diags.Append(d...)
	}
	return diags
}
