package planregistry

import "github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"

// Registry is what one plan holds: each resource says what it will have, and whoever comes second sees the conflict.
// The zero value is ready to use.
type Registry struct {
	// Claims holds what only one resource may have: MAC addresses, ports.
	Claims Claims
	// Subnets holds those of the plan's networks.
	Subnets Subnets
	// DNS holds the plan's views, zones and record sets.
	DNS DNS
	// Ranges holds the networks' DHCP ranges, and the virtual addresses that must be in none.
	Ranges Ranges
	// Pools holds the pools of addresses, of which no two of one machine have an address in common.
	Pools Pools
	// Listed holds the reservations that the networks list themselves, and what others keep there.
	Listed Listed
	// Exposures holds who has an outside address to itself, and who ports of one.
	Exposures Exposures
	// Placements holds which addresses are put on which machines.
	Placements Placements
	// Succeeded holds the networks that others succeed.
	Succeeded Succeeded
	// Modes holds those of HAProxy's frontends and backends.
	Modes Modes
	// VIPs holds the members of the virtual addresses that the run has met.
	VIPs VIPs
	// Removals holds the frontends that leave their service nodes, be it for a moment.
	Removals Removals
	// Disks holds which volumes are disks of machines, and which of them go.
	Disks Disks
	// HAProxyTrials has the machines' own checkers look at what the plan would write for HAProxy.
	HAProxyTrials Trials[func(transaction.Tree) error]
}
