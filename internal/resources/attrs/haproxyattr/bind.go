package haproxyattr

import (
	"context"
	"net/netip"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/haproxy"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/values"
)

// Bind is an address to listen on, as a model.
type Bind struct {
	Address     types.String `tfsdk:"address"`
	Port        types.Int64  `tfsdk:"port"`
	Transparent types.Bool   `tfsdk:"transparent"`
	Options     types.List   `tfsdk:"options"`
}

// BindTypes are a Bind's attribute types.
func BindTypes() map[string]attr.Type {
	return map[string]attr.Type{
		"address": types.StringType, "port": types.Int64Type, "transparent": types.BoolType,
		"options": types.ListType{ElemType: types.StringType},
	}
}

var bindAddress = values.Word.Same(haproxy.CanonicalBindAddress)

// BindAttributes are a Bind's attributes.
func BindAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"address":     bindAddress.Default("*", "IPv4 or IPv6 address to listen on. Default: `*`, all IPv4 addresses; `::` is all IPv6 ones, and all IPv4 ones too with the option `v4v6`. Where another bind has the same port at one address, connections to that address go to that one, whatever the order, and all others to this one.", bindAddress.KeepSpelling()),
		"port":        values.Port().Required("TCP port to listen on, 1 to 65535."),
		"transparent": values.Flag.OptionalComputed("Whether to listen even while the machine does not hold the address, as for a VIP that is elsewhere. Default: yes for a single address.", transparentDefault{}),
		"options":     values.Each(values.Line).OptionalList("Further options of the bind line, such as `\"ssl\"`, `\"crt /etc/haproxy/site.pem\"`, `\"alpn h2,http/1.1\"` or `\"accept-proxy\"`. Default: none.", LineOptions),
	}
}

// transparentDefault follows from the address beside it.
type transparentDefault struct{ values.Undescribed }

func (transparentDefault) PlanModifyBool(ctx context.Context, req planmodifier.BoolRequest, resp *planmodifier.BoolResponse) {
	if !req.ConfigValue.IsNull() {
		return
	}
	var address types.String
	resp.Diagnostics.Append(req.Config.GetAttribute(ctx, req.Path.ParentPath().AtName("address"), &address)...)
	if address.IsUnknown() {
		resp.PlanValue = types.BoolUnknown()
		return
	}
	resp.PlanValue = types.BoolValue(transparentByDefault(address.ValueString()))
}

// transparentByDefault: a wildcard needs no address, and the loopback ones are always there.
func transparentByDefault(address string) bool {
	a, err := netip.ParseAddr(address)
	return err == nil && !a.IsUnspecified() && !a.IsLoopback()
}

// Value gives the plain value.
func (b Bind) Value() haproxy.Bind {
	return haproxy.Bind{
		Address:     haproxy.CanonicalBindAddress(b.Address.ValueString()),
		Port:        b.Port.ValueInt64(),
		Transparent: b.Transparent.ValueBool(),
		Options:     JoinWords(convert.KnownTexts(b.Options)),
	}
}

// NewBind is the inverse of Value, with the options as they are grouped in own.
func NewBind(b haproxy.Bind, own Bind) Bind {
	options := values.Keep(LineOptions, own.Options, convert.ListOrNull(haproxy.BindOptions(b.Options)))
	return Bind{types.StringValue(b.Address), types.Int64Value(b.Port), types.BoolValue(b.Transparent), options}
}
