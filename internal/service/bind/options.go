package bind

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/bind/namedconf"
)

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
