// Package dnsrecordset is virtcluster_dns_record_set: records added to a zone that somebody else describes.
package dnsrecordset

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
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
const form = "SERVICE_NODE#VIEW/ZONE/NAME/TYPE"

// New makes the resource.
func New() resource.Resource {
	return crud.New(crud.Type[model, bind.RecordSet]{
		Name:    "dns_record_set",
		Noun:    "DNS record set",
		Label:   formatLabel,
		Schema:  setSchema,
		Key:     []string{"service_node", "view", "zone", "name", "type"},
		ID:      formatID,
		Split:   (*model).splitID,
		Listing: crud.Listing{List: listSets},
		Spec:    toSpec,
		Fill:    fillModel,
		Open:    openStore,
		Plan:    planChange,
	})
}

func formatID(m *model) string {
	zone, name, rrType := m.recordKey()
	return hostattr.JoinID(m.ServiceNode, m.View.ValueString()+"/"+zone+"/"+name+"/"+rrType)
}

func formatLabel(m *model) string {
	zone, name, rrType := m.recordKey()
	return fmt.Sprintf("%s %s in %s/%s", name, rrType, m.View.ValueString(), zone)
}

// splitID takes an id apart from both ends: a zone's name may hold a slash.
func (m *model) splitID(id string) error {
	node, part, err := hostattr.SplitID(id, form)
	if err != nil {
		return err
	}
	words := strings.Split(part, "/")
	n := len(words)
	if n < 4 {
		return errors.New("write " + form)
	}
	m.ServiceNode, m.View = node, convert.Text(words[0])
	m.Zone = types.StringValue(strings.Join(words[1:n-2], "/"))
	m.Name, m.Type = types.StringValue(words[n-2]), types.StringValue(words[n-1])
	return nil
}

// listSets lists the record sets of a BIND server that resources describe.
func listSets(ctx context.Context, at crud.StoreContext, machine string) (keys []map[string]string, err error) {
	t, err := crud.Snapshot(ctx, at, machine, bind.Daemon{})
	if err != nil {
		return nil, err
	}
	sets, err := bind.ListRecordSets(t)
	for _, r := range sets {
		keys = append(keys, map[string]string{"view": r.View, "zone": r.Zone, "name": r.Name, "type": r.Type})
	}
	return keys, err
}

func openStore(ctx context.Context, at crud.StoreContext, m *model) (crud.Store[bind.RecordSet], error) {
	key, _ := toSpec(ctx, m)
	return crud.OpenPart(ctx, at, m.ServiceNode.ValueString(), bind.NewRecordSetPart(key, formatLabel(m), formatID(m), at.Claim.Mark(), time.Now()))
}

func setSchema(context.Context) schema.Schema {
	return schema.Schema{
		MarkdownDescription: "All records of one name and type in a zone that another resource, another module or another state describes. The zone does not see them as its own, " +
			"so each side can change without the other. A name and type that the zone's `records` have is an error.",
		Attributes: map[string]schema.Attribute{
			"id":           hostattr.ID(form),
			"serving":      crud.ServingAttribute("named"),
			"service_node": hostattr.ServiceNode("BIND"),
			"view":         values.Name.Optional("Name of the zone's view, left out where the zone has none. Another one makes a new resource.", stringplanmodifier.RequiresReplace()),
			"zone":         values.Word.Required("Name of the zone. Another one makes a new resource."),
			"name":         values.Word.Required("Name of the records, relative to the zone; `@` is the zone itself, a dot at the end makes an absolute name. Another one makes a new resource."),
			"type":         values.Word.Required("Type of the records, such as `A`, `CNAME`, `TXT` or `SRV`. Another one makes a new resource."),
			"ttl":          values.Seconds(0).Optional("Seconds that others may keep the records, 0 to 2147483647. Default: the zone's."),
			"values":       values.Each(values.Free).RequiredList("Data of the records, as in a zone file; names in them are relative to the zone unless they end in a dot, TXT values are plain text of any length. Their order has no meaning."),
		},
	}
}

