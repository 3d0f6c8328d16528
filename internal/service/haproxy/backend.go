package haproxy

import (
	"maps"
	"slices"
)

// Backend is a backend section.
type Backend struct {
	Name string
	// Mode is "tcp" or "http"; empty inherits it from the defaults.
	Mode string
	// Balance is the algorithm with its arguments: "roundrobin", "uri depth 2".
	Balance  string
	HashType string
	// Timeouts by HAProxy's names ("http-keep-alive"), times with a unit.
	Timeouts map[string]string
	// Options are sorted: "redispatch", "no log-health-checks".
	Options   []string
	HTTPCheck *HTTPCheck
	// Extra are further lines, as HAProxy reads them.
	Extra         []string
	DefaultServer *Params
	// Servers by name. The file has them in the order of their names.
	Servers map[string]Server
}

// HTTPCheck is `option httpchk` with the first `http-check expect`.
type HTTPCheck struct {
	Method, URI string
	// Version is "HTTP/1.1", with headers if any; empty is HAProxy's HTTP/1.0.
	Version string
	// Expect is what follows `http-check expect`: "status 200". Empty takes 2xx and 3xx.
	Expect string
}

// BackendTimeouts are the timeouts that a backend can have.
var BackendTimeouts = []string{"connect", "server", "server-fin", "tunnel", "queue", "check", "http-request", "http-keep-alive", "tarpit"}

func (b *Backend) directives() []directive {
	return slices.Concat(
		[]directive{
			text("mode", "mode", &b.Mode),
			text("balance", "balance", &b.Balance),
			text("hash-type", "hash_type", &b.HashType),
		},
		timeouts(&b.Timeouts, BackendTimeouts),
		httpCheck(&b.HTTPCheck),
		options(&b.Options),
		[]directive{
			extra(&b.Extra),
			defaultServer(&b.DefaultServer),
			servers(&b.Servers),
		},
	)
}

// Body renders the section's lines, without header and indentation.
func (b Backend) Body() []string { return render(b.directives()) }

// ParseBackend is the inverse of Body.
func ParseBackend(name string, body []string) Backend {
	b := Backend{Name: name}
	b.Extra = parse(b.directives(), body)
	return b
}

func httpCheck(value **HTTPCheck) []directive {
	return []directive{
		{"option httpchk", "http_check",
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
			}},
		{"http-check expect", "http_check",
			func() []string {
				if c := *value; c != nil {
					return present(c.Expect)
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
			}},
	}
}

func defaultServer(value **Params) directive {
	return directive{"default-server", "default_server",
		func() []string {
			if p := *value; p != nil {
				return present(p.words())
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

func servers(value *map[string]Server) directive {
	return directive{"server", "servers",
		func() []string {
			var rest []string
			for _, name := range sortedKeys(*value) {
				rest = append(rest, name+" "+(*value)[name].words())
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
