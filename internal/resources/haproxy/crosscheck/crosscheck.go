// Package crosscheck holds what the HAProxy types check at plan beyond themselves: against each other, and
// against the configuration and the machine that are there.
package crosscheck

import (
	"context"
	"fmt"
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
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	planuses "github.com/virtcluster/terraform-provider-virtcluster/internal/plan"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/resources/attrs/hostattr"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/exposure"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/haproxy"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

// backendPatience is how long a frontend waits for its backend to be planned where nothing orders the two.
// Terraform plans what does not depend on each other side by side, so it is a matter of milliseconds.
const backendPatience = 3 * time.Second

// Node is a service node in the plan of a resource.
type Node struct {
	fleet *fleet.Fleet
	// trials have the machine look at what the plan is known to write.
	trials *haproxy.Edits
	// ledger has what the plan uses, and place is the node in it.
	ledger planLedger
	place  string
	claim  owner.Claim
	id     string
	self   self
}

// On returns the node, false while it is not known or the provider is not configured.
func On(ctx context.Context, at crud.StoreContext, serviceNode types.String, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) (Node, bool) {
	id := hostattr.Reference(serviceNode)
	if at.Fleet == nil || id == "" {
		return Node{}, false
	}
	return Node{fleet: at.Fleet, trials: &at.Run.Trials, ledger: at.Ledger, place: host.WithoutKey(serviceNode.ValueString()), claim: at.Claim, id: id, self: findChange(ctx, at.Claim, req, resp)}, true
}

// String is the machine as messages name it.
func (n Node) String() string { return hostattr.Endpoint(n.id) }

// planLedger is what is asked of the plan.
type planLedger interface {
	planuses.View
	Await(ctx context.Context, u planuses.Use, patience time.Duration) bool
}

// Listener is a planned bind and its attribute.
type Listener struct {
	haproxy.Bind
	At path.Path
}

// Listeners reports addresses that another state's section or a person's has of those that a resource listens on, or that are led away
// from there; except is the section that the resource is. What is not known yet is left out.
func (n Node) Listeners(ctx context.Context, listeners []Listener, except string) diag.Diagnostics {
	var diags diag.Diagnostics
	listeners = slices.DeleteFunc(listeners, func(l Listener) bool { return l.Address == "" || l.Port == 0 })
	ledAway := n.findLedAway(ctx, listeners)
	tree, _ := n.readLive(ctx)
	if n.self.replacing {
		tree = nil // it was asked about when the removal was planned, and what is removed is still there
	}
	for _, l := range listeners {
		if by := strings.Replace(ledAway[l.Endpoint()], n.id, n.String(), 1); by != "" {
			diags.AddAttributeError(l.At, "Address in use", fmt.Sprintf("%s leads what comes to %s to a guest, so HAProxy would get none of it: choose another address or port.", strings.ToUpper(by[:1])+by[1:], l.Endpoint()))
			continue
		}
		if holder, ok := haproxy.ForeignListener(tree, l.Bind, n.mayBeOwn, except, "frontend "+n.self.was); ok {
			diags.AddAttributeError(l.At, "Address in use",
				fmt.Sprintf("%s listens at %s already; choose another address or port. HAProxy would take both and share the connections out at random.",
					strings.ToUpper(holder[:1])+holder[1:], l.Endpoint()))
		}
	}
	return diags
}

// findLedAway says by endpoint which exposure of another state takes what comes there before HAProxy does.
func (n Node) findLedAway(ctx context.Context, listeners []Listener) map[string]string {
	led := map[string]string{}
	addresses := map[string]netip.Addr{}
	for _, l := range listeners {
		if a, err := netip.ParseAddr(l.Address); err == nil && !a.IsUnspecified() {
			addresses[l.Endpoint()] = a
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
		others := func(m owner.Mark) bool { return !n.mayBeOwn(m) }
		if by := exposure.LeadsAway(tree, addresses[l.Endpoint()], uint16(l.Port), others); by != "" { //nolint:gosec // the schema's bounds
			led[l.Endpoint()] = by
		}
	}
	return led
}

// mayBeOwn says whether a section under the provider's comment may be this state's: a resource of the plan lays its own claims.
func (n Node) mayBeOwn(m owner.Mark) bool {
	return m.ID == "" || m.Workspace == owner.Workspace() || n.claim.Owns(m)
}

// readLive returns the configuration that is there; false where the machine cannot be asked now.
func (n Node) readLive(ctx context.Context) (transaction.Tree, bool) {
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
	tree, ok := n.readLive(ctx)
	if !ok || haproxy.HasBackend(tree, name) || n.ledger.Await(ctx, haproxy.NeedBackend(n.place, name), backendPatience) || ctx.Err() != nil {
		return diags
	}
	diags.AddAttributeError(at, "Backend does not exist",
		fmt.Sprintf("no backend %q is in %s on %s, and none was planned before this frontend. Where a virtcluster_haproxy_backend provides it, write a reference to its name "+
			"instead of the text, or depends_on, so that it is there first; else correct the name.", name, haproxy.ConfigPath, n))
	return diags
}

// basePatience is how long a backend waits for the base configuration of the same plan, which Terraform plans beside it.
const basePatience = time.Second

// VerifiesServers says whether HAProxy verifies the certificates of servers unless their backend says otherwise: the global section on the
// machine, or the plan's for it, may say that it does not, and a defaults section what it verifies by.
func (n Node) VerifiesServers(ctx context.Context) bool {
	if tree, ok := n.readLive(ctx); ok && (haproxy.GlobalLine(tree, haproxy.VerifiesNothing) || haproxy.HasDefaultServer(tree)) {
		return false
	}
	planned := func(setting string) bool {
		return n.ledger.Await(ctx, planuses.Use{Verb: planuses.Needs, Kind: planuses.Setting, On: n.place, Value: setting}, basePatience)
	}
	return !planned(haproxy.VerifiesNothing) && !planned(haproxy.DefaultServer)
}
