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

// reloadNetworkd is the script that has systemd-networkd read its files, for a change of these devices.
func reloadNetworkd(from, to Desired) string {
	words := "reload_networkd"
	for _, d := range append(slices.Clone(to.Devices), from.without(to)...) {
		words += " " + d.Name
	}
	return words + "\n"
}

// givenByOthers is what a device has that nobody got from this provider: it is neither among what the device got, nor comes by itself.
func (m Machine) givenByOthers(device string, got []Setting) []Setting {
	return slices.DeleteFunc(m.Addressing(device).Settings(), func(s Setting) bool {
		return slices.ContainsFunc(got, func(asked Setting) bool { return asked.Meant(s) })
	})
}

// leaveOthers is the script that leaves what others gave to the devices that this provider gives up. With its own configuration a manager takes
// that too. What a bridge had that goes is the first interface's then.
func (m Machine) leaveOthers(from, to Desired) string {
	var got []Setting
	for _, d := range from.Devices {
		got = append(append(got, d.settings()...), d.Before.Settings...)
	}
	text := ""
	for _, d := range from.without(to) {
		heir := d
		if d.isCreated() {
			i := slices.IndexFunc(from.Devices, func(o Device) bool { return !o.isCreated() && o.Master == d.Name })
			if i < 0 {
				continue
			}
			heir = from.Devices[i]
		}
		if given := m.givenByOthers(d.Name, got); len(given) > 0 && d.Master == "" {
			var b Batch
			b.Give(heir.Name, given)
			text += "settle " + heir.Name + "\n" + b.quietly()
		}
	}
	return text
}
