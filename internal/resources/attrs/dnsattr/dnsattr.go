// Package dnsattr holds what the DNS resources have in common as Terraform sees them: lists, options, spellings, and a look at BIND
// while planning.
package dnsattr

import (
	"context"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/fleet"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/bind"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/values"
)

// liveLimit bounds a look at a machine during planning: what it cannot say is checked at apply.
const liveLimit = 20 * time.Second

// Lists that mean the same, whatever their spelling.
var (
	Matches = values.TextsSame(bind.SameMatches)
	Servers = values.TextsSame(bind.SameServers)
	Listen  = values.TextsSame(bind.SameListen)
)

// MatchList is an optional address match list.
func MatchList(text string) schema.Attribute {
	return values.Each(values.Line).OptionalComputedList(text+" An address match list: addresses, prefixes, `any`, `none`, `localhost`, `localnets`, `key NAME` or the name of an `acl`, each with `!` before it for the opposite; the first element that matches decides.", NoneIsNotDefault{}, Matches)
}

// option is the value of one of BIND's options.
var option = values.Line.Same(bind.CanonicalOption)

// Options is the attribute of further options of BIND.
func Options(example string) schema.Attribute {
	return values.Each(option).Keys(values.Word).OptionalMap("Further options of BIND that take one plain value, by their names in named.conf: `"+example+"`. A value cannot hold semicolons or braces.", values.Each(option).KeepElements())
}

// Forwarders is an attribute of the servers that are asked for names of other servers; none says what happens without it.
func Forwarders(none string) schema.Attribute {
	return values.Each(values.Word).OptionalComputedList("Servers that are asked for names of other servers: addresses, with `:PORT` where it is not 53. Default: "+none, NoneIsNotDefault{}, Servers)
}

// Live is BIND's configuration as it is on a machine, for checks at plan; readers share one look.
func Live(ctx context.Context, f *fleet.Fleet, serviceNode string) (transaction.Tree, error) {
	ctx, cancel := context.WithTimeout(ctx, liveLimit)
	defer cancel()
	h, err := f.Host(ctx, serviceNode)
	if err != nil {
		return nil, err
	}
	return f.Engine.Snapshot(ctx, h, bind.Daemon{})
}

// ForStrangers asks the plan, and then the machine, whether a view answers clients from anywhere. What the machine
// cannot say now, the apply of the view will.
func ForStrangers(ctx context.Context, p crud.ProviderData, serviceNode types.String, view string) bool {
	for _, v := range bind.PlannedViews(p.Ledger, host.WithoutKey(serviceNode.ValueString())) {
		if v.Name == view {
			return v.ForStrangers()
		}
	}
	if serviceNode.ValueString() == "" {
		return false
	}
	t, err := Live(ctx, p.Fleet, serviceNode.ValueString())
	if err != nil {
		return false
	}
	v, err := bind.FindView(t, view)
	return err == nil && v.ForStrangers()
}

// NoneIsNotDefault plans null for a list that is left out. To BIND an empty list is none, and none at all is its default, so that
// an import must not make one of the other (crud.LeftOut). It goes with Computed.
type NoneIsNotDefault struct{ values.Undescribed }

// PlanModifyList implements planmodifier.List.
func (NoneIsNotDefault) PlanModifyList(ctx context.Context, req planmodifier.ListRequest, resp *planmodifier.ListResponse) {
	if req.ConfigValue.IsNull() {
		resp.PlanValue = types.ListNull(req.PlanValue.ElementType(ctx))
	}
}
