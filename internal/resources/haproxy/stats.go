package haproxy

import (
	"cmp"
	"maps"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/attrs/haproxyattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/haproxy"
)

// stats is the statistics listener.
type stats struct {
	haproxyattr.Bind
	URI               types.String `tfsdk:"uri"`
	User              types.String `tfsdk:"user"`
	Password          types.String `tfsdk:"password"`
	PasswordWO        types.String `tfsdk:"password_wo"`
	PasswordWOVersion types.Int64  `tfsdk:"password_wo_version"`
	Refresh           types.String `tfsdk:"refresh"`
	HideVersion       types.Bool   `tfsdk:"hide_version"`
}

func statsTypes() map[string]attr.Type {
	t := haproxyattr.BindTypes()
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

// newStats is what was read back, of which own is what the model has. A password goes into state only where the configuration put one
// there or, on import, where the file says that it was not a write-only one.
func newStats(got haproxy.Stats, own stats, importing bool) stats {
	s := stats{
		Bind: haproxyattr.NewBind(got.Bind, own.Bind), URI: convert.Text(got.URI), User: convert.Text(got.User), Refresh: convert.Text(got.Refresh), HideVersion: types.BoolValue(got.HideVersion),
	}
	if !own.Password.IsNull() || importing && got.PasswordVersion == 0 {
		s.Password = convert.Text(got.Password)
	}
	if !own.PasswordWOVersion.IsNull() || importing {
		s.PasswordWOVersion = haproxyattr.Number(got.PasswordVersion)
	}
	return s
}
