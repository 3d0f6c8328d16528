// Package dnszone is virtcluster_dns_zone: one zone in one view of a BIND server.
package dnszone

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/listdefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/attrs/dnsattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/attrs/hostattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/bind"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/values"
)

// form is what an id looks like.
const form = "SERVICE_NODE#VIEW/ZONE"

// New makes the resource.
func New() resource.Resource {
	return crud.New(crud.Type[model, bind.Zone]{
		Name:    "dns_zone",
		Noun:    "DNS zone",
		Label:   func(m *model) string { return m.View.ValueString() + "/" + m.canonicalZone() },
		Schema:  zoneSchema,
		Key:     []string{"service_node", "view", "name"},
		ID:      (*model).formatID,
		Split:   (*model).splitID,
		Listing: crud.Listing{List: listZones},
		Spec:    toSpec,
		Fill:    fillModel,
		Open:    openStore,
		Plan:    planChange,
	})
}

// canonicalZone is the canonical name.
func (m *model) canonicalZone() string {
	name, err := bind.Zone{Name: m.Name.ValueString(), CIDR: m.CIDR.ValueString()}.CanonicalName()
	if err != nil {
		return m.Name.ValueString()
	}
	return name
}

func (m *model) formatID() string {
	return hostattr.JoinID(m.ServiceNode, m.View.ValueString()+"/"+m.canonicalZone())
}

// splitID takes an id apart; a zone's name may hold a slash, a view's does not.
func (m *model) splitID(id string) error {
	node, part, err := hostattr.SplitID(id, form)
	if err != nil {
		return err
	}
	view, zone, ok := strings.Cut(part, "/")
	if !ok || zone == "" {
		return errors.New("write " + form + ", or SERVICE_NODE#/ZONE for a zone without a view")
	}
	m.ServiceNode, m.View, m.Name = node, convert.Text(view), types.StringValue(zone)
	return nil
}

// listZones lists the zones of a BIND server by their views.
func listZones(ctx context.Context, at crud.StoreContext, machine string) (keys []map[string]string, err error) {
	t, err := crud.Snapshot(ctx, at, machine, bind.Daemon{})
	if err != nil {
		return nil, err
	}
	zones, err := bind.ListZones(t)
	for _, z := range zones {
		keys = append(keys, map[string]string{"view": z.View, "name": z.Name})
	}
	return keys, err
}

func openStore(ctx context.Context, at crud.StoreContext, m *model) (crud.Store[bind.Zone], error) {
	return crud.OpenPart(ctx, at, m.ServiceNode.ValueString(), bind.NewZonePart(m.View.ValueString(), m.canonicalZone(), m.formatID(), at.Claim.Mark(), time.Now()))
}

// checkViews checks the zone against the plan's views, and against its view on the machine.
func (p *planner) checkViews(provided crud.ProviderData) {
	m := p.planned
	if m.Name.IsUnknown() || m.View.IsUnknown() {
		return
	}
	z, _ := toSpec(p.ctx, m)
	if m.ServiceNode.ValueString() != "" && z.View == "" {
		p.refuseViewless(provided)
	}
	names := z.InternalNames()
	if len(names) == 0 || !dnsattr.ForStrangers(p.ctx, provided, m.ServiceNode, z.View) {
		return
	}
	for _, name := range names {
		p.resp.Diagnostics.AddAttributeWarning(path.Root("records"), "Internal name for strangers",
			name+" is in view \""+z.View+"\", which answers strangers; only machines of the cluster need it, so leave it out here")
	}
}

// refuseViewless refuses a zone without a view where there are views: it would be in none of them. One that has none already is in every
// view that others have added since.
func (p *planner) refuseViewless(provided crud.ProviderData) {
	var names []string
	node := p.planned.ServiceNode.ValueString()
	for _, v := range bind.PlannedViews(provided.Ledger, host.WithoutKey(node)) {
		names = append(names, v.Name)
	}
	if len(names) == 0 && (p.prior == nil || p.prior.View.ValueString() != "") {
		if t, err := dnsattr.Live(p.ctx, provided.Fleet, node); err == nil {
			names = bind.ViewNames(t)
		}
	}
	if len(names) > 0 {
		p.resp.Diagnostics.AddAttributeError(path.Root("view"), "Zone without a view",
			"the machine answers by views, "+strings.Join(names, ", ")+": name the one that the zone belongs into")
	}
}

var (
	valuesType = types.ListType{ElemType: types.StringType}
	setsType   = types.MapType{ElemType: valuesType}
	soaTypes   = map[string]attr.Type{
		"mname": types.StringType, "rname": types.StringType,
		"refresh": types.Int64Type, "retry": types.Int64Type, "expire": types.Int64Type, "minimum": types.Int64Type,
	}
	forwardTypes = map[string]attr.Type{"servers": valuesType, "only": types.BoolType}
)

