package exposure

import (
	"context"
	_ "embed"
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

// dhcpUnit is how the units of virtcluster_dhcp_server begin. Kea has its port at each address of its interface that was there when it began, be
// it one of an exposure that is gone, or that was not made to its end.
const dhcpUnit = "virtcluster-dhcp@"

// takesAll says whether the program listens on whatever addresses the machine has, and chose none of them.
func (l Listener) takesAll() bool { return !l.Address.IsValid() || strings.HasPrefix(l.Unit, dhcpUnit) }

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
	// addresses are all that the machine has on devices, but for loopback.
	addresses []netip.Addr
	// rules are those of others that packets meet as they come in.
	rules ruleset
	// firewall is nil where none runs.
	firewall firewall
}

// surveyScript prints a line for each thing; it is told what is foreign by the script of the exposures.
//
//go:embed survey.sh
var surveyScript string

// Has says whether the machine has an address.
func (s Survey) Has(a netip.Addr) bool { return slices.Contains(s.addresses, a) }

// Look surveys a machine.
func Look(ctx context.Context, h host.Host) (Survey, error) {
	out, err := h.Run(ctx, host.RepeatableScript("look at what listens", surveyScript, script))
	if err != nil {
		return Survey{}, fmt.Errorf("look at what listens on %s: %w", h, err)
	}
	return parseSurvey(string(out))
}

func parseSurvey(text string) (Survey, error) {
	s := Survey{Own: map[netip.Addr]bool{}}
	addresses := map[string][]netip.Prefix{}
	var tables iptablesReader
	nft := ""
	for line := range strings.Lines(text) {
		kind, rest, _ := strings.Cut(strings.TrimRight(line, "\r\n"), " ")
		switch words := strings.Fields(rest); {
		case kind == "firewalld", kind == "ufw":
			s.readFirewall(kind, rest)
		case kind == "foreign":
			s.Foreign = append(s.Foreign, rest)
		case kind == "nft":
			nft = rest
		case kind == "iptables":
			program, rest, _ := strings.Cut(rest, " ")
			family, line, _ := strings.Cut(rest, " ")
			tables.readRule(program, family, line)
		case kind == "any":
			if p, err := netip.ParsePrefix(rest); err == nil {
				s.addresses = append(s.addresses, p.Addr())
			}
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
	s.rules = tables.rules
	if nft == "" {
		return s, nil
	}
	own := func(family, name string) bool { return family+" "+name == table || tables.listed[family+" "+name] }
	rules, err := readNft([]byte(nft), own)
	s.rules = append(s.rules, rules...)
	return s, err
}

// readFirewall takes a line of what a firewall says.
func (s *Survey) readFirewall(kind, line string) {
	if s.firewall == nil {
		s.firewall = map[string]firewall{"firewalld": &firewalld{}, "ufw": &ufw{}}[kind]
	}
	s.firewall.readLine(line)
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

// Occupied says by port who has what an exposure would take: a program, or a rule that leads it elsewhere. What the exposure has already, as
// a tree says, it keeps, unless a rule comes before it.
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
		isLive := live.Address == want.Address && (live.hasPort(p) || name == "" && live.Kind == Floating)
		if who := s.whoTranslates(want, name, isLive); who != "" {
			taken[name] = who
			continue
		}
		for _, l := range s.Listeners {
			if !isLive && s.inTheWay(l, want, name) {
				taken[name] = l.String()
				break
			}
		}
	}
	return taken
}

// Diverted says by port which rule of others has what comes to a live exposure, before it has it.
func (s Survey) Diverted(live Exposure) map[string]string {
	diverted := map[string]string{}
	for _, name := range portNames(live) {
		if who := s.whoTranslates(live, name, true); who != "" {
			diverted[name] = who
		}
	}
	return diverted
}

// whoTranslates says which rule of others leads what comes to a port elsewhere, "" for none. Rules of exposures come before almost all others,
// so of one that is live only what HAProxy carries, which comes after all of them, can be lost, and what is led away very early; a rule that
// catches some connections does not keep it from the others. At an address that is there for the exposure nobody had anything yet, so that
// only rules that name the address are somebody's.
func (s Survey) whoTranslates(e Exposure, name string, live bool) string {
	_, balanced := e.Balanced()[name]
	anew := e.ConfigureAddress && !s.Own[e.Address]
	for _, t := range s.rules.findTranslations(s.placeOf(e, name)) {
		late := !balanced && t.priority >= priority
		switch {
		case live && (late || !t.sure):
		case anew && late && !t.addressed:
		default:
			return t.words
		}
	}
	return ""
}

// placeOf is where packets to a port of an exposure come to; those of a node port to any address of the machine.
func (s Survey) placeOf(e Exposure, name string) arrival {
	p := arrival{family: e.addressFamily(), addresses: []netip.Addr{e.Address}, protocol: e.Ports[name].Protocol, port: e.Ports[name].Port, device: e.Interface}
	if e.Kind == NodePort {
		p.addresses = slices.Clone(s.addresses)
		p.addresses = slices.DeleteFunc(p.addresses, func(a netip.Addr) bool { return a.Is4() != (p.family == "ip") })
	}
	return p
}

// hasPort says whether a port is exposed; the zero port stands for all of a floating address.
func (e Exposure) hasPort(p Port) bool {
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
		return !l.Address.IsValid() || l.Address.Is4() == (want.addressFamily() == "ip")
	case l.Address.IsValid() && l.Address != want.Address:
		return false
	case !l.takesAll():
		return true
	default:
		// Who listens on all addresses has no use of one that is there for the exposure, but HAProxy cannot be beside it.
		return balanced || s.Own[want.Address]
	}
}
