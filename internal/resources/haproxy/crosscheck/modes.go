package crosscheck

import (
	"context"
	"time"

	planuses "github.com/virtcluster/terraform-provider-virtcluster/internal/plan"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/haproxy"
)

// basePatience is how long a backend waits for the base configuration of the same plan, which Terraform plans beside it.
const basePatience = time.Second

// VerifiesServers says whether HAProxy verifies the certificates of servers unless they are told otherwise: the global section on the
// machine, or the plan's for it, may say that it does not.
func (n Node) VerifiesServers(ctx context.Context) bool {
	if tree, ok := n.readLive(ctx); ok && haproxy.GlobalLine(tree, haproxy.VerifiesNothing) {
		return false
	}
	return !n.ledger.Await(ctx, planuses.Use{Verb: planuses.Needs, Kind: planuses.Setting, On: n.place, Value: haproxy.VerifiesNothing}, basePatience)
}
