package haproxy

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

var (
	namePattern = regexp.MustCompile(`^[A-Za-z0-9_.:-]+$`)
	timePattern = regexp.MustCompile(`^([0-9]+)(us|ms|s|m|h|d)?$`)
	// numbersOnly is what a resolver takes for a shortened address: "10.0.1" is 10.0.0.1.
	numbersOnly = regexp.MustCompile(`^[0-9.]+$`)
	hostPattern = regexp.MustCompile(`^[A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?(\.[A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?)*\.?$`)
)

// longest is HAProxy's longest time: it counts milliseconds in 31 bits (TIMER_LOOK_BACK, manual section 2.5).
const longest = (1<<31 - 1) * time.Millisecond

// isHostName says whether a text is a name for HAProxy to resolve.
func isHostName(text string) bool {
	return hostPattern.MatchString(text) && !numbersOnly.MatchString(text)
}

// Duration reads a time in HAProxy's spelling: a number with us, ms, s, m, h or d, or of milliseconds.
func Duration(text string) (time.Duration, bool) {
	m := timePattern.FindStringSubmatch(text)
	if m == nil {
		return 0, false
	}
	n, err := strconv.ParseInt(m[1], 10, 64)
	unit := map[string]time.Duration{
		"us": time.Microsecond, "ms": time.Millisecond, "": time.Millisecond,
		"s": time.Second, "m": time.Minute, "h": time.Hour, "d": 24 * time.Hour,
	}[m[2]]
	return time.Duration(n) * unit, err == nil && n <= int64((1<<63-1)/unit)
}

// checks gathers problems, each at a path below where it began.
type checks struct{ problems []service.Problem }

func (c *checks) fail(path []any, summary, format string, args ...any) {
	c.problems = append(c.problems, service.Problemf(path, summary, format, args...))
}

func (c *checks) warn(path []any, summary, format string, args ...any) {
	c.problems = append(c.problems, service.Warningf(path, summary, format, args...))
}

func at(path []any, steps ...any) []any { return append(slices.Clip(path), steps...) }

func (c *checks) name(path []any, name string) {
	if !namePattern.MatchString(name) {
		c.fail(path, "Invalid name", "%q is no name for HAProxy: write letters, digits, \"-\", \"_\", \".\" and \":\"", name)
	}
}

// section checks the name of a frontend or a backend. A listen section is both, so the base's listeners' are taken.
func (c *checks) section(name string) {
	c.name([]any{"name"}, name)
	if name == healthName || name == statsName {
		c.fail([]any{"name"}, "Invalid name", "%q is the name of a listener of virtcluster_haproxy: choose another", name)
	}
}

func (c *checks) mode(path []any, mode string) {
	if mode != "" && mode != "tcp" && mode != "http" {
		c.fail(path, "Invalid mode", "write \"tcp\" or \"http\", not %q", mode)
	}
}

func (c *checks) port(path []any, port int64) {
	if port < 1 || port > 65535 {
		c.fail(path, "Invalid port", "write a port from 1 to 65535, not %d", port)
	}
}

func (c *checks) positive(path []any, n int64) {
	if n < 0 {
		c.fail(path, "Invalid number", "write a positive number, not %d", n)
	}
}

func (c *checks) duration(path []any, text string) {
	if text == "" {
		return
	}
	if err := CheckDuration(text); err != nil {
		c.fail(path, "Invalid time", "%v", err)
	}
}

// CheckDuration says why a text is no time for HAProxy.
func CheckDuration(text string) error {
	switch d, ok := Duration(text); {
	case !ok:
		return fmt.Errorf("write a number and a unit (us, ms, s, m, h or d) such as \"10s\", not %q", text)
	case d > longest:
		return fmt.Errorf("%q is longer than HAProxy's longest time, 2147483647 milliseconds or 24 days 20 hours: write a shorter one", text)
	}
	return nil
}

func (c *checks) timeouts(path []any, values map[string]string) {
	for _, name := range sortedKeys(values) {
		c.duration(at(path, strings.ReplaceAll(name, "-", "_")), values[name])
	}
}

// forbidden are control characters, and the blanks that HAProxy does not take for one.
func forbidden(r rune) bool {
	return r != ' ' && r != '\t' && (unicode.IsControl(r) || unicode.IsSpace(r))
}

// line refuses what would not stay on one line, or not be all of it.
func (c *checks) line(path []any, text string) bool {
	words, comment := rawWords(text)
	switch {
	case strings.ContainsFunc(text, forbidden):
		c.fail(path, "Not one line", "%q has a line break or another control character in it: write one line", text)
	case !closed(strings.TrimSpace(text)):
		c.fail(path, "Open quote", "a quote in %q does not end, or a backslash is the last character: write \\ before a quote that is meant as a character", text)
	case comment != "" || strings.TrimSpace(text) != "" && len(words) == 0:
		c.fail(path, "Comment in a value", "HAProxy reads what follows # as a comment: quote it, or leave it out of %q", text)
	default:
		return true
	}
	return false
}

// one refuses what is more or less than one word.
func (c *checks) one(path []any, text string) {
	if words, _ := rawWords(text); c.line(path, text) && (len(words) != 1 || words[0] != text) {
		c.fail(path, "Not one word", "write one word, not %q", text)
	}
}

