package kea

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
)

// What follows is the part of Kea's configuration that is written (https://kea.readthedocs.io/en/kea-2.2.0/arm/dhcp4-srv.html).
type (
	document struct {
		Dhcp4 dhcp4 `json:"Dhcp4"`
	}
	dhcp4 struct {
		Interfaces     interfaces `json:"interfaces-config"`
		Leases         leases     `json:"lease-database"`
		Authoritative  bool       `json:"authoritative"`
		ValidLifetime  int64      `json:"valid-lifetime"`
		MultiThreading *threading `json:"multi-threading,omitempty"`
		Hooks          []hook     `json:"hooks-libraries,omitempty"`
		Classes        []class    `json:"client-classes,omitempty"`
		Subnets        []subnet   `json:"subnet4"`
		Loggers        []logger   `json:"loggers"`
	}
	interfaces struct {
		Interfaces []string `json:"interfaces"`
	}
	leases struct {
		Type string `json:"type"`
		Name string `json:"name"`
	}
	threading struct {
		Enable bool `json:"enable-multi-threading"`
	}
	hook struct {
		Library    string      `json:"library"`
		Parameters *parameters `json:"parameters,omitempty"`
	}
	parameters struct {
		HA []availability `json:"high-availability"`
	}
	availability struct {
		This             string          `json:"this-server-name"`
		Mode             string          `json:"mode"`
		HeartbeatDelay   int             `json:"heartbeat-delay"`
		MaxResponseDelay int             `json:"max-response-delay"`
		MaxUnacked       int             `json:"max-unacked-clients"`
		Threads          listenerThreads `json:"multi-threading"`
		Peers            []peer          `json:"peers"`
	}
	listenerThreads struct {
		Enable   bool `json:"enable-multi-threading"`
		Listener bool `json:"http-dedicated-listener"`
	}
	peer struct {
		Name string `json:"name"`
		URL  string `json:"url"`
		Role string `json:"role"`
	}
	class struct {
		Name     string   `json:"name"`
		Test     string   `json:"test"`
		Next     string   `json:"next-server,omitempty"`
		BootFile string   `json:"boot-file-name,omitempty"`
		Options  []option `json:"option-data,omitempty"`
	}
	option struct {
		Name string `json:"name"`
		Data string `json:"data"`
		// Always sends what was not asked for.
		Always bool `json:"always-send,omitempty"`
	}
	subnet struct {
		ID           int           `json:"id"`
		Subnet       string        `json:"subnet"`
		Interface    string        `json:"interface"`
		Pools        []pool        `json:"pools"`
		Options      []option      `json:"option-data"`
		Reservations []reservation `json:"reservations"`
	}
	pool struct {
		Pool string `json:"pool"`
	}
	reservation struct {
		MAC      string `json:"hw-address"`
		IP       string `json:"ip-address"`
		Hostname string `json:"hostname,omitempty"`
	}
	logger struct {
		Name     string   `json:"name"`
		Severity string   `json:"severity"`
		Outputs  []output `json:"output_options"`
	}
	output struct {
		Output string `json:"output"`
	}
)

// leaseFile and hooksDirectory are as the unit's mounts have them: where Debian's profile of AppArmor lets Kea write, and a link to where
// a distribution has the hooks.
const (
	leaseFile      = "/var/lib/kea/kea-leases4.csv"
	hooksDirectory = "/run/kea/hooks/"
)

// kinds are who boots from the network: their class, the test for option 93 (RFC 4578 and the registry of processor architectures), and
// what they are told. iPXE asks once more when it runs, by whatever firmware began it, and is known by its option or by its user class.
var kinds = []struct {
	name, test string
	http       bool
	file       func(*Boot) *string
}{
	{"ipxe", isIPXE, false, func(b *Boot) *string { return &b.IPXE }},
	{"bios", byTFTP(0x0000), false, func(b *Boot) *string { return &b.BIOS }},
	{"uefi_ia32", byTFTP(0x0006), false, func(b *Boot) *string { return &b.UEFIia32 }},
	{"uefi_x64", byTFTP(0x0007, 0x0009), false, func(b *Boot) *string { return &b.UEFIx64 }},
	{"uefi_arm64", byTFTP(0x000b), false, func(b *Boot) *string { return &b.UEFIarm64 }},
	{"http_x64", byHTTP(0x000f, 0x0010), true, func(b *Boot) *string { return &b.HTTPx64 }},
	{"http_arm64", byHTTP(0x0013), true, func(b *Boot) *string { return &b.HTTParm64 }},
}

