package hostnet

import "slices"

// guestsStay is the command that has a bridge which stays keep what others put into it: one that is configured, or goes back to a person's
// connection.
func guestsStay(from, to []Setup) string {
	all := append(slices.Clone(to), from...)
	i := slices.IndexFunc(all, func(s Setup) bool { return s.Bridge != nil && (hasDevice(to, s.Device) || !s.isCreated()) })
	if i < 0 {
		return ""
	}
	words := "keep_guests " + all[i].Device
	for _, s := range all {
		words += " " + s.Device
	}
	return words + "\n"
}
