package hostnet

import "slices"

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
