package haproxy

import (
	"cmp"
	"maps"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/haproxy/attrs"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/haproxy"
)

// stats is the statistics listener.
type stats struct {
	attrs.Bind
	URI               types.String `tfsdk:"uri"`
	User              types.String `tfsdk:"user"`
	Password          types.String `tfsdk:"password"`
	PasswordWO        types.String `tfsdk:"password_wo"`
	PasswordWOVersion types.Int64  `tfsdk:"password_wo_version"`
	Refresh           types.String `tfsdk:"refresh"`
	HideVersion       types.Bool   `tfsdk:"hide_version"`
}

func statsTypes() map[string]attr.Type {
	t := attrs.BindTypes()
	maps.Copy(t, map[string]attr.Type{
		"uri": types.StringType, "user": types.StringType, "password": types.StringType, "password_wo": types.StringType,
		"password_wo_version": types.Int64Type, "refresh": types.StringType, "hide_version": types.BoolType,
	})
	return t
}

func (s stats) toStats() *haproxy.Stats {
	return &haproxy.Stats{
		Bind: s.Value(), URI: s.URI.ValueString(), User: s.User.ValueString(),
		Password: cmp.Or(s.Password.ValueString(), s.PasswordWO.ValueString()), PasswordVersion: s.PasswordWOVersion.ValueInt64(),
		Refresh: s.Refresh.ValueString(), HideVersion: s.HideVersion.ValueBool(),
	}
}

// keepRead writes what was read back. A password goes into state only where the configuration put one there
// or, on import, where the file says that it was not a write-only one.
func (s *stats) keepRead(got haproxy.Stats, importing bool) {
	s.Bind = s.Keep(got.Bind)
	s.URI = attrs.KeepText(s.URI, s.URI.ValueString(), got.URI)
	s.User = attrs.KeepText(s.User, s.User.ValueString(), got.User)
	s.Refresh = attrs.KeepTime(s.Refresh, got.Refresh)
	s.HideVersion = types.BoolValue(got.HideVersion)
	s.PasswordWO = types.StringNull()
	if !s.Password.IsNull() || importing && got.PasswordVersion == 0 {
		s.Password = attrs.KeepText(s.Password, s.Password.ValueString(), got.Password)
	}
	if !s.PasswordWOVersion.IsNull() || importing {
		s.PasswordWOVersion = attrs.KeepNumber(s.PasswordWOVersion, got.PasswordVersion)
	}
}
