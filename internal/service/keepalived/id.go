package keepalived

import (
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
)

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
