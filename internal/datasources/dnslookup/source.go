// Package dnslookup is the data source virtcluster_dns_lookup: what one DNS server answers.
package dnslookup

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/miekg/dns"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/fleet"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/bind"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/values"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/values/computed"
)

// New is the constructor that the provider offers.
func New() datasource.DataSource {
	return crud.NewSource(crud.Source[model]{Name: "dns_lookup", Schema: lookupSchema(), Read: lookUp})
}

type model struct {
	ID            types.String `tfsdk:"id"`
	Server        types.String `tfsdk:"server"`
	Port          types.Int64  `tfsdk:"port"`
	Name          types.String `tfsdk:"name"`
	Type          types.String `tfsdk:"type"`
	Protocol      types.String `tfsdk:"protocol"`
	From          types.String `tfsdk:"from"`
	ServiceNode   types.String `tfsdk:"service_node"`
	Recursion     types.Bool   `tfsdk:"recursion"`
	Timeout       types.Int64  `tfsdk:"timeout_seconds"`
	Status        types.String `tfsdk:"status"`
	Authoritative types.Bool   `tfsdk:"authoritative"`
	Values        types.List   `tfsdk:"values"`
	Answers       types.List   `tfsdk:"answers"`
}

var answerType = types.ObjectType{AttrTypes: map[string]attr.Type{
	"name": types.StringType, "type": types.StringType, "ttl": types.Int64Type, "value": types.StringType,
}}

func lookUp(ctx context.Context, p crud.ProviderData, m *model) (diags diag.Diagnostics) {
	f := p.Fleet
	q := m.toQuestion(&diags)
	if diags.HasError() {
		return diags
	}
	a, err := answerFrom(ctx, f, m.ServiceNode.ValueString(), q)
	if err != nil {
		diags.AddError(fmt.Sprintf("Cannot look up %s %s at %s", q.name, dns.Type(q.rrType), q.server), err.Error())
		return diags
	}
	m.fillModel(q, a)
	return diags
}

func answerFrom(ctx context.Context, f *fleet.Fleet, node string, q question) (answer, error) {
	if node == "" {
		return askServer(ctx, q)
	}
	h, err := f.Host(ctx, node)
	if err != nil {
		return answer{}, err
	}
	return askOn(ctx, h, q)
}

// toQuestion fills in the defaults and checks what was given.
func (m *model) toQuestion(diags *diag.Diagnostics) question {
	fail := func(at, summary, format string, args ...any) {
		diags.AddAttributeError(path.Root(at), summary, fmt.Sprintf(format, args...))
	}
	if m.Port.IsNull() {
		m.Port = types.Int64Value(53)
	}
	if m.Type.IsNull() {
		m.Type = types.StringValue("A")
	}
	if m.Protocol.IsNull() {
		m.Protocol = types.StringValue("udp")
	}
	if m.Recursion.IsNull() {
		m.Recursion = types.BoolValue(true)
	}
	if m.Timeout.IsNull() {
		m.Timeout = types.Int64Value(5)
	}
	q := question{
		protocol: m.Protocol.ValueString(), recursion: m.Recursion.ValueBool(),
		timeout: time.Duration(m.Timeout.ValueInt64()) * time.Second,
	}
	a, err := netip.ParseAddr(m.Server.ValueString())
	port := m.Port.ValueInt64()
	switch {
	case err != nil:
		fail("server", "Invalid address", "%q is no address; write one like \"10.0.0.100\"", m.Server.ValueString())
	case port < 1 || port > 65535:
		fail("port", "Invalid port", "%d is no port; write a number from 1 to 65535", port)
	case q.timeout <= 0 || q.timeout > time.Minute:
		fail("timeout_seconds", "Invalid timeout", "write a number of seconds from 1 to 60")
	case q.protocol != "udp" && q.protocol != "tcp":
		fail("protocol", "Invalid protocol", "%q: write \"udp\" or \"tcp\"", q.protocol)
	default:
		q.server = netip.AddrPortFrom(a, uint16(port))
	}
	if from := m.From.ValueString(); from != "" {
		if q.from, err = netip.ParseAddr(from); err != nil {
			fail("from", "Invalid address", "%q is no address of the machine that asks", from)
		}
	}
	rrType, ok := dns.StringToType[strings.ToUpper(m.Type.ValueString())]
	if !ok {
		fail("type", "Invalid record type", "there is no record type %q", m.Type.ValueString())
	}
	q.rrType = rrType
	q.name = questionName(m.Name.ValueString(), fail)
	return q
}

