package keepalived

import (
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

var (
	// A name is a word of keepalived.conf: nothing that would end it, begin a comment or a variable.
	nameRule = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]*$`)
	// A member's name stands in the id that imports take.
	memberRule    = regexp.MustCompile(`^[^\s,=#]+$`)
	interfaceRule = regexp.MustCompile(`^[A-Za-z0-9_.:@-]{1,15}$`)
	userRule      = regexp.MustCompile(`^[a-z_][a-z0-9_-]*$`)
	passRule      = regexp.MustCompile(`^[^\s"#!{}$~@\\]+$`)
)

// Validate finds what is wrong with the VIP without asking any machine.
func (v VIP) Validate() []service.Problem {
	p := &problems{}
	p.addUnless(nameRule.MatchString(v.Name), pathOf("name"), "Invalid name",
		"write letters, digits, dots, dashes and underscores, such as \"ocp4-api\", not %q", v.Name)
	p.addUnless(v.RouterID >= 1 && v.RouterID <= 255, pathOf("virtual_router_id"), "Invalid virtual router id", "must be 1 to 255, not %d", v.RouterID)
	p.addUnless(v.SyncGroup == "" || nameRule.MatchString(v.SyncGroup), pathOf("sync_group"), "Invalid sync group",
		"write letters, digits, dots, dashes and underscores, not %q", v.SyncGroup)
	p.addUnless(v.PreemptDelay >= 0 && v.PreemptDelay <= 1000, pathOf("preempt_delay"), "Invalid preemption delay", "must be 0 to 1000 seconds, not %d", v.PreemptDelay)
	p.addUnless(v.Preempt || v.PreemptDelay == 0, pathOf("preempt_delay"), "Delay without preemption", "with preempt = false there is nothing to delay: leave preempt_delay out")
	p.checkVersion(v)
	p.checkPassword(v)
	p.checkAddresses(v.Addresses)
	for i, m := range v.Members {
		p.checkMember(v, i, m)
	}
	p.checkTracks(v)
	for key, n := range v.GARP {
		p.checkGARP(strings.TrimPrefix(key, "garp_"), n)
	}
	return p.list
}

type problems struct{ list []service.Problem }

func pathOf(steps ...any) []any { return steps }

// addUnless adds a problem where what should hold does not.
func (p *problems) addUnless(holds bool, path []any, summary, format string, args ...any) {
	if !holds {
		p.list = append(p.list, service.Problemf(path, summary, format, args...))
	}
}

// checkVersion checks what the protocol's versions cannot do (RFC 3768 section 5.3.7, RFC 5798 section 5.2.7).
func (p *problems) checkVersion(v VIP) {
	p.addUnless(v.Version == 2 || v.Version == 3, pathOf("version"), "Invalid VRRP version", "must be 2 or 3, not %d", v.Version)
	if len(v.Addresses) > 0 && v.Addresses[0].Addr().Is6() {
		p.addUnless(v.Version != 2, pathOf("version"), "Invalid VRRP version", "version 2 has no IPv6: leave version out, or write an IPv4 address first")
	}
	if v.Version == 3 {
		p.addUnless(v.AdvertInterval >= 0.01 && v.AdvertInterval <= 40.95, pathOf("advert_int"), "Invalid advertisement interval",
			"must be 0.01 to 40.95 seconds, not %s", formatSeconds(v.AdvertInterval))
		return
	}
	p.addUnless(v.AdvertInterval >= 1 && v.AdvertInterval <= 255 && v.AdvertInterval == float64(int(v.AdvertInterval)), pathOf("advert_int"),
		"Invalid advertisement interval", "must be 1 to 255 whole seconds in VRRP version 2, not %s: write version = 3 for shorter ones", formatSeconds(v.AdvertInterval))
}

func (p *problems) checkPassword(v VIP) {
	if v.AuthPass == "" {
		return
	}
	// keepalived cuts passwords at eight characters, so a longer one would silently differ from what was asked.
	p.addUnless(len(v.AuthPass) <= 8, pathOf("auth_pass"), "Password too long", "VRRP passwords have at most 8 characters, and this one has %d: write a shorter one", len(v.AuthPass))
	p.addUnless(passRule.MatchString(v.AuthPass), pathOf("auth_pass"), "Invalid password",
		"a password in keepalived.conf cannot hold spaces, quotes, backslashes, braces and # ! $ ~ @: write letters and digits")
	p.addUnless(v.Version != 3, pathOf("auth_pass"), "Password without effect",
		"VRRP version 3, which IPv6 needs, has no authentication: leave the password out")
}

func (p *problems) checkAddresses(checkAddresses []netip.Prefix) {
	p.addUnless(len(checkAddresses) > 0, pathOf("addresses"), "No addresses", "write at least one address with its prefix length, such as \"10.0.0.250/24\"")
	for i, a := range checkAddresses {
		path := pathOf("addresses", i)
		if !a.IsValid() {
			continue // its text was not an address, which the conversion said already
		}
		first := slices.IndexFunc(checkAddresses, func(b netip.Prefix) bool { return b.Addr() == a.Addr() })
		p.addUnless(first == i, path, "Address twice", "%s is in the list already", a.Addr())
		p.addUnless(a.Bits() >= a.Addr().BitLen()-1 || a.Masked().Addr() != a.Addr(), path, "Network address",
			"%s is the address of the network %s: write one of a machine in it", a.Addr(), a.Masked())
		p.addUnless(!a.Addr().IsMulticast() && !a.Addr().IsUnspecified() && !a.Addr().IsLoopback(), path, "Invalid address", "%s cannot be a machine's address", a.Addr())
	}
}

func (p *problems) checkMember(v VIP, i int, m Member) {
	path := func(name string) []any { return v.At(i, name) }
	first := slices.IndexFunc(v.Members, func(o Member) bool { return o.ID == m.ID })
	p.addUnless(first == i, path("service_node"), "Member twice", "%s is on this service node already", v.Title(max(first, 0)))
	if err := CheckMemberName(m.Name); err != nil {
		p.list = append(p.list, service.Problemf(pathOf("members"), "Invalid name of a member", "%v", err))
	}
	p.addUnless(interfaceRule.MatchString(m.Interface), path("interface"), "Invalid interface", "write the name of a network device, such as \"eth0\", not %q", m.Interface)
	p.addUnless(m.Priority >= 0 && m.Priority <= 254, path("priority"), "Invalid priority", "must be 1 to 254, not %d", m.Priority)
	p.addUnless(m.State == "MASTER" || m.State == "BACKUP", path("state"), "Invalid state", "write \"MASTER\" or \"BACKUP\", not %q", m.State)
	p.addUnless(v.Preempt || m.State != "MASTER", path("state"), "State contradicts preempt",
		"keepalived ignores preempt = false where the state is MASTER: write \"BACKUP\" and give the member the highest priority")
	p.addUnless(v.PreemptDelay == 0 || m.State != "MASTER", path("state"), "State contradicts preempt_delay",
		"keepalived ignores preempt_delay where the state is MASTER: write \"BACKUP\" and give the member the highest priority")
	if !m.Address.IsValid() {
		return
	}
	p.addUnless(m.Address.Zone() == "", path("address"), "Address with a zone", "the interface says where %s is: leave %%%s out", m.Address.WithZone(""), m.Address.Zone())
	same := slices.IndexFunc(v.Members, func(o Member) bool { return o.Address == m.Address })
	p.addUnless(same == i, path("address"), "Address twice", "%s has the address %s already", v.Title(max(same, 0)), m.Address)
	for _, a := range v.Addresses {
		if !a.IsValid() {
			continue
		}
		p.addUnless(a.Addr() != m.Address, path("address"), "Virtual address as a member's own",
			"%s moves between the members: write an address that this machine always has", m.Address)
		if a.Addr().Is4() == m.Address.Is4() && !a.IsSingleIP() && !linkLocal(m.Address) {
			p.addUnless(a.Contains(m.Address), path("address"), "Address outside the members' subnet",
				"%s is not in %s, where the virtual address %s is: the members and the virtual address have to be on one segment", m.Address, a.Masked(), a.Addr())
		}
	}
	p.addUnless(!v.Unicast || !linkLocal(m.Address), path("address"), "Link-local address",
		"%s means another machine on every interface, so peers cannot be told it: write a global address, or unicast = false", m.Address)
	if len(v.Addresses) > 0 && v.Addresses[0].IsValid() {
		p.addUnless(m.Address.Is4() == v.Addresses[0].Addr().Is4(), path("address"), "Address of the wrong family",
			"VRRP is spoken in the family of the first virtual address, %s", v.Addresses[0].Addr())
	}
}

// CheckMemberName returns why a member cannot have a name: it stands in the id that imports take.
func CheckMemberName(name string) error {
	if !memberRule.MatchString(name) {
		return fmt.Errorf("write a name without spaces, commas, %q and %q, such as \"svc-1\", not %q", "=", "#", name)
	}
	return nil
}

// linkLocal says whether VRRP over IPv6 is spoken from the address on any network (RFC 5798 section 5.1.2.2).
func linkLocal(a netip.Addr) bool { return a.Is6() && a.IsLinkLocalUnicast() }

func (p *problems) checkTracks(v VIP) {
	tracks := v.Track
	for i, t := range tracks {
		path := func(name string) []any { return pathOf("track", i, name) }
		first := slices.IndexFunc(tracks, func(o Track) bool { return o.Name == t.Name })
		p.addUnless(first == i, path("name"), "Name twice", "track[%d] has the name %q already", first, t.Name)
		p.addUnless(nameRule.MatchString(t.Name), path("name"), "Invalid name", "write letters, digits, dots, dashes and underscores, not %q", t.Name)
		p.addUnless(t.Weight >= -253 && t.Weight <= 253, path("weight"), "Invalid weight", "must be -253 to 253, not %d", t.Weight)
		p.addUnless(v.SyncGroup == "" || t.Weight == 0, path("weight"), "Weight in a sync group",
			"keepalived ignores weights in a sync group, whose instances have to agree: leave weight out, so that a failure takes the member out, or leave sync_group out")
		if kinds := t.countKinds(); kinds != 1 {
			p.addUnless(false, path("name"), "Not one thing to track", "write exactly one of script, script_content, interface and process, not %d of them", kinds)
			continue
		}
		switch {
		case t.isScript():
			p.checkScript(t, path)
		case t.Interface != "":
			p.addUnless(interfaceRule.MatchString(t.Interface), path("interface"), "Invalid interface", "write the name of a network device, such as \"eth1\", not %q", t.Interface)
		default:
			p.addUnless(isPlain(t.Process) && strings.TrimSpace(t.Process) == t.Process, path("process"), "Invalid process",
				"write a program's name without quotes, such as \"haproxy\"")
		}
	}
}

func (t Track) countKinds() int {
	n := 0
	for _, s := range []string{t.Script, t.Content, t.Interface, t.Process} {
		if s != "" {
			n++
		}
	}
	return n
}

// longest is the most seconds that keepalived takes for an interval, a timeout or a delay: microseconds in 32 bits.
const longest = 4294

// largest is the most that a counter may be.
const largest = 1 << 20

// checkGARP checks a setting for gratuitous ARP by keepalived's bounds: what it sends, it sends at least once.
func (p *problems) checkGARP(key string, n int) {
	least, most := 0, largest
	if key == "master_repeat" || key == "master_refresh_repeat" {
		least = 1
	}
	if key == "master_delay" || key == "lower_prio_delay" {
		most = longest
	}
	p.addUnless(n >= least && n <= most, pathOf("garp", key), "Invalid setting for gratuitous ARP", "must be %d to %d, not %d", least, most, n)
}

// isPlain says whether a text can stand between quotes in keepalived.conf without becoming another one: keepalived expands
// sequences and lists wherever they stand.
func isPlain(text string) bool {
	return !strings.ContainsAny(text, "\"\\") && !strings.ContainsFunc(text, unicode.IsControl) &&
		!strings.Contains(text, "~SEQ(") && !strings.Contains(text, "~LST(") && !strings.Contains(text, "${")
}

// longestScript is the most bytes of a script that are put on a machine.
const longestScript = 64 << 10

// checkContent checks a whole script.
func (p *problems) checkContent(t Track, path func(string) []any) {
	p.addUnless(findInterpreter(t.Content) != "", path("script_content"), "Invalid script",
		"the first line has to name the program that runs the script by its full path, such as #!/bin/sh")
	p.addUnless(!strings.ContainsAny(t.Content, "\x00\r") && len(t.Content) <= longestScript, path("script_content"), "Invalid script",
		"a script is a text of at most %d KiB whose lines end with a line feed alone", longestScript>>10)
}

func (p *problems) checkScript(t Track, path func(string) []any) {
	if t.Content != "" {
		p.checkContent(t, path)
	} else {
		p.checkCommand(t, path)
	}
	for name, n := range map[string]int{"interval": t.Interval, "timeout": t.Timeout} {
		p.addUnless(n <= longest, path(name), fmt.Sprintf("Invalid %s", name), "must be at most %d seconds, not %d", longest, n)
	}
	for name, n := range map[string]int{"interval": t.Interval, "rise": t.Rise, "fall": t.Fall} {
		p.addUnless(n >= 1 && n <= largest, path(name), fmt.Sprintf("Invalid %s", name), "must be at least 1, not %d", n)
	}
	p.addUnless(t.Timeout >= 0, path("timeout"), "Invalid timeout", "must not be negative, but is %d", t.Timeout)
	p.addUnless(userRule.MatchString(t.User), path("user"), "Invalid user", "write the name of a user, not %q", t.User)
}

// checkCommand checks a command line.
func (p *problems) checkCommand(t Track, path func(string) []any) {
	program, _, _ := strings.Cut(t.Script, " ")
	p.addUnless(strings.HasPrefix(program, "/") || !strings.Contains(program, "/"), path("script"), "Invalid script",
		"write the full path of a program, or its name alone where keepalived finds it in its PATH, then its arguments: keepalived runs it without a shell")
	p.addUnless(!slices.ContainsFunc(strings.Fields(t.Script), func(word string) bool { return slices.Contains(shellWords, word) }), path("script"), "Shell syntax in a command",
		"keepalived runs the command without a shell, so what joins commands would be an argument of the first one: write the script in script_content, after a line #!/bin/sh")
	p.addUnless(isPlain(t.Script) && strings.Join(strings.Fields(t.Script), " ") == t.Script, path("script"), "Invalid script",
		"a command in keepalived.conf is one line with single spaces and without double quotes and backslashes: put more into script_content")
}

// shellWords are what only a shell understands where they stand alone.
var shellWords = []string{"&&", "||", "|", ";", "&", ">", "<", ">>", "2>&1"}
