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

func (c *checks) addProblem(path []any, summary, format string, args ...any) {
	c.problems = append(c.problems, service.Problemf(path, summary, format, args...))
}

func (c *checks) addWarning(path []any, summary, format string, args ...any) {
	c.problems = append(c.problems, service.Warningf(path, summary, format, args...))
}

func appendPath(path []any, steps ...any) []any { return append(slices.Clip(path), steps...) }

func (c *checks) checkName(path []any, checkName string) {
	if !namePattern.MatchString(checkName) {
		c.addProblem(path, "Invalid name", "%q is no name for HAProxy: write letters, digits, \"-\", \"_\", \".\" and \":\"", checkName)
	}
}

// checkSection checks the name of a frontend or a backend. A listen section is both, so the base's listeners' are taken.
func (c *checks) checkSection(name string) {
	c.checkName([]any{"name"}, name)
	if name == healthName || name == statsName {
		c.addProblem([]any{"name"}, "Invalid name", "%q is the name of a listener of virtcluster_haproxy: choose another", name)
	}
}

func (c *checks) checkMode(path []any, checkMode string) {
	if checkMode != "" && checkMode != "tcp" && checkMode != "http" {
		c.addProblem(path, "Invalid mode", "write \"tcp\" or \"http\", not %q", checkMode)
	}
}

func (c *checks) checkPort(path []any, checkPort int64) {
	if checkPort < 1 || checkPort > 65535 {
		c.addProblem(path, "Invalid port", "write a port from 1 to 65535, not %d", checkPort)
	}
}

func (c *checks) checkPositive(path []any, n int64) {
	if n < 0 {
		c.addProblem(path, "Invalid number", "write a positive number, not %d", n)
	}
}

func (c *checks) checkDuration(path []any, text string) {
	if text == "" {
		return
	}
	if err := CheckDuration(text); err != nil {
		c.addProblem(path, "Invalid time", "%v", err)
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

func (c *checks) checkTimeouts(path []any, values map[string]string) {
	for _, name := range sortedKeys(values) {
		c.checkDuration(appendPath(path, strings.ReplaceAll(name, "-", "_")), values[name])
	}
}

// isForbidden are control characters, and the blanks that HAProxy does not take for one.
func isForbidden(r rune) bool {
	return r != ' ' && r != '\t' && (unicode.IsControl(r) || unicode.IsSpace(r))
}

// checkLine refuses what would not stay on one line, or not be all of it.
func (c *checks) checkLine(path []any, text string) bool {
	words, comment := rawWords(text)
	switch {
	case strings.ContainsFunc(text, isForbidden):
		c.addProblem(path, "Not one line", "%q has a line break or another control character in it: write one line", text)
	case !closesQuotes(strings.TrimSpace(text)):
		c.addProblem(path, "Open quote", "a quote in %q does not end, or a backslash is the last character: write \\ before a quote that is meant as a character", text)
	case comment != "" || strings.TrimSpace(text) != "" && len(words) == 0:
		c.addProblem(path, "Comment in a value", "HAProxy reads what follows # as a comment: quote it, or leave it out of %q", text)
	default:
		return true
	}
	return false
}

// checkWord refuses what is more or less than one word.
func (c *checks) checkWord(path []any, text string) {
	if words, _ := rawWords(text); c.checkLine(path, text) && (len(words) != 1 || words[0] != text) {
		c.addProblem(path, "Not one word", "write one word, not %q", text)
	}
}

// checkOptions refuses options that another attribute holds, which would read back there.
func (c *checks) checkOptions(path []any, values []string, table []directive) {
	for _, o := range values {
		if !c.checkLine(path, o) {
			continue
		}
		keyword := "option " + o
		if name, no := cutKeyword(o, "no"); no {
			keyword = "no option " + name
		}
		if _, again := cutKeyword(o, "option"); again {
			c.addProblem(path, "Invalid option", "write the option's name without the word \"option\", not %q", o)
		} else if keyword == "no option " {
			c.addProblem(path, "Invalid option", "write the option's name after \"no\"")
		} else if d := takeLine(table, keyword); d != nil && d.attribute != "options" {
			c.addProblem(path, "Option of another attribute", "write %q as %s", o, d.attribute)
		}
	}
}

// checkExtra refuses lines that are not lines of this section or that an attribute holds, where they would read back.
func (c *checks) checkExtra(path []any, values []string, table []directive) {
	for _, l := range values {
		if !c.lineOfSection(path, l) {
			continue
		}
		if d := takeLine(table, l); d != nil {
			c.addProblem(path, "Line of another attribute", "write %q as %s, which is read back there", l, d.attribute)
		}
	}
}

// lineOfSection refuses what is no line of a section, or ends it.
func (c *checks) lineOfSection(path []any, l string) bool {
	words, _ := rawWords(l)
	switch {
	case strings.ContainsFunc(l, isForbidden):
		c.addProblem(path, "Control character", "%q has a control character in it", l)
	case !closesQuotes(strings.TrimSpace(l)):
		c.addProblem(path, "Open quote", "a quote in %q does not end, or a backslash is the last character", l)
	case len(words) > 0 && slices.Contains(sectionWords, words[0]):
		c.addProblem(path, "Section in extra_config", "%q begins a section of its own: extra_config holds further lines of this one", l)
	case len(words) > 0 && slices.Contains([]string{".if", ".elif", ".else", ".endif"}, words[0]):
		c.addProblem(path, "Condition in extra_config", "%q makes lines depend on a condition: let Terraform decide which lines there are", l)
	default:
		return true
	}
	return false
}

// backendExtra does what checkExtra does for a backend, where what a line is depends on the others.
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
		if d := takeLine((&Backend{HTTPCheck: &HTTPCheck{}}).directiveTable(), l); d != nil {
			attribute = d.attribute
		}
		c.addProblem(path, "Line of another attribute", "write %q as %s, which is read back there", l, attribute)
	}
	switch {
	case b.HTTPCheck != nil && b.HTTPCheck.Expect != "" && (read.HTTPCheck == nil || read.HTTPCheck.Expect == ""):
		c.addProblem([]any{"http_check", "expect"}, "Check in steps", "extra_config has an `http-check expect` too: write all steps of the check there, in their order")
	case b.DefaultServer != nil && b.DefaultServer.formatParams() != "" && read.DefaultServer == nil:
		c.addProblem([]any{"default_server"}, "Two default servers", "extra_config has a default-server line too: write one or the other")
	}
}

