package haproxy

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

// Validate finds what is wrong without asking any machine.
func (f Frontend) Validate() []service.Problem {
	var c checks
	c.checkSection(f.Name)
	c.checkMode([]any{"mode"}, f.Mode)
	c.checkPositive([]any{"maxconn"}, f.Maxconn)
	c.checkTimeouts([]any{"timeouts"}, f.Timeouts)
	c.checkOptions([]any{"options"}, f.Options, new(Frontend).directiveTable())
	c.checkExtra([]any{"extra_config"}, f.Extra, new(Frontend).directiveTable())
	seen := map[string]int{}
	for i, b := range f.Binds {
		path := []any{"binds", i}
		c.checkBind(path, b)
		if first, twice := seen[b.Endpoint()]; twice {
			c.addProblem(path, "Bind twice", "%s is the bind of binds[%d] already", b.Endpoint(), first)
		}
		seen[b.Endpoint()] = i
	}
	for i, r := range f.Rules {
		c.checkRule([]any{"rules", i}, r)
	}
	for name, criteria := range f.ACLs {
		path := []any{"acls", service.Key(name)}
		c.checkName(path, name)
		if len(criteria) == 0 {
			c.addProblem(path, "Empty ACL", "write what has to match, such as \"hdr(host) -i api.okd.example\"")
		}
		for _, criterion := range criteria {
			c.checkLine(path, criterion)
		}
	}
	if f.MonitorURI != "" {
		c.checkWord([]any{"monitor_uri"}, f.MonitorURI)
	}
	if f.DefaultBackend != "" {
		c.checkWord([]any{"default_backend"}, f.DefaultBackend)
	}
	if len(f.Binds) == 0 && !hasBind(f.Extra) {
		missing := service.Problemf([]any{"binds"}, "Frontend without a bind", "write where it listens: binds, or a `bind` line in extra_config")
		missing.Known = []string{"extra_config"}
		c.problems = append(c.problems, missing)
	}
	c.checkConditions(f)
	return c.problems
}

func (c *checks) checkRule(path []any, r Rule) {
	c.checkWord(appendPath(path, "backend"), r.Backend)
	if r.If != "" && r.Unless != "" {
		c.addProblem(path, "Two conditions", "write `if` or `unless`, not both")
	}
	c.checkLine(appendPath(path, "if"), r.If)
	c.checkLine(appendPath(path, "unless"), r.Unless)
}

// Validate finds what is wrong without asking any machine.
func (b Backend) Validate() []service.Problem {
	var c checks
	c.checkSection(b.Name)
	c.checkMode([]any{"mode"}, b.Mode)
	c.checkLine([]any{"balance"}, b.Balance)
	c.checkLine([]any{"hash_type"}, b.HashType)
	c.checkTimeouts([]any{"timeouts"}, b.Timeouts)
	c.checkOptions([]any{"options"}, b.Options, new(Backend).directiveTable())
	c.backendExtra(b)
	if h := b.HTTPCheck; h != nil {
		c.checkWord([]any{"http_check", "method"}, h.Method)
		c.checkWord([]any{"http_check", "uri"}, h.URI)
		c.checkLine([]any{"http_check", "version"}, h.Version)
		c.checkLine([]any{"http_check", "expect"}, h.Expect)
	}
	if b.DefaultServer != nil {
		c.checkParams([]any{"default_server"}, *b.DefaultServer)
	}
	seen := map[string]string{}
	for _, name := range sortedKeys(b.Servers) {
		s, path := b.Servers[name], []any{"servers", service.Key(name)}
		c.checkServer(path, name, s)
		if s.Address == "" || s.Port == 0 {
			continue // not known yet
		}
		if first, twice := seen[joinEndpoint(s.Address, s.Port)]; twice {
			c.addWarning(appendPath(path, "address"), "Server twice", "server %q has %s already, which gets both shares: where that is not meant, give it a weight instead", first, joinEndpoint(s.Address, s.Port))
		}
		seen[joinEndpoint(s.Address, s.Port)] = name
	}
	algorithm, _, _ := strings.Cut(b.Balance, " ")
	if algorithm == "source" && namedForAPI(b.Name) {
		c.addWarning([]any{"balance"}, "Sessions stick to one API server",
			"with balance source all connections from one address go to one server, so that behind NAT or from the service node itself the API servers are not balanced: write \"roundrobin\" or \"leastconn\"")
	}
	return c.problems
}

