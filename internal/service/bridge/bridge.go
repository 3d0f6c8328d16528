// Package bridge is a host bridge with physical interfaces in it, as plain values, and the iproute2
// commands that make it and take it apart again without losing the machine.
package bridge

import (
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

// Bridge is a host bridge as it shall be, or as it is.
type Bridge struct {
	// Name of the device, at most 15 bytes.
	Name string
	// Interfaces are the physical interfaces in it, in order; the first one's MAC becomes the bridge's.
	Interfaces []string
	STP        bool
	// MTU in bytes; 0 leaves what the interfaces have.
	MTU int
	// Inherit moves the interfaces' addresses and routes to the bridge; otherwise Addresses and Gateway
	// are set and the interfaces' own go.
	Inherit   bool
	Addresses []netip.Prefix
	Gateway   netip.Addr
	// RollbackTimeout is how long the machine waits for the disarming before it goes back by itself.
	RollbackTimeout time.Duration
}

// deviceName is what the kernel takes for a device, without what would need quoting in a batch file.
var deviceName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,14}$`)

// Validate finds what no machine would take.
func (b Bridge) Validate() []service.Problem {
	var problems []service.Problem
	if !deviceName.MatchString(b.Name) {
		problems = append(problems, service.Problemf([]any{"name"}, "Invalid bridge name",
			"write 1 to 15 letters, digits, dots, dashes or underscores, not %q", b.Name))
	}
	if len(b.Interfaces) == 0 {
		problems = append(problems, service.Problemf([]any{"interfaces"}, "No interface", "name at least one physical interface"))
	}
	for i, name := range b.Interfaces {
		if !deviceName.MatchString(name) || name == b.Name {
			problems = append(problems, service.Problemf([]any{"interfaces", i}, "Invalid interface", "%q cannot be an interface of bridge %q", name, b.Name))
		}
		if slices.Index(b.Interfaces, name) != i {
			problems = append(problems, service.Problemf([]any{"interfaces", i}, "Duplicate interface", "%q is listed twice", name))
		}
	}
	if b.MTU != 0 && (b.MTU < 68 || b.MTU > 65535) {
		problems = append(problems, service.Problemf([]any{"mtu"}, "Invalid MTU", "write 68 to 65535, not %d", b.MTU))
	}
	if b.Inherit && b.Gateway.IsValid() {
		problems = append(problems, service.Problemf([]any{"gateway"}, "Gateway without addresses",
			"the default route is inherited with the addresses: leave gateway out, or list the addresses"))
	}
	if !b.Inherit && b.Gateway.IsValid() && !slices.ContainsFunc(b.Addresses, func(p netip.Prefix) bool { return p.Contains(b.Gateway) }) {
		problems = append(problems, service.Problemf([]any{"gateway"}, "Gateway outside the subnet", "%s is in none of the subnets of %v", b.Gateway, b.Addresses))
	}
	if b.RollbackTimeout < 5*time.Second {
		problems = append(problems, service.Problemf([]any{"rollback_timeout"}, "Rollback timeout too short",
			"write at least 5 seconds: the machine needs them to be reached again, not %s", b.RollbackTimeout))
	}
	return problems
}

// Commands is an `ip -batch` script.
type Commands []string

func (c *Commands) add(format string, args ...any) { *c = append(*c, fmt.Sprintf(format, args...)) }

// Make lists the commands that turn the machine as it is into one with the bridge, and those that undo it.
// The error names an interface that is not there, or is in another bridge.
func (b Bridge) Make(now Machine) (do, undo Commands, err error) {
	for _, name := range b.Interfaces {
		link, ok := now.Link(name)
		if !ok {
			return nil, nil, fmt.Errorf("no interface %q: the machine has %q", name, now.names())
		}
		if link.Master != "" && link.Master != b.Name {
			return nil, nil, fmt.Errorf("interface %q is in bridge %q already", name, link.Master)
		}
	}
	first, _ := now.Link(b.Interfaces[0])
	stp := bit(b.STP)
	// No forwarding delay without STP, or the machine would be deaf for 30 s.
	do.add("link add name %s address %s type bridge stp_state %d forward_delay %d", b.Name, first.Address, stp, 200+1300*stp)
	undo.add("link del dev %s", b.Name)
	if b.MTU != 0 {
		for _, name := range append(slices.Clone(b.Interfaces), b.Name) {
			do.add("link set dev %s mtu %d", name, b.MTU)
		}
		for _, name := range b.Interfaces {
			link, _ := now.Link(name)
			undo.add("link set dev %s mtu %d", name, link.MTU)
		}
	}
	for _, name := range b.Interfaces {
		do.add("addr flush dev %s scope global", name)
		do.add("link set dev %s master %s up", name, b.Name)
	}
	do.add("link set dev %s up", b.Name)
	for _, name := range b.Interfaces {
		for _, a := range now.addresses(name) {
			if b.Inherit {
				do.add("%s dev %s", a, b.Name)
			}
			undo.add("%s dev %s", a, name)
		}
	}
	for _, name := range b.Interfaces {
		for _, r := range now.routes(name) {
			if b.Inherit {
				do.add("%s dev %s", r, b.Name)
			}
			undo.add("%s dev %s", r, name)
		}
	}
	do = append(do, b.own()...)
	return do, undo, nil
}

// own are the commands for the addresses that the configuration lists.
func (b Bridge) own() (do Commands) {
	if b.Inherit {
		return nil
	}
	for _, a := range b.Addresses {
		do.add("addr replace %s dev %s", a, b.Name)
	}
	if b.Gateway.IsValid() {
		do.add("route replace default via %s dev %s", b.Gateway, b.Name)
	}
	return do
}

// Unmake lists the commands that give the first interface what the bridge has, and those that undo it.
// kept are the commands that Make gave as undo, nil where nobody knows them any more: where the bridge got
// addresses of its own, they bring back the interfaces' own.
func (b Bridge) Unmake(now Machine, kept Commands) (do, undo Commands) {
	do.add("link del dev %s", b.Name)
	link, _ := now.Link(b.Name)
	undo.add("link add name %s address %s type bridge stp_state 0 forward_delay 200", b.Name, link.Address)
	ports := now.ports(b.Name)
	for _, name := range ports {
		undo.add("addr flush dev %s scope global", name)
		undo.add("link set dev %s master %s up", name, b.Name)
	}
	undo.add("link set dev %s up", b.Name)
	for _, what := range append(now.addresses(b.Name), now.routes(b.Name)...) {
		if len(b.Interfaces) > 0 {
			do.add("%s dev %s", what, b.Interfaces[0])
		}
		undo.add("%s dev %s", what, b.Name)
	}
	if kept != nil && !b.Inherit {
		do = slices.Clone(kept)
	}
	return do, undo
}

// Update lists the commands that turn the bridge as it is into b, and those that undo it.
func (b Bridge) Update(now Machine) (do, undo Commands) {
	link, _ := now.Link(b.Name)
	if stp := bit(b.STP); stp != link.LinkInfo.Data.STPState {
		do.add("link set dev %s type bridge stp_state %d", b.Name, stp)
		undo.add("link set dev %s type bridge stp_state %d", b.Name, link.LinkInfo.Data.STPState)
	}
	for _, name := range now.ports(b.Name) {
		if !slices.Contains(b.Interfaces, name) {
			do.add("link set dev %s nomaster", name)
			undo.add("link set dev %s master %s", name, b.Name)
		}
	}
	for _, name := range b.Interfaces {
		if l, ok := now.Link(name); ok && l.Master != b.Name {
			do.add("link set dev %s master %s up", name, b.Name)
			undo.add("link set dev %s nomaster", name)
		}
	}
	for _, name := range append(slices.Clone(b.Interfaces), b.Name) {
		if l, ok := now.Link(name); ok && b.MTU != 0 && b.MTU != l.MTU {
			do.add("link set dev %s mtu %d", name, b.MTU)
			undo.add("link set dev %s mtu %d", name, l.MTU)
		}
	}
	if b.Inherit {
		return do, undo
	}
	for _, a := range now.prefixes(b.Name) {
		if !slices.Contains(b.Addresses, a) {
			do.add("addr del %s dev %s", a, b.Name)
		}
	}
	for _, a := range b.Addresses {
		if !slices.Contains(now.prefixes(b.Name), a) {
			undo.add("addr del %s dev %s", a, b.Name)
		}
	}
	for _, what := range append(now.addresses(b.Name), now.routes(b.Name)...) {
		undo.add("%s dev %s", what, b.Name)
	}
	return append(do, b.own()...), undo
}

func bit(on bool) int {
	if on {
		return 1
	}
	return 0
}
