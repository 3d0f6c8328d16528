// Package readiness is the resource virtcluster_readiness.
package readiness

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/parentcommand"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/attrs/hostattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/readiness"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/values"
)

// New is the constructor that the provider offers.
func New() resource.Resource {
	return crud.New(crud.Type[model, readiness.Ready]{
		Name:   "readiness",
		Noun:   "readiness",
		Label:  formatID,
		Schema: resourceSchema,
		Key:    []string{"id"},
		Naming: crud.Naming[model]{Shared: true, MutableIdentity: true}, // who asks undoes nothing of who else asks, and may be another machine
		ID:     formatID,
		Split:  splitID,
		Spec:   func(ctx context.Context, m *model) (readiness.Ready, diag.Diagnostics) { return m.toSpec(ctx) },
		Fill: func(_ context.Context, m *model, got readiness.Ready) diag.Diagnostics {
			m.fillModel(got)
			return nil
		},
		Open: openStore,
		Plan: planAsker,
		// The condition has its own time, to which the last question and the way to the machine come.
		Timeouts: map[string]time.Duration{"create": maxTimeout + time.Minute, "update": maxTimeout + time.Minute, "delete": maxTimeout + time.Minute},
	})
}

func openStore(ctx context.Context, at crud.StoreContext, m *model) (crud.Store[readiness.Ready], error) {
	known, _ := m.toSpec(ctx)
	var asker readiness.Asker = readiness.Here{}
	if from := m.From.ValueString(); from != "" {
		h, err := at.Fleet.Host(ctx, from)
		if err != nil {
			return nil, err
		}
		asker = readiness.There{Host: h}
	}
	return readiness.NewStore(asker, known, parentcommand.DestroysAll), nil
}

// planAsker has the id be known after the apply where another machine is to ask. Nothing is made anew by that: with `when = "destroy"` it would be
// asked before it is replaced, and whoever has another machine ask has not changed what is waited for.
func planAsker(ctx context.Context, _ crud.StoreContext, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse, m *model) {
	if req.State.Raw.IsNull() {
		return
	}
	var was types.String
	resp.Diagnostics.Append(req.State.GetAttribute(ctx, path.Root("from"), &was)...)
	if !was.Equal(m.From) {
		resp.Diagnostics.Append(resp.Plan.SetAttribute(ctx, path.Root("id"), types.StringUnknown())...)
	}
}

// maxTimeout is how long an apply may wait.
const maxTimeout = 24 * time.Hour

// duration is that of a wait.
var duration = values.Duration(time.Millisecond, maxTimeout)

func resourceSchema(context.Context) schema.Schema {
	one := stringvalidator.ExactlyOneOf(path.MatchRoot("url"), path.MatchRoot("tcp"), path.MatchRoot("dns"))
	replace := []planmodifier.String{stringplanmodifier.RequiresReplace()}
	return schema.Schema{
		MarkdownDescription: "Waits until a URL, a port or a name answers as it should, and fails with the last reason why not: what depends on it comes after. " +
			"It is asked when the resource is created and when one of its attributes changes, or, with `when = \"destroy\"`, before it goes: what it depends on, such as a cluster's bootstrap, stays until then. A refresh asks nothing.",
		Attributes: map[string]schema.Attribute{
			"id": hostattr.ID(form),
			"url": schema.StringAttribute{
				Optional: true, PlanModifiers: replace, Validators: []validator.String{one, values.Word},
				MarkdownDescription: "URL that is asked for with GET, redirects followed: `https://api.okd.example:6443/readyz`. One of `url`, `tcp` and `dns` is written.",
			},
			"tcp":  values.Word.Optional("Port that must take a connection: `api.okd.example:6443`.", replace...),
			"dns":  values.HostName.Optional("Name that must resolve, by the resolver of the machine that asks.", replace...),
			"from": values.Endpoint.Optional("Machine that asks: an endpoint such as `ssh://root@10.0.0.100`, or the id of a `virtcluster_service_node`. For a `url` it needs curl. Default: the computer that Terraform runs on."),
			"expect": values.OptionalObject("What counts as ready.", values.Attributes{
				"status":    values.Each(values.Between(100, 599)).Some().OptionalList("HTTP status codes that count. Default: 200 to 299."),
				"body":      values.Text.Optional("Regular expression ([RE2](https://github.com/google/re2/wiki/Syntax)) that the answer's first MiB must match."),
				"addresses": values.Each(values.Address).Some().Distinct().OptionalList("What the name must resolve to, all of it and nothing else, in any order. Default: any address.", values.Each(values.Address).KeepSpelling()),
			}),
			"ca_certificate": values.Text.Optional("Certificates of authorities as PEM that the server's is checked by. Default: those of the machine that asks."),
			"insecure":       values.Flag.Default(false, "Take any certificate. Default: `false`."),
			"interval":       duration.Default("5s", "Time between an answer and the next question. Default: `5s`."),
			"timeout":        duration.Default("10m", "Time after which it has failed, 24 hours at most. Default: `10m`."),
			"when": values.OneOf(string(readiness.AtCreate), string(readiness.AtDestroy), string(readiness.Never)).Default(string(readiness.AtCreate), "`create` (default), `destroy` or `never`. With `destroy` it is asked before it is destroyed, and only then. Terraform destroys what it depends on after it, and changes what depends on it after it too; all of that waits, and is left as it is where this fails. "+
				"What is replaced, as its target is another one, is asked by the old target. Nothing is asked where the program destroys everything, nor with `never`: an apply with that gives up waiting."),
			"triggers": values.Each(values.Free).OptionalMap("Any values; when one changes, it is asked again."),
			"answer":   schema.StringAttribute{Computed: true, MarkdownDescription: "What was answered when it was ready: `200 OK`, `connected`, or the addresses; null where nothing was asked."},
		},
	}
}

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
	m.Insecure, m.Interval, m.Timeout, m.When = types.BoolValue(false), types.StringValue("5s"), types.StringValue("10m"), types.StringValue(string(readiness.AtCreate))
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
	return readiness.Ready{Condition: c, Answer: m.Answer.ValueString(), When: readiness.When(m.When.ValueString())}, diags
}

// parseDuration reads a duration, which the schema has checked.
func parseDuration(v types.String) time.Duration {
	d, _ := time.ParseDuration(v.ValueString())
	return d
}

func (m *model) fillModel(got readiness.Ready) { m.Answer = convert.Text(got.Answer) }
