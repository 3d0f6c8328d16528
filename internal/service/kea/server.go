// Package kea is a DHCP server for one Ethernet segment: Kea, in a unit of the provider's own for each interface.
package kea

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go4.org/netipx"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/plan"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/ownunit"
)

// Server is what is served on one interface.
type Server struct {
	Interface string `attr:"interface"`
	// Subnet is that of the segment.
	Subnet netip.Prefix `attr:"cidr"`
	// Ranges are given out to any machine.
	Ranges []Range `attr:"ranges"`
	// Hosts are the machines that have an address of their own, by MAC address in lower case.
	Hosts map[string]Host `attr:"hosts,canonical"`
	// LeaseSeconds is how long a lease lasts.
	LeaseSeconds int64 `attr:"lease_seconds"`
	// Options by Kea's names (https://kea.readthedocs.io, "Standard DHCPv4 Options"), each with its value as Kea reads it.
	Options map[string]string `attr:"options"`
	// Boot is what machines that boot from the network are told; nil for nothing.
	Boot *Boot `attr:"boot"`
	// Pair is the server on another machine that takes over; nil for none.
	Pair *Pair `attr:"pair"`
}

// Range is a run of addresses, both ends included.
type Range struct {
	Start netip.Addr `attr:"start"`
	End   netip.Addr `attr:"end"`
}

// Host is a machine with an address of its own.
type Host struct {
	IP       netip.Addr `attr:"ip"`
	Hostname string     `attr:"hostname"`
}

// Boot is what is booted, by who asks (RFC 4578, option 93): files of a TFTP server, and URLs.
type Boot struct {
	// NextServer is the TFTP server.
	NextServer netip.Addr `attr:"next_server"`
	// BIOS, UEFIia32, UEFIx64 and UEFIarm64 are the files for firmware that fetches by TFTP; "" for nothing.
	BIOS      string `attr:"bios"`
	UEFIia32  string `attr:"uefi_ia32"`
	UEFIx64   string `attr:"uefi_x64"`
	UEFIarm64 string `attr:"uefi_arm64"`
	// HTTPx64 and HTTParm64 are URLs for firmware that boots by HTTP. It takes no redirect.
	HTTPx64   string `attr:"http_x64"`
	HTTParm64 string `attr:"http_arm64"`
	// IPXE is what iPXE is told, which asks again once it runs: the URL of a script.
	IPXE string `attr:"ipxe"`
}

// The roles of a Pair.
const (
	Primary = "primary"
	Standby = "standby"
)

// Pair is two servers of one segment, of which one answers and the other takes over.
type Pair struct {
	// Role is Primary for the one that answers while both run, and Standby for the other one.
	Role string `attr:"role"`
	// Address and Peer are the two machines' own, where they tell each other of leases, at Port.
	Address netip.Addr `attr:"address"`
	Peer    netip.Addr `attr:"peer"`
	Port    int64      `attr:"port"`
}

// options are the names of options that Kea knows for a subnet, each with the form of its value.
var options = map[string]*regexp.Regexp{
	"time-offset": number, "routers": addresses, "time-servers": addresses, "name-servers": addresses, "domain-name-servers": addresses, "log-servers": addresses,
	"domain-name": word, "root-path": text, "ip-forwarding": boolean, "interface-mtu": number, "broadcast-address": address, "nis-domain": text,
	"nis-servers": addresses, "ntp-servers": addresses, "netbios-name-servers": addresses, "tftp-server-name": text, "domain-search": words,
	"classless-static-route": routes, "posix-timezone": text, "tcode": text, "tzdb-timezone": text, "v4-captive-portal": text,
}

var (
	number    = regexp.MustCompile(`^-?[0-9]{1,10}$`)
	boolean   = regexp.MustCompile(`^(true|false)$`)
	address   = regexp.MustCompile(`^[0-9]{1,3}(\.[0-9]{1,3}){3}$`)
	addresses = regexp.MustCompile(`^[0-9]{1,3}(\.[0-9]{1,3}){3}( *, *[0-9]{1,3}(\.[0-9]{1,3}){3})*$`)
	routes    = regexp.MustCompile(`^[0-9a-fA-F, ]+$|^[0-9./]+ *- *[0-9.]+( *, *[0-9./]+ *- *[0-9.]+)*$`)
	word      = regexp.MustCompile(`^[A-Za-z0-9._-]+$`)
	words     = regexp.MustCompile(`^[A-Za-z0-9._-]+( *, *[A-Za-z0-9._-]+)*$`)
	text      = regexp.MustCompile(`^[^"\\,\x00-\x1f]+$`)
)

// CheckBootFile refuses what firmware cannot be told to boot. It fits into the 127 characters that a BOOTP header has for it (RFC 2131, section 2).
var CheckBootFile = service.NewForm(`^[A-Za-z0-9._/:@?=&%${}~+\[\]-]{1,127}$`,
	"write a file of the TFTP server or a URL, of up to 127 letters, digits and . _ / : @ ? = & % $ { } ~ + [ ] -")