// options refuses options that another attribute holds, which would read back there.
func (c *checks) options(path []any, values []string, table []directive) {
	for _, o := range values {
		if !c.line(path, o) {
			continue
		}
		keyword := "option " + o
		if name, no := cut(o, "no"); no {
			keyword = "no option " + name
		}
		if _, again := cut(o, "option"); again {
			c.fail(path, "Invalid option", "write the option's name without the word \"option\", not %q", o)
		} else if keyword == "no option " {
			c.fail(path, "Invalid option", "write the option's name after \"no\"")
		} else if d := take(table, keyword); d != nil && d.attribute != "options" {
			c.fail(path, "Option of another attribute", "write %q as %s", o, d.attribute)
		}
	}
}

// extra refuses lines that are not lines of this section or that an attribute holds, where they would read back.
func (c *checks) extra(path []any, values []string, table []directive) {
	for _, l := range values {
		if !c.lineOfSection(path, l) {
			continue
		}
		if d := take(table, l); d != nil {
			c.fail(path, "Line of another attribute", "write %q as %s, which is read back there", l, d.attribute)
		}
	}
}

// lineOfSection refuses what is no line of a section, or ends it.
func (c *checks) lineOfSection(path []any, l string) bool {
	words, _ := rawWords(l)
	switch {
	case strings.ContainsFunc(l, forbidden):
		c.fail(path, "Control character", "%q has a control character in it", l)
	case !closed(strings.TrimSpace(l)):
		c.fail(path, "Open quote", "a quote in %q does not end, or a backslash is the last character", l)
	case len(words) > 0 && slices.Contains(sectionWords, words[0]):
		c.fail(path, "Section in extra_config", "%q begins a section of its own: extra_config holds further lines of this one", l)
	case len(words) > 0 && slices.Contains([]string{".if", ".elif", ".else", ".endif"}, words[0]):
		c.fail(path, "Condition in extra_config", "%q makes lines depend on a condition: let Terraform decide which lines there are", l)
	default:
		return true
	}
	return false
}

// backendExtra does what extra does for a backend, where what a line is depends on the others.
func (c *checks) backendExtra(b Backend) {
	path := []any{"extra_config"}
	for _, l := range b.Extra {
		if !c.lineOfSection(path, l) {
			return
		}
	}
	read := ParseBackend(b.Name, b.Body())
	for _, l := range b.Extra {
		if slices.Contains(read.Extra, l) {
			continue
		}
		attribute := "an attribute of its own"
		if d := take((&Backend{HTTPCheck: &HTTPCheck{}}).directives(), l); d != nil {
			attribute = d.attribute
		}
		c.fail(path, "Line of another attribute", "write %q as %s, which is read back there", l, attribute)
	}
	switch {
	case b.HTTPCheck != nil && b.HTTPCheck.Expect != "" && (read.HTTPCheck == nil || read.HTTPCheck.Expect == ""):
		c.fail([]any{"http_check", "expect"}, "Check in steps", "extra_config has an `http-check expect` too: write all steps of the check there, in their order")
	case b.DefaultServer != nil && b.DefaultServer.words() != "" && read.DefaultServer == nil:
		c.fail([]any{"default_server"}, "Two default servers", "extra_config has a default-server line too: write one or the other")
	}
}

func (c *checks) bind(path []any, b Bind) {
	if !isAddress(b.Address) && b.Address != "*" {
		c.fail(at(path, "address"), "Invalid address", "write an IPv4 or IPv6 address, \"*\" for all IPv4 addresses or \"::\" for all, not %q", b.Address)
	}
	c.port(at(path, "port"), b.Port)
	if c.line(at(path, "options"), b.Options) && slices.Contains(strings.Fields(b.Options), "transparent") {
		c.fail(at(path, "options"), "Option of another attribute", "write transparent = true, which is read back there")
	}
}

// params checks what servers and default-server share.
func (c *checks) params(path []any, p Params) {
	if p.Weight != nil && (*p.Weight < 0 || *p.Weight > 256) {
		c.fail(at(path, "weight"), "Invalid weight", "write a weight from 0 to 256, not %d", *p.Weight)
	}
	if p.Verify != "" && p.Verify != "none" && p.Verify != "required" {
		c.fail(at(path, "verify"), "Invalid verify", "write \"none\" or \"required\", not %q", p.Verify)
	}
	c.duration(at(path, "inter"), p.Inter)
	c.positive(at(path, "fall"), p.Fall)
	c.positive(at(path, "rise"), p.Rise)
	c.positive(at(path, "maxconn"), p.Maxconn)
	if c.line(at(path, "options"), p.Options) {
		words, _ := rawWords(p.Options)
		if slices.Contains(words, "disabled") {
			c.fail(at(path, "options"), "Option of another attribute", "write state = \"maint\", which is read back there")
		}
		if rest := parseParams(words); rest.Options != strings.Join(words, " ") {
			c.fail(at(path, "options"), "Option of another attribute", "%q has words that have attributes of their own, such as check, weight or inter: write these", p.Options)
		}
	}
}