const (
	isIPXE = "(option[175].exists or substring(option[77].hex,0,4) == 'iPXE')"
	isHTTP = "substring(option[60].hex,0,10) == 'HTTPClient'"
)

func byTFTP(numbers ...int) string {
	return "not " + isIPXE + " and not (" + isHTTP + ") and " + hasArchitecture(numbers)
}

func byHTTP(numbers ...int) string {
	return "not " + isIPXE + " and " + isHTTP + " and " + hasArchitecture(numbers)
}

func hasArchitecture(numbers []int) string {
	var tests []string
	for _, n := range numbers {
		tests = append(tests, fmt.Sprintf("substring(option[93].hex,0,2) == 0x%04x", n))
	}
	return "(" + strings.Join(tests, " or ") + ")"
}

// head is the first line, which Kea takes for a comment.
const head = "// Written by terraform-provider-virtcluster "

// Render returns Kea's configuration.
func (s Server) Render(m owner.Mark) ([]byte, error) {
	d := dhcp4{
		Interfaces: interfaces{[]string{s.Interface}}, Leases: leases{"memfile", leaseFile}, Authoritative: true, ValidLifetime: s.LeaseSeconds,
		Loggers: []logger{{"kea-dhcp4", "INFO", []output{{"stdout"}}}},
	}
	sub := subnet{ID: 1, Subnet: s.Subnet.String(), Interface: s.Interface, Pools: []pool{}, Options: []option{}, Reservations: []reservation{}}
	for _, r := range s.Ranges {
		sub.Pools = append(sub.Pools, pool{r.Start.String() + " - " + r.End.String()})
	}
	for _, name := range slices.Sorted(maps.Keys(s.Options)) {
		sub.Options = append(sub.Options, option{Name: name, Data: s.Options[name]})
	}
	for _, mac := range slices.Sorted(maps.Keys(s.Hosts)) {
		sub.Reservations = append(sub.Reservations, reservation{mac, s.Hosts[mac].IP.String(), s.Hosts[mac].Hostname})
	}
	d.Subnets = []subnet{sub}
	if s.Boot != nil {
		d.Classes = s.Boot.listClasses()
	}
	if s.Pair != nil {
		d.MultiThreading = &threading{true}
		d.Hooks = s.Pair.listHooks()
	}
	content, err := json.MarshalIndent(document{d}, "", "  ")
	return fmt.Appendf(nil, "%s%s\n%s\n", head, m, content), err
}

// listClasses lists, for each kind of client, what it is told to boot. The file stands in the header, for firmware that reads nothing else, and as an option.
func (b *Boot) listClasses() []class {
	var all []class
	for _, k := range kinds {
		file := *k.file(b)
		if file == "" {
			continue
		}
		c := class{Name: k.name, Test: k.test, BootFile: file, Options: []option{{"boot-file-name", file, true}}}
		if k.http {
			c.Options = append(c.Options, option{"vendor-class-identifier", "HTTPClient", true})
		}
		if b.NextServer.IsValid() { // which firmware that boots by HTTP does not look at
			c.Next = b.NextServer.String()
		}
		all = append(all, c)
	}
	return all
}

// Times after which a server takes the other one for gone.
const (
	heartbeatMilliseconds = 2000
	silenceMilliseconds   = 8000
)

