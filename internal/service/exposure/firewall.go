package exposure

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// firewall is a program that keeps rules of its own for what comes to a machine. What is translated passes both: firewalld takes
// what the kernel has translated, and ufw's rules come behind the chain VIRTCLUSTER. What HAProxy listens at has to be
// let in.
type firewall interface {
	// admitsPort says whether a port of an address on a device is let in; "" or the command that does so.
	admitsPort(device string, a netip.Addr, p Port) string
	managerName() string
	// readLine takes a line of what it says about itself.
	readLine(line string)
}

// Blocked says of the ports that HAProxy carries which firewall keeps them shut, and how to live with it.
func (s Survey) Blocked(want Exposure) map[string]string {
	shut := map[string]string{}
	for name, p := range want.Balanced() {
		if s.firewall == nil || p.Port == 0 || !want.Address.IsValid() {
			continue
		}
		if command := s.firewall.admitsPort(want.Interface, want.Address, p); command != "" {
			shut[name] = fmt.Sprintf("%s runs and does not let %s in: open it (%s), or stop %s (systemctl disable --now %[1]s)", s.firewall.managerName(), Endpoint(want, p), command, s.firewall.managerName())
		}
	}
	return shut
}

// firewalld is what `firewall-cmd --list-all-zones` says.
type firewalld struct {
	standard string
	zones    map[string]map[string][]string
	last     string
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
	if key, values, ok := strings.Cut(strings.TrimSpace(line), ":"); ok && f.zones[f.last] != nil {
		f.zones[f.last][key] = strings.Fields(values)
	}
}

// services are the ports of those services of firewalld that are opened most for what is balanced.
var services = map[string]string{"http": "80/tcp", "https": "443/tcp", "ssh": "22/tcp", "dns": "53/tcp", "kube-apiserver": "6443/tcp"}

func (f *firewalld) admitsPort(device string, _ netip.Addr, p Port) string {
	zone := f.standard
	for name, of := range f.zones {
		if slices.Contains(of["interfaces"], device) {
			zone = name
		}
	}
	of := f.zones[zone]
	open := slices.Clone(of["ports"])
	for _, service := range of["services"] {
		open = append(open, services[service])
	}
	if slices.Contains(of["target"], "ACCEPT") || slices.ContainsFunc(open, func(span string) bool { return inRange(span, "-", p) }) {
		return ""
	}
	return fmt.Sprintf("firewall-cmd --permanent --zone=%s --add-port=%d/%s && firewall-cmd --reload", zone, p.Port, p.Protocol)
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
	// rules are the first columns of those that let in.
	rules []string
}

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
		if to, from, ok := strings.Cut(line, action); ok && strings.HasPrefix(strings.TrimSpace(from), "Anywhere") {
			u.rules = append(u.rules, strings.TrimSpace(to))
		}
	}
}

func (u *ufw) admitsPort(device string, a netip.Addr, p Port) string {
	if !u.active || u.open {
		return ""
	}
	for _, rule := range u.rules {
		rule, on, _ := strings.Cut(strings.ReplaceAll(rule, " (v6)", ""), " on ")
		if on != "" && strings.TrimSpace(on) != device {
			continue
		}
		words := strings.Fields(rule)
		if len(words) == 2 && words[0] == a.String() {
			words = words[1:]
		}
		if len(words) != 1 {
			continue
		}
		if words[0] == "Anywhere" || words[0] == a.String() {
			return ""
		}
		ports, protocol, _ := strings.Cut(words[0], "/")
		for one := range strings.SplitSeq(ports, ",") {
			if protocol != "" {
				one += "/" + protocol
			}
			if inRange(one, ":", p) {
				return ""
			}
		}
	}
	return fmt.Sprintf("ufw allow proto %s to %s port %d", p.Protocol, a, p.Port)
}
