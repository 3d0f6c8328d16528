package values

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

// Kinds of text that attributes hold.
var (
	// Free is any text, the empty one too: contents that a person writes, such as comments and command lines.
	Free = Kind{noun: "text", empty: true}
	// Text is any text that is not empty.
	Text = Kind{noun: "text"}
	// Line is one line of text.
	Line = New("line of text", "", oneLine)
	// Secret is one line of text that no message repeats.
	Secret = New("secret", "", oneSecret)
	// Word is one word: no blanks, no control characters.
	Word = New("name", "", oneWord)
	// Name is the name of an object, which may have a blank within, but neither at its ends nor a control character.
	Name = New("name", "", checkName)
	// Path is an absolute path.
	Path = New("path", "/var/lib/x", absolutePath)
	// Address is an IPv4 or IPv6 address without a zone.
	Address = New("address", "10.0.0.1", checkAddress).Same(canonicalAddress)
	// Prefix is a network: an address whose bits after the length are not set.
	Prefix = New("prefix", "10.0.0.0/24", checkPrefix).Same(canonicalPrefix)
	// AddressInPrefix is an address with the length of its network's prefix.
	AddressInPrefix = New("address with a prefix length", "10.0.0.1/24", addressInPrefix).Same(canonicalPrefix)
	// AddressOrPrefix is either.
	AddressOrPrefix = New("address or prefix", "10.0.0.0/24", addressOrPrefix).Same(canonicalPrefix)
	// MAC is an Ethernet address of one card.
	MAC = New("MAC address", "52:54:00:aa:6c:01", checkMAC).Same(canonicalMAC)
	// Device is the name of a network device.
	Device = New("name of a network device", "eth0", checkDevice)
	// HostName is a machine's name, or a domain's: labels of letters, digits and hyphens, with dots between them.
	HostName = New("host name", "node-1.example.com", hostName).Same(strings.ToLower)
	// UUID is one as libvirt spells it, by which texts are compared.
	UUID = Matching("UUID", "c2177883-f1bb-47f0-914d-32a22e3a8804", uuidPattern, "a UUID in small letters and with dashes")
	// Endpoint names a machine and how it is reached.
	Endpoint = New("endpoint", "ssh://root@10.0.0.100", checkEndpoint)
)

// OneOf is one of a few words.
func OneOf(words ...string) Kind {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = fmt.Sprintf("%q", w)
	}
	return New("value", words[0], func(text string) error {
		if slices.Contains(words, text) {
			return nil
		}
		return fmt.Errorf("write one of %s, not %q", strings.Join(quoted, ", "), text)
	})
}

// Duration is a duration within bounds, which are in it.
func Duration(least, most time.Duration) Kind {
	k := New("duration", most.String(), func(text string) error {
		d, err := time.ParseDuration(text)
		if err != nil {
			return fmt.Errorf("write a duration such as \"30s\" or \"10m\", not %q", text)
		}
		if d < least || d > most {
			return fmt.Errorf("write a duration from %s to %s, not %q", shortDuration(least), shortDuration(most), text)
		}
		return nil
	})
	k.example, k.zero = "30s", least == 0
	return k.Same(func(text string) string {
		d, err := time.ParseDuration(text)
		if err != nil {
			return text
		}
		return d.String()
	})
}

