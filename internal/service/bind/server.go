package bind

import (
	"fmt"
	"maps"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/bind/namedconf"
)

// Server is what holds for the whole of named: its options statement.
type Server struct {
	// ListenOn are addresses of the machine, or prefixes to listen on whatever lies in them; nil means all.
	ListenOn []string
	// Forwarders are asked for names of other servers; nil means that named asks the root servers.
	Forwarders []string
	// AllowQuery and AllowRecursion are address match lists; nil means BIND's default: everyone may ask, and
	// local networks recursively.
	AllowQuery, AllowRecursion []string
	// DNSSECValidation is "auto", "yes" or "no".
	DNSSECValidation string
	// Options are further options of one value.
	Options map[string]string
}

// serverAttributes are the options that have an attribute of their own.
var serverAttributes = map[string]string{
	"listen-on": "listen_on", "listen-on-v6": "listen_on", "forwarders": "forwarders", "allow-query": "allow_query",
	"allow-recursion": "allow_recursion", "dnssec-validation": "dnssec_validation",
}

// layout are options that say where the distribution keeps its files: they are taken over from the options that
// a server replaces.
var layout = []string{
	"directory", "dump-file", "statistics-file", "memstatistics-file", "secroots-file", "recursing-file", "pid-file",
	"session-keyfile", "managed-keys-directory", "bindkeys-file", "key-directory", "geoip-directory",
}

// DNSSECValidations are the values of dnssec-validation.
var DNSSECValidations = []string{"auto", "yes", "no"}

// Validate checks the server without asking any machine.
func (s Server) Validate() []service.Problem {
	problems := checkMatchList("listen_on", s.ListenOn)
	problems = append(problems, checkMatchList("allow_query", s.AllowQuery)...)
	problems = append(problems, checkMatchList("allow_recursion", s.AllowRecursion)...)
	problems = append(problems, checkForwarders([]any{"forwarders"}, s.Forwarders)...)
	problems = append(problems, checkOptions(s.Options, serverAttributes)...)
	for _, name := range layout {
		if _, ok := s.Options[name]; ok {
			problems = append(problems, service.Problemf([]any{"options", service.Key(name)}, "Option of the distribution", "%s says where the distribution keeps its files and is taken over from its configuration; leave it out", name))
		}
	}
	if s.DNSSECValidation != "" && !slices.Contains(DNSSECValidations, s.DNSSECValidation) {
		problems = append(problems, service.Problemf([]any{"dnssec_validation"}, "Invalid value", "%q: write \"auto\", \"yes\" or \"no\"", s.DNSSECValidation))
	}
	if len(s.AllowRecursion) > 0 && matchesAnyone(s.AllowRecursion) {
		problems = append(problems, service.Warningf([]any{"allow_recursion"}, "Open resolver", "everyone who reaches the server may ask it recursively, which attackers use to amplify traffic; name the networks that may"))
	}
	return problems
}

// Render writes the options statement, with the comment that says whose it is. kept are statements taken over
// from the options before.
func (s Server) Render(kept []*namedconf.Statement, m owner.Mark) string {
	var b strings.Builder
	b.WriteString(formatMarker(serverMarker, m) + "\noptions {\n")
	for _, k := range kept {
		fmt.Fprintf(&b, "\t%s\n", k.Text())
	}
	v4, v6 := splitFamilies(canonicalMatches(s.ListenOn))
	if s.ListenOn != nil {
		fmt.Fprintf(&b, "\tlisten-on %s;\n\tlisten-on-v6 %s;\n", formatBlock(v4), formatBlock(v6))
	}
	if s.Forwarders != nil {
		fmt.Fprintf(&b, "\tforwarders %s;\n", formatBlock(forwarderElements(s.Forwarders)))
	}
	if s.AllowQuery != nil {
		fmt.Fprintf(&b, "\tallow-query %s;\n", formatBlock(canonicalMatches(s.AllowQuery)))
	}
	if s.AllowRecursion != nil {
		fmt.Fprintf(&b, "\tallow-recursion %s;\n", formatBlock(canonicalMatches(s.AllowRecursion)))
	}
	if s.DNSSECValidation != "" {
		fmt.Fprintf(&b, "\tdnssec-validation %s;\n", s.DNSSECValidation)
	}
	writeOptions(&b, s.Options)
	b.WriteString("};")
	return b.String()
}

