package bind

import (
	"fmt"
	"slices"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/bind/namedconf"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

// ListUnmodelled lists what of BIND's configuration no resource says, whoever wrote it: options of a person's, statements that have no
// attribute, zones in what a view includes, and files that are not read. The zones that every distribution configures (RFC 1912, section 4.1) are not
// among them.
func ListUnmodelled(t transaction.Tree) ([]service.Unmodelled, error) {
	c, err := readConfig(t)
	if err != nil {
		return nil, absentIsFine(err)
	}
	l := leftovers{config: c}
	err = l.addFile(c.main, "", 0)
	return l.all, err
}

// elsewhere is why a zone is not imported that stands where a person's zones are not looked for.
const elsewhere = "A zone that a person wrote is imported where it stands in no view, or in the view's own statement, and this one does not: "

// leftovers collects what no resource says.
type leftovers struct {
	*config
	all []service.Unmodelled
}

func (l *leftovers) addStatement(file string, s *namedconf.Statement, why string) {
	place := fmt.Sprintf("%s:%d", file, s.Line)
	if there := func(u service.Unmodelled) bool { return u.Place == place }; !slices.ContainsFunc(l.all, there) { // several views may include one file
		l.all = append(l.all, service.Unmodelled{Place: place, What: why + plainText(s)})
	}
}

// addFile adds what of a file, and of those that it includes, no resource says. zones is why none of its zones is imported; "" where they are.
func (l *leftovers) addFile(file, zones string, depth int) error {
	if depth > maxIncludes {
		return fmt.Errorf("%s includes itself", file)
	}
	f, err := parseConf(l.tree, file)
	if err != nil {
		return err
	}
	return l.addStatements(file, f.Statements, zones, depth)
}

func (l *leftovers) addStatements(file string, statements []*namedconf.Statement, zones string, depth int) error {
	for _, s := range statements {
		var err error
		switch name := s.Name(); {
		case name == "include":
			err = l.addIncluded(file, s, zones, depth)
		case isView(s):
			err = l.addView(file, s, depth)
		case name == "options" && markerOf(s) == serverMarker:
			_, rest := parseServer(s)
			for _, in := range rest {
				if !slices.Contains(layout, in.Name()) {
					l.addStatement(file, in, "")
				}
			}
		case name == "zone" && !isOurZone(s) && !isPersonal(s):
		case name == "zone" && (s.Block() == nil || zones != ""):
			l.addStatement(file, s, zones)
		case name == "zone":
			l.addZone(file, s)
		default:
			l.addStatement(file, s, "")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// addIncluded adds what is in the files that a statement includes.
func (l *leftovers) addIncluded(file string, s *namedconf.Statement, zones string, depth int) error {
	paths := matchingPaths(l.tree, s.Arg(0))
	if len(paths) == 0 {
		l.addStatement(file, s, "Nothing that it includes is read: ")
	}
	for _, path := range paths {
		if err := l.addFile(path, zones, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// addView adds what of a view its attributes do not say. Its own zones can be imported; those in what it includes cannot.
func (l *leftovers) addView(file string, view *namedconf.Statement, depth int) error {
	_, rest := parseView(view)
	for _, s := range rest {
		switch {
		case s.Name() == "zone" && (!isPersonal(s) || l.isKept(s)):
		case s.Name() == "zone" && view.Arg(0) == restView:
			l.addStatement(file, s, elsewhere)
		case s.Name() == "zone" && s.Block() != nil:
			l.addZone(file, s)
		case s.Name() == "include":
			zones := elsewhere
			if l.isKept(s) {
				zones = "" // what stands in no view is in every one
			}
			if err := l.addIncluded(file, s, zones, depth); err != nil {
				return err
			}
		default:
			l.addStatement(file, s, "")
		}
	}
	return nil
}

// addZone adds what of a zone's statement its attributes do not say.
func (l *leftovers) addZone(file string, zone *namedconf.Statement) {
	for _, s := range (&Zone{}).takeStatement(zone) {
		l.addStatement(file, s, "")
	}
}

// plainText returns a statement on one line, without comments and secrets.
func plainText(s *namedconf.Statement) string {
	var words []string
	for _, p := range s.Parts {
		switch {
		case p.Block == nil:
			words = append(words, p.Raw)
		case len(p.Block.Statements) == 0:
			words = append(words, "{ }")
		default:
			inner := make([]string, 0, len(p.Block.Statements))
			for _, in := range p.Block.Statements {
				inner = append(inner, plainText(in))
			}
			words = append(words, "{ "+strings.Join(inner, " ")+" }")
		}
	}
	if s.Name() == "secret" {
		words = []string{words[0], "(a secret)"}
	}
	return strings.Join(words, " ") + ";"
}
