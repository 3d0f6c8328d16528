// Package planregistry holds what the resources of one plan say of themselves, for cross-checks over all of it.
package planregistry

import (
	"fmt"
	"slices"
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

// Holder says which resource of the plan holds a claim; "" means none so far.
func (c *Claims) Holder(claim Claim) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.holder[claim]
}