// parseServer is the inverse of Render. rest are the statements that are no part of the Server: where files
// are, and whatever a person added with a block.
func parseServer(st *namedconf.Statement) (s Server, rest []*namedconf.Statement) {
	var v4, v6 []string
	for _, in := range st.Block().Statements {
		elements := []string(nil)
		if in.Block() != nil {
			elements = canonicalMatches(in.Block().Elements())
		}
		switch name := in.Name(); {
		case name == "listen-on" && elements != nil && len(in.Words()) == 0:
			v4 = elements
		case name == "listen-on-v6" && elements != nil && len(in.Words()) == 0:
			v6 = elements
		case name == "forwarders" && elements != nil && len(in.Words()) == 0:
			s.Forwarders = forwarderList(in.Block().Elements())
		case name == "allow-query" && elements != nil:
			s.AllowQuery = elements
		case name == "allow-recursion" && elements != nil:
			s.AllowRecursion = elements
		case name == "dnssec-validation":
			s.DNSSECValidation = strings.ToLower(in.Arg(0))
		case slices.Contains(layout, name) || isRepeated(st.Block(), in):
			rest = append(rest, in)
		default:
			option, value, ok := plainOption(in)
			if !ok {
				rest = append(rest, in)
				continue
			}
			if s.Options == nil {
				s.Options = map[string]string{}
			}
			s.Options[option] = value
		}
	}
	s.ListenOn = joinFamilies(v4, v6)
	return s, rest
}

// splitFamilies tells the elements for listen-on and those for listen-on-v6; a family without any listens
// nowhere.
func splitFamilies(list []string) (v4, v6 []string) {
	for _, e := range list {
		text := strings.TrimPrefix(e, "!")
		host, _, _ := strings.Cut(text, "/")
		a, err := netip.ParseAddr(host)
		if err != nil || a.Is4() {
			v4 = append(v4, e)
		}
		if err != nil || !a.Is4() {
			v6 = append(v6, e)
		}
	}
	if v4 == nil {
		v4 = []string{"none"}
	}
	if v6 == nil {
		v6 = []string{"none"}
	}
	return v4, v6
}

// joinFamilies is the inverse of splitFamilies.
func joinFamilies(v4, v6 []string) []string {
	none := []string{"none"}
	switch {
	case v4 == nil && v6 == nil:
		return nil
	case slices.Equal(v4, none) && !slices.Equal(v6, none) && v6 != nil:
		v4 = nil
	}
	list := slices.Clone(v4)
	for _, e := range v6 {
		if !slices.Contains(list, e) && (e != "none" || len(list) == 0) {
			list = append(list, e)
		}
	}
	return list
}

// SameListen says whether two lists of addresses to listen on mean the same.
func SameListen(a, b []string) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	a4, a6 := splitFamilies(canonicalMatches(a))
	b4, b6 := splitFamilies(canonicalMatches(b))
	return slices.Equal(a4, b4) && slices.Equal(a6, b6)
}

var optionName = regexp.MustCompile(`^[a-z0-9-]+$`)

// checkOptions checks further options: what they are named, and that a value stays the value of its option.
func checkOptions(options map[string]string, taken map[string]string) []service.Problem {
	var problems []service.Problem
	for _, name := range slices.Sorted(maps.Keys(options)) {
		at := []any{"options", service.Key(name)}
		attribute, known := taken[name]
		switch {
		case known:
			problems = append(problems, service.Problemf(at, "Option with an attribute of its own", "set %s instead", attribute))
		case !optionName.MatchString(name):
			problems = append(problems, service.Problemf(at, "Invalid option", "%q is no name of an option", name))
		case options[name] != "" && optionValue(options[name]) == nil:
			problems = append(problems, service.Problemf(at, "Invalid value", "%q is not one plain value; leave out semicolons, braces, comments and line breaks, and close every quote", options[name]))
		}
	}
	return problems
}

// optionValue returns the words of an option's value, nil where it is anything but words.
func optionValue(value string) []string {
	f, err := namedconf.Parse("x " + value + ";")
	if err != nil || strings.ContainsAny(value, "\n\r") || len(f.Statements) != 1 || f.Tail != "" || f.Statements[0].Tail != "" {
		return nil
	}
	s := f.Statements[0]
	if s.Block() != nil || s.Text() != "x "+value+";" {
		return nil
	}
	var words []string
	for _, p := range s.Parts[1:] {
		if strings.TrimSpace(p.Lead) != "" {
			return nil // a comment
		}
		words = append(words, p.Raw)
	}
	return words
}

// CanonicalOption is an option's value with single blanks between its words; what is more than words stays as it is.
func CanonicalOption(value string) string {
	if words := optionValue(value); words != nil {
		return strings.Join(words, " ")
	}
	return value
}

func writeOptions(b *strings.Builder, options map[string]string) {
	for _, name := range slices.Sorted(maps.Keys(options)) {
		fmt.Fprintf(b, "\t%s %s;\n", name, strings.Join(optionValue(options[name]), " "))
	}
}

// plainOption returns a statement's name and value where it is words only.
func plainOption(s *namedconf.Statement) (name, value string, ok bool) {
	if s.Block() != nil || len(s.Parts) < 2 {
		return "", "", false
	}
	var words []string
	for _, p := range s.Parts[1:] {
		words = append(words, p.Raw)
	}
	return s.Name(), strings.Join(words, " "), true
}
