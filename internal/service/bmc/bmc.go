// Package bmc is the controllers of machines (BMCs) that a hypervisor's machine has: what they serve as plain values, and the store that
// installs the program which does (internal/programs/bmc).
package bmc

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/crypto/bcrypt"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/plan"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/programs/bmc/config"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/programs/selfbinary"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

// The ports of Redfish and IPMI where nothing else is written.
const (
	DefaultPort     = 443
	DefaultIPMIPort = 623
)

// The most that IPMI takes of a user's name and of a password (IPMI 2.0, 22.30), and bcrypt of a password.
const (
	longestUser         = 16
	longestIPMIPassword = 20
	longestPassword     = 72
)

// Controllers are the BMCs of some nodes of one hypervisor.
type Controllers struct {
	Name string
	User string
	// Password in clear text; "" keeps the one that is there. Version is that of one which is in no state, 0 otherwise.
	Password string
	Version  int64
	// Address of nodes that have none of their own, and SharedPort of Redfish; 0 for a port each.
	Address    string
	SharedPort int
	Nodes      map[string]config.Node
	// Certificate and Key in PEM; "" for a pair that is made on the way. An empty Key keeps the one that is there.
	Certificate, Key string
	// Program says where the program comes from, and Sum is the SHA-256 of that in hexadecimal; see Program.
	Program, Sum string
	// PasswordHash and Fingerprint (SHA-256 of the certificate) are read only.
	PasswordHash, Fingerprint string
}

// Complete returns a node with what it leaves out: where all are, and its name.
func (c Controllers) Complete(name string, n config.Node) config.Node {
	n.Address = cmp.Or(n.Address, c.Address)
	n.Port = cmp.Or(n.Port, c.SharedPort, DefaultPort)
	n.SystemID = cmp.Or(n.SystemID, name)
	return n
}

var nameForm = regexp.MustCompile(`^[a-z]([a-z0-9-]{0,18}[a-z0-9])?$`)

// CheckName refuses what cannot be part of the names of a user and a unit.
func CheckName(text string) error {
	if nameForm.MatchString(text) {
		return nil
	}
	return fmt.Errorf("write at most 20 small letters, digits and dashes, a letter first, not %q", text)
}