func (c *checks) checkBind(path []any, b Bind) {
	if !isAddress(b.Address) && b.Address != "*" {
		c.addProblem(appendPath(path, "address"), "Invalid address", "write an IPv4 or IPv6 address, \"*\" for all IPv4 addresses or \"::\" for all, not %q", b.Address)
	}
	c.checkPort(appendPath(path, "port"), b.Port)
	if c.checkLine(appendPath(path, "options"), b.Options) && slices.Contains(strings.Fields(b.Options), "transparent") {
		c.addProblem(appendPath(path, "options"), "Option of another attribute", "write transparent = true, which is read back there")
	}
}

// checkParams checks what servers and default-server share.
func (c *checks) checkParams(path []any, p Params) {
	if p.Weight != nil && (*p.Weight < 0 || *p.Weight > 256) {
		c.addProblem(appendPath(path, "weight"), "Invalid weight", "write a weight from 0 to 256, not %d", *p.Weight)
	}
	if p.Verify != "" && p.Verify != "none" && p.Verify != "required" {
		c.addProblem(appendPath(path, "verify"), "Invalid verify", "write \"none\" or \"required\", not %q", p.Verify)
	}
	c.checkDuration(appendPath(path, "inter"), p.Inter)
	c.checkPositive(appendPath(path, "fall"), p.Fall)
	c.checkPositive(appendPath(path, "rise"), p.Rise)
	c.checkPositive(appendPath(path, "maxconn"), p.Maxconn)
	if c.checkLine(appendPath(path, "options"), p.Options) {
		words, _ := rawWords(p.Options)
		if slices.Contains(words, "disabled") {
			c.addProblem(appendPath(path, "options"), "Option of another attribute", "write state = \"maint\", which is read back there")
		}
		if rest := parseParams(words); rest.Options != strings.Join(words, " ") {
			c.addProblem(appendPath(path, "options"), "Option of another attribute", "%q has words that have attributes of their own, such as check, weight or inter: write these", p.Options)
		}
	}
}

// ValidateTLS finds servers whose certificates HAProxy is to verify, which it does unless it is told otherwise, by no CA: it refuses
// them, unless its global section says ssl-server-verify none. All of the backend must be known, as any of it may name the CA.
func (b Backend) ValidateTLS() []service.Problem {
	var c checks
	for _, name := range sortedKeys(b.Servers) {
		p := b.inheritedParams()
		p = b.Servers[name].withDefaults(p)
		words, _ := rawWords(p.Options)
		speaksTLS := p.CheckSSL != nil && *p.CheckSSL || slices.Contains(words, "ssl")
		if !speaksTLS || p.Verify == "none" || slices.Contains(words, "ca-file") {
			continue
		}
		c.addProblem([]any{"servers", service.Key(name)}, "No CA to verify by",
			"HAProxy verifies the certificate of a server that it speaks TLS with (check_ssl, or ssl in options), and no CA is named: add \"ca-file\" and \"/PATH/OF/CA.pem\" to options, or write verify = \"none\"")
	}
	return c.problems
}
