package bind

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/bind/namedconf"
)

// DefaultOrder of a view.
const DefaultOrder = 100

// viewName is what a view may be called: it is also a directory's name.
var viewName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]*$`)

// View is one view, without its zones.
type View struct {
	Name string
	// Order decides which view is asked first; views of one order go by name, those for everyone last.
	Order int64
	// MatchClients and MatchDestinations are address match lists; nil means everyone.
	MatchClients, MatchDestinations []string
	// Recursion lets the view's clients ask for names of other servers.
	Recursion bool
	// AllowRecursion narrows that; nil means all clients of the view.
	AllowRecursion []string
	// Forwarders are asked for names of other servers; nil means as the server's options say.
	Forwarders []string
	// AllowQuery is an address match list; nil means as the server's options say.
	AllowQuery []string
	// Options are further statements of one value.
	Options map[string]string
}

// viewAttributes are the statements that have an attribute of their own.
var viewAttributes = map[string]string{
	"match-clients": "match_clients", "match-destinations": "match_destinations", "recursion": "recursion",
	"allow-recursion": "allow_recursion", "forwarders": "forwarders", "allow-query": "allow_query",
}

// Validate checks the view without asking any machine.
func (v View) Validate() []service.Problem {
	var problems []service.Problem
	if v.Name != "" && (!viewName.MatchString(v.Name) || len(v.Name) > 64) {
		problems = append(problems, service.Problemf([]any{"name"}, "Invalid view name", "%q: write letters, digits, hyphens, underscores and dots, a letter or digit first, 64 characters at most", v.Name))
	}
	if strings.HasPrefix(v.Name, "_") || v.Name == restView {
		problems = append(problems, service.Problemf([]any{"name"}, "Reserved view name", "%q is taken; choose another name", v.Name))
	}
	problems = append(problems, checkMatchList("match_clients", v.MatchClients)...)
	problems = append(problems, checkMatchList("match_destinations", v.MatchDestinations)...)
	problems = append(problems, checkMatchList("allow_recursion", v.AllowRecursion)...)
	problems = append(problems, checkMatchList("allow_query", v.AllowQuery)...)
	problems = append(problems, checkForwarders([]any{"forwarders"}, v.Forwarders)...)
	problems = append(problems, checkOptions(v.Options, viewAttributes)...)
	if v.AllowRecursion != nil && !v.Recursion {
		problems = append(problems, service.Warningf([]any{"allow_recursion"}, "No recursion to allow", "recursion is off in this view, so allow_recursion has no effect; set recursion = true"))
	}
	if v.OpenResolver() {
		problems = append(problems, service.Warningf([]any{"recursion"}, "Open resolver", "view %q answers recursively to everyone who reaches the server, which attackers use to amplify traffic; narrow match_clients or allow_recursion", v.Name))
	}
	return problems
}

// ForStrangers says whether the view answers clients from anywhere.
func (v View) ForStrangers() bool {
	return matchesAnyone(v.MatchClients) && (v.AllowQuery == nil || matchesAnyone(v.AllowQuery))
}

// MatchesAll says whether no question gets past this view.
func (v View) MatchesAll() bool {
	return matchesAnyone(v.MatchClients) && matchesAnyone(v.MatchDestinations)
}

// OpenResolver says whether strangers get recursion.
func (v View) OpenResolver() bool {
	return v.Recursion && v.MatchClients != nil && v.ForStrangers() && matchesAnyone(v.AllowRecursion)
}

// Compare orders views as they are asked.
func (v View) Compare(other View) int {
	last := func(v View) int {
		if v.MatchesAll() {
			return 1
		}
		return 0
	}
	return cmp.Or(cmp.Compare(v.Order, other.Order), cmp.Compare(last(v), last(other)), strings.Compare(v.Name, other.Name))
}

// Shadows says which of two views would never be asked, and what to do; "" where both are.
func Shadows(a, b View) string {
	if a.Compare(b) > 0 {
		a, b = b, a
	}
	if !a.MatchesAll() {
		return ""
	}
	return fmt.Sprintf("view %q (order %d) matches everyone, so view %q (order %d) behind it would never be asked; give %q a higher order, or match_clients",
		a.Name, a.Order, b.Name, b.Order, a.Name)
}

// Render writes the view statement, with the comment that says whose it is and without zones.
func (v View) Render(m owner.Mark) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\nview %s {\n", formatMarker(fmt.Sprintf("%s order=%d", nameMarker(viewMarker, v.Name), v.Order), m), namedconf.Quote(v.Name))
	list := func(name string, elements []string) {
		if elements != nil {
			fmt.Fprintf(&b, "\t%s %s;\n", name, formatBlock(canonicalMatches(elements)))
		}
	}
	list("match-clients", v.MatchClients)
	list("match-destinations", v.MatchDestinations)
	if v.Recursion {
		// Whom the view is for, match-clients says; BIND's own default would leave out all but local networks.
		b.WriteString("\trecursion yes;\n")
		list("allow-recursion", orAny(v.AllowRecursion))
	} else {
		b.WriteString("\trecursion no;\n")
		list("allow-recursion", v.AllowRecursion)
	}
	if v.Forwarders != nil {
		fmt.Fprintf(&b, "\tforwarders %s;\n", formatBlock(forwarderElements(v.Forwarders)))
	}
	list("allow-query", v.AllowQuery)
	writeOptions(&b, v.Options)
	b.WriteString("};")
	return b.String()
}

func orAny(list []string) []string {
	if list == nil {
		return []string{"any"}
	}
	return list
}

// parseView is the inverse of Render. It returns what a view statement says, and the statements in it that
// are no part of the View: zones, and whatever a person added.
func parseView(s *namedconf.Statement) (View, []*namedconf.Statement) {
	v := View{Name: s.Arg(0), Order: DefaultOrder}
	if order, ok := strings.CutPrefix(markerOf(s), viewMarker+" order="); ok {
		if n, err := strconv.ParseInt(order, 10, 64); err == nil {
			v.Order = n
		}
	}
	var rest []*namedconf.Statement
	for _, in := range s.Block().Statements {
		if isRepeated(s.Block(), in) || !v.takeStatement(in) {
			rest = append(rest, in)
		}
	}
	if v.Recursion && slices.Equal(v.AllowRecursion, []string{"any"}) {
		v.AllowRecursion = nil
	}
	return v, rest
}

// isRepeated says whether a block has several statements of a name, of which an attribute would keep the last.
func isRepeated(block *namedconf.File, s *namedconf.Statement) bool {
	return slices.ContainsFunc(block.Statements, func(other *namedconf.Statement) bool { return other != s && other.Name() == s.Name() })
}

func (v *View) takeStatement(s *namedconf.Statement) bool {
	name := s.Name()
	lists := map[string]*[]string{
		"match-clients": &v.MatchClients, "match-destinations": &v.MatchDestinations,
		"allow-recursion": &v.AllowRecursion, "allow-query": &v.AllowQuery,
	}
	if list, ok := lists[name]; ok && s.Block() != nil {
		*list = canonicalMatches(s.Block().Elements())
		return true
	}
	switch name {
	case "recursion":
		v.Recursion = isYes(s.Arg(0))
		return true
	case "forwarders":
		if s.Block() != nil && len(s.Words()) == 0 {
			v.Forwarders = forwarderList(s.Block().Elements())
			return true
		}
	case "zone", "include", "key", "server", "view":
		return false
	}
	option, value, ok := plainOption(s)
	if ok {
		if v.Options == nil {
			v.Options = map[string]string{}
		}
		v.Options[option] = value
	}
	return ok
}

// isYes reads a boolean as BIND does.
func isYes(word string) bool {
	return slices.Contains([]string{"yes", "true", "1"}, strings.ToLower(word))
}
