package haproxy

import (
	"slices"
	"strconv"
	"strings"
)

// directive ties a keyword of the configuration to one attribute of a value, in both directions, so that
// Parse undoes Render by construction.
type directive struct {
	// keyword is one word or more: "timeout client". A directive without one holds the extra lines.
	keyword string
	// attribute names the value's attribute in messages.
	attribute string
	// get returns what follows the keyword, once for every line; an unset attribute has no line.
	get func() []string
	// set takes what follows the keyword. False means that the attribute cannot say this, so the line
	// is an extra one.
	set func(rest string) bool
}

// renderBody writes the lines of a section's body, in the order of the table.
func renderBody(table []directive) []string {
	var lines []string
	for _, d := range table {
		for _, rest := range d.get() {
			lines = append(lines, strings.TrimSpace(d.keyword+" "+rest))
		}
	}
	return lines
}

// parseBody feeds a section's body to the table; what no directive takes, or is left to nobody, comes back in order.
func parseBody(table []directive, body []string, left ...func(line string) bool) (extra []string) {
	for _, line := range body {
		line = strings.TrimSpace(line)
		leave := slices.ContainsFunc(left, func(is func(string) bool) bool { return is(line) })
		if isSignificant(line) && (leave || takeLine(table, line) == nil) {
			extra = append(extra, line)
		}
	}
	return extra
}

// takeLine gives a line to the first directive that takes it.
func takeLine(table []directive, line string) *directive {
	for i, d := range table {
		if d.keyword == "" {
			continue
		}
		if rest, ok := cutKeyword(line, d.keyword); ok && d.set(rest) {
			return &table[i]
		}
	}
	return nil
}

// textDirective is a directive whose whole rest is the value.
func textDirective(keyword, attribute string, value *string) directive {
	return directive{keyword, attribute,
		func() []string { return listOrNone(*value) },
		func(rest string) bool {
			rest = oneLine(rest)
			if rest == "" {
				return false
			}
			*value = rest
			return true
		}}
}

// numberDirective is a directive with one positive number; zero is unset.
func numberDirective(keyword, attribute string, value *int64) directive {
	return directive{keyword, attribute,
		func() []string {
			if *value == 0 {
				return nil
			}
			return []string{strconv.FormatInt(*value, 10)}
		},
		func(rest string) bool {
			n, err := strconv.ParseInt(oneLine(rest), 10, 64)
			if err != nil || n <= 0 {
				return false
			}
			*value = n
			return true
		}}
}

// flagDirective is a directive without arguments.
func flagDirective(keyword, attribute string, value *bool) directive {
	return directive{keyword, attribute,
		func() []string {
			if *value {
				return []string{""}
			}
			return nil
		},
		func(rest string) bool {
			if oneLine(rest) != "" {
				return false
			}
			*value = true
			return true
		}}
}

// linesDirective is a directive that may stand several times, each line a line of the value.
func linesDirective(keyword, attribute string, value *[]string) directive {
	return directive{keyword, attribute,
		func() []string { return *value },
		func(rest string) bool {
			if rest == "" {
				return false
			}
			*value = append(*value, rest)
			return true
		}}
}

// optionDirectives are the lines "option X" as X and "no option X" as "no X", sorted: their order has no meaning.
func optionDirectives(value *[]string) []directive {
	pick := func(no bool) func() []string {
		return func() []string {
			var rest []string
			for _, o := range *value {
				switch name, negated := cutKeyword(o, "no"); {
				case negated && no:
					rest = append(rest, name)
				case !negated && !no:
					rest = append(rest, o)
				}
			}
			return rest
		}
	}
	set := func(prefix string) func(string) bool {
		return func(rest string) bool {
			rest = oneLine(rest)
			if rest == "" {
				return false
			}
			if o := prefix + rest; !slices.Contains(*value, o) {
				*value = append(*value, o)
				slices.Sort(*value)
			}
			return true
		}
	}
	return []directive{{"option", "options", pick(false), set("")}, {"no option", "options", pick(true), set("no ")}}
}

// timeoutDirectives are the lines "timeout NAME TIME" of the given names.
func timeoutDirectives(value *map[string]string, names []string) []directive {
	var table []directive
	for _, name := range names {
		table = append(table, directive{"timeout " + name, "timeouts",
			func() []string { return listOrNone((*value)[name]) },
			func(rest string) bool {
				words, _ := rawWords(rest)
				if len(words) != 1 {
					return false
				}
				if *value == nil {
					*value = map[string]string{}
				}
				(*value)[name] = words[0]
				return true
			}})
	}
	return table
}

// extraDirective holds the lines that no attribute takes.
func extraDirective(value *[]string) directive {
	return directive{"", "extra_config", func() []string { return *value }, nil}
}

// listOrNone is a list of the text, or of nothing.
func listOrNone(text string) []string {
	if text == "" {
		return nil
	}
	return []string{text}
}
