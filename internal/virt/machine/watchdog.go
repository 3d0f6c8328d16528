package machine

import (
	"cmp"
	"slices"

	"libvirt.org/go/libvirtxml"
)

// Watchdog is a device that the guest has to tell that it is alive.
type Watchdog struct {
	// Model is "i6300esb" or "ib700", and "none" for a machine without one.
	Model string `attr:"model" restart:"yes"`
	// Action is what becomes of a guest that says nothing; that of no watchdog is the default.
	Action string `attr:"action" restart:"yes"`
}

// DefaultWatchdog is that of a machine where nobody chose one.
var DefaultWatchdog = Watchdog{Model: none, Action: "reset"}

// isChipsetWatchdog says of a watchdog that it is q35's own, which libvirt adds from 9.1 on.
func isChipsetWatchdog(x libvirtxml.DomainWatchdog) bool { return x.Model == "itco" }

func applyWatchdog(d *libvirtxml.Domain, was, want Watchdog) {
	if was == want || want.Model == "" {
		return
	}
	d.Devices.Watchdogs = slices.DeleteFunc(d.Devices.Watchdogs, func(x libvirtxml.DomainWatchdog) bool { return !isChipsetWatchdog(x) })
	if want.Model != none {
		d.Devices.Watchdogs = append(d.Devices.Watchdogs, libvirtxml.DomainWatchdog{Model: want.Model, Action: want.Action})
	}
}

func readWatchdog(d *libvirtxml.Domain) Watchdog {
	w := DefaultWatchdog
	if d.Devices == nil {
		return w
	}
	for _, x := range d.Devices.Watchdogs {
		if !isChipsetWatchdog(x) {
			return Watchdog{Model: x.Model, Action: cmp.Or(x.Action, w.Action)}
		}
	}
	return w
}
