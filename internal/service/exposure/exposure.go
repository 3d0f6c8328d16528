// Package exposure is what a machine lets others reach behind it: addresses and ports that lead to guests, as rules of nftables in
// a table of the provider's own, and the addresses themselves.
package exposure

import (
	"fmt"
	"iter"
	"maps"
	"net/netip"
	"slices"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/plan"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/haproxy"
)

// Kind is a way to expose something.
type Kind string

// The kinds.
const (
	// LoadBalancer leads an address to several targets: HAProxy carries TCP, and the rules UDP.
	LoadBalancer Kind = "load_balancer"
	// ExternalIP leads an address to a target, which sees who asks.
	ExternalIP Kind = "external_ip"
	// NodePort leads a port of each address that the machine has.
	NodePort Kind = "node_port"
	// Floating leads an address to a target and has the target's own connections come from it.
	Floating Kind = "floating"
)

// Bounds of a NodePort's ports, as in Kubernetes.
const (
	FirstNodePort = 30000
	LastNodePort  = 32767
)

// Protocols of a Port.
const (
	TCP = "tcp"
	UDP = "udp"
)

// Port is one port of an exposure; TargetPort is where it leads.
type Port struct {
	Port       uint16 `json:"port" attr:"port"`
	TargetPort uint16 `json:"target_port" attr:"target_port"`
	Protocol   string `json:"protocol" attr:"protocol"`
}

// Exposure is one thing that a machine exposes.
type Exposure struct {
	Name string `json:"-" attr:"name"`
	Kind Kind   `json:"kind" attr:"type"`
	// Address is the one to be reached; the zero address for a NodePort.
	Address netip.Addr `json:"address,omitzero" attr:"address"`
	// Pool is the id of the pool that the address was drawn from, for an import.
	Pool string `json:"pool,omitempty" attr:"pool"`
	// Interface is the device that the address is on, or is to be on.
	Interface string `json:"interface,omitempty" attr:"interface"`
	// ConfigureAddress puts the address on Interface and keeps it there.
	ConfigureAddress bool `json:"configure_address,omitempty" attr:"configure_address"`
	// Ports by name. None means all, of a Floating one.
	Ports map[string]Port `json:"ports,omitempty" attr:"ports"`
	// Targets are the guests' addresses, of one family.
	Targets []netip.Addr `json:"targets" attr:"targets"`
	// SourceRanges are those who may connect; none means everybody.
	SourceRanges []netip.Prefix `json:"source_ranges,omitempty" attr:"source_ranges"`
	// Masquerade has the targets see the machine instead of who connects, by what the rules carry. Without it the machine must be the
	// targets' gateway, or an answer does not come back this way.
	Masquerade bool `json:"masquerade,omitempty" attr:"masquerade"`
	// Insides are the machine's own subnets with targets in them: whoever is in one too reaches its targets as if from the machine, as
	// an answer would otherwise not come back this way. A target behind a router is in none.
	Insides []netip.Prefix `json:"insides,omitempty"`
}

// CheckName refuses what cannot be the name of an exposure or of a port.
var CheckName = service.NewForm(`^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$`, "write 1 to 63 letters, digits, dots, dashes or underscores")

// Validate finds what no machine could expose.
func (e Exposure) Validate() []service.Problem {
	var problems []service.Problem
	bad := func(path []any, summary, format string, args ...any) {
		problems = append(problems, service.Problemf(path, summary, format, args...))
	}
	if err := CheckName(e.Name); err != nil {
		bad([]any{"name"}, "Invalid name", "%v", err)
	}
	if e.Kind == NodePort {
		if e.Address.IsValid() {
			bad([]any{"address"}, "Superfluous address", "a node_port is on every address of the machine: leave the address out")
		}
		if e.ConfigureAddress {
			bad([]any{"configure_address"}, "Superfluous address", "a node_port has no address to configure: leave configure_address out")
		}
	}
	if e.Address.IsValid() && (e.Address.IsLoopback() || e.Address.IsMulticast() || e.Address.IsUnspecified() || e.Address.IsLinkLocalUnicast()) {
		bad([]any{"address"}, "Invalid address", "%s is none that others could reach", e.Address)
	}
	if len(e.Ports) == 0 && e.Kind != Floating {
		bad([]any{"ports"}, "No ports", "name at least one port")
	}
	problems = append(problems, e.checkPorts()...)
	return append(problems, e.checkPeers()...)
}

func (e Exposure) checkPorts() []service.Problem {
	var problems []service.Problem
	taken := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(e.Ports)) {
		p, at := e.Ports[name], []any{"ports", service.Key(name)}
		if err := CheckName(name); err != nil {
			problems = append(problems, service.Problemf(at, "Invalid name", "%v", err))
		}
		if e.Kind == NodePort && (p.Port < FirstNodePort || p.Port > LastNodePort) {
			problems = append(problems, service.Problemf(append(at, "port"), "Invalid port", "a node_port is one of %d to %d, not %d", FirstNodePort, LastNodePort, p.Port))
		}
		place := fmt.Sprintf("%s port %d", p.Protocol, p.Port)
		if other, twice := taken[place]; twice {
			problems = append(problems, service.Problemf(append(at, "port"), "Port taken", "%s is port %q already", place, other))
		}
		taken[place] = name
	}
	return problems
}