var idForm = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]*$`)

// CheckID refuses what cannot be part of a URL.
func CheckID(text string) error {
	if idForm.MatchString(text) {
		return nil
	}
	return fmt.Errorf("write letters, digits, dots, dashes and underscores, not %q", text)
}

var sumForm = regexp.MustCompile(`^sha256:[0-9a-fA-F]{64}$`)

// CheckSum refuses what is no checksum of a program.
func CheckSum(text string) error {
	if sumForm.MatchString(text) {
		return nil
	}
	return fmt.Errorf("write \"sha256:\" and 64 hexadecimal digits, not %q", text)
}

// Addresses are those where the nodes are, in order.
func (c Controllers) Addresses() []string {
	var all []string
	for name, n := range c.Nodes {
		all = append(all, c.Complete(name, n).Address)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// HasPassword says whether a password is the one of controllers that were read.
func (c Controllers) HasPassword(password string) bool {
	return bcrypt.CompareHashAndPassword([]byte(c.PasswordHash), []byte(password)) == nil
}

// hasIPMI says whether any node is served by IPMI.
func (c Controllers) hasIPMI() bool {
	for _, n := range c.Nodes {
		if n.IPMIPort != 0 {
			return true
		}
	}
	return false
}

// Validate finds what the program would not serve.
func (c Controllers) Validate() []service.Problem {
	var problems []service.Problem
	add := func(path []any, summary, format string, args ...any) {
		problems = append(problems, service.Problemf(path, summary, format, args...))
	}
	if len(c.Nodes) == 0 {
		add([]any{"nodes"}, "No nodes", "name at least one node")
	}
	longest := longestPassword
	if c.hasIPMI() {
		longest = longestIPMIPassword
		if len(c.User) > longestUser {
			add([]any{"user"}, "Name too long", "IPMI takes %d characters at most: write a shorter one, or ipmi_port = 0 for all nodes", longestUser)
		}
	}
	if len(c.Password) > longest {
		add([]any{"password"}, "Password too long", "%d bytes are the most; IPMI takes %d", longest, longestIPMIPassword)
	}
	taken := map[string]string{}
	ids := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(c.Nodes)) {
		n := c.Complete(name, c.Nodes[name])
		at := []any{"nodes", service.Key(name)}
		if CheckID(name) != nil {
			add(at, "Invalid name", "%v", CheckID(name))
		}
		if _, err := netip.ParseAddr(n.Address); err != nil {
			add(at, "No address", "write an address of the hypervisor's machine for the node, or `address` for all of them; 0.0.0.0 is all that it has")
			continue
		}
		for _, l := range listenersOf(n) {
			shared := l.attribute == "port" && c.SharedPort != 0 && n.Port == c.SharedPort
			for other, who := range taken {
				if listenersOverlap(other, l.String()) && !(shared && other == l.String()) {
					add(append(slices.Clone(at), l.attribute), "Port taken", "node %q listens at %s already: write another %s, or another address", who, other, l.attribute)
				}
			}
			taken[l.String()] = name
		}
		if who, twice := ids[n.SystemID]; twice {
			add(append(slices.Clone(at), "system_id"), "System twice", "node %q is called %q too", who, n.SystemID)
		}
		ids[n.SystemID] = name
	}
	if c.Certificate != "" && c.Key != "" {
		if _, err := tls.X509KeyPair([]byte(c.Certificate), []byte(c.Key)); err != nil {
			add([]any{"tls"}, "Certificate and key do not fit", "%v", err)
		}
	}
	return problems
}

// listener is where a node listens.
type listener struct {
	protocol, address string
	port              int
	attribute         string
}

func (l listener) String() string {
	return l.protocol + " " + net.JoinHostPort(l.address, fmt.Sprint(l.port))
}

// listenersOf are where a completed node listens.
func listenersOf(n config.Node) []listener {
	all := []listener{{"tcp", n.Address, n.Port, "port"}}
	if n.IPMIPort != 0 {
		all = append(all, listener{"udp", n.Address, n.IPMIPort, "ipmi_port"})
	}
	return all
}

// listenersOverlap says whether two listeners, as their String has them, are in each other's way.
func listenersOverlap(a, b string) bool {
	if a == b {
		return true
	}
	protocolA, placeA, _ := strings.Cut(a, " ")
	protocolB, placeB, _ := strings.Cut(b, " ")
	hostA, portA, _ := net.SplitHostPort(placeA)
	hostB, portB, _ := net.SplitHostPort(placeB)
	every := func(host string) bool { return host == "0.0.0.0" || host == "::" || host == "*" || host == "" }
	return protocolA == protocolB && portA == portB && (every(hostA) || every(hostB))
}

// Uses implements plan.User: the ports of the machine, and the nodes.
func (c Controllers) Uses() []plan.Use {
	uses := []plan.Use{{Kind: plan.Controllers, Value: c.Name, Path: []any{"name"}}}
	seen := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(c.Nodes)) {
		for _, l := range listenersOf(c.Complete(name, c.Nodes[name])) {
			if l.address == "" || seen[l.String()] {
				continue
			}
			seen[l.String()] = true
			uses = append(uses, plan.Use{Kind: plan.ControllerPort, Value: l.String(), Path: []any{"nodes", service.Key(name), l.attribute}})
		}
	}
	return uses
}

// RedfishURL and IPMIURL are where clients find a completed node; "" where it is not served.
func RedfishURL(n config.Node) string {
	return fmt.Sprintf("https://%s/redfish/v1/Systems/%s", net.JoinHostPort(n.Address, fmt.Sprint(n.Port)), n.SystemID)
}

// IPMIURL is described at RedfishURL.
func IPMIURL(n config.Node) string {
	if n.IPMIPort == 0 {
		return ""
	}
	return "ipmi://" + net.JoinHostPort(n.Address, fmt.Sprint(n.IPMIPort))
}

// Machine is what is there on a machine.
type Machine struct {
	// System and Processor as uname(1) has them.
	System, Processor string
	// State is systemd's of the unit, and Sum the SHA-256 of the program; "" for none.
	State, Sum string
	// Listening are the places where others listen, such as "tcp 0.0.0.0:22".
	Listening []string
	Addresses []string
	// There says what of the controllers is there: "unit", "user", "group", "program", and "memory", which is the directory of their state.
	There []string
}

// Platform is what a program is chosen by.
func (m Machine) Platform() selfbinary.Machine {
	return selfbinary.Machine{System: m.System, Processor: m.Processor, What: "the hypervisor's machine", Otherwise: "write binary = { source, checksum } with one that was built for it"}
}

// LookAtMachine finds what is there on the machine.
func (s *Store) LookAtMachine(ctx context.Context) (Machine, error) {
	var m Machine
	cmd := host.Script("bmc.sh look", script, "look", s.Name, s.unitName(), s.userName(), s.programPath(), s.stateDirectory())
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
		case "unit", "user", "group", "program", "memory":
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