func zoneSchema(context.Context) schema.Schema {
	return schema.Schema{
		MarkdownDescription: "A zone in a view: a primary one with its records, a reverse one with its pointers, or a forward one. " +
			"A change reloads this zone in this view and no other. Other resources, in other states too, add to a primary zone with `virtcluster_dns_record_set`.\n\n" +
			"A prefix longer than /24 gets a classless zone (RFC 2317), which is found only where the zone of the /24 has a CNAME for each of its addresses: " +
			"`parent_records` are these, to merge into the `records` of that zone.",
		Attributes: map[string]schema.Attribute{
			"id":           hostattr.ID(form),
			"serving":      crud.ServingAttribute("named"),
			"service_node": hostattr.ServiceNode("BIND"),
			"view": values.Name.Optional("Name of the view that the zone is in. Left out, the zone is served to everyone, which is for machines without views; "+
				"where there are views, one must be named, and a view that is added later serves the zone too. Another one makes a new resource.", stringplanmodifier.RequiresReplace()),
			"name": values.Word.OptionalComputed("Name of the zone, such as `okd.example.com`; this or `cidr` is required. Internationalised names are converted. Another one makes a new resource."),
			"cidr": values.AddressInPrefix.OptionalComputed("Prefix that a reverse zone is for, IPv4 or IPv6, instead of `name`. One that ends between octets belongs to the zone of the octet before (10.0.16.0/20 to 0.10.in-addr.arpa), " +
				"from /25 to /31 to a classless zone (0/25.2.0.192.in-addr.arpa), in IPv6 to the zone of the nibble."),
			"ttl": values.Seconds(0).Default(bind.DefaultTTL, "Seconds that others may keep the records of the zone, 0 to 2147483647. Default: 300."),
			"soa": soaAttribute(),
			"name_servers": schema.ListAttribute{
				Validators: []validator.List{values.Each(values.Word).Some()},
				Optional:   true, Computed: true, ElementType: types.StringType, Default: listdefault.StaticValue(convert.List([]string{bind.DefaultNameServer})),
				MarkdownDescription: "Servers that the zone names as its own, absolute with a dot at the end, else in the zone, where they need address `records`. Default: `[\"localhost.\"]`.",
			},
			// The framework walks each value of a map a dozen times a call. That costs a zone of 1,000 records 1.54 s to make and 0.96 s to refresh,
			// against 1.06 s and 0.61 s where the map is one text to it; one of 5,000 records 10.2 s, against 3.8 s (whole commands of
			// `make bench`): too little for a proxy of the protocol between it and Terraform.
			"records": schema.MapAttribute{
				Optional: true, ElementType: setsType, Validators: []validator.Map{values.Each(values.Each(values.Each(values.Free)).Some()).Keys(values.Text)},
				MarkdownDescription: "Records by name and type: `{ api = { A = [\"10.0.0.100\"] } }`. Names are relative to the zone, `@` is the zone itself, and a dot at the end makes one absolute; this holds for names in values too. " +
					"Values are written as in a zone file, TXT values as plain text of any length. Behind a value, `; ttl 86400` gives it a TTL of its own (behind quotes, where it is a text).",
			},
			"pointers": values.Each(values.Text).Keys(values.Text).OptionalMap("Pointers of a reverse zone: address to absolute name, `{ \"10.0.0.1\" = \"node-1.example.com.\" }`."),
			"allow_transfer": schema.ListAttribute{
				Validators: []validator.List{values.Each(values.Line)},
				Optional:   true, Computed: true, ElementType: types.StringType, Default: listdefault.StaticValue(convert.List([]string{"localhost"})),
				MarkdownDescription: "Who may transfer the whole zone, an address match list. Default: `[\"localhost\"]`.",
			},
			"forward": values.OptionalObject("Makes this a forward zone, which has no records: questions about it go to other servers.", values.Attributes{
				"servers": values.Each(values.Word).Some().RequiredList("Servers to ask: addresses, with `:PORT` where it is not 53."),
				"only":    values.Flag.Default(true, "Whether only these are asked; otherwise BIND looks for the answer itself when they give none. Default: true."),
			}),
			"serial": schema.Int64Attribute{
				Computed: true, MarkdownDescription: "Serial that the zone's last change has got. It rises with every change (RFC 1982); record sets of other resources raise the serial that is served further, and not this one. Null for a forward zone.",
			},
			"parent_records": schema.MapAttribute{
				Computed: true, ElementType: setsType,
				MarkdownDescription: "CNAME records that the zone of the /24 needs where this is a classless zone (RFC 2317), in the form of its `records`; otherwise null.",
			},
		},
	}
}

func soaAttribute() schema.Attribute {
	seconds := func(text string, value int64) schema.Attribute {
		return values.Seconds(0).Default(value, text)
	}
	return values.OptionalComputedObject("Start of authority. Default: each attribute's own.", values.Attributes{
		"mname":   values.Word.OptionalComputed("Primary server. Default: the first of `name_servers`."),
		"rname":   values.Word.OptionalComputed("Mailbox of whoever is responsible, written as a name. Default: `hostmaster` in the zone, or in the domain above where the zone's name is no host name (RFC 2317)."),
		"refresh": seconds("Seconds after which a secondary server asks for changes. Default: 3600.", bind.DefaultSOA.Refresh),
		"retry":   seconds("Seconds after which it asks again when it got no answer. Default: 600.", bind.DefaultSOA.Retry),
		"expire":  seconds("Seconds after which it gives the zone up without an answer. Default: 1209600.", bind.DefaultSOA.Expire),
		"minimum": seconds("Seconds that others may keep the answer that a name does not exist. Default: 60.", bind.DefaultSOA.Minimum),
	})
}
