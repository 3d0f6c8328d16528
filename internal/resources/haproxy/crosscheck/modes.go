package crosscheck

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/planregistry"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/haproxy"
)

const modesSummary = "Modes that do not fit"

// BackendMode notes a backend's mode, and reports frontends of the plan that HAProxy would not let lead to it. Where no mode is written
// it is that of the defaults, which the machine's own check knows.
func (n Node) BackendMode(name, mode string) diag.Diagnostics {
	var diags diag.Diagnostics
	for _, frontend := range n.plan.Modes.PutBackend(planregistry.ProxyPlace{Node: n.id, Name: name}, mode) {
		diags.AddAttributeError(path.Root("mode"), modesSummary,
			fmt.Sprintf("frontend %q on %s speaks HTTP and leads to this backend, which has to as well: write mode = \"http\", or mode = \"tcp\" for the frontend", frontend, n))
	}
	return diags
}

// FrontendMode notes a frontend's mode and where it leads to, by the attribute, and reports what HAProxy would not let it lead to.
func (n Node) FrontendMode(name, mode string, leads map[string]path.Path) diag.Diagnostics {
	var diags diag.Diagnostics
	use := planregistry.FrontendUse{Mode: mode}
	for backend := range leads {
		use.Backends = append(use.Backends, backend)
	}
	slices.Sort(use.Backends)
	for _, backend := range n.plan.Modes.PutFrontend(planregistry.ProxyPlace{Node: n.id, Name: name}, use) {
		diags.AddAttributeError(leads[backend], modesSummary,
			fmt.Sprintf("backend %q on %s is in mode tcp, and a frontend of HTTP leads to backends of HTTP only: write mode = \"http\" for the backend, or mode = \"tcp\" here", backend, n))
	}
	return diags
}

// verifiesNothing is the setting of the global section by which servers' certificates are not verified unless a server says so.
const verifiesNothing = "ssl-server-verify none"

// Globals notes what a base configuration says to the global section.
func (n Node) Globals(lines []string) {
	var claims []planregistry.Claim
	if slices.ContainsFunc(lines, func(l string) bool { return strings.Join(strings.Fields(l), " ") == verifiesNothing }) {
		claims = append(claims, n.sole("setting", verifiesNothing))
	}
	n.plan.Claims.Replace("globals on "+n.id, claims...)
}

// basePatience is how long a backend waits for the base configuration of the same plan, which Terraform plans beside it.
const basePatience = time.Second

// VerifiesServers says whether HAProxy verifies the certificates of servers unless they are told otherwise: the global section on the
// machine, or the plan's for it, may say that it does not.
func (n Node) VerifiesServers(ctx context.Context) bool {
	if tree, ok := n.live(ctx); ok && haproxy.GlobalLine(tree, verifiesNothing) {
		return false
	}
	for deadline := time.Now().Add(basePatience); ; time.Sleep(20 * time.Millisecond) {
		switch {
		case n.plan.Claims.Holder(n.sole("setting", verifiesNothing)) != "":
			return false
		case ctx.Err() != nil || time.Now().After(deadline):
			return true
		}
	}
}
