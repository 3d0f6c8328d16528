package exposure

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

// firewall is a program that keeps rules of its own for what comes to a machine. What is translated passes both: firewalld takes
// what the kernel has translated, and ufw's rules come behind the chain VIRTCLUSTER. What HAProxy listens at has to be
// let in.
type firewall interface {
	// admitsPort says whether a port of an exposure is let in; "" or the command that does so. It is in doubt where some rule was not understood.
	admitsPort(want Exposure, p Port) (command string, doubtful bool)
	managerName() string
	// readLine takes a line of what it says about itself.
	readLine(line string)
}

// Blocked says of the ports that HAProxy carries which firewall keeps them shut, and how to live with it; a warning where that is not certain.
func (s Survey) Blocked(want Exposure) []service.Problem {
	var shut []service.Problem
	for name, p := range want.Balanced() {
		if s.firewall == nil || p.Port == 0 || !want.Address.IsValid() {
			continue
		}
		command, doubtful := s.firewall.admitsPort(want, p)
		if command == "" {
			continue
		}
		problem := service.Problemf(want.placePort(name), "Shut by a firewall", "%s runs and does not let %s in: open it (%s), or stop %[1]s (systemctl disable --now %[1]s)", s.firewall.managerName(), Endpoint(want, p), command)
		if doubtful {
			problem.Warning, problem.Detail = true, "Unless a rule does so that is not understood here: "+problem.Detail
		}
		shut = append(shut, problem)
	}
	return shut
}

// firewalld is what `firewall-cmd --list-all-zones` says.
type firewalld struct {
	standard string
	zones    map[string]map[string][]string
	last     string
	// doubtful are the zones with rules of other forms.
	doubtful map[string]bool
}

func (f *firewalld) managerName() string { return "firewalld" }

// readLine takes one line.
func (f *firewalld) readLine(line string) {
	if zone, ok := strings.CutPrefix(line, "default "); ok {
		f.standard = strings.TrimSpace(zone)
		return
	}
	if f.zones == nil {
		f.zones = map[string]map[string][]string{}
	}
	if !strings.HasPrefix(line, " ") && !strings.HasPrefix(line, "\t") {
		if words := strings.Fields(line); len(words) > 0 {
			f.last = words[0]
			f.zones[f.last] = map[string][]string{}
		}
		return
	}
	if strings.HasPrefix(strings.TrimSpace(line), "rule ") {
		if f.doubtful == nil {
			f.doubtful = map[string]bool{}
		}
		f.doubtful[f.last] = true
		return
	}
	if key, values, ok := strings.Cut(strings.TrimSpace(line), ":"); ok && f.zones[f.last] != nil {
		f.zones[f.last][key] = strings.Fields(values)
	}
}

// services are the ports of those services of firewalld that are opened most for what is balanced, and of those that its zones have by themselves.
var services = map[string]string{
	"http": "80/tcp", "https": "443/tcp", "ssh": "22/tcp", "dns": "53/tcp", "kube-apiserver": "6443/tcp",
	"cockpit": "9090/tcp", "dhcpv6-client": "546/udp", "mdns": "5353/udp", "samba-client": "137-138/udp",
}

func (f *firewalld) admitsPort(want Exposure, p Port) (command string, doubtful bool) {
	zone, bySource := f.standard, false
	for name, of := range f.zones {
		if slices.Contains(of["interfaces"], want.Interface) {
			zone = name
		}
		bySource = bySource || len(of["sources"]) > 0
	}
	of := f.zones[zone]
	open := slices.Clone(of["ports"])
	doubtful = bySource || f.doubtful[zone] || len(of["protocols"])+len(of["source-ports"]) > 0
	for _, name := range of["services"] {
		ports, known := services[name]
		open, doubtful = append(open, ports), doubtful || !known
	}
	if slices.Contains(of["target"], "ACCEPT") || slices.ContainsFunc(open, func(span string) bool { return inRange(span, "-", p) }) {
		return "", false
	}
	return fmt.Sprintf("firewall-cmd --permanent --zone=%s --add-port=%d/%s && firewall-cmd --reload", zone, p.Port, p.Protocol), doubtful
}

