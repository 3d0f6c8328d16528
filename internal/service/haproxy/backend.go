package haproxy

import (
	"errors"
	"maps"
	"slices"
)

// Backend is a backend section.
type Backend struct {
	Name string `attr:"name"`
	// Mode is "tcp" or "http"; empty inherits it from the defaults.
	Mode string `attr:"mode"`
	// Balance is the algorithm with its arguments: "roundrobin", "uri depth 2".
	Balance  string `attr:"balance"`
	HashType string `attr:"hash_type"`
	// Timeouts by HAProxy's names ("http-keep-alive"), times with a unit.
	Timeouts map[string]string
	// Options are sorted: "redispatch", "no log-health-checks".
	Options   []string   `attr:"options"`
	HTTPCheck *HTTPCheck `attr:"http_check"`
	// Extra are further lines, as HAProxy reads them.
	Extra         []string
	DefaultServer *Params `attr:"default_server"`
	// Servers by name. The file has them in the order of their names.
	Servers map[string]Server `attr:"servers"`
	// DrainTimeout is the provider's own setting, "" for a person's backend. It stands
	// in the comment above the section, for an import.
	DrainTimeout string `attr:"drain_timeout"`
}

// HTTPCheck is `option httpchk` with the last step of the check, `http-check expect`, where it is the only such step.
type HTTPCheck struct {
	Method string `attr:"method"`
	URI    string `attr:"uri"`
	// Version is "HTTP/1.1", with headers if any; empty is HAProxy's HTTP/1.0.
	Version string `attr:"version"`
	// Expect is what follows `http-check expect`: "status 200". Empty takes 2xx and 3xx.
	Expect string `attr:"expect"`
}

// BackendTimeouts are the timeouts that a backend can have.
var BackendTimeouts = []string{"connect", "server", "server-fin", "tunnel", "queue", "check", "http-request", "http-keep-alive", "tarpit"}

func (b *Backend) directiveTable() []directive {
	return slices.Concat(
		[]directive{
			textDirective("mode", "mode", &b.Mode),
			textDirective("balance", "balance", &b.Balance),
			textDirective("hash-type", "hash_type", &b.HashType),
		},
		timeoutDirectives(&b.Timeouts, BackendTimeouts),
		[]directive{httpCheck(&b.HTTPCheck)},
		optionDirectives(&b.Options),
		[]directive{
			defaultServer(&b.DefaultServer), // above what inherits it, a server-template of the extra lines too
			extraDirective(&b.Extra),
			httpExpect(&b.HTTPCheck), // below the `http-check send` of the extra lines: checks go step by step
			serverDirective(&b.Servers),
		},
	)
}

// Body renders the section's lines, without header and indentation.
func (b Backend) Body() []string { return renderBody(b.directiveTable()) }

// Section implements Proxy.
func (b Backend) Section() (kind, name string) { return "backend", b.Name }

func (b Backend) sectionNote() string {
	if b.DrainTimeout == "" {
		return ""
	}
	return drainTimeoutNote + b.DrainTimeout
}

// ParseBackend is the inverse of Body.
func ParseBackend(name string, body []string) Backend {
	b := Backend{Name: name}
	starts := func(words string) func(line string) bool {
		return func(line string) bool { _, ok := cutKeyword(line, words); return ok }
	}
	count := func(is func(line string) bool) (n int) {
		for _, line := range body {
			if is(line) {
				n++
			}
		}
		return n
	}
	var left []func(line string) bool
	if several := starts("default-server"); count(several) > 1 {
		left = append(left, several)
	}
	if inSteps(body) {
		left = append(left, starts("http-check expect"))
	}
	// What the check is comes before what it expects, which means something only then.
	body = slices.Clone(body)
	slices.SortStableFunc(body, func(x, y string) int {
		return sortAfter(starts("option httpchk"), x) - sortAfter(starts("option httpchk"), y)
	})
	b.Extra = parseBody(b.directiveTable(), body, left...)
	return b
}

func sortAfter(is func(line string) bool, line string) int {
	if is(line) {
		return 0
	}
	return 1
}

// inSteps says whether health checks have steps whose order an attribute for one expectation would lose.
func inSteps(body []string) bool {
	expects, last := 0, false
	for _, line := range body {
		step, ok := cutKeyword(line, "http-check")
		words, _ := rawWords(step)
		if !ok || len(words) == 0 || words[0] == "disable-on-404" || words[0] == "send-state" {
			continue
		}
		if last = words[0] == "expect"; last {
			expects++
		}
	}
	return expects > 1 || expects == 1 && !last
}

// refuseUnmanageable says why a section cannot be a Backend: writing it again would change what it means.
func refuseUnmanageable(body []string) error {
	server := false
	for _, line := range body {
		words, _ := rawWords(line)
		switch {
		case len(words) == 0:
		case words[0] == "server" || words[0] == "server-template":
			server = true
		case words[0] == "default-server" && server:
			return errors.New("a default-server line stands below a server line, and holds for the servers below it only: write what each server needs on its own line first")
		}
	}
	return nil
}

// inheritedParams is what servers inherit: the default-server lines of the extra ones, then DefaultServer.
func (b Backend) inheritedParams() Params {
	var p Params
	for _, line := range b.Extra {
		if rest, ok := cutKeyword(line, "default-server"); ok {
			words, _ := rawWords(rest)
			p = parseParams(words).withDefaults(p)
		}
	}
	if b.DefaultServer != nil {
		p = b.DefaultServer.withDefaults(p)
	}
	return p
}

func httpCheck(value **HTTPCheck) directive {
	return directive{"option httpchk", "http_check",
		func() []string {
			if c := *value; c != nil {
				return []string{oneLine(c.Method + " " + c.URI + " " + c.Version)}
			}
			return nil
		},
		func(rest string) bool {
			c := &HTTPCheck{Method: "OPTIONS", URI: "/"} // HAProxy's own defaults
			words, _ := rawWords(rest)
			switch len(words) {
			case 0:
			case 1:
				c.URI = words[0]
			default:
				c.Method, c.URI = words[0], words[1]
				c.Version = oneLine(rest)[len(words[0])+1+len(words[1]):]
				c.Version = oneLine(c.Version)
			}
			if *value != nil {
				c.Expect = (*value).Expect
			}
			*value = c
			return true
		}}
}

func httpExpect(value **HTTPCheck) directive {
	return directive{"http-check expect", "http_check.expect",
		func() []string {
			if c := *value; c != nil {
				return listOrNone(c.Expect)
			}
			return nil
		},
		func(rest string) bool {
			rest = oneLine(rest)
			if *value == nil || (*value).Expect != "" || rest == "" {
				return false
			}
			(*value).Expect = rest
			return true
		}}
}

func defaultServer(value **Params) directive {
	return directive{"default-server", "default_server",
		func() []string {
			if p := *value; p != nil {
				return listOrNone(p.formatParams())
			}
			return nil
		},
		func(rest string) bool {
			words, _ := rawWords(rest)
			if *value != nil || len(words) == 0 {
				return false
			}
			p := parseParams(words)
			*value = &p
			return true
		}}
}

func serverDirective(value *map[string]Server) directive {
	return directive{"server", "servers",
		func() []string {
			var rest []string
			for _, name := range sortedKeys(*value) {
				rest = append(rest, name+" "+(*value)[name].serverLine())
			}
			return rest
		},
		func(rest string) bool {
			name, s, ok := parseServer(rest)
			if _, twice := (*value)[name]; !ok || twice {
				return false
			}
			if *value == nil {
				*value = map[string]Server{}
			}
			(*value)[name] = s
			return true
		}}
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
