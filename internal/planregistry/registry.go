package planregistry

import "github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"

// Registry is what one plan holds: each resource says what it will have, and whoever comes second sees the conflict.
// The zero value is ready to use.
type Registry struct {
	// DNS holds the plan's views, zones and record sets.
	DNS DNS
	// VIPs holds the members of the virtual addresses that the run has met.
	VIPs VIPs
	// HAProxyTrials has the machines' own checkers look at what the plan would write for HAProxy.
	HAProxyTrials Trials[func(transaction.Tree) error]
}