// checkPeers looks at those who are connected: their families must be the address's.
func (e Exposure) checkPeers() []service.Problem {
	var problems []service.Problem
	four := e.Address.Is4() || !e.Address.IsValid() && (len(e.Targets) == 0 || e.Targets[0].Is4())
	for i, t := range e.Targets {
		switch {
		case t.Is4() != four && e.Address.IsValid():
			problems = append(problems, service.Problemf(e.targetAt(i), "Other family", "%s and %s are of different families, and no rule leads from one to the other", e.Address, t))
		case t.Is4() != four:
			problems = append(problems, service.Problemf(e.targetAt(i), "Other family", "%s and %s are of different families: write a resource for each", e.Targets[0], t))
		case t == e.Address:
			problems = append(problems, service.Problemf(e.targetAt(i), "Target is the address", "%s would lead to itself", t))
		case t.IsLoopback() || t.IsMulticast() || t.IsUnspecified():
			problems = append(problems, service.Problemf(e.targetAt(i), "Invalid target", "%s is no guest's address", t))
		case slices.Contains(e.Targets[:i], t):
			problems = append(problems, service.Problemf(e.targetAt(i), "Duplicate target", "%s is listed twice", t))
		}
	}
	if len(e.Targets) > 1 && (e.Kind == ExternalIP || e.Kind == Floating) {
		problems = append(problems, service.Problemf(e.targetAt(1), "Several targets", "%s leads to one target: write a load_balancer for several", e.Kind))
	}
	for i, p := range e.SourceRanges {
		if p.Addr().Is4() != four {
			problems = append(problems, service.Problemf([]any{"source_ranges", i}, "Other family", "nobody in %s reaches an address of the other family", p))
		}
	}
	return problems
}

// Balanced are the ports that HAProxy carries, by name: those of a load balancer that speak TCP.
func (e Exposure) Balanced() map[string]Port {
	return e.portsWhere(func(p Port) bool { return e.Kind == LoadBalancer && p.Protocol == TCP })
}

// Translated are the ports that rules carry, by name.
func (e Exposure) Translated() map[string]Port {
	return e.portsWhere(func(p Port) bool { return e.Kind != LoadBalancer || p.Protocol != TCP })
}

// hasRules says whether rules carry something of it: any port, or all of a floating address.
func (e Exposure) hasRules() bool { return len(e.Ports) == 0 || len(e.Translated()) > 0 }

// Listens are where programs of the machine would listen for the ports of TCP, by port: what HAProxy carries, and what the rules lead
// away before a program sees it.
func (e Exposure) Listens() map[string]haproxy.Bind {
	binds := e.Binds()
	for name, p := range e.Translated() {
		bind := haproxy.Bind{Address: e.Address.String(), Port: int64(p.Port)}
		if e.Kind == NodePort {
			bind.Address = map[string]string{"ip": "*", "ip6": "::"}[e.addressFamily()]
		}
		if p.Port != 0 && p.Protocol == TCP && (e.Address.IsValid() || e.Kind == NodePort) {
			binds[name] = bind
		}
	}
	return binds
}

// SeeWhoConnects yields the targets that answer to who connects, rather than to the machine, each with the path of its attribute.
func (e Exposure) SeeWhoConnects() iter.Seq2[netip.Addr, []any] {
	return func(yield func(netip.Addr, []any) bool) {
		for i, t := range e.Targets {
			if e.Masquerade || !e.hasRules() || !yield(t, e.targetAt(i)) {
				return
			}
		}
	}
}

func (e Exposure) portsWhere(wanted func(Port) bool) map[string]Port {
	ports := maps.Clone(e.Ports)
	maps.DeleteFunc(ports, func(_ string, p Port) bool { return !wanted(p) })
	return ports
}

// targetAt leads to a target: a floating address has one, in an attribute of its own.
func (e Exposure) targetAt(i int) []any {
	if e.Kind == Floating {
		return []any{"target"}
	}
	return []any{"targets", i}
}

// Uses implements plan.User: the ports that it exposes or all of an address, and the address where it is to put that on a device. A port
// of every address is that of the targets' family.
func (e Exposure) Uses() []plan.Use {
	if e.Kind == "" || e.Kind != NodePort && !e.Address.IsValid() || e.Kind == NodePort && len(e.Targets) == 0 {
		return nil
	}
	var uses []plan.Use
	at := func(port string) []any { return []any{"ports", service.Key(port), "port"} }
	for _, name := range slices.Sorted(maps.Keys(e.Ports)) {
		if p := e.Ports[name]; p.Port != 0 && e.Kind != Floating {
			uses = append(uses, plan.Use{Kind: plan.ExposedPort, Value: Endpoint(e, p), Path: at(name)})
		}
	}
	// As frontends of HAProxy's do, which would share the connections out at random, or get none.
	listens := e.Listens()
	for _, name := range slices.Sorted(maps.Keys(listens)) {
		path := at(name)
		if name == "" {
			path = []any{"address"}
		}
		uses = append(uses, plan.Use{Kind: plan.ExposureListener, Value: listens[name].Endpoint(), Path: path})
	}
	if e.Kind != NodePort {
		kind := plan.SharedAddress
		if e.Kind == Floating {
			kind = plan.WholeAddress
		}
		uses = append(uses, plan.Use{Kind: kind, Value: e.Address.String(), Path: []any{"address"}})
	}
	if e.ConfigureAddress && e.Address.IsValid() {
		uses = append(uses, plan.Use{Kind: plan.ExposureAddress, Value: e.Address.String(), Path: []any{"configure_address"}})
	}
	return uses
}

// Describe implements plan.Described.
func (e Exposure) Describe(string) string {
	if e.Kind == Floating && len(e.Targets) > 0 {
		return fmt.Sprintf("floating address for %s", e.Targets[0])
	}
	return fmt.Sprintf("exposed service %q", e.Name)
}
