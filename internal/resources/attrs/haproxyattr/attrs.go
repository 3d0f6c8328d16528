// Package haproxyattr holds the attributes that the HAProxy types have in common: how they look in a schema, and
// their conversion between Terraform and plain values.
package haproxyattr

import (
	"context"
	"net/netip"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringdefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/haproxy"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/values"
)

// Name is the name of a section.
func Name(kind string) schema.StringAttribute {
	return values.Word.Required("Name of the "+kind+" in HAProxy's configuration: letters, digits, `-`, `_`, `.` and `:`. Another one replaces the resource; "+
		"`create_before_destroy` lets what names it follow.", stringplanmodifier.RequiresReplace())
}

// Options is an attribute of option names.
func Options(example string) schema.SetAttribute {
	return values.Each(values.Line).OptionalSet("HAProxy options without the word `option`, such as "+example+"; `no ` before one switches it off. "+
		"Default: none beyond those of the defaults section.", SectionOptions)
}

// Extra is an attribute of further lines of a section.
func Extra(section string) schema.StringAttribute {
	return Lines.Optional("Further lines of the "+section+" section, in HAProxy's language, checked by HAProxy like all others. Lines that an attribute can say "+
		"are refused with the attribute's name. Comments and indentation are not kept. Default: none.", Lines.KeepSpelling())
}

// Kinds of text, each with the spellings of HAProxy's language that mean the same.
var (
	// Duration is a time in HAProxy's spelling, to which 0 means that there is no limit: "60s" is "1m".
	Duration = values.New("time", "10s", haproxy.CheckDuration).OrZero().Same(canonicalTime)
	// Words are a line: blanks between its words make no difference.
	Words = values.Line.Same(haproxy.OneLine)
	// Lines are those of a section, without their indentation.
	Lines = values.Free.Same(func(text string) string { return strings.Join(haproxy.Lines(text), "\n") })
)

func canonicalTime(text string) string {
	if d, ok := haproxy.Duration(text); ok {
		return d.String()
	}
	return text
}

var (
	// LineOptions is a list of options of one line: it makes no difference which of its words stand together.
	LineOptions = values.TextsSame(func(a, b []string) bool { return JoinWords(a) == JoinWords(b) })
	// SectionOptions are a set of options.
	SectionOptions = values.TextsSame(func(a, b []string) bool { return slices.Equal(SortWords(a), SortWords(b)) })
)

// JoinWords returns options as the words of one line.
func JoinWords(options []string) string { return haproxy.OneLine(strings.Join(options, " ")) }

// SortWords returns options, each in one spelling, in their order and each once.
func SortWords(options []string) []string {
	sorted := make([]string, 0, len(options))
	for _, o := range options {
		sorted = append(sorted, haproxy.OneLine(o))
	}
	slices.Sort(sorted)
	return slices.Compact(sorted)
}

// Time is an optional attribute with a time.
func Time(description string) schema.StringAttribute {
	return Duration.Optional(description, Duration.KeepSpelling())
}

// JoinLines is a text of several lines, as a heredoc ends; none is null.
func JoinLines(lines []string) types.String {
	if len(lines) > 1 {
		return types.StringValue(strings.Join(lines, "\n") + "\n")
	}
	return convert.Text(strings.Join(lines, ""))
}

var bindAddress = values.Word.Same(haproxy.CanonicalBindAddress)

// BindAttributes are those of an address to listen on.
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
	of, written := map[string]attr.Type{}, map[string]attr.Value{}
	for _, name := range names {
		of[attributeName(name)], written[attributeName(name)] = types.StringType, convert.Text(timeouts[name])
	}
	if len(timeouts) == 0 {
		return types.ObjectNull(of)
	}
	return types.ObjectValueMust(of, written)
}
