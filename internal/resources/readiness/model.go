package readiness

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/attrs/hostattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/readiness"
)

// form is what an id looks like.
const form = "URL, tcp://HOST:PORT or dns:NAME, and behind # the machine that asks"

type model struct {
	ID            types.String `tfsdk:"id"`
	URL           types.String `tfsdk:"url"`
	TCP           types.String `tfsdk:"tcp"`
	DNS           types.String `tfsdk:"dns"`
	From          types.String `tfsdk:"from"`
	Expect        types.Object `tfsdk:"expect"`
	CACertificate types.String `tfsdk:"ca_certificate"`
	Insecure      types.Bool   `tfsdk:"insecure"`
	Interval      types.String `tfsdk:"interval"`
	Timeout       types.String `tfsdk:"timeout"`
	When          types.String `tfsdk:"when"`
	Triggers      types.Map    `tfsdk:"triggers"`
	Answer        types.String `tfsdk:"answer"`
}

type expectModel struct {
	Status    types.List   `tfsdk:"status"`
	Body      types.String `tfsdk:"body"`
	Addresses types.List   `tfsdk:"addresses"`
}

func formatID(m *model) string {
	target := readiness.Condition{URL: m.URL.ValueString(), TCP: m.TCP.ValueString(), DNS: m.DNS.ValueString()}.Target()
	if m.From.ValueString() != "" {
		target += "#" + m.From.ValueString()
	}
	return target
}

func splitID(m *model, id string) error {
	target, from, asked := strings.Cut(id, "#")
	tcp, isTCP := strings.CutPrefix(target, "tcp://")
	name, isDNS := strings.CutPrefix(target, "dns:")
	switch {
	case target == "" || asked && from == "":
		return errors.New("write " + form)
	case isTCP:
		m.TCP = types.StringValue(tcp)
	case isDNS:
		m.DNS = types.StringValue(name)
	default:
		m.URL = types.StringValue(target)
	}
	m.From = convert.Text(from)
	m.Insecure, m.Interval, m.Timeout = types.BoolValue(false), types.StringValue("5s"), types.StringValue("10m")
	return nil
}

func (m *model) toSpec(ctx context.Context) (readiness.Ready, diag.Diagnostics) {
	var diags diag.Diagnostics
	c := readiness.Condition{
		URL: m.URL.ValueString(), TCP: m.TCP.ValueString(), DNS: m.DNS.ValueString(),
		CACertificate: m.CACertificate.ValueString(), Insecure: m.Insecure.ValueBool(),
		Interval: parseDuration(m.Interval), Timeout: parseDuration(m.Timeout),
	}
	if convert.Known(m.Expect) {
		var e expectModel
		diags.Append(m.Expect.As(ctx, &e, basetypes.ObjectAsOptions{})...)
		c.Body = e.Body.ValueString()
		for _, v := range e.Status.Elements() {
			if n, ok := v.(types.Int64); ok && convert.Known(n) {
				c.Status = append(c.Status, n.ValueInt64())
			}
		}
		for i, v := range e.Addresses.Elements() {
			a, known, err := hostattr.Address(v)
			if err != nil {
				diags.AddAttributeError(path.Root("expect").AtName("addresses").AtListIndex(i), "Invalid address", err.Error())
			} else if known {
				c.Addresses = append(c.Addresses, a)
			}
		}
	}
	return readiness.Ready{Condition: c, Answer: m.Answer.ValueString(), AtDestroy: m.When.ValueString() == "destroy"}, diags
}

// parseDuration reads a duration, which the schema has checked.
func parseDuration(v types.String) time.Duration {
	d, _ := time.ParseDuration(v.ValueString())
	return d
}

func (m *model) fillModel(got readiness.Ready) { m.Answer = convert.Text(got.Answer) }