func (c *checks) checkServer(path []any, name string, s Server) {
	c.checkName(path, name)
	if name == "BACKEND" || name == "FRONTEND" {
		c.addProblem(path, "Invalid name", "HAProxy uses the name %s itself: choose another", name)
	}
	if !isAddress(s.Address) && !isHostName(s.Address) {
		c.addProblem(appendPath(path, "address"), "Invalid address", "write an IPv4 or IPv6 address or a host name, not %q", s.Address)
	}
	c.checkPort(appendPath(path, "port"), s.Port)
	c.checkParams(path, s.Params)
	if s.State != Ready && s.State != Drain && s.State != Maint {
		c.addProblem(appendPath(path, "state"), "Invalid state", "write \"ready\", \"drain\" or \"maint\", not %q", s.State)
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
	c.checkMode([]any{"mode"}, b.Mode)
	c.checkPositive([]any{"maxconn"}, b.Maxconn)
	c.checkPositive([]any{"retries"}, b.Retries)
	c.checkTimeouts([]any{"timeouts"}, b.Timeouts)
	for _, target := range b.Log {
		c.checkLine([]any{"log"}, target)
	}
	c.checkOptions([]any{"options"}, b.Options, new(Base).defaultsDirectives())
	c.checkExtra([]any{"extra_config"}, b.Extra, new(Base).globalDirectives())
	c.checkExtra([]any{"defaults_extra_config"}, b.DefaultsExtra, new(Base).defaultsDirectives())
	if h := b.Health; h != nil {
		c.checkBind([]any{"health"}, h.Bind)
		c.checkURI([]any{"health", "uri"}, h.URI)
	}
	if s := b.Stats; s != nil {
		c.checkStats(*s)
		if h := b.Health; h != nil && h.Endpoint() == s.Endpoint() {
			c.addProblem([]any{"stats", "port"}, "Bind twice", "the health listener has %s already", s.Endpoint())
		}
	}
	return c.problems
}

func (c *checks) checkStats(s Stats) {
	c.checkBind([]any{"stats"}, s.Bind)
	c.checkURI([]any{"stats", "uri"}, s.URI)
	c.checkDuration([]any{"stats", "refresh"}, s.Refresh)
	if strings.ContainsFunc(s.User, func(r rune) bool { return r <= ' ' || r == ':' || r > '~' }) {
		c.addProblem([]any{"stats", "user"}, "Invalid user", "a user of basic authentication has no blank, colon or control character")
	}
	// The value is never shown.
	if strings.ContainsFunc(s.Password, func(r rune) bool { return r < ' ' || r > '~' }) {
		c.addProblem([]any{"stats", "password"}, "Invalid password", "write printable ASCII characters only: browsers and HAProxy do not agree on others")
	}
}

func (c *checks) checkURI(path []any, checkURI string) {
	if !strings.HasPrefix(checkURI, "/") {
		c.addProblem(path, "Invalid URI", "write a path that begins with \"/\", not %s", fmt.Sprintf("%q", checkURI))
		return
	}
	c.checkWord(path, checkURI)
}

// predefined are the ACLs that HAProxy has by itself (configuration manual 3.0, section 7.4), of which some came with later versions.
var predefined = []string{
	"FALSE", "HTTP", "HTTP_1.0", "HTTP_1.1", "HTTP_2.0", "HTTP_3.0", "HTTP_CONTENT", "HTTP_URL_ABS", "HTTP_URL_SLASH", "HTTP_URL_STAR", "LOCALHOST",
	"METH_CONNECT", "METH_DELETE", "METH_GET", "METH_HEAD", "METH_OPTIONS", "METH_POST", "METH_PUT", "METH_TRACE", "RDP_COOKIE", "REQ_CONTENT", "TRUE", "WAIT_END",
}

// checkConditions finds ACLs that rules name and nothing defines: HAProxy refuses them.
func (c *checks) checkConditions(f Frontend) {
	defined := slices.Concat(predefined, slices.Collect(maps.Keys(f.ACLs)))
	for _, line := range f.Extra {
		if words, _ := rawWords(line); len(words) > 1 && words[0] == "acl" {
			defined = append(defined, words[1])
		}
	}
	for i, r := range f.Rules {
		for attribute, condition := range map[string]string{"if": r.If, "unless": r.Unless} {
			for _, name := range namedACLs(condition) {
				if !slices.Contains(defined, name) {
					undefined := service.Problemf([]any{"rules", i, attribute}, "No such ACL", "nothing defines the ACL %q, in acls or by a line \"acl %s …\" in extra_config: add it, or correct the name", name, name)
					undefined.Known = []string{"acls", "extra_config"}
					c.problems = append(c.problems, undefined)
				}
			}
		}
	}
}

// namedACLs are the names in a condition: its words but for operators and for tests that are written out in braces. A condition with
// quotes has none, as only HAProxy knows what its words are.
func namedACLs(condition string) []string {
	if strings.ContainsAny(condition, `"'\$`) {
		return nil
	}
	var names []string
	inBraces := false
	for _, word := range strings.Fields(condition) {
		switch name := strings.TrimLeft(word, "!"); {
		case word == "}":
			inBraces = false
		case name == "{":
			inBraces = true
		case inBraces || name == "" || word == "or" || word == "OR" || word == "||":
		default:
			names = append(names, name)
		}
	}
	return names
}