type model struct {
	crud.ServingModel
	ID          types.String `tfsdk:"id"`
	ServiceNode types.String `tfsdk:"service_node"`
	View        types.String `tfsdk:"view"`
	Zone        types.String `tfsdk:"zone"`
	Name        types.String `tfsdk:"name"`
	Type        types.String `tfsdk:"type"`
	TTL         types.Int64  `tfsdk:"ttl"`
	Values      types.List   `tfsdk:"values"`
}

func toSpec(_ context.Context, m *model) (bind.RecordSet, diag.Diagnostics) {
	r := bind.RecordSet{
		View: m.View.ValueString(), Zone: m.Zone.ValueString(), Name: m.Name.ValueString(), Type: m.Type.ValueString(),
		TTL: bind.InheritTTL, Values: convert.Texts(m.Values),
	}
	if convert.Known(m.TTL) {
		r.TTL = m.TTL.ValueInt64()
	}
	return r, nil
}

func fillModel(ctx context.Context, m *model, got bind.RecordSet) diag.Diagnostics {
	own, diags := toSpec(ctx, m)
	m.TTL = types.Int64Null()
	if got.TTL != bind.InheritTTL {
		m.TTL = types.Int64Value(got.TTL)
	}
	m.Values = convert.List(bind.SpellValues(own.Values, got.Values, got.Type, got.Zone))
	return diags
}

// recordKey is what names the record set, in canonical form where it is known.
func (m *model) recordKey() (zone, name, rrType string) {
	r, _ := toSpec(context.Background(), m)
	return r.Key()
}

func planChange(ctx context.Context, opening crud.StoreContext, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse, m *model) {
	if !req.State.Raw.IsNull() {
		keepSpelling(ctx, req, resp, m)
	}
	if opening.Fleet != nil && !resp.Diagnostics.HasError() {
		checkZone(ctx, opening.ProviderData, resp, m)
	}
}

// checkZone checks the record set beside the other records that the plan has in its zone.
func checkZone(ctx context.Context, provided crud.ProviderData, resp *resource.ModifyPlanResponse, m *model) {
	for _, v := range []types.String{m.ServiceNode, m.View, m.Zone, m.Name, m.Type} {
		if v.IsUnknown() {
			return
		}
	}
	r, _ := toSpec(ctx, m)
	resp.Diagnostics.Append(crud.Diagnostics(r.CheckBeside(r.PlannedBeside(provided.Ledger, host.WithoutKey(m.ServiceNode.ValueString()))))...)
	if internal := r.InternalName(); internal != "" && dnsattr.ForStrangers(ctx, provided, m.ServiceNode, r.View) {
		resp.Diagnostics.AddAttributeWarning(path.Root("name"), "Internal name for strangers",
			fmt.Sprintf("%s is in view %q, which answers strangers; only machines of the cluster need it, so leave it out here", internal, r.View))
	}
}

// keepSpelling keeps what only is spelled differently; another zone, name or type is another record set.
func keepSpelling(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse, m *model) {
	var prior model
	resp.Diagnostics.Append(req.State.Get(ctx, &prior)...)
	if resp.Diagnostics.HasError() {
		return
	}
	zone, name, rrType := m.recordKey()
	oldZone, oldName, oldType := prior.recordKey()
	word := func(at string, planned *types.String, state types.String, same bool) {
		if !same {
			resp.RequiresReplace = append(resp.RequiresReplace, path.Root(at))
		} else if !planned.IsUnknown() {
			*planned = state
		}
		resp.Diagnostics.Append(resp.Plan.SetAttribute(ctx, path.Root(at), *planned)...)
	}
	word("zone", &m.Zone, prior.Zone, zone == oldZone)
	word("name", &m.Name, prior.Name, name == oldName)
	word("type", &m.Type, prior.Type, rrType == oldType)
	if convert.WhollyKnown(ctx, m.Values) && bind.SameValues(convert.Texts(m.Values), convert.Texts(prior.Values), rrType, zone) {
		m.Values = prior.Values
		resp.Diagnostics.Append(resp.Plan.SetAttribute(ctx, path.Root("values"), m.Values)...)
	}
}