// inRange says whether "80/tcp", "1000-2000/tcp" or "80" has a port in it.
func inRange(text, dash string, p Port) bool {
	ports, protocol, _ := strings.Cut(text, "/")
	if protocol != "" && protocol != p.Protocol {
		return false
	}
	from, to, isRange := strings.Cut(ports, dash)
	if !isRange {
		to = from
	}
	first, errFirst := strconv.Atoi(from)
	last, errLast := strconv.Atoi(to)
	return errFirst == nil && errLast == nil && first <= int(p.Port) && int(p.Port) <= last
}

// ufw is what `ufw status verbose` says.
type ufw struct {
	active, open bool
	rules        []ufwRule
}

// ufwRule lets in what goes to ports on a device, or on all where that is "".
type ufwRule struct{ to, device, from string }

func (u *ufw) managerName() string { return "ufw" }

// readLine takes one line.
func (u *ufw) readLine(line string) {
	switch {
	case strings.HasPrefix(line, "Status: active"):
		u.active = true
	case strings.HasPrefix(line, "Default: allow (incoming)"):
		u.open = true
	}
	for _, action := range []string{" ALLOW IN ", " LIMIT IN "} {
		if to, from, ok := strings.Cut(line, action); ok {
			to, device, _ := strings.Cut(strings.ReplaceAll(to, " (v6)", ""), " on ")
			to, _, _ = strings.Cut(to, " (") // the name of an application
			u.rules = append(u.rules, ufwRule{strings.TrimSpace(to), strings.TrimSpace(device), strings.TrimSpace(from)})
		}
	}
}

func (u *ufw) admitsPort(want Exposure, p Port) (command string, doubtful bool) {
	if !u.active || u.open {
		return "", false
	}
	for _, r := range u.rules {
		if r.device != "" && r.device != want.Interface {
			continue
		}
		switch covers, understood := r.coversPort(want.Address, p); {
		case covers && r.admitsSources(want.SourceRanges):
			return "", false
		case covers, !understood:
			doubtful = true
		}
	}
	return fmt.Sprintf("ufw allow proto %s to %s port %d", p.Protocol, want.Address, p.Port), doubtful
}

// coversPort says whether a rule is for a port of an address; understood is false where it has another form.
func (r ufwRule) coversPort(a netip.Addr, p Port) (covers, understood bool) {
	words := strings.Fields(r.to)
	if len(words) == 2 {
		if _, err := netip.ParseAddr(words[0]); err != nil {
			return false, false
		}
		if words[0] != a.String() {
			return false, true
		}
		words = words[1:]
	}
	if len(words) != 1 {
		return false, false
	}
	if words[0] == "Anywhere" || words[0] == a.String() {
		return true, true
	}
	ports, protocol, _ := strings.Cut(words[0], "/")
	for one := range strings.SplitSeq(ports, ",") {
		if protocol != "" {
			one += "/" + protocol
		}
		if inRange(one, ":", p) {
			return true, true
		}
	}
	return false, true
}

// admitsSources says whether a rule lets in all who may connect; none stands for everybody.
func (r ufwRule) admitsSources(sources []netip.Prefix) bool {
	if strings.HasPrefix(r.from, "Anywhere") {
		return true
	}
	from, err := netip.ParsePrefix(r.from)
	if a, errAddress := netip.ParseAddr(r.from); errAddress == nil {
		from, err = netip.PrefixFrom(a, a.BitLen()), nil
	}
	outside := func(source netip.Prefix) bool { return source.Bits() < from.Bits() || !from.Contains(source.Addr()) }
	return err == nil && len(sources) > 0 && !slices.ContainsFunc(sources, outside)
}
