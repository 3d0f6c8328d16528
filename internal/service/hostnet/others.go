package hostnet

import (
	_ "embed"
	"slices"
)

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
