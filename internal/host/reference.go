package host

import (
	"regexp"
	"strings"
)

// Reference is an endpoint as ids and other resources carry it: in its canonical form, with as much of the host key as is safe.
func (e Endpoint) Reference() string {
	e.HostKey = e.HostKey.Short()
	return e.String()
}

// referenceStart begins a reference in a list of them: perhaps a name for it, and its scheme. A comma before anything else is part
// of the reference before it.
var referenceStart = regexp.MustCompile(`^([^\s,=#/]+=)?(?:ssh://|local:|qemu-ga://)`)

// ShortenReferences returns an id, which begins with a reference, or with a list of them, and #, with each one that carries a host
// key as Reference has it. Any other text comes back as it is.
func ShortenReferences(text string) string {
	place, rest, named := strings.Cut(text, "#")
	var references []string
	for part := range strings.SplitSeq(place, ",") {
		if n := len(references); n > 0 && !referenceStart.MatchString(part) {
			references[n-1] += "," + part
		} else {
			references = append(references, part)
		}
	}
	for i, reference := range references {
		name := ""
		if begins := referenceStart.FindStringSubmatch(reference); begins != nil {
			name = begins[1]
		}
		if e, err := ParseEndpoint(reference[len(name):]); err == nil && e.HostKey != "" {
			references[i] = name + e.Reference()
		}
	}
	if place = strings.Join(references, ","); named {
		return place + "#" + rest
	}
	return place
}

// WithoutKey returns a reference, or an id that begins with one and #, without the host key: what names the same machine, whoever
// wrote it. Any other text comes back as it is.
func WithoutKey(text string) string {
	place, rest, named := strings.Cut(text, "#")
	if e, err := ParseEndpoint(place); err == nil {
		e.HostKey = ""
		place = e.String()
	}
	if named {
		return place + "#" + rest
	}
	return place
}

// SameReference says whether two references lead to the same machine, or two ids that begin with one and # to the same thing on it:
// one of them may carry more of the host key.
func SameReference(a, b string) bool {
	placeA, partA, _ := strings.Cut(a, "#")
	placeB, partB, _ := strings.Cut(b, "#")
	one, err1 := ParseEndpoint(placeA)
	two, err2 := ParseEndpoint(placeB)
	if err1 != nil || err2 != nil || partA != partB {
		return a == b
	}
	if one.HostKey != two.HostKey && !one.HostKey.Within(two.HostKey) && !two.HostKey.Within(one.HostKey) {
		return false
	}
	one.HostKey, two.HostKey = "", ""
	return one.String() == two.String()
}
