package haproxy

import "slices"

// Frontend is a frontend section.
type Frontend struct {
	Name string `attr:"name"`
	// Mode is "tcp" or "http"; empty inherits it from the defaults.
	Mode  string `attr:"mode"`
	Binds []Bind `attr:"binds"`
	// Maxconn is the number of connections at once; 0 leaves it to HAProxy.
	Maxconn int64 `attr:"maxconn"`
	// Timeouts by HAProxy's names ("http-request"), times with a unit.
	Timeouts map[string]string
	// Options are sorted: "tcplog", "no dontlognull".
	Options []string `attr:"options"`
	// ACLs by name: each criterion is one acl line, and one of them has to match.
	ACLs map[string][]string
	// Extra are further lines, as HAProxy reads them.
	Extra          []string
	Rules          []Rule `attr:"rules"`
	MonitorURI     string `attr:"monitor_uri"`
	DefaultBackend string `attr:"default_backend"`
}

// Rule is a use_backend line. At most one of If and Unless is set.
type Rule struct {
	Backend string `attr:"backend"`
	If      string `attr:"if"`
	Unless  string `attr:"unless"`
}

// FrontendTimeouts are the timeouts that a frontend can have.
var FrontendTimeouts = []string{"client", "client-fin", "http-request", "http-keep-alive", "tarpit"}

func (f *Frontend) directiveTable() []directive {
	return slices.Concat(
		[]directive{
			textDirective("mode", "mode", &f.Mode),
			bindsDirective(&f.Binds),
			numberDirective("maxconn", "maxconn", &f.Maxconn),
		},
		timeoutDirectives(&f.Timeouts, FrontendTimeouts),
		optionDirectives(&f.Options),
		[]directive{
			textDirective("monitor-uri", "monitor_uri", &f.MonitorURI),
			aclsDirective(&f.ACLs),
			extraDirective(&f.Extra), // between the ACLs, which it may use, and the routing, which comes last in HAProxy
			rulesDirective(&f.Rules),
			textDirective("default_backend", "default_backend", &f.DefaultBackend),
		},
	)
}

// Body renders the section's lines, without header and indentation.
func (f Frontend) Body() []string { return renderBody(f.directiveTable()) }

// Section implements Proxy.
func (f Frontend) Section() (kind, name string) { return "frontend", f.Name }

func (f Frontend) sectionNote() string { return "" }

// ParseFrontend is the inverse of Body.
func ParseFrontend(name string, body []string) Frontend {
	f := Frontend{Name: name}
	f.Extra = parseBody(f.directiveTable(), body)
	return f
}

// bindsDirective are the bind lines that name one address and one port.
func bindsDirective(value *[]Bind) directive {
	return directive{"bind", "binds",
		func() []string {
			var rest []string
			for _, b := range *value {
				rest = append(rest, b.String())
			}
			return rest
		},
		func(rest string) bool {
			b, ok := parseBind(rest)
			if ok {
				*value = append(*value, b)
			}
			return ok
		}}
}

// hasBind says whether lines of a frontend have a bind line among them.
func hasBind(lines []string) bool {
	return slices.ContainsFunc(lines, func(line string) bool { _, ok := cutKeyword(line, "bind"); return ok })
}

// aclsDirective are the acl lines, those of one name together.
func aclsDirective(value *map[string][]string) directive {
	return directive{"acl", "acls",
		func() []string {
			var rest []string
			for _, name := range sortedKeys(*value) {
				for _, criterion := range (*value)[name] {
					rest = append(rest, name+" "+criterion)
				}
			}
			return rest
		},
		func(rest string) bool {
			words, _ := rawWords(rest)
			if len(words) < 2 {
				return false
			}
			if *value == nil {
				*value = map[string][]string{}
			}
			criterion, _ := cutKeyword(oneLine(rest), words[0])
			(*value)[words[0]] = append((*value)[words[0]], criterion)
			return true
		}}
}

func rulesDirective(value *[]Rule) directive {
	return directive{"use_backend", "rules",
		func() []string {
			var rest []string
			for _, r := range *value {
				switch {
				case r.If != "":
					rest = append(rest, r.Backend+" if "+r.If)
				case r.Unless != "":
					rest = append(rest, r.Backend+" unless "+r.Unless)
				default:
					rest = append(rest, r.Backend)
				}
			}
			return rest
		},
		func(rest string) bool {
			words, _ := rawWords(rest)
			if len(words) == 0 || len(words) == 2 {
				return false
			}
			r := Rule{Backend: words[0]}
			if len(words) > 2 {
				condition := oneLine(rest)[len(words[0])+1+len(words[1])+1:]
				switch words[1] {
				case "if":
					r.If = condition
				case "unless":
					r.Unless = condition
				default:
					return false
				}
			}
			*value = append(*value, r)
			return true
		}}
}
