package keepalived

// Elected says whether the members of a VIP have come to an end about who holds its addresses: holder is the one that has them, ""
// for none, and served is what those that run say of it. They have not while one of them has not begun, while another one is to
// take the addresses from the holder, and while nobody has them that could.
func Elected(holder string, served map[string]Status) bool {
	held, runs := served[holder]
	if runs && held.State != "MASTER" {
		return false
	}
	for id, s := range served {
		switch {
		case s.State == "INIT":
			return false
		case id == holder || s.State == "FAULT":
		case holder == "", s.State == "MASTER", runs && !s.NoPreempt && s.Effective > held.Effective:
			return false
		}
	}
	return true
}
