package host

import (
	"encoding/base64"
	"errors"
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

// Pin is the beginning of the SHA-256 fingerprint of the only host key that a machine may show, in the base64 of URLs (RFC 4648
// section 5), which needs no escapes: the 43 characters of a whole one, or pinLength of them at least.
type Pin string

// pinLength characters are 96 bits: nobody can make another key with the same ones.
const (
	pinLength         = 16
	fingerprintLength = 43 // of 32 bytes in base64 without padding
)

// fingerprintPrefix comes before a fingerprint where OpenSSH prints one.
const fingerprintPrefix = "SHA256:"

var pinForm = regexp.MustCompile(`^[A-Za-z0-9_-]{16,43}$`)

var (
	toURL   = strings.NewReplacer("+", "-", "/", "_")
	fromURL = strings.NewReplacer("-", "+", "_", "/")
)

// ParsePin reads a fingerprint as ssh-keygen -l prints it, "SHA256:…", or a pin as Pin has it.
func ParsePin(text string) (Pin, error) {
	print, whole := strings.CutPrefix(text, fingerprintPrefix)
	p := Pin(toURL.Replace(print))
	if _, err := base64.RawURLEncoding.DecodeString(string(p)); whole && (err != nil || len(p) != fingerprintLength) {
		return "", errors.New("a fingerprint is SHA256: and 43 characters, as ssh-keygen -l prints it")
	}
	if !pinForm.MatchString(string(p)) {
		return "", errors.New("write a fingerprint, SHA256: and 43 characters, or 16 of them at least with - and _ for + and /")
	}
	return p, nil
}

// Short is what references to a machine carry.
func (p Pin) Short() Pin { return p[:min(len(p), pinLength)] }

// Matches says whether a whole fingerprint, "SHA256:…", begins as the pin does. A pin that is too short matches none.
func (p Pin) Matches(fingerprint string) bool {
	return len(p) >= pinLength && strings.HasPrefix(toURL.Replace(strings.TrimPrefix(fingerprint, fingerprintPrefix)), string(p))
}

// Within says whether every key that the pin accepts is accepted by the other one.
func (p Pin) Within(other Pin) bool {
	return len(other) >= pinLength && strings.HasPrefix(string(p), string(other))
}

// Whole says whether it is a whole fingerprint.
func (p Pin) Whole() bool { return len(p) == fingerprintLength }

// String is the pin as OpenSSH prints fingerprints, with … for what is left out.
func (p Pin) String() string {
	text := fingerprintPrefix + fromURL.Replace(string(p))
	if !p.Whole() {
		text += "…"
	}
	return text
}
