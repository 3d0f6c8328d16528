package exposure

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

// Listener is a program that listens on the machine.
type Listener struct {
	Protocol string
	// Address is invalid where it listens on all.
	Address netip.Addr
	Port    uint16
	// Process is its name, and Unit systemd's that it belongs to; "" where it has none.
	Process, Unit string
}

func (l Listener) String() string {
	who := "process " + l.Process
	if l.Process == "" {
		who = "a program"
	}
	if l.Unit != "" {
		who += " (" + l.Unit + ")"
	}
	return who
}

// Survey is what of a machine is in the way of exposures.
type Survey struct {
	// Foreign says what of nftables and iptables has a name of the provider's and is somebody else's.
	Foreign   []string
	Listeners []Listener
	// Own are the addresses that the machine is known by in its networks: those of loopback are not, and single ones only on a
	// device that has no others of their family, as clouds give them: a VIP's or an exposure's came later.
	Own map[netip.Addr]bool
	// firewall is nil where none runs.
	firewall firewall
}

// surveyScript prints a line for each thing; it is told what is foreign by the script of the exposures.
const surveyScript = firewallScript + `sh -c "$1" sh foreign | sed 's/^/foreign /'
ip -o address show 2>/dev/null | awk '$2 != "lo" && !/ secondary / && !/ scope link / { print "address", $2, $4 }'
ss -H -lntup 2>/dev/null | while read -r protocol _ _ _ place _ who; do
	process=${who#*\(\(\"}
	process=${process%%\"*}
	pid=${who#*pid=}
	pid=${pid%%[!0-9]*}
	unit=$(sed -n 's|.*/\([^/]*\.service\).*|\1|p' "/proc/${pid:-none}/cgroup" 2>/dev/null | head -n 1)
	echo "listener $protocol $place ${process:--} ${unit:--}"
done`

// Look surveys a machine.
func Look(ctx context.Context, h host.Host) (Survey, error) {
	cmd := host.Script("look at what listens", surveyScript, script)
	cmd.Repeatable = true
	out, err := h.Run(ctx, cmd)
	if err != nil {
		return Survey{}, fmt.Errorf("look at what listens on %s: %w", h, err)
	}
	return parseSurvey(string(out)), nil
}

func parseSurvey(text string) Survey {
	s := Survey{Own: map[netip.Addr]bool{}}
	addresses := map[string][]netip.Prefix{}
	for line := range strings.Lines(text) {
		kind, rest, _ := strings.Cut(strings.TrimRight(line, "\r\n"), " ")
		switch words := strings.Fields(rest); {
		case kind == "firewalld", kind == "ufw":
			s.readFirewall(kind, rest)
		case kind == "foreign":
			s.Foreign = append(s.Foreign, rest)
		case kind == "address" && len(words) == 2:
			if p, err := netip.ParsePrefix(words[1]); err == nil {
				on := words[0]
				if p.Addr().Is6() {
					on += " of IPv6"
				}
				addresses[on] = append(addresses[on], p)
			}
		case kind == "listener" && len(words) == 4:
			if l, ok := parseListener(words); ok {
				s.Listeners = append(s.Listeners, l)
			}
		}
	}
	for _, all := range addresses {
		single := !slices.ContainsFunc(all, func(p netip.Prefix) bool { return !p.IsSingleIP() })
		for _, p := range all {
			if single || !p.IsSingleIP() {
				s.Own[p.Addr()] = true
			}
		}
	}
	return s
}

// readFirewall takes a line of what a firewall says.
func (s *Survey) readFirewall(kind, line string) {
	if s.firewall == nil {
		s.firewall = map[string]firewall{"firewalld": &firewalld{}, "ufw": &ufw{}}[kind]
	}
	s.firewall.read(line)
}

// parseListener reads a protocol, a place as ss writes it ("*:22", "[::1]:53", "127.0.0.53%lo:53"), a process and a unit.
func parseListener(words []string) (Listener, bool) {
	i := strings.LastIndex(words[1], ":")
	if i < 0 {
		return Listener{}, false
	}
	port, err := strconv.ParseUint(words[1][i+1:], 10, 16)
	if err != nil {
		return Listener{}, false
	}
	l := Listener{Protocol: words[0], Port: uint16(port), Process: strings.Trim(words[2], "-"), Unit: strings.Trim(words[3], "-")}
	text, _, _ := strings.Cut(strings.Trim(words[1][:i], "[]"), "%")
	if a, err := netip.ParseAddr(strings.TrimSuffix(text, "]")); err == nil && !a.IsUnspecified() {
		l.Address = a.Unmap()
	}
	return l, true
}

// SurveyOnce surveys a machine, once for all who read the same snapshot of what it exposes.
func SurveyOnce(ctx context.Context, e *transaction.Engine, h host.Host) (transaction.Tree, Survey, error) {
	tree, s, err := transaction.Ask(ctx, e, h, Daemon{}, func(ctx context.Context, h host.Host, _ transaction.Tree) (Survey, error) { return Look(ctx, h) })
	if err == nil && s.Own == nil { // what is exposed is not live, so nothing was asked
		s, err = Look(ctx, h)
	}
	return tree, s, err
}

// Occupied says by port which program has what an exposure would take; what it has already, as a tree says, it keeps.
// What a program has of a floating address beside its ports has no name: new connections to it would be dropped.
func (s Survey) Occupied(t transaction.Tree, want Exposure) map[string]string {
	live, _ := Find(t, want.Name)
	taken := map[string]string{}
	names := portNames(want)
	if want.Kind == Floating && len(want.Ports) > 0 {
		names = append(names, "")
	}
	for _, name := range names {
		p := want.Ports[name]
		if name != "" && p.Port == 0 {
			continue // chosen when it is made
		}
		if live.Address == want.Address && (live.has(p) || name == "" && live.Kind == Floating) {
			continue
		}
		for _, l := range s.Listeners {
			if s.inTheWay(l, want, name) {
				taken[name] = l.String()
				break
			}
		}
	}
	return taken
}

// has says whether a port is exposed; the zero port stands for all of a floating address.
func (e Exposure) has(p Port) bool {
	if p.Port == 0 {
		return e.Kind == Floating && len(e.Ports) == 0
	}
	return len(e.portsWhere(func(q Port) bool { return q.Port == p.Port && q.Protocol == p.Protocol })) > 0
}

// inTheWay says that a program would lose a port, or that HAProxy would not get it. Other sections of HAProxy's are looked
// for in its configuration.
func (s Survey) inTheWay(l Listener, want Exposure, port string) bool {
	if p := want.Ports[port]; p.Port != 0 && (l.Port != p.Port || l.Protocol != p.Protocol) {
		return false
	}
	switch _, balanced := want.Balanced()[port]; {
	case l.Address.IsLoopback():
		return false
	case balanced && l.Process == "haproxy":
		return false
	case want.Kind == NodePort:
		return !l.Address.IsValid() || l.Address.Is4() == (want.family() == "ip")
	case l.Address.IsValid():
		return l.Address == want.Address
	default:
		// Who listens on all addresses has no use of one that is there for the exposure, but HAProxy cannot be beside it.
		return balanced || s.Own[want.Address]
	}
}