// questionName is what is asked for: an address stands for its pointer.
func questionName(text string, fail func(at, summary, format string, args ...any)) string {
	if a, err := netip.ParseAddr(text); err == nil {
		reverse, _ := dns.ReverseAddr(a.String())
		return reverse
	}
	ascii, err := bind.ToASCII(text)
	if _, ok := dns.IsDomainName(ascii); err != nil || !ok || text == "" {
		fail("name", "Invalid name", "%q is no domain name", text)
	}
	return dns.Fqdn(ascii)
}

func (m *model) fillModel(q question, a answer) {
	values, answers := []string{}, []attr.Value{}
	for _, r := range a.records {
		if r.rrType == dns.Type(q.rrType).String() {
			values = append(values, r.value)
		}
		answers = append(answers, types.ObjectValueMust(answerType.AttrTypes, map[string]attr.Value{
			"name": types.StringValue(r.name), "type": types.StringValue(r.rrType), "ttl": types.Int64Value(int64(r.ttl)), "value": types.StringValue(r.value),
		}))
	}
	slices.Sort(values)
	elements := make([]attr.Value, len(values))
	for i, v := range values {
		elements[i] = types.StringValue(v)
	}
	m.ID = types.StringValue(fmt.Sprintf("%s/%s/%s", q.server, q.name, dns.Type(q.rrType)))
	m.Status, m.Authoritative = types.StringValue(a.rcode), types.BoolValue(a.authoritative)
	m.Values = types.ListValueMust(types.StringType, elements)
	m.Answers = types.ListValueMust(answerType, answers)
}

func lookupSchema() schema.Schema {
	return schema.Schema{
		MarkdownDescription: "Asks one DNS server, from one address: what a view answers. A name that does not exist is an answer (`status` is `NXDOMAIN`); no answer is an error.",
		Attributes: map[string]schema.Attribute{
			"id":       computed.Text("Server, name and type."),
			"server":   schema.StringAttribute{Validators: []validator.String{values.Word}, Required: true, MarkdownDescription: "Address of the server."},
			"port":     schema.Int64Attribute{Validators: []validator.Int64{values.Port()}, Optional: true, Computed: true, MarkdownDescription: "Port of the server. Default: 53."},
			"name":     schema.StringAttribute{Validators: []validator.String{values.Word}, Required: true, MarkdownDescription: "Name to ask for, always absolute; an address stands for the name of its pointer."},
			"type":     schema.StringAttribute{Validators: []validator.String{values.Word}, Optional: true, Computed: true, MarkdownDescription: "Type of the records, such as `A`, `PTR` or `SRV`. Default: `A`."},
			"protocol": schema.StringAttribute{Validators: []validator.String{values.OneOf("udp", "tcp")}, Optional: true, Computed: true, MarkdownDescription: "`udp` or `tcp`; an answer too long for UDP is asked for over TCP. Default: `udp`."},
			"from": schema.StringAttribute{
				Validators: []validator.String{values.Address},
				Optional:   true, MarkdownDescription: "Address to ask from, one of the machine that asks: it decides the view. Default: the machine's choice.",
			},
			"service_node": schema.StringAttribute{
				Validators: []validator.String{values.Endpoint},
				Optional:   true, MarkdownDescription: "Machine that asks, the `id` of a `virtcluster_service_node`; it needs `dig`. Default: the machine that Terraform runs on.",
			},
			"recursion":       schema.BoolAttribute{Optional: true, Computed: true, MarkdownDescription: "Whether the server shall ask others. Default: true."},
			"timeout_seconds": schema.Int64Attribute{Validators: []validator.Int64{values.Between(1, 60)}, Optional: true, Computed: true, MarkdownDescription: "Seconds to wait for the answer, 1 to 60. Default: 5."},
			"status":          computed.Text("What the server says: `NOERROR`, `NXDOMAIN`, `REFUSED`, `SERVFAIL` and so on."),
			"authoritative":   computed.Flag("Whether the zone is the server's own."),
			"values":          computed.Texts("Data of the records of the type that was asked for, sorted; empty where there are none."),
			"answers": computed.ListOf("The whole answer in the server's order, aliases on the way included.", computed.Attributes{
				"name":  computed.Text("Name of the record, with a dot at the end."),
				"type":  computed.Text("Type of the record."),
				"ttl":   computed.Number("Seconds that it may be kept."),
				"value": computed.Text("Data of the record."),
			}),
		},
	}
}
