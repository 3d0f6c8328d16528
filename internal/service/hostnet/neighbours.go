package hostnet

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"strings"
)

// Neighbour is the hardware address of another machine that somebody wrote down for good, as `ip -json neigh show nud permanent` gives it.
type Neighbour struct {
	Address netip.Addr `json:"dst"`
	Device  string     `json:"dev"`
	MAC     string     `json:"lladdr"`
}

// parseNeighbours reads a line of lookScript; is says whether it is one.
func parseNeighbours(line string) (all []Neighbour, is bool) {
	text, is := strings.CutPrefix(line, "neighbours ")
	if !is || json.Unmarshal([]byte(text), &all) != nil {
		return nil, is
	}
	return all, is
}

// NeighboursOf are those of a device.
func (m Machine) NeighboursOf(device string) []Neighbour {
	var all []Neighbour
	for _, n := range m.Neighbours {
		if n.Device == device && n.MAC != "" {
			all = append(all, n)
		}
	}
	return all
}

// GiveNeighbours is the script that writes neighbours down for a device.
func GiveNeighbours(device string, all []Neighbour) string {
	var b strings.Builder
	for _, n := range all {
		fmt.Fprintf(&b, "ip neigh replace %s lladdr %s nud permanent dev %s || :\n", n.Address, n.MAC, device)
	}
	return b.String()
}

// MoveNeighbours are the scripts that have the neighbours of one device be another one's, and that undo it. Where the two are one, they are
// written down again: managers forget them with what they configure.
func (m Machine) MoveNeighbours(from, to string) (do, undo string) {
	all := m.NeighboursOf(from)
	do, undo = GiveNeighbours(to, all), GiveNeighbours(from, all)
	if from != to {
		for _, n := range all {
			do += fmt.Sprintf("ip neigh del %s dev %s 2>/dev/null || :\n", n.Address, from)
		}
	}
	return do, undo
}
