package bind

import (
	"fmt"
	"slices"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/bind/namedconf"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

// FindView reads a view; transaction.ErrAbsent when it is not there.
func FindView(t transaction.Tree, name string) (View, error) {
	c, err := readConfig(t)
	if err != nil {
		return View{}, err
	}
	s, _, err := c.anyView(name)
	if err != nil {
		return View{}, err
	}
	if s == nil {
		return View{}, transaction.ErrAbsent
	}
	v, _ := parseView(s)
	if isMarked := strings.HasPrefix(markerOf(s), viewMarker); !isMarked {
		err = c.inheritRecursion(&v, s)
	}
	return v, err
}

// inheritRecursion fills in who gets recursion from a view that a person wrote, of what its statement leaves to the server's options, or these to
// BIND: what the provider writes says it in full, and would otherwise take it from these clients, or give it to more, with the first change.
func (c *config) inheritRecursion(v *View, view *namedconf.Statement) error {
	options, _, err := c.findStatement(func(s *namedconf.Statement) bool { return s.Name() == "options" && s.Block() != nil })
	if err != nil {
		return err
	}
	find := func(name string) *namedconf.Statement {
		s := view.Block().Find(name)
		if s == nil && options != nil {
			s = options.Block().Find(name)
		}
		return s
	}
	recursion := find("recursion")
	v.Recursion = recursion == nil || isYes(recursion.Arg(0))
	if !v.Recursion || view.Block().Find("allow-recursion") != nil {
		return nil
	}
	v.AllowRecursion = []string{"localnets", "localhost"} // BIND's own default
	for _, name := range []string{"allow-recursion", "allow-query-cache", "allow-query"} {
		if s := find(name); s != nil && s.Block() != nil {
			v.AllowRecursion = canonicalMatches(s.Block().Elements())
			break
		}
	}
	if slices.Equal(v.AllowRecursion, []string{"any"}) {
		v.AllowRecursion = nil
	}
	return nil
}

// Views reads all views that this provider wrote, in the order they are asked.
func Views(t transaction.Tree) ([]View, error) {
	c, err := readConfig(t)
	if err != nil {
		return nil, err
	}
	var views []View
	for _, s := range c.viewStatements() {
		v, _ := parseView(s)
		views = append(views, v)
	}
	return views, nil
}

// ViewNames lists all views of a configuration, a person's included.
func ViewNames(t transaction.Tree) []string {
	c, err := readConfig(t)
	if err != nil {
		return nil
	}
	return c.viewNames()
}

// anyView finds a view statement, whoever wrote it, in the main file or in one that it includes.
func (c *config) anyView(name string) (s *namedconf.Statement, include *namedconf.Statement, err error) {
	named := func(s *namedconf.Statement) bool { return isView(s) && s.Arg(0) == name }
	return c.findStatement(named)
}

// findStatement finds a statement in the main file, or in one that it includes, also by way of others, together with the main file's include
// statement.
func (c *config) findStatement(match func(*namedconf.Statement) bool) (s *namedconf.Statement, include *namedconf.Statement, err error) {
	for _, s := range c.file.Statements {
		if match(s) {
			return s, nil, nil
		}
		if s.Name() != "include" {
			continue
		}
		if _, err := c.parseIncluded(s, 0); err != nil {
			return nil, nil, err
		}
		inner := c.flattenIncludes([]*namedconf.Statement{s}, 0)
		if at := slices.IndexFunc(inner, match); at >= 0 {
			return inner[at], s, nil
		}
	}
	return nil, nil, nil
}

// inlineInclude puts the statements of an included file in the place of its include statement.
func (c *config) inlineInclude(include *namedconf.Statement) error {
	file, err := c.parseIncluded(include, 0)
	if err != nil {
		return err
	}
	at := slices.Index(c.file.Statements, include)
	if len(file.Statements) > 0 {
		file.Statements[0].SetLead(include.Lead() + file.Statements[0].Lead())
	}
	c.file.Statements = slices.Replace(c.file.Statements, at, at+1, file.Statements...)
	return nil
}

// ViewMark returns whose the view of a name is, a person's included; false where there is none.
func ViewMark(t transaction.Tree, name string) (owner.Mark, bool) {
	return markIn(t, func(c *config) (*namedconf.Statement, error) {
		s, _, err := c.anyView(name)
		return s, err
	})
}

// SetView puts a view in any case. Its zones, and what a person added to it, stay.
func SetView(t transaction.Tree, v View, m owner.Mark) error {
	c, err := openConfig(t)
	if err != nil {
		return err
	}
	s, err := parseStatement(v.Render(m), "")
	if err != nil {
		return err
	}
	old, include, err := c.anyView(v.Name)
	if err != nil {
		return err
	}
	for include != nil {
		if err := c.inlineInclude(include); err != nil {
			return err
		}
		if old, include, err = c.anyView(v.Name); err != nil {
			return err
		}
	}
	if old == nil {
		c.file.Statements = append(c.file.Statements, s)
	} else {
		_, rest := parseView(old)
		s.Block().Statements = append(s.Block().Statements, rest...)
		replaceStatement(c.file, old, s)
	}
	if err := c.checkOrder(v); err != nil {
		return err
	}
	return c.saveConfig()
}

// replaceStatement puts one statement in another's place and keeps a person's comments above it.
func replaceStatement(f *namedconf.File, old, s *namedconf.Statement) {
	if above := strings.TrimSpace(withoutMarkers(old.Lead())); above != "" {
		s.SetLead("\n" + above + "\n" + strings.TrimLeft(s.Lead(), "\n"))
	}
	f.Statements[slices.Index(f.Statements, old)] = s
}

// checkOrder refuses a view that would never be asked, or that would keep another from ever being asked.
func (c *config) checkOrder(v View) error {
	for _, s := range c.viewStatements() {
		w, _ := parseView(s)
		if w.Name == v.Name {
			continue
		}
		if problem := Shadows(v, w); problem != "" {
			return fmt.Errorf("%s", problem)
		}
	}
	return nil
}

// DropView takes a view out. One with zones stays, with an error that names them: they are other resources', or a person's.
func DropView(t transaction.Tree, name string) error {
	c, err := readConfig(t)
	if err != nil {
		return absentIsFine(err)
	}
	s := c.findView(name)
	if s == nil {
		return nil
	}
	var zones, theirs []string
	for _, in := range s.Block().Statements {
		if c.isKept(in) {
			continue
		}
		for _, inner := range c.flattenIncludes([]*namedconf.Statement{in}, 0) {
			switch {
			case inner.Name() != "zone":
			case markerOf(inner) == zoneMarker:
				zones = append(zones, inner.Arg(0))
			default:
				theirs = append(theirs, inner.Arg(0))
			}
		}
	}
	if len(zones) > 0 {
		return fmt.Errorf("view %q still has the zones %s; destroy them first (or refer to the view in their `view`, so that it is destroyed after them)", name, strings.Join(zones, ", "))
	}
	if len(theirs) > 0 {
		return fmt.Errorf("view %q holds zones that this provider did not write: %s; move them to another view, or take them out of %s, and destroy the view then", name, strings.Join(theirs, ", "), c.main)
	}
	c.removeView(s)
	return c.saveConfig()
}

// removeView takes a view of ours out of the main file. What a person wrote into it goes to the file beside it.
func (c *config) removeView(s *namedconf.Statement) {
	_, theirs := parseView(s)
	c.keepBeside(slices.DeleteFunc(theirs, func(in *namedconf.Statement) bool { return c.isKept(in) || isOurZone(in) }), "")
	removeStatement(c.file, s)
}

// unchanged is why what was imported and never changed stays.
const unchanged = "A person wrote it, and nothing of it was changed since it was imported: named goes on serving it as it stands in that person's files. Take it out there where it is to go"

// explainStayingView says why a view that is destroyed stays: it is as a person wrote it. "" is for one that this provider writes.
func explainStayingView(t transaction.Tree, name string) string {
	c, err := readConfig(t)
	if err != nil || c.findView(name) != nil {
		return ""
	}
	if s, _, err := c.anyView(name); err != nil || s == nil {
		return ""
	}
	return unchanged
}

func absentIsFine(err error) error {
	if err == transaction.ErrAbsent { //nolint:errorlint // read returns it bare
		return nil
	}
	return err
}
