package haproxybackend

import (
	"maps"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/attrs/haproxyattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/haproxy"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/values"
)

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
