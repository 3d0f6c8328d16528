package haproxybackend

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/haproxy/attrs"
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

func (c httpCheck) value() haproxy.HTTPCheck {
	return haproxy.HTTPCheck{
		Method: c.Method.ValueString(), URI: c.URI.ValueString(), Version: attrs.Words(c.Version), Expect: attrs.Words(c.Expect),
	}
}

func (m *model) spec(ctx context.Context) (haproxy.Backend, diag.Diagnostics) {
	var diags diag.Diagnostics
	b := haproxy.Backend{
		Name: m.Name.ValueString(), Mode: m.Mode.ValueString(), Balance: attrs.Words(m.Balance), HashType: attrs.Words(m.HashType),
		Timeouts: attrs.ReadTimeouts(m.Timeouts, haproxy.BackendTimeouts), Options: attrs.Set(m.Options),
		Extra: haproxy.Lines(m.Extra.ValueString()), DrainTimeout: m.DrainTimeout.ValueString(),
	}
	var check httpCheck
	if attrs.Object(ctx, m.HTTPCheck, &check, &diags) {
		c := check.value()
		b.HTTPCheck = &c
	}
	var defaults params
	if attrs.Object(ctx, m.DefaultServer, &defaults, &diags) {
		p := defaults.value()
		b.DefaultServer = &p
	}
	for name, s := range m.servers(ctx, &diags) {
		if b.Servers == nil {
			b.Servers = map[string]haproxy.Server{}
		}
		b.Servers[name] = s.value()
	}
	return b, diags
}

// servers reads the map; a server that is not known at all is a zero one.
func (m *model) servers(ctx context.Context, diags *diag.Diagnostics) map[string]server {
	out := map[string]server{}
	for name, e := range m.Servers.Elements() {
		var s server
		if o, ok := e.(types.Object); ok {
			attrs.Object(ctx, o, &s, diags)
		}
		out[name] = s
	}
	return out
}

func (m *model) fill(ctx context.Context, got haproxy.Backend) diag.Diagnostics {
	var diags diag.Diagnostics
	was, d := m.spec(ctx)
	diags.Append(d...)
	m.Name = types.StringValue(got.Name)
	m.Mode = attrs.KeepText(m.Mode, was.Mode, got.Mode)
	m.Balance = attrs.KeepText(m.Balance, was.Balance, got.Balance)
	m.HashType = attrs.KeepText(m.HashType, was.HashType, got.HashType)
	m.Options = attrs.KeepSet(m.Options, got.Options)
	m.Timeouts = attrs.KeepTimeouts(m.Timeouts, got.Timeouts, haproxy.BackendTimeouts)
	m.Extra = attrs.KeepLines(m.Extra, got.Extra)
	switch {
	case got.DrainTimeout != "":
		m.DrainTimeout = attrs.KeepTime(m.DrainTimeout, got.DrainTimeout)
	case m.DrainTimeout.IsNull(): // an import of what a person wrote
		m.DrainTimeout = types.StringValue(defaultDrainTimeout)
	}
	m.fillHTTPCheck(ctx, got.HTTPCheck, &diags)
	m.fillDefaultServer(ctx, got.DefaultServer, &diags)
	m.fillServers(ctx, got.Servers, &diags)
	return diags
}

func (m *model) fillHTTPCheck(ctx context.Context, got *haproxy.HTTPCheck, diags *diag.Diagnostics) {
	if got == nil {
		m.HTTPCheck = types.ObjectNull(httpCheckTypes)
		return
	}
	var c httpCheck
	attrs.Object(ctx, m.HTTPCheck, &c, diags)
	was := c.value()
	c.Method = attrs.KeepText(c.Method, was.Method, got.Method)
	c.URI = attrs.KeepText(c.URI, was.URI, got.URI)
	c.Version = attrs.KeepText(c.Version, was.Version, got.Version)
	c.Expect = attrs.KeepText(c.Expect, was.Expect, got.Expect)
	o, d := types.ObjectValueFrom(ctx, httpCheckTypes, c)
	diags.Append(d...)
	m.HTTPCheck = o
}

func (m *model) fillDefaultServer(ctx context.Context, got *haproxy.Params, diags *diag.Diagnostics) {
	var p params
	if !attrs.Object(ctx, m.DefaultServer, &p, diags) {
		p.Options = types.ListNull(types.StringType)
	}
	switch {
	case got == nil && (m.DefaultServer.IsNull() || p.value() != haproxy.Params{}):
		m.DefaultServer = types.ObjectNull(paramTypes())
		return
	case got == nil: // an empty object says the same as none
		return
	}
	o, d := types.ObjectValueFrom(ctx, paramTypes(), p.keep(*got))
	diags.Append(d...)
	m.DefaultServer = o
}

func (m *model) fillServers(ctx context.Context, got map[string]haproxy.Server, diags *diag.Diagnostics) {
	if len(got) == 0 && m.Servers.IsNull() {
		return
	}
	now, filled := m.servers(ctx, diags), map[string]server{}
	for name, s := range got {
		old, ok := now[name]
		if !ok {
			old.Options = types.ListNull(types.StringType)
		}
		filled[name] = old.keep(s)
	}
	servers, d := types.MapValueFrom(ctx, types.ObjectType{AttrTypes: serverTypes()}, filled)
	diags.Append(d...)
	m.Servers = servers
}
