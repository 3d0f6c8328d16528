package planregistry

import "github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"

// Registry is what one plan holds: each resource says what it will have, and whoever comes second sees the conflict.
// The zero value is ready to use.
type Registry struct {
	// Claims holds what only one resource may have: MAC addresses, ports.
	Claims Claims
	// DNS holds the plan's views, zones and record sets.
	DNS DNS
	// Exposures holds who has an outside address to itself, and who ports of one.
	Exposures Exposures
	// Modes holds those of HAProxy's frontends and backends.
	Modes Modes
	// VIPs holds the members of the virtual addresses that the run has met.
	VIPs VIPs
	// Removals holds the frontends that leave their service nodes, be it for a moment.
	Removals Removals
	// HAProxyTrials has the machines' own checkers look at what the plan would write for HAProxy.
	HAProxyTrials Trials[func(transaction.Tree) error]
}