// shortDuration is a duration without its parts of nothing: "24h".
func shortDuration(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// Matching is a name that a regular expression matches; form says in words what it wants.
func Matching(noun, example string, expression *regexp.Regexp, form string) Kind {
	return New(noun, example, func(text string) error {
		if expression.MatchString(text) {
			return nil
		}
		return fmt.Errorf("write %s, not %q", form, text)
	})
}

var uuidPattern = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

func oneLine(text string) error {
	if strings.ContainsFunc(text, unicode.IsControl) {
		return fmt.Errorf("write one line without control characters, not %q", text)
	}
	if strings.TrimSpace(text) == "" {
		return fmt.Errorf("write more than blanks, not %q, or leave it out (null)", text)
	}
	return nil
}

// oneSecret says no more of the text than that it is not one line: diagnostics are not redacted.
func oneSecret(text string) error {
	if oneLine(text) != nil {
		return errors.New("write one line without control characters; of what a file holds, chomp() takes the end of the line off")
	}
	return nil
}

func oneWord(text string) error {
	if strings.ContainsFunc(text, func(r rune) bool { return unicode.IsControl(r) || unicode.IsSpace(r) }) {
		return fmt.Errorf("write one word without blanks, not %q", text)
	}
	return nil
}

func checkName(text string) error {
	if err := oneLine(text); err != nil {
		return err
	}
	if strings.TrimSpace(text) != text {
		return fmt.Errorf("write it without blanks around, not %q", text)
	}
	return nil
}

func absolutePath(text string) error {
	if err := oneLine(text); err != nil {
		return err
	}
	if !strings.HasPrefix(text, "/") {
		return fmt.Errorf("write a path from the root, beginning with a slash, not %q", text)
	}
	return nil
}

func checkAddress(text string) error {
	if _, err := service.ParseAddress(text); err != nil {
		return fmt.Errorf("write an address such as \"10.0.0.1\" or \"2001:db8::1\": %w", err)
	}
	return nil
}

func canonicalAddress(text string) string {
	if a, err := netip.ParseAddr(text); err == nil {
		return a.Unmap().String()
	}
	return text
}

func checkPrefix(text string) error {
	p, err := netip.ParsePrefix(text)
	if err != nil {
		return fmt.Errorf("write an address and a length, such as \"10.0.0.0/24\", not %q", text)
	}
	if p.Masked() != p {
		return fmt.Errorf("%q has bits set after its length: write %q", text, p.Masked())
	}
	return nil
}

func addressInPrefix(text string) error {
	if _, err := netip.ParsePrefix(text); err != nil {
		return fmt.Errorf("write an address with the length of its network's prefix, such as \"10.0.0.1/24\", not %q", text)
	}
	return nil
}

func addressOrPrefix(text string) error {
	if strings.Contains(text, "/") {
		return addressInPrefix(text)
	}
	return checkAddress(text)
}

func canonicalPrefix(text string) string {
	if p, err := netip.ParsePrefix(text); err == nil {
		return p.String()
	}
	return canonicalAddress(text)
}

// etherBytes is how long an Ethernet address is.
const etherBytes = 6

func checkMAC(text string) error {
	m, err := net.ParseMAC(text)
	switch {
	case err != nil || len(m) != etherBytes:
		return fmt.Errorf("write six bytes, such as \"52:54:00:aa:6c:01\", not %q", text)
	case m[0]&1 != 0:
		return fmt.Errorf("%q is for many machines, as its first byte is odd: write an address of one", text)
	case slices.Equal(m, make(net.HardwareAddr, etherBytes)):
		return errors.New("write an address that is not all zeros")
	}
	return nil
}

func canonicalMAC(text string) string {
	if m, err := net.ParseMAC(text); err == nil {
		return m.String()
	}
	return text
}

// devicePattern is of names that the kernel takes (IFNAMSIZ less the byte at the end, no slash, colon or blank), and that daemons and
// their configurations take as one word.
var devicePattern = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.@-]{0,14}$`)

func checkDevice(text string) error {
	if !devicePattern.MatchString(text) {
		return fmt.Errorf("write the name of a network device, of at most 15 letters, digits and \"_.@-\", not %q", text)
	}
	return nil
}

// label is one part of a host name (RFC 1123, section 2.1).
var label = regexp.MustCompile(`^[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?$`)

// longestName is how long a domain name's text can be (RFC 1035, section 2.3.4).
const longestName = 253

func hostName(text string) error {
	all := strings.Split(strings.TrimSuffix(text, "."), ".")
	if len(text) > longestName || slices.ContainsFunc(all, func(l string) bool { return !label.MatchString(l) }) {
		return fmt.Errorf("write labels of letters, digits and hyphens with dots between them, such as \"node-1.example.com\", not %q", text)
	}
	return nil
}

func checkEndpoint(text string) error {
	if strings.ContainsFunc(text, func(r rune) bool { return r > utf8.RuneSelf || unicode.IsControl(r) || unicode.IsSpace(r) }) {
		return fmt.Errorf("write ssh://[user@]host[:port], local: or qemu-ga://[hypervisor]/domain, not %q", text)
	}
	e, err := host.ParseEndpoint(text)
	if err == nil {
		_, err = host.ParseJump(e.ProxyJump)
	}
	return err
}
