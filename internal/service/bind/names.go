package bind

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/net/idna"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

// Apex is the name of the zone itself among its records.
const Apex = "@"

// label is what a label may be made of, after conversion: letters, digits, hyphen and underscore, and the slash
// of RFC 2317.
var label = regexp.MustCompile(`^[a-z0-9_]([a-z0-9_/-]*[a-z0-9_])?$`)

// hostLabel is a label of a host name (RFC 1123); BIND's check-names refuses address records under others.
var hostLabel = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?$`)

// ToASCII converts the internationalised labels of a name (RFC 5891); other labels stay as they are.
func ToASCII(name string) (string, error) {
	if isASCII(name) {
		return name, nil
	}
	labels := strings.Split(name, ".")
	for i, l := range labels {
		if isASCII(l) {
			continue
		}
		converted, err := idna.Registration.ToASCII(strings.ToLower(l))
		if err != nil {
			return "", fmt.Errorf("label %q cannot be converted to ASCII: %w", l, err)
		}
		labels[i] = converted
	}
	return strings.Join(labels, "."), nil
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

// ZoneName is a zone's name in canonical form: ASCII, lower case, without the dot at its end.
func ZoneName(name string) (string, error) {
	ascii, err := ToASCII(name)
	if err != nil {
		return "", err
	}
	canonical := strings.TrimSuffix(strings.ToLower(ascii), ".")
	if strings.HasPrefix(canonical, "*") {
		return canonical, fmt.Errorf("%q: a zone is not named by a wildcard: write the zone's name, and the wildcard among its records", name)
	}
	return canonical, checkLabels(canonical)
}

// checkLabels says what is wrong with a canonical name.
func checkLabels(name string) error {
	switch {
	case name == "":
		return fmt.Errorf("the name is empty")
	case len(name) > 253:
		return fmt.Errorf("the name has %d characters and may have 253", len(name))
	}
	for i, l := range strings.Split(name, ".") {
		switch {
		case l == "":
			return fmt.Errorf("%q has an empty label", name)
		case len(l) > 63:
			return fmt.Errorf("label %q has %d characters and may have 63", l, len(l))
		case l == "*" && i == 0:
		case !label.MatchString(l):
			return fmt.Errorf("label %q: write letters, digits, hyphens and underscores; a * may only be the whole first label", l)
		}
	}
	return nil
}

// OwnerName is the name of a record relative to a canonical zone name, in canonical form: "@", "api",
// "*.apps". A name with a dot at its end is absolute and must lie in the zone.
func OwnerName(name, zone string) (string, error) {
	ascii, err := ToASCII(name)
	if err != nil {
		return "", err
	}
	canonical := strings.ToLower(ascii)
	if canonical == Apex {
		return Apex, nil
	}
	if absolute, ok := strings.CutSuffix(canonical, "."); ok {
		if absolute == zone {
			return Apex, nil
		}
		relative, inside := strings.CutSuffix(absolute, "."+zone)
		if !inside {
			return "", fmt.Errorf("%q is outside of zone %q; write a name relative to the zone, such as \"api\", or one that ends in %q", name, zone, "."+zone+".")
		}
		canonical = relative
	}
	if err := checkLabels(canonical); err != nil {
		return "", err
	}
	if len(canonical)+1+len(zone) > 253 {
		return "", fmt.Errorf("the name has %d characters together with its zone and may have 253", len(canonical)+1+len(zone))
	}
	return canonical, nil
}

// repeatsZone says whether a relative name ends in its zone's own name, which nearly always is a missing dot.
func repeatsZone(name, zone string) bool {
	name = strings.ToLower(name)
	return zone != "" && !strings.HasSuffix(name, ".") && (name == zone || strings.HasSuffix(name, "."+zone))
}

// isHost says whether a relative owner name may carry address records.
func isHost(owner string) bool {
	if owner == Apex || owner == "*" {
		return true
	}
	for l := range strings.SplitSeq(strings.TrimPrefix(owner, "*."), ".") {
		if !hostLabel.MatchString(l) {
			return false
		}
	}
	return true
}

// isMachine says whether an absolute name can be a machine's, or is the root, which stands for none.
func isMachine(name string) bool { return name == "." || isHost(strings.TrimSuffix(name, ".")) }

// notMachine says of a text and of the name that it is that it cannot be a machine's.
const notMachine = "%q is the name %q, whose labels may hold letters, digits and hyphens only (BIND's check-names refuses others)"

// DefaultMailbox is the mailbox of a zone's hostmaster, as a name. BIND's check-names wants a host name behind its first
// label, so what none can stand in is left out: the classless label of 0/25.2.0.192.in-addr.arpa, the underscores of
// _msdcs.example.com.
func DefaultMailbox(zone string) string {
	for domain := zone; domain != ""; domain = parentOf(domain) {
		if isHost(domain) {
			return "hostmaster." + domain + "."
		}
	}
	return "hostmaster."
}

// absoluteName is a relative canonical name with its zone and the dot at its end.
func absoluteName(owner, zone string) string {
	if owner == Apex {
		return zone + "."
	}
	return owner + "." + zone + "."
}

// isInternalName says whether an owner name is one that only machines of a cluster need: OpenShift's api-int leads to
// the machine configuration server, which hands out secrets.
func isInternalName(owner string) bool {
	first, _, _ := strings.Cut(owner, ".")
	return first == "api-int"
}

// InternalNames lists the zone's names that strangers need not know.
func (z Zone) InternalNames() []string {
	zone, err := z.CanonicalName()
	if err != nil {
		return nil
	}
	var names []string
	for owner := range z.Records {
		if name, err := OwnerName(owner, zone); err == nil && isInternalName(name) {
			names = append(names, strings.TrimSuffix(absoluteName(name, zone), "."))
		}
	}
	slices.Sort(names)
	return names
}

// InternalNames lists the names in a view that strangers need not know.
func InternalNames(t transaction.Tree, view string) []string {
	c, err := readConfig(t)
	if err != nil {
		return nil
	}
	s := c.findView(view)
	if s == nil {
		return nil
	}
	var names []string
	for _, in := range s.Block().Statements {
		if in.Name() != "zone" {
			continue
		}
		if z, err := FindZone(t, view, in.Arg(0)); err == nil {
			names = append(names, z.InternalNames()...)
		}
	}
	return names
}
