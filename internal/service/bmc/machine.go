package bmc

import (
	"context"
	"maps"
	"net"
	"slices"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/selfbinary"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

// Machine is what is there on a machine.
type Machine struct {
	// System and Processor as uname(1) has them.
	System, Processor string
	// State is systemd's of the unit, and Sum the SHA-256 of the program; "" for none.
	State, Sum string
	// Listening are the places where others listen, such as "tcp 0.0.0.0:22".
	Listening []string
	Addresses []string
	// There says what of the controllers is there: "unit", "user", "program".
	There []string
}

// Platform is what a program is chosen by.
func (m Machine) Platform() selfbinary.Machine {
	return selfbinary.Machine{System: m.System, Processor: m.Processor, What: "the hypervisor's machine", Otherwise: "write binary = { source, checksum } with one that was built for it"}
}

// LookAtMachine finds what is there on the machine.
func (s *Store) LookAtMachine(ctx context.Context) (Machine, error) {
	var m Machine
	cmd := host.Script("bmc.sh look", script, "look", s.Name, s.unitName(), s.userName(), s.programPath())
	cmd.Repeatable = true
	out, err := s.Host.Run(ctx, cmd)
	if err != nil {
		return m, err
	}
	for line := range strings.Lines(string(out)) {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch word {
		case "system":
			m.System, m.Processor, _ = strings.Cut(rest, " ")
		case "state":
			m.State = rest
		case "sum":
			m.Sum = rest
		case "listen":
			if protocol, place, ok := strings.Cut(rest, " "); ok {
				if at, port, err := net.SplitHostPort(place); err == nil {
					at, _, _ = strings.Cut(at, "%")
					m.Listening = append(m.Listening, protocol+" "+net.JoinHostPort(at, port))
				}
			}
		case "address":
			m.Addresses = append(m.Addresses, rest)
		case "unit", "user", "program":
			m.There = append(m.There, word)
		}
	}
	return m, nil
}

// CheckPlan finds what keeps a machine from serving what is wanted: ports that others have, addresses that it has not.
func (m Machine) CheckPlan(want Controllers) []service.Problem {
	var problems []service.Problem
	for _, name := range slices.Sorted(maps.Keys(want.Nodes)) {
		n := want.Complete(name, want.Nodes[name])
		at := []any{"nodes", service.Key(name)}
		if n.Address != "0.0.0.0" && n.Address != "::" && len(m.Addresses) > 0 && !slices.Contains(m.Addresses, n.Address) {
			problems = append(problems, service.Warningf(at, "Address that is not there", "the hypervisor's machine has no address %s by now: nobody can listen there until it has", n.Address))
		}
		for _, l := range listenersOf(n) {
			if i := slices.IndexFunc(m.Listening, func(other string) bool { return listenersOverlap(other, l.String()) }); i >= 0 {
				problems = append(problems, service.Problemf(append(slices.Clone(at), l.attribute), "Port in use", "something else listens at %s on the hypervisor's machine already: write another %s, or another address", m.Listening[i], l.attribute))
			}
		}
	}
	return problems
}