func (p *Pair) listHooks() []hook {
	mine, theirs := peer{Primary, "", Primary}, peer{Standby, "", Standby}
	if p.Role == Standby {
		mine, theirs = theirs, mine
	}
	mine.URL, theirs.URL = p.formatListener(p.Address), p.formatListener(p.Peer)
	return []hook{
		{Library: hooksDirectory + "libdhcp_lease_cmds.so"},
		{Library: hooksDirectory + "libdhcp_ha.so", Parameters: &parameters{[]availability{{
			This: mine.Name, Mode: "hot-standby", HeartbeatDelay: heartbeatMilliseconds, MaxResponseDelay: silenceMilliseconds, Threads: listenerThreads{true, true},
			Peers: []peer{mine, theirs},
		}}}},
	}
}

func (p *Pair) formatListener(a netip.Addr) string {
	return "http://" + netip.AddrPortFrom(a, uint16(p.Port)).String() + "/"
}

// Parse undoes Render. What a person changed beyond recognition is an error.
func Parse(content []byte) (Server, error) {
	if bytes.HasPrefix(content, []byte("//")) {
		_, content, _ = bytes.Cut(content, []byte("\n"))
	}
	var doc document
	if err := json.Unmarshal(content, &doc); err != nil {
		return Server{}, err
	}
	d := doc.Dhcp4
	if len(d.Subnets) != 1 || len(d.Interfaces.Interfaces) != 1 {
		return Server{}, fmt.Errorf("it serves %d subnets on %d interfaces, not one on one", len(d.Subnets), len(d.Interfaces.Interfaces))
	}
	s := Server{Interface: d.Interfaces.Interfaces[0], LeaseSeconds: d.ValidLifetime, Hosts: map[string]Host{}, Options: map[string]string{}}
	var err error
	if s.Subnet, err = netip.ParsePrefix(d.Subnets[0].Subnet); err != nil {
		return s, err
	}
	for _, p := range d.Subnets[0].Pools {
		start, end, _ := strings.Cut(p.Pool, "-")
		first, err := netip.ParseAddr(strings.TrimSpace(start))
		last, wrong := netip.ParseAddr(strings.TrimSpace(end))
		if err := cmp.Or(err, wrong); err != nil {
			return s, err
		}
		s.Ranges = append(s.Ranges, Range{first, last})
	}
	for _, o := range d.Subnets[0].Options {
		s.Options[o.Name] = o.Data
	}
	for _, r := range d.Subnets[0].Reservations {
		ip, err := netip.ParseAddr(r.IP)
		if err != nil {
			return s, err
		}
		s.Hosts[strings.ToLower(r.MAC)] = Host{ip, r.Hostname}
	}
	if s.Boot, err = parseClasses(d.Classes); err != nil {
		return s, err
	}
	s.Pair, err = parseHooks(d.Hooks)
	return s, err
}

func parseClasses(all []class) (*Boot, error) {
	if len(all) == 0 {
		return nil, nil //nolint:nilnil // there is none
	}
	b := &Boot{}
	for _, c := range all {
		for _, k := range kinds {
			if k.name == c.Name && k.test == c.Test {
				*k.file(b) = c.BootFile
			}
		}
		if c.Next != "" {
			next, err := netip.ParseAddr(c.Next)
			if err != nil {
				return nil, err
			}
			b.NextServer = next
		}
	}
	return b, nil
}

func parseHooks(all []hook) (*Pair, error) {
	for _, h := range all {
		if h.Parameters == nil || len(h.Parameters.HA) != 1 {
			continue
		}
		ha := h.Parameters.HA[0]
		p := &Pair{Role: ha.This}
		for _, peer := range ha.Peers {
			at, err := netip.ParseAddrPort(strings.TrimSuffix(strings.TrimPrefix(peer.URL, "http://"), "/"))
			if err != nil {
				return nil, err
			}
			if peer.Name == ha.This {
				p.Address, p.Port = at.Addr(), int64(at.Port())
			} else {
				p.Peer = at.Addr()
			}
		}
		return p, nil
	}
	return nil, nil //nolint:nilnil // there is none
}