// CheckOption refuses what is no option of a subnet.
func CheckOption(name, value string) error {
	form, known := options[name]
	switch {
	case !known:
		return fmt.Errorf("%q is no option that can be set here: write one of %s", name, strings.Join(slices.Sorted(maps.Keys(options)), ", "))
	case !form.MatchString(value):
		return fmt.Errorf("%q is no value of the option %s", value, name)
	}
	return nil
}

// Validate finds what no server would serve.
func (s Server) Validate() []service.Problem {
	var all []service.Problem
	add := func(path []any, summary, format string, args ...any) {
		all = append(all, service.Problemf(path, summary, format, args...))
	}
	subnet := s.Subnet
	switch {
	case !subnet.IsValid():
	case !subnet.Addr().Is4():
		add([]any{"cidr"}, "Wrong address family", "write an IPv4 subnet, not %s: DHCP for IPv6 is none of this server's", subnet)
	case subnet.Bits() > 30 || subnet.Bits() == 0:
		add([]any{"cidr"}, "Subnet of no use", "%s has no room for a server and machines; write a prefix length of 1 to 30", subnet)
	}
	within := func(a netip.Addr) bool {
		r := netipx.RangeOfPrefix(subnet)
		return !subnet.IsValid() || subnet.Contains(a) && a != r.From() && a != r.To()
	}
	for i, r := range s.Ranges {
		at := []any{"ranges", i}
		switch {
		case !r.Start.IsValid() || !r.End.IsValid():
		case !within(r.Start) || !within(r.End):
			add(at, "Range outside the subnet", "%s to %s is not within the machines' addresses of %s", r.Start, r.End, subnet)
		case r.End.Less(r.Start):
			add(at, "Invalid range", "%s is behind %s: write the first address as start", r.Start, r.End)
		}
		for _, other := range s.Ranges[:i] {
			if r.Start.IsValid() && other.Start.IsValid() && r.Start.Compare(other.End) <= 0 && other.Start.Compare(r.End) <= 0 {
				add(at, "Overlapping ranges", "%s to %s overlaps %s to %s", r.Start, r.End, other.Start, other.End)
			}
		}
	}
	fixed := s.listFixed()
	for _, address := range slices.SortedFunc(maps.Keys(fixed), netip.Addr.Compare) {
		if i := s.findRange(address); i >= 0 {
			add([]any{"ranges", i}, "Address of a server in a range", "%s is %s, and %s to %s is given out to any machine: leave it out", address, fixed[address], s.Ranges[i].Start, s.Ranges[i].End)
		}
	}
	taken := map[netip.Addr]string{}
	for _, mac := range slices.Sorted(maps.Keys(s.Hosts)) {
		at, ip := []any{"hosts", service.Key(mac)}, s.Hosts[mac].IP
		if !ip.IsValid() {
			continue
		}
		if !within(ip) {
			add(at, "Address outside the subnet", "%s is no machine's address in %s", ip, subnet)
		}
		if other := taken[ip]; other != "" {
			add(at, "Address of two machines", "%s is kept for %s already", ip, other)
		}
		taken[ip] = mac
		if i := s.findRange(ip); i >= 0 {
			add(at, "Reserved address in a range", "%s is in %s to %s, which any machine gets: end the range before it", ip, s.Ranges[i].Start, s.Ranges[i].End)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Options)) {
		if err := CheckOption(name, s.Options[name]); err != nil {
			add([]any{"options", service.Key(name)}, "Invalid DHCP option", "%s", err)
		}
	}
	if p := s.Pair; p != nil && p.Address.IsValid() && p.Peer == p.Address {
		add([]any{"pair", "peer"}, "A pair of one", "%s is this machine's own address: write the other one's", p.Peer)
	}
	return all
}

// findRange returns which range has an address; -1 for none.
func (s Server) findRange(a netip.Addr) int {
	return slices.IndexFunc(s.Ranges, func(r Range) bool {
		return r.Start.IsValid() && r.End.IsValid() && r.Start.Compare(a) <= 0 && a.Compare(r.End) <= 0
	})
}

// listFixed returns the addresses that machines of the segment are told of as a router's or a server's, with whose each is.
func (s Server) listFixed() map[netip.Addr]string {
	all := map[netip.Addr]string{}
	for router := range strings.SplitSeq(s.Options["routers"], ",") {
		if a, err := netip.ParseAddr(strings.TrimSpace(router)); err == nil {
			all[a] = "a router's (options)"
		}
	}
	if s.Boot != nil {
		all[s.Boot.NextServer] = "the TFTP server's (boot)"
	}
	if s.Pair != nil {
		all[s.Pair.Address], all[s.Pair.Peer] = "this server's (pair)", "that of the other one of the pair"
	}
	return all
}

