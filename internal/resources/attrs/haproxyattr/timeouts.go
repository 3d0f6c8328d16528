package haproxyattr

import (
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringdefault"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/values"
)

// meanings say what each of HAProxy's timeouts waits for.
var meanings = map[string]string{
	"connect":         "for a server to accept a connection",
	"client":          "for a client that neither sends nor takes anything",
	"client-fin":      "for a client that closed its side",
	"server":          "for a server that neither sends nor takes anything",
	"server-fin":      "for a server that closed its side",
	"tunnel":          "for both sides of a tunnel, WebSockets for one, that say nothing",
	"http-request":    "for a complete HTTP request",
	"http-keep-alive": "for the next HTTP request on a connection",
	"queue":           "for a free server",
	"check":           "for the answer to a health check once it is connected",
	"tarpit":          "before a tarpitted request is answered",
}

func attributeName(name string) string { return strings.ReplaceAll(name, "-", "_") }

// Timeouts is an attribute of the named timeouts. Where there are defaults, the attribute is computed.
func Timeouts(names []string, defaults map[string]string) schema.SingleNestedAttribute {
	attributes := map[string]schema.Attribute{}
	for _, name := range names {
		a := Duration.Optional("How long to wait "+meanings[name]+", with a unit (us, ms, s, m, h, d).", Duration.KeepSpelling())
		switch value, ok := defaults[name]; {
		case ok:
			a.Computed, a.Default = true, stringdefault.StaticString(value)
			a.MarkdownDescription += " Default: `" + value + "`."
		case defaults != nil:
			a.MarkdownDescription += " Default: none."
		default:
			a.MarkdownDescription += " Default: that of the defaults section."
		}
		attributes[attributeName(name)] = a
	}
	return values.OptionalObject("How long HAProxy waits, and for what.", attributes)
}

// TimeoutTypes are the attribute types of the named timeouts.
func TimeoutTypes(names []string) map[string]attr.Type {
	t := map[string]attr.Type{}
	for _, name := range names {
		t[attributeName(name)] = types.StringType
	}
	return t
}

// ReadTimeouts gives the timeouts by HAProxy's names.
func ReadTimeouts(v types.Object, names []string) map[string]string {
	out := map[string]string{}
	for _, name := range names {
		if s, ok := v.Attributes()[attributeName(name)].(types.String); ok && s.ValueString() != "" {
			out[name] = s.ValueString()
		}
	}
	return out
}

// WriteTimeouts is the inverse of ReadTimeouts: none are null.
func WriteTimeouts(timeouts map[string]string, names []string) types.Object {
	if len(timeouts) == 0 {
		return types.ObjectNull(TimeoutTypes(names))
	}
	written := map[string]attr.Value{}
	for _, name := range names {
		written[attributeName(name)] = convert.Text(timeouts[name])
	}
	return types.ObjectValueMust(TimeoutTypes(names), written)
}
