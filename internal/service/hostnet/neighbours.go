package hostnet

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
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

// giveNeighbours is the script that writes neighbours down for a device.
func giveNeighbours(device string, all []Neighbour) string {
	var b strings.Builder
	for _, n := range all {
		fmt.Fprintf(&b, "ip neigh replace %s lladdr %s nud permanent dev %s || :\n", n.Address, n.MAC, device)
	}
	return b.String()
}

// moveNeighbours are the scripts that have the neighbours of one device be another one's, and that undo it. Where the two are one, they are
// written down again: managers forget them with what they configure.
func (m Machine) moveNeighbours(from, to string) (do, undo string) {
	all := m.NeighboursOf(from)
	do, undo = giveNeighbours(to, all), giveNeighbours(from, all)
	if from != to {
		for _, n := range all {
			do += fmt.Sprintf("ip neigh del %s dev %s 2>/dev/null || :\n", n.Address, from)
		}
	}
	return do, undo
}

// carryNeighbours are the scripts by which neighbours stay with the addresses of devices, and that undo it: a bridge has those that are
// written down for what it takes, or were for what it had taken before somebody deleted it, and keeps its own. A bridge that goes returns them.
func (m Machine) carryNeighbours(from, to Desired) (do, undo string) {
	add := func(more, back string) { do, undo = do+more, undo+back }
	bridge, bridged := to.findBridge()
	for _, d := range to.Devices {
		top := d.Name
		if bridged {
			top = bridge.Name
		}
		if m.isLost(from) {
			add(giveNeighbours(top, d.Before.Neighbours), "")
		}
		add(m.moveNeighbours(d.Name, top))
	}
	if was, is := from.findBridge(); is && was.isCreated() && !to.hasDevice(was.Name) {
		add(m.returnNeighbours(was.Name, from), giveNeighbours(was.Name, m.NeighboursOf(was.Name)))
		return do, undo
	}
	for _, d := range from.devicesWithout(to) {
		if d.standsAlone() {
			add(m.moveNeighbours(d.Name, d.Name))
		}
	}
	return do, undo
}

// returnNeighbours is the script by which each interface of a bridge that goes has its neighbours again. What somebody wrote down for the
// bridge meanwhile goes to the first one, as addresses do.
func (m Machine) returnNeighbours(bridge string, from Desired) string {
	ports := slices.DeleteFunc(slices.Clone(from.Devices), func(d Device) bool { return d.isCreated() || d.Master == "" })
	knew := func(d Device, n Neighbour) bool {
		return slices.ContainsFunc(d.Before.Neighbours, func(o Neighbour) bool { return o.Address == n.Address })
	}
	text := ""
	for i, d := range ports {
		if m.isElsewhere(from, d.Name) {
			continue
		}
		its := d.Before.Neighbours // of a bridge that somebody deleted
		if !m.isLost(from) {
			its = slices.DeleteFunc(m.NeighboursOf(bridge), func(n Neighbour) bool {
				known := slices.ContainsFunc(ports, func(o Device) bool { return knew(o, n) })
				return !knew(d, n) && (known || i > 0)
			})
		}
		text += giveNeighbours(d.Name, its)
	}
	return text
}

// othersScript are the functions by which a change leaves what other devices have.
//
//go:embed others.sh
var othersScript string

// functionsScript are all functions that what a change does, and what undoes it, may call.
func functionsScript() string {
	return "print_held() {\n" + heldScript + "}\n" + othersScript + stepsScript
}

// listNames are the names of all devices of a change, as words of a script.
func listNames(from, to Desired) string {
	words := ""
	for _, d := range append(slices.Clone(to.Devices), from.devicesWithout(to)...) {
		words += " " + d.Name
	}
	return words
}

// givenByOthers is what a device has that is not this provider's: it is not among what the provider gave or gives, nor comes by itself. What
// ifupdown's DHCP client made of a lease does not say so: of a device that asks for one, routes are not told apart.
func (m Machine) givenByOthers(d Device, backend string, got []Setting) []Setting {
	return slices.DeleteFunc(m.Addressing(d.Name).Settings(), func(s Setting) bool {
		leased := d.DHCP && backend == Ifupdown && !s.IsAddress()
		return leased || slices.ContainsFunc(got, func(asked Setting) bool { return asked.Meant(s) })
	})
}

// leaveOthers is the script by which devices keep what others gave them, where this provider changes them or gives them up: with its own
// configuration a manager takes that too. What a bridge had that goes is the first interface's then.
func (m Machine) leaveOthers(from, to Desired) string {
	var got []Setting
	for _, d := range append(slices.Clone(from.Devices), to.Devices...) {
		got = append(append(got, d.ownSettings()...), d.Before.Settings...)
	}
	text := ""
	for _, d := range from.Devices {
		heir := d
		if d.isCreated() && !to.hasDevice(d.Name) {
			i := slices.IndexFunc(from.Devices, func(o Device) bool { return !o.isCreated() && o.Master == d.Name })
			if i < 0 {
				continue
			}
			heir = from.Devices[i]
		}
		if given := m.givenByOthers(d, from.Backend, got); len(given) > 0 && d.Master == "" {
			var b Batch
			b.Give(heir.Name, given)
			text += "settle " + heir.Name + "\n" + b.formatQuietScript()
		}
	}
	return text
}

// guestsStay is the command that has a bridge which stays keep what others put into it: one that is configured, or goes back to a person's
// connection.
func guestsStay(from, to Desired) string {
	all := append(slices.Clone(to.Devices), from.Devices...)
	i := slices.IndexFunc(all, func(d Device) bool { return d.Bridge != nil && (to.hasDevice(d.Name) || !d.isCreated()) })
	if i < 0 {
		return ""
	}
	words := "keep_guests " + all[i].Name
	for _, d := range all {
		words += " " + d.Name
	}
	return words + "\n"
}
