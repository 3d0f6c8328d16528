// Package planregistry holds what the resources of one plan say of themselves, for cross-checks over all of it.
package planregistry

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
)

// Claim is a thing that only one resource of a plan may have: a MAC address on one segment, a port on one
// service node.
type Claim struct {
	// Kind names the thing in messages: "MAC address". Scope is where it must be unique: a network, a
	// service node. Value is its canonical spelling.
	Kind, Scope, Value string
}

// String reads as in a message: `MAC address 52:54:00:aa:6c:b1 on network "kimgtnet0"`.
func (c Claim) String() string { return fmt.Sprintf("%s %s on %s", c.Kind, c.Value, c.Scope) }

// NameOnHypervisor names the resource that lays claims with the hypervisor that it is on: those of one name on two hypervisors
// are two.
func NameOnHypervisor(hypervisor, resource string) string {
	if hypervisor == "" {
		return resource
	}
	return fmt.Sprintf("%s on hypervisor %q", resource, hypervisor)
}

// Conflict is a claim that another resource holds already.
type Conflict struct {
	Claim  Claim
	Holder string
}

// Claims gathers what the resources of one plan lay claim to. Terraform plans all resources of a provider
// in one process, in any order and some of them twice, so whoever comes second sees the conflict and a
// repeated plan of one resource replaces its own claims. The zero value is ready to use.
type Claims struct {
	mu     sync.Mutex
	holder map[Claim]string
}

// Replace gives up all that owner held, lays the new claims and returns those that others hold.
func (c *Claims) Replace(owner string, claims ...Claim) []Conflict {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.holder == nil {
		c.holder = map[Claim]string{}
	}
	for claim, holder := range c.holder {
		if holder == owner && !slices.Contains(claims, claim) {
			delete(c.holder, claim)
		}
	}
	var conflicts []Conflict
	for _, claim := range claims {
		if holder, taken := c.holder[claim]; taken && holder != owner {
			conflicts = append(conflicts, Conflict{Claim: claim, Holder: holder})
			continue
		}
		c.holder[claim] = owner
	}
	return conflicts
}

// FindVirtual returns the VIP's claim to an address that a machine, a reservation or a gateway of the plan is to have.
func (c *Claims) FindVirtual(address netip.Addr) (Conflict, bool) {
	claim := VirtualAddressClaim(address)
	holder := c.Holder(claim)
	return Conflict{Claim: claim, Holder: holder}, holder != ""
}

// FindAddress returns the first claim to an address on any network, by the network's name: a VIP does not say which network it is on.
func (c *Claims) FindAddress(address netip.Addr) (found Conflict, there bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for claim, holder := range c.holder {
		if claim.Kind == addressKind && claim.Value == address.String() && (!there || claim.Scope < found.Claim.Scope) {
			found, there = Conflict{Claim: claim, Holder: holder}, true
		}
	}
	return found, there
}

// ListAddresses returns the claims to those addresses, of machines and virtual ones, that are asked about, in order.
func (c *Claims) ListAddresses(asked func(netip.Addr) bool) []Conflict {
	c.mu.Lock()
	defer c.mu.Unlock()
	var found []Conflict
	for claim, holder := range c.holder {
		if claim.Kind != addressKind && claim.Kind != virtualKind {
			continue
		}
		a, err := netip.ParseAddr(claim.Value)
		if err == nil && asked(a) {
			found = append(found, Conflict{Claim: claim, Holder: holder})
		}
	}
	slices.SortFunc(found, func(a, b Conflict) int { return strings.Compare(a.Claim.String(), b.Claim.String()) })
	return found
}

// Holder says which resource of the plan holds a claim; "" means none so far.
func (c *Claims) Holder(claim Claim) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.holder[claim]
}
