// Package keepalived holds VRRP instances as plain values: what a virtual address shared by several machines
// needs on each of them, how keepalived.conf says it, in which order a change is rolled out so that exactly
// one machine holds the address, and how to check, reload and question the daemon.
package keepalived

import (
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/plan"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

// VIP is a VRRP instance across several machines, as a person means it.
type VIP struct {
	Name string
	// Addresses are the virtual addresses with their prefix lengths. The first one's family is the one that
	// the instance speaks; addresses of the other family ride along (virtual_ipaddress_excluded).
	Addresses []netip.Prefix
	RouterID  int
	// Version is the VRRP version, 2 or 3.
	Version int
	// AdvertInterval is in seconds: whole ones in version 2, hundredths in version 3.
	AdvertInterval float64
	// AuthPass is empty where there is no authentication.
	AuthPass string
	// PasswordVersion is the version of a password that no state may hold; "" is none.
	PasswordVersion string
	Unicast         bool
	Preempt         bool
	// PreemptDelay is in seconds.
	PreemptDelay int
	SyncGroup    string
	// GARP holds keepalived's settings for gratuitous ARP by keyword, such as "garp_master_delay".
	GARP    map[string]int
	Members []Member
	Track   []Track
	// Owner is the mark that its instances carry on the machines.
	Owner owner.Mark
}

// GARPKeys are the settings for gratuitous ARP that there are values for, without the "garp_" before them.
var GARPKeys = []string{"master_delay", "master_repeat", "master_refresh", "master_refresh_repeat", "lower_prio_delay", "lower_prio_repeat"}

// Member is one machine's part in a VIP.
type Member struct {
	// Name is what people call it: its key among the members.
	Name string
	// ID tells machines apart: the service node's id.
	ID        string
	Interface string
	// Address is the machine's own one, that VRRP is spoken from.
	Address  netip.Addr
	Priority int
	// State is "BACKUP" or "MASTER".
	State string
}

// Track is something that a machine's priority depends on: exactly one of Script, Content, Interface and Process.
type Track struct {
	Name string
	// Script is a command line; keepalived splits it at spaces and runs it without a shell.
	Script string
	// Content is a whole script, which is put on the machine; it stands in place of Script.
	Content   string
	Interface string
	// Process is the name of a program that must run.
	Process string
	// Interval and Timeout of a script are in seconds; a zero timeout is keepalived's own (the interval).
	Interval, Timeout int
	// Weight is added to the priority: a positive one while all is well, a negative one while it is not.
	// With zero a failure takes the machine out.
	Weight int
	// Rise and Fall are how many runs of a script it takes to change the verdict.
	Rise, Fall int
	// User runs the script.
	User string
}

// Instance is what one machine has to know of a VIP: one vrrp_instance block and what it refers to.
type Instance struct {
	Name, State, Interface   string
	RouterID, Version        int
	Priority                 int
	AdvertInterval           float64
	AuthPass                 string
	PasswordVersion          string
	NoPreempt                bool
	PreemptDelay             int
	Unicast                  bool
	Source                   netip.Addr
	Peers                    []netip.Addr
	Addresses, MoreAddresses []netip.Prefix
	GARP                     map[string]int
	Track                    []Track
	SyncGroup                string
	// Owner is whose it is; the zero Mark is nobody's: a person wrote it.
	Owner owner.Mark
	// kept is what a person wrote into the block that it was read from.
	kept kept
}

// At is where in a VIP something of a member stands.
func (v VIP) At(i int, attribute string) []any {
	return []any{"members", service.Key(v.Members[i].Name), attribute}
}

// ListAddresses returns the virtual addresses without their prefix lengths.
func (v VIP) ListAddresses() []netip.Addr {
	var all []netip.Addr
	for _, a := range v.Addresses {
		all = append(all, a.Addr())
	}
	return all
}

// Title is a member in messages.
func (v VIP) Title(i int) string { return fmt.Sprintf("members[%q]", v.Members[i].Name) }

// Instance is the VIP as one of its members sees it.
func (v VIP) Instance(id string) Instance {
	i := slices.IndexFunc(v.Members, func(m Member) bool { return m.ID == id })
	m := v.Members[i]
	in := Instance{
		Name: v.Name, State: m.State, Interface: m.Interface, RouterID: v.RouterID, Version: v.Version,
		Priority: m.Priority, AdvertInterval: v.AdvertInterval, AuthPass: v.AuthPass, PasswordVersion: v.PasswordVersion,
		NoPreempt: !v.Preempt, PreemptDelay: v.PreemptDelay, Source: m.Address,
		GARP: v.GARP, Track: v.Track, SyncGroup: v.SyncGroup, Owner: v.Owner,
	}
	for _, a := range v.Addresses {
		if a.Addr().Is4() == v.Addresses[0].Addr().Is4() {
			in.Addresses = append(in.Addresses, a)
		} else {
			in.MoreAddresses = append(in.MoreAddresses, a)
		}
	}
	for _, peer := range v.Members {
		if v.Unicast && peer.ID != id {
			in.Peers = append(in.Peers, peer.Address)
		}
	}
	slices.SortFunc(in.Peers, netip.Addr.Compare)
	// keepalived takes an empty peer list for multicast, so a lone member says multicast openly.
	in.Unicast = len(in.Peers) > 0
	return in
}

// All are the instance's addresses of both families.
func (in Instance) All() []netip.Prefix { return slices.Concat(in.Addresses, in.MoreAddresses) }

// formatSeconds writes an interval as keepalived reads it.
func formatSeconds(s float64) string { return strconv.FormatFloat(s, 'f', -1, 64) }

// Uses implements plan.User: the addresses, the virtual router id on their segment, and an instance on each member. It has none of them
// while its name or its addresses are not known.
func (v VIP) Uses() []plan.Use {
	if len(v.Addresses) == 0 {
		return nil
	}
	var uses []plan.Use
	known := []string{"name", "addresses"}
	if where := v.nameSegment(); where != "" && v.RouterID != 0 {
		uses = append(uses, plan.Use{Kind: plan.RouterID, Scope: where, Value: fmt.Sprint(v.RouterID), Path: []any{"virtual_router_id"}, Known: known})
	}
	for i, a := range v.Addresses {
		uses = append(uses, plan.Use{Kind: plan.VirtualAddress, Scope: "its segment", Value: a.Addr().String(), Span: plan.SpanOf(a.Addr()), Path: []any{"addresses", i}, Known: known})
	}
	for i, m := range v.Members {
		if m.ID != "" {
			for n, a := range v.Addresses {
				uses = append(uses, plan.Use{Kind: plan.VIPOnMachine, On: host.WithoutKey(m.ID), Value: a.Addr().String(), Path: []any{"addresses", n}, Known: known})
			}
			uses = append(uses, plan.Use{Kind: plan.VRRPInstance, On: host.WithoutKey(m.ID), Value: v.Name, Path: v.At(i, "service_node"), Known: known})
		}
	}
	return uses
}

// Describe implements plan.Described. A name alone would not tell two VIPs apart of which one is a copy of the other, or another
// cluster's.
func (v VIP) Describe(string) string {
	if len(v.Addresses) == 0 {
		return fmt.Sprintf("VIP %q", v.Name)
	}
	return fmt.Sprintf("VIP %q with %s", v.Name, v.Addresses[0].Addr())
}

// nameSegment names the L2 segment of the addresses that VRRP is spoken for.
func (v VIP) nameSegment() string {
	if a := v.Addresses[0]; !a.IsSingleIP() {
		return "the segment of " + a.Masked().String()
	}
	for _, m := range v.Members {
		if m.Address.IsValid() {
			bits := 24
			if m.Address.Is6() {
				bits = 64
			}
			return "the segment of " + netip.PrefixFrom(m.Address, bits).Masked().String()
		}
	}
	return ""
}

// ID names a VIP in a configuration, whatever its members are: an address belongs to one VIP. It is the first address, # and
// the name.
func ID(address netip.Addr, name string) string { return address.String() + "#" + name }

// ImportID is what `terraform import` takes for a VIP, as nobody but its members knows of it: their service nodes, each with
// the member's name before it where it has one, separated by commas, then # and the VIP's name.
func ImportID(members []Member, name string) string {
	parts := make([]string, 0, len(members))
	for _, m := range members {
		if m.Name == "" {
			parts = append(parts, m.ID)
		} else {
			parts = append(parts, m.Name+"="+m.ID)
		}
	}
	return strings.Join(parts, ",") + "#" + name
}

// memberPart begins a member in an import's id: its name, if it has one, and the scheme of its service node's id. A comma before
// anything else is part of a service node's id.
var memberPart = regexp.MustCompile(`^(?:([^\s,=#]+)=)?(?:ssh://|local:|qemu-ga://)`)

// SplitID is the inverse of ImportID. Members without a name get the one of their machine.
func SplitID(id string) (members []Member, name string, err error) {
	cut := strings.LastIndexByte(id, '#')
	if cut < 1 || cut == len(id)-1 {
		return nil, "", fmt.Errorf("write MEMBER=SERVICE_NODE,MEMBER=SERVICE_NODE#NAME with the names of the members and the ids of their service nodes, not %q", id)
	}
	for part := range strings.SplitSeq(id[:cut], ",") {
		begins := memberPart.FindStringSubmatch(part)
		switch {
		case begins != nil && begins[1] != "":
			members = append(members, Member{Name: begins[1], ID: part[len(begins[1])+1:]})
		case begins != nil:
			members = append(members, Member{ID: part})
		case len(members) == 0:
			return nil, "", fmt.Errorf("%q does not begin with a service node's id, nor with a member's name, = and one: write MEMBER=SERVICE_NODE,MEMBER=SERVICE_NODE#NAME", id)
		default:
			members[len(members)-1].ID += "," + part
		}
	}
	for i, title := range Titles(members) {
		members[i].Name = title
	}
	return members, id[cut+1:], nil
}

// Titles are what people call members: their names, or those of their machines where they have none.
func Titles(members []Member) []string {
	titles := make([]string, 0, len(members))
	for _, m := range members {
		title := m.Name
		if title == "" {
			title = machineName(m.ID)
		}
		if slices.Contains(titles, title) {
			title = m.ID // two ways to one machine
		}
		titles = append(titles, title)
	}
	return titles
}

// machineName is what a person recognises a service node by: its host's name or address, or its domain's name.
func machineName(id string) string {
	e, err := host.ParseEndpoint(id)
	switch {
	case err != nil:
		return id
	case e.Scheme == host.Local:
		return "local"
	case e.Scheme == host.Agent:
		return e.Domain
	case e.Port != 0 && e.Port != 22:
		return e.Host + ":" + strconv.Itoa(e.Port)
	}
	return e.Host
}
