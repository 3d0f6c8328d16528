package haproxy

import (
	"fmt"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

// Validate finds what is wrong without asking any machine.
func (f Frontend) Validate() []service.Problem {
	var c checks
	c.section(f.Name)
	c.mode([]any{"mode"}, f.Mode)
	c.positive([]any{"maxconn"}, f.Maxconn)
	c.timeouts([]any{"timeouts"}, f.Timeouts)
	c.options([]any{"options"}, f.Options, new(Frontend).directives())
	c.extra([]any{"extra_config"}, f.Extra, new(Frontend).directives())
	seen := map[string]int{}
	for i, b := range f.Binds {
		path := []any{"binds", i}
		c.bind(path, b)
		if first, twice := seen[b.Endpoint()]; twice {
			c.fail(path, "Bind twice", "%s is the bind of binds[%d] already", b.Endpoint(), first)
		}
		seen[b.Endpoint()] = i
	}
	for i, r := range f.Rules {
		c.rule([]any{"rules", i}, r)
	}
	for name, criteria := range f.ACLs {
		path := []any{"acls", service.Key(name)}
		c.name(path, name)
		if len(criteria) == 0 {
			c.fail(path, "Empty ACL", "write what has to match, such as \"hdr(host) -i api.okd.example\"")
		}
		for _, criterion := range criteria {
			c.line(path, criterion)
		}
	}
	if f.MonitorURI != "" {
		c.one([]any{"monitor_uri"}, f.MonitorURI)
	}
	if f.DefaultBackend != "" {
		c.one([]any{"default_backend"}, f.DefaultBackend)
	}
	return c.problems
}

func (c *checks) rule(path []any, r Rule) {
	c.one(at(path, "backend"), r.Backend)
	if r.If != "" && r.Unless != "" {
		c.fail(path, "Two conditions", "write `if` or `unless`, not both")
	}
	c.line(at(path, "if"), r.If)
	c.line(at(path, "unless"), r.Unless)
}

// Validate finds what is wrong without asking any machine.
func (b Backend) Validate() []service.Problem {
	var c checks
	c.section(b.Name)
	c.mode([]any{"mode"}, b.Mode)
	c.line([]any{"balance"}, b.Balance)
	c.line([]any{"hash_type"}, b.HashType)
	c.timeouts([]any{"timeouts"}, b.Timeouts)
	c.options([]any{"options"}, b.Options, new(Backend).directives())
	c.backendExtra(b)
	if h := b.HTTPCheck; h != nil {
		c.one([]any{"http_check", "method"}, h.Method)
		c.one([]any{"http_check", "uri"}, h.URI)
		c.line([]any{"http_check", "version"}, h.Version)
		c.line([]any{"http_check", "expect"}, h.Expect)
	}
	if b.DefaultServer != nil {
		c.params([]any{"default_server"}, *b.DefaultServer)
	}
	seen := map[string]string{}
	for _, name := range sortedKeys(b.Servers) {
		s, path := b.Servers[name], []any{"servers", service.Key(name)}
		c.server(path, name, s)
		if s.Address == "" || s.Port == 0 {
			continue // not known yet
		}
		if first, twice := seen[endpoint(s.Address, s.Port)]; twice {
			c.warn(at(path, "address"), "Server twice", "server %q has %s already, which gets both shares: where that is not meant, give it a weight instead", first, endpoint(s.Address, s.Port))
		}
		seen[endpoint(s.Address, s.Port)] = name
	}
	algorithm, _, _ := strings.Cut(b.Balance, " ")
	if algorithm == "source" && namedForAPI(b.Name) {
		c.warn([]any{"balance"}, "Sessions stick to one API server",
			"with balance source all connections from one address go to one server, so that behind NAT or from the service node itself the API servers are not balanced: write \"roundrobin\" or \"leastconn\"")
	}
	return c.problems
}

func (c *checks) server(path []any, name string, s Server) {
	c.name(path, name)
	if name == "BACKEND" || name == "FRONTEND" {
		c.fail(path, "Invalid name", "HAProxy uses the name %s itself: choose another", name)
	}
	if !isAddress(s.Address) && !isHostName(s.Address) {
		c.fail(at(path, "address"), "Invalid address", "write an IPv4 or IPv6 address or a host name, not %q", s.Address)
	}
	c.port(at(path, "port"), s.Port)
	c.params(path, s.Params)
	if s.State != Ready && s.State != Drain && s.State != Maint {
		c.fail(at(path, "state"), "Invalid state", "write \"ready\", \"drain\" or \"maint\", not %q", s.State)
	}
}

// namedForAPI says whether a name has "api" or "6443" as one of its parts: "api", "okd4-api-6443".
func namedForAPI(name string) bool {
	for part := range strings.FieldsFuncSeq(strings.ToLower(name), func(r rune) bool { return strings.ContainsRune("-_.:", r) }) {
		if part == "api" || part == "apiserver" || part == "6443" {
			return true
		}
	}
	return false
}

// Validate finds what is wrong without asking any machine.
func (b Base) Validate() []service.Problem {
	var c checks
	c.mode([]any{"mode"}, b.Mode)
	c.positive([]any{"maxconn"}, b.Maxconn)
	c.positive([]any{"retries"}, b.Retries)
	c.timeouts([]any{"timeouts"}, b.Timeouts)
	for _, target := range b.Log {
		c.line([]any{"log"}, target)
	}
	c.options([]any{"options"}, b.Options, new(Base).defaults())
	c.extra([]any{"extra_config"}, b.Extra, new(Base).global())
	c.extra([]any{"defaults_extra_config"}, b.DefaultsExtra, new(Base).defaults())
	if h := b.Health; h != nil {
		c.bind([]any{"health"}, h.Bind)
		c.uri([]any{"health", "uri"}, h.URI)
	}
	if s := b.Stats; s != nil {
		c.stats(*s)
		if h := b.Health; h != nil && h.Endpoint() == s.Endpoint() {
			c.fail([]any{"stats", "port"}, "Bind twice", "the health listener has %s already", s.Endpoint())
		}
	}
	return c.problems
}

func (c *checks) stats(s Stats) {
	c.bind([]any{"stats"}, s.Bind)
	c.uri([]any{"stats", "uri"}, s.URI)
	c.duration([]any{"stats", "refresh"}, s.Refresh)
	if strings.ContainsFunc(s.User, func(r rune) bool { return r <= ' ' || r == ':' || r > '~' }) {
		c.fail([]any{"stats", "user"}, "Invalid user", "a user of basic authentication has no blank, colon or control character")
	}
	// The value is never shown.
	if strings.ContainsFunc(s.Password, func(r rune) bool { return r < ' ' || r > '~' }) {
		c.fail([]any{"stats", "password"}, "Invalid password", "write printable ASCII characters only: browsers and HAProxy do not agree on others")
	}
}

func (c *checks) uri(path []any, uri string) {
	if !strings.HasPrefix(uri, "/") {
		c.fail(path, "Invalid URI", "write a path that begins with \"/\", not %s", fmt.Sprintf("%q", uri))
		return
	}
	c.one(path, uri)
}
