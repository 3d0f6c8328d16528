// Package crosscheck holds what the HAProxy types check at plan beyond themselves: against each other, and
// against the configuration and the machine that are there.
package crosscheck

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/fleet"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/planregistry"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/hostattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/exposure"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/haproxy"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

// claimPatience is how long a frontend waits for its backend to be planned where nothing orders the two.
// Terraform plans what does not depend on each other side by side, so it is a matter of milliseconds.
const claimPatience = 3 * time.Second

// Node is a service node in the plan of a resource.
type Node struct {
	fleet *fleet.Fleet
	plan  *planregistry.Registry
	claim owner.Claim
	id    string
	self  self
}

// On returns the node, false while it is not known or the provider is not configured.
func On(ctx context.Context, at crud.Opening, serviceNode types.String, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) (Node, bool) {
	id := hostattr.Reference(serviceNode)
	if at.Fleet == nil || id == "" {
		return Node{}, false
	}
	return Node{fleet: at.Fleet, plan: at.Registry, claim: at.Claim, id: id, self: recognise(ctx, at.Claim, req, resp)}, true
}

// String is the machine as messages name it.
func (n Node) String() string { return hostattr.Endpoint(n.id) }

func (n Node) sole(kind, value string) planregistry.Claim {
	return planregistry.Claim{Kind: kind, Scope: "service node " + n.id, Value: value}
}

// Listener is a planned bind and its attribute.
type Listener struct {
	haproxy.Bind
	At path.Path
}

// Listeners lays claim to the addresses that a resource listens on, and reports those that another resource,
// another state's section or a person's has; except is the section that the resource is.
func (n Node) Listeners(ctx context.Context, holding string, listeners []Listener, except string) diag.Diagnostics {
	var diags diag.Diagnostics
	var claims []planregistry.Claim
	for _, l := range listeners {
		claims = append(claims, n.sole("address", l.Endpoint()))
	}
	conflicts := n.plan.Claims.Replace(holding+" on "+n.id, claims...)
	ledAway := n.findLedAway(ctx, holding+" on "+n.id, listeners)
	tree, _ := n.live(ctx)
	if n.self.replacing {
		tree = nil // it was asked about when the removal was planned, and what is removed is still there
	}
	for _, l := range listeners {
		holder := ""
		for _, c := range conflicts {
			switch {
			case c.Claim != n.sole("address", l.Endpoint()):
			case exposes(c.Holder):
				ledAway[l.Endpoint()] = c.Holder
			default:
				holder = strings.Replace(c.Holder, n.id, n.String(), 1)
			}
		}
		if by := strings.Replace(ledAway[l.Endpoint()], n.id, n.String(), 1); by != "" {
			diags.AddAttributeError(l.At, "Address in use", fmt.Sprintf("%s leads what comes to %s to a guest, so HAProxy would get none of it: choose another address or port.", strings.ToUpper(by[:1])+by[1:], l.Endpoint()))
			continue
		}
		if section, ok := haproxy.ForeignListener(tree, l.Bind, n.mine, except, "frontend "+n.self.was); ok && holder == "" {
			holder = section
		}
		if holder != "" {
			diags.AddAttributeError(l.At, "Address in use",
				fmt.Sprintf("%s listens at %s already; choose another address or port. HAProxy would take both and share the connections out at random.",
					strings.ToUpper(holder[:1])+holder[1:], l.Endpoint()))
		}
	}
	return diags
}

// exposes says whether who lays claim to an address is an exposed service.
func exposes(holder string) bool { return strings.HasPrefix(holder, "exposed service ") }

// findLedAway says by endpoint which exposure takes what comes there before HAProxy does: floating addresses of the plan, and what other
// states expose on the machine.
func (n Node) findLedAway(ctx context.Context, holder string, listeners []Listener) map[string]string {
	led := map[string]string{}
	addresses := map[string]netip.Addr{}
	for _, l := range listeners {
		if a, err := netip.ParseAddr(l.Address); err == nil && !a.IsUnspecified() {
			addresses[l.Endpoint()] = a
		}
	}
	n.plan.Exposures.Replace(holder, n.id, false, slices.Collect(maps.Values(addresses))...)
	for endpoint, a := range addresses {
		for _, floating := range n.plan.Exposures.Whole(n.id, a) {
			led[endpoint] = floating
		}
	}
	h, err := n.fleet.Host(ctx, n.id)
	if err != nil {
		return led // the apply says so
	}
	tree, err := n.fleet.Engine.Snapshot(ctx, h, exposure.Daemon{})
	if err != nil {
		return led
	}
	for _, l := range listeners {
		others := func(m owner.Mark) bool { return !n.mine(m) }
		if by := exposure.LeadsAway(tree, addresses[l.Endpoint()], uint16(l.Port), others); by != "" { //nolint:gosec // the schema's bounds
			led[l.Endpoint()] = by
		}
	}
	return led
}

// mine says whether a section under the provider's comment may be this state's: a resource of the plan lays its own claims.
func (n Node) mine(m owner.Mark) bool {
	return m.ID == "" || m.Workspace == owner.Workspace() || n.claim.Owns(m)
}

// live is the configuration that is there; false where the machine cannot be asked now.
func (n Node) live(ctx context.Context) (transaction.Tree, bool) {
	h, err := n.fleet.Host(ctx, n.id)
	if err != nil {
		return nil, false
	}
	tree, err := n.fleet.Engine.Snapshot(ctx, h, haproxy.Daemon{})
	return tree, err == nil
}

// Backend checks that a backend which a frontend names is there or will be: HAProxy refuses a frontend
// without it, so it has to come first, which only a reference or depends_on makes sure of.
func (n Node) Backend(ctx context.Context, at path.Path, name string) diag.Diagnostics {
	var diags diag.Diagnostics
	if name == "" || strings.ContainsAny(name, "%\"'\\") { // a log-format expression is known at run time
		return diags
	}
	planned := func() bool { return n.plan.Claims.Holder(n.sole("section", "backend "+name)) != "" }
	tree, ok := n.live(ctx)
	if !ok || haproxy.HasBackend(tree, name) || planned() {
		return diags
	}
	for deadline := time.Now().Add(claimPatience); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if planned() || ctx.Err() != nil {
			return diags
		}
	}
	diags.AddAttributeError(at, "Backend does not exist",
		fmt.Sprintf("no backend %q is in %s on %s, and none was planned before this frontend. Where a virtcluster_haproxy_backend provides it, write a reference to its name "+
			"instead of the text, or depends_on, so that it is there first; else correct the name.", name, haproxy.ConfigPath, n))
	return diags
}
