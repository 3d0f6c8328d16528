// Package dnsview is virtcluster_dns_view: one view of a BIND server.
package dnsview

import (
	"context"
	"math"

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
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/values"
)

// form is what an id looks like.
const form = "SERVICE_NODE#NAME"

// New makes the resource.
func New() resource.Resource {
	return hostattr.NewPart(hostattr.PartType[model, bind.View]{
		Form: form, Name: "name", Part: bind.NewViewPart, Names: bind.ViewNames,
		Type: crud.Type[model, bind.View]{
			Name:   "dns_view",
			Noun:   "DNS view",
			Schema: viewSchema,
			Spec:   toSpec,
			Fill:   fillModel,
			// A first view needs the zones of the same plan to go into views.
			Trials: crud.Trials[model]{TryAtPlan: func(create bool) bool { return !create }},
			Plan:   planChange,
		},
	})
}

func viewSchema(context.Context) schema.Schema {
	return schema.Schema{
		MarkdownDescription: "A view of a BIND server: who asks from where learns what. A question goes to the first view that matches it, so a view for everyone comes last. " +
			"With the first view, the zones that were configured on the machine before go into every view; with the last one gone, the configuration is what it was before.",
		Attributes: map[string]schema.Attribute{
			"id":                 hostattr.ID(form),
			"serving":            crud.ServingAttribute("named"),
			"service_node":       hostattr.ServiceNode("BIND"),
			"name":               values.Name.Required("Name of the view. Another one makes a new resource.", stringplanmodifier.RequiresReplace()),
			"order":              values.Between(math.MinInt32, math.MaxInt32).Default(bind.DefaultOrder, "Place among the views of the server: a lower one is asked first. Views of one order go by name, those for everyone last. Default: 100."),
			"match_clients":      dnsattr.MatchList("Clients that the view is for, by their own address. Default: everyone."),
			"match_destinations": dnsattr.MatchList("Addresses of this machine that the view is for: it answers questions that arrive there, whoever asks. Default: all."),
			"recursion":          values.Flag.Default(false, "Whether the view's clients may ask for names of other servers. Default: false."),
			"allow_recursion":    dnsattr.MatchList("Clients of the view that may do so, where `recursion` is true. Default: all clients of the view."),
			"forwarders":         dnsattr.Forwarders("as the server's options say."),
			"allow_query":        dnsattr.MatchList("Clients of the view that may ask at all. Default: as the server's options say."),
			"options":            dnsattr.Options("{ \"minimal-responses\" = \"yes\" }"),
		},
	}
}

type model struct {
	crud.ServingModel
	ID                types.String `tfsdk:"id"`
	ServiceNode       types.String `tfsdk:"service_node"`
	Name              types.String `tfsdk:"name"`
	Order             types.Int64  `tfsdk:"order"`
	MatchClients      types.List   `tfsdk:"match_clients"`
	MatchDestinations types.List   `tfsdk:"match_destinations"`
	Recursion         types.Bool   `tfsdk:"recursion"`
	AllowRecursion    types.List   `tfsdk:"allow_recursion"`
	Forwarders        types.List   `tfsdk:"forwarders"`
	AllowQuery        types.List   `tfsdk:"allow_query"`
	Options           types.Map    `tfsdk:"options"`
}

func toSpec(_ context.Context, m *model) (bind.View, diag.Diagnostics) {
	return bind.View{
		Name: m.Name.ValueString(), Order: m.Order.ValueInt64(),
		MatchClients: convert.Texts(m.MatchClients), MatchDestinations: convert.Texts(m.MatchDestinations),
		Recursion: m.Recursion.ValueBool(), AllowRecursion: convert.Texts(m.AllowRecursion),
		Forwarders: convert.Texts(m.Forwarders), AllowQuery: convert.Texts(m.AllowQuery),
		Options: convert.MapTexts(m.Options),
	}, nil
}

func fillModel(_ context.Context, m *model, got bind.View) diag.Diagnostics {
	m.Name, m.Order, m.Recursion = types.StringValue(got.Name), types.Int64Value(got.Order), types.BoolValue(got.Recursion)
	m.MatchClients = values.Keep(dnsattr.Matches, m.MatchClients, convert.List(got.MatchClients))
	m.MatchDestinations = values.Keep(dnsattr.Matches, m.MatchDestinations, convert.List(got.MatchDestinations))
	m.AllowRecursion = values.Keep(dnsattr.Matches, m.AllowRecursion, convert.List(got.AllowRecursion))
	m.Forwarders = values.Keep(dnsattr.Servers, m.Forwarders, convert.List(got.Forwarders))
	m.AllowQuery = values.Keep(dnsattr.Matches, m.AllowQuery, convert.List(got.AllowQuery))
	m.Options = convert.MapOrNull(got.Options)
	return nil
}

func planChange(ctx context.Context, opening crud.StoreContext, _ resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse, m *model) {
	f := opening.Fleet
	if f == nil || m.Name.IsUnknown() || m.Order.IsUnknown() || m.MatchClients.IsUnknown() || m.MatchDestinations.IsUnknown() {
		return
	}
	v, _ := toSpec(ctx, m)
	node := m.ServiceNode.ValueString() // "" while it is not known
	planned := map[string]bool{}
	for _, other := range bind.PlannedViews(opening.Ledger, host.WithoutKey(node)) {
		planned[other.Name] = true
		problem := bind.Shadows(v, other)
		switch {
		case problem == "" || other.Name == v.Name:
		case node == "": // views of several nodes that are not there yet may be taken for those of one
			resp.Diagnostics.AddAttributeWarning(path.Root("order"), "View that is never asked", "if both are on one machine: "+problem)
		default:
			resp.Diagnostics.AddAttributeError(path.Root("order"), "View that is never asked", problem)
		}
	}
	if node == "" {
		return
	}
	t, err := dnsattr.Live(ctx, f, node)
	if err != nil {
		return // the machine may be made in the same apply; then its other views are planned too
	}
	warnOfLive(resp, v, t, planned)
}

// warnOfLive looks at views that other states made. They may be about to change, so it only warns; the apply refuses.
func warnOfLive(resp *resource.ModifyPlanResponse, v bind.View, t transaction.Tree, planned map[string]bool) {
	views, err := bind.Views(t)
	if err != nil {
		return
	}
	for _, other := range views {
		if problem := bind.Shadows(v, other); problem != "" && !planned[other.Name] {
			resp.Diagnostics.AddAttributeWarning(path.Root("order"), "View that is never asked", problem)
		}
	}
	if !v.ForStrangers() {
		return
	}
	for _, name := range bind.InternalNames(t, v.Name) {
		resp.Diagnostics.AddAttributeWarning(path.Root("match_clients"), "Internal name for strangers",
			name+" is in this view, which answers strangers; only machines of the cluster need it")
	}
}
