package haproxybackend

import (
	"context"
	"maps"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/attrs/haproxyattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/haproxy"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/values"
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

// params are the attributes that servers and default_server share.
type params struct {
	Weight    types.Int64  `tfsdk:"weight"`
	Maxconn   types.Int64  `tfsdk:"maxconn"`
	Backup    types.Bool   `tfsdk:"backup"`
	Check     types.Bool   `tfsdk:"check"`
	CheckSSL  types.Bool   `tfsdk:"check_ssl"`
	Verify    types.String `tfsdk:"verify"`
	Inter     types.String `tfsdk:"inter"`
	Fall      types.Int64  `tfsdk:"fall"`
	Rise      types.Int64  `tfsdk:"rise"`
	SendProxy types.Bool   `tfsdk:"send_proxy"`
	Options   types.List   `tfsdk:"options"`
}

type server struct {
	Address types.String `tfsdk:"address"`
	Port    types.Int64  `tfsdk:"port"`
	State   types.String `tfsdk:"state"`
	params
}

func paramTypes() map[string]attr.Type {
	return map[string]attr.Type{
		"weight": types.Int64Type, "maxconn": types.Int64Type, "backup": types.BoolType, "check": types.BoolType, "check_ssl": types.BoolType,
		"verify": types.StringType, "inter": types.StringType, "fall": types.Int64Type, "rise": types.Int64Type, "send_proxy": types.BoolType,
		"options": types.ListType{ElemType: types.StringType},
	}
}

func serverTypes() map[string]attr.Type {
	t := map[string]attr.Type{"address": types.StringType, "port": types.Int64Type, "state": types.StringType}
	maps.Copy(t, paramTypes())
	return t
}

func (p params) toValue() haproxy.Params {
	return haproxy.Params{
		Weight: p.Weight.ValueInt64Pointer(), Maxconn: p.Maxconn.ValueInt64(),
		Backup: p.Backup.ValueBoolPointer(), Check: p.Check.ValueBoolPointer(), CheckSSL: p.CheckSSL.ValueBoolPointer(),
		Verify: p.Verify.ValueString(), Inter: p.Inter.ValueString(), Fall: p.Fall.ValueInt64(), Rise: p.Rise.ValueInt64(),
		SendProxy: p.SendProxy.ValueBoolPointer(), Options: haproxyattr.JoinWords(convert.KnownTexts(p.Options)),
	}
}

// newParams is the inverse of value, with the options as they are grouped in own.
func newParams(p haproxy.Params, own params) params {
	return params{
		Weight: types.Int64PointerValue(p.Weight), Maxconn: haproxyattr.Number(p.Maxconn),
		Backup: types.BoolPointerValue(p.Backup), Check: types.BoolPointerValue(p.Check), CheckSSL: types.BoolPointerValue(p.CheckSSL),
		Verify: convert.Text(p.Verify), Inter: convert.Text(p.Inter), Fall: haproxyattr.Number(p.Fall), Rise: haproxyattr.Number(p.Rise),
		SendProxy: types.BoolPointerValue(p.SendProxy), Options: values.Keep(haproxyattr.LineOptions, own.Options, convert.ListOrNull(haproxy.ServerOptions(p.Options))),
	}
}

func (s server) toValue() haproxy.Server {
	return haproxy.Server{
		Address: haproxy.CanonicalAddress(s.Address.ValueString()), Port: s.Port.ValueInt64(), Params: s.params.toValue(), State: s.State.ValueString(),
	}
}

// newServer is the inverse of value.
func newServer(s haproxy.Server, own server) server {
	return server{types.StringValue(s.Address), types.Int64Value(s.Port), types.StringValue(s.State), newParams(s.Params, own.params)}
}
