package acctest

import (
	"regexp"
	"strings"
)

// Names that begin with a capital wherever they stand, and do not look like one: those with a second capital do.
var names = map[string]bool{
	"Butane": true, "Chrony": true, "Debian": true, "Ethernet": true, "Fedora": true, "Ignition": true, "Kubernetes": true, "Linux": true,
	"Netplan": true, "Secure": true, "Terraform": true, "Unix": true, "Vault": true,
}

var (
	quoted = regexp.MustCompile("\"[^\"]*\"|`[^`]*`")
	middle = regexp.MustCompile(`[,;:(] ([A-Z][a-z]+)\b`)
)

// unreadNumber is what the framework says of a number that is not whole or that no int64 holds, which it reads before any validator:
// an error in the provider, with a formatting that went wrong. It names the number and the attribute.
var unreadNumber = regexp.MustCompile(`Value %!s\(\*big\.Float=[^)]*\) (is not an integer|cannot be represented as a 64-bit integer)`)

// SignOfFault returns what shows in the text of an error or a warning that the provider is at fault, or "": what a formatting left
// over, and what the framework or Terraform's core says of it.
func SignOfFault(message string) string {
	if unreadNumber.MatchString(message) {
		return ""
	}
	for _, sign := range []string{"Value Conversion Error", "always an error in the provider", "%!", "panic", "nil pointer", "Missing Resource Identity", "inconsistent"} {
		if strings.Contains(message, sign) {
			return "it says " + sign
		}
	}
	return ""
}

// FaultOf is what is wrong with a text that is all the provider's own, or "": a sign of a fault, or a sentence within a sentence, whose
// capital gives it away. What daemons say has capitals of their own.
func FaultOf(message string) string {
	if fault := SignOfFault(message); fault != "" || unreadNumber.MatchString(message) {
		return fault
	}
	for line := range strings.Lines(quoted.ReplaceAllString(message, `""`)) {
		for _, m := range middle.FindAllStringSubmatch(line, -1) {
			if !names[m[1]] {
				return "it has a capital in the middle of a sentence: " + m[1]
			}
		}
	}
	return ""
}