// Files are what is booted, whoever asks.
func (b *Boot) Files() []string {
	var all []string
	for _, k := range kinds {
		if file := *k.file(b); file != "" {
			all = append(all, file)
		}
	}
	return all
}

// Uses implements plan.User: an interface has one DHCP server, and what that gives out may be nobody else's address.
func (s Server) Uses() []plan.Use {
	if s.Interface == "" {
		return nil
	}
	on := fmt.Sprintf("the segment of %s", s.Interface)
	uses := []plan.Use{{Kind: plan.DHCPServer, Value: s.Interface, Path: []any{"interface"}}}
	for i, r := range s.Ranges {
		if r.Start.IsValid() && r.End.IsValid() {
			uses = append(uses, plan.Use{
				Kind: plan.HandedOut, Scope: on, Value: fmt.Sprintf("%s to %s", r.Start, r.End), Span: plan.Span{First: r.Start, Last: r.End}, Path: []any{"ranges", i},
			})
		}
	}
	for _, mac := range slices.Sorted(maps.Keys(s.Hosts)) {
		if a := s.Hosts[mac].IP; a.IsValid() {
			uses = append(uses, plan.Use{Kind: plan.ListedAddress, Scope: on, Value: a.String(), Span: plan.SpanOf(a), For: mac, Path: []any{"hosts"}})
		}
	}
	return uses
}

var (
	// lookScript prints what is on the segment, and segmentProgram asks on the wire for it.
	//
	//go:embed look.sh
	lookScript string
	//go:embed segment.py
	segmentProgram string
)

// exitNoDevice is lookScript's status where there is no such device.
const exitNoDevice = 44

// lookAtSegment returns why no server can be made on the interface of want, as an error at its attribute: it is missing, has no address in the
// subnet, or another server answers there already. A machine that cannot listen proves nothing.
func lookAtSegment(ctx context.Context, h host.Host, want Server) error {
	args := []string{want.Interface, segmentProgram}
	if p := want.Pair; p != nil && p.Peer.IsValid() {
		args = append(args, p.Peer.String(), strconv.FormatInt(p.Port, 10))
	}
	out, err := h.Run(ctx, host.RepeatableScript("look for DHCP on "+want.Interface, lookScript, args...))
	if exit, failed := errors.AsType[*host.ExitError](err); failed && exit.Code == exitNoDevice {
		return service.At([]any{"interface"}, fmt.Errorf("there is no interface %s on %s", want.Interface, h))
	}
	if err != nil {
		return err
	}
	return judgeSegment(ownunit.ParseLook(string(out)), want, h.String())
}

func judgeSegment(look ownunit.Look, want Server, machine string) error {
	for _, l := range look.Listeners("port") {
		if l.TakesAll() && l.Process != "kea-dhcp4" {
			return service.At([]any{"interface"}, fmt.Errorf("%s on %s has port 67 of every interface already: end it, or have it listen elsewhere", l.Process, machine))
		}
	}
	own, peer := look.Addresses(), want.peerOnSegment(look)
	for _, a := range look["answers"] {
		server, err := netip.ParseAddr(a)
		if err != nil || slices.Contains(own, server) || server == peer {
			continue
		}
		return service.At([]any{"interface"}, fmt.Errorf("%s gives out addresses on the segment of %s on %s already, and machines would take what comes first: end that one, or make both a pair", server, want.Interface, machine))
	}
	for _, a := range own {
		if i := want.findRange(a); i >= 0 {
			return service.At([]any{"ranges", i}, fmt.Errorf("%s is %s's own on %s, and %s to %s is given out to any machine: leave it out", a, machine, want.Interface, want.Ranges[i].Start, want.Ranges[i].End))
		}
	}
	if want.Subnet.IsValid() && !slices.ContainsFunc(own, want.Subnet.Contains) {
		return service.At([]any{"cidr"}, fmt.Errorf("%s on %s has no address in %s, which a server needs", want.Interface, machine, want.Subnet))
	}
	return nil
}

// peerOnSegment returns the address of the other one of a pair on the segment; an invalid one where none is known. Where the two tell each other of
// leases over another network, and the other one is there, it is the first that answers in the subnet besides this machine.
func (s Server) peerOnSegment(look ownunit.Look) netip.Addr {
	if s.Pair == nil {
		return netip.Addr{}
	}
	if s.Subnet.Contains(s.Pair.Peer) || len(look["peer"]) == 0 {
		return s.Pair.Peer
	}
	for _, answers := range look["answers"] {
		if a, err := netip.ParseAddr(answers); err == nil && s.Subnet.Contains(a) && !slices.Contains(look.Addresses(), a) {
			return a
		}
	}
	return s.Pair.Peer
}
