package planregistry

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
	// Listed holds the reservations that the networks list themselves.
	Listed Listed
}
