package xmlpatch

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/beevik/etree"
)

// namespaces are those that a prefix in a path may stand for.
var namespaces = map[string]string{"qemu": "http://libvirt.org/schemas/domain/qemu/1.0"}

// place is where a value is: in an element, or in an attribute of it.
type place struct {
	// steps lead from the root, which is the first, to the element.
	steps     []step
	attribute string // "" for the element's text
}

// step goes from an element to one in it: the one of a name, the nth of these from 1, or the one with an attribute of a value.
type step struct {
	space, tag string
	ordinal    int // 0 for the first
	key, value string
}

const name = `[A-Za-z_][A-Za-z0-9_.-]*`

var (
	stepText      = regexp.MustCompile(`^/(?:(` + name + `):)?(` + name + `)(?:\[([1-9][0-9]{0,3})\]|\[@(` + name + `)='([^'<>&]*)'\])?`)
	attributeText = regexp.MustCompile(`^/@(` + name + `)$`)
	ordinalText   = regexp.MustCompile(`\[([0-9]+)\]`)
)

// parsePlace reads a path.
func parsePlace(path string) (place, error) {
	var p place
	for rest := path; rest != ""; {
		if a := attributeText.FindStringSubmatch(rest); a != nil && len(p.steps) > 0 {
			p.attribute = a[1]
			return p, nil
		}
		m := stepText.FindStringSubmatch(rest)
		if m == nil {
			return p, fmt.Errorf("%q is no path to an element or an attribute: from %q on it cannot be understood", path, rest)
		}
		s := step{tag: m[2], key: m[4], value: m[5]}
		if m[1] != "" {
			var known bool
			if s.space, known = namespaces[m[1]]; !known {
				return p, fmt.Errorf("%q has an unknown prefix %q: libvirt has qemu", path, m[1])
			}
		}
		s.ordinal, _ = strconv.Atoi(m[3])
		p.steps = append(p.steps, s)
		rest = rest[len(m[0]):]
	}
	return p, nil
}

// CheckPath says what is wrong with a path below a root: it leads to an element or an attribute.
func CheckPath(root, path string) error {
	p, err := parsePlace(path)
	if err == nil && (len(p.steps) == 0 || p.steps[0] != step{tag: root} || len(p.steps) == 1 && p.attribute == "") {
		return fmt.Errorf("%q does not begin with /%s/", path, root)
	}
	return err
}

// listPaths returns the paths of a patch in the order in which they are followed: elements before what is in them, and the second of a name
// before the tenth.
func listPaths(p Patch) []string {
	order := map[string]string{}
	for path := range p {
		order[path] = ordinalText.ReplaceAllStringFunc(path, func(n string) string { return fmt.Sprintf("[%6s", n[1:]) })
	}
	paths := make([]string, 0, len(p))
	for path := range p {
		paths = append(paths, path)
	}
	slices.SortFunc(paths, func(a, b string) int { return strings.Compare(order[a], order[b]) })
	return paths
}

// listMatching returns the elements in an element that a step may mean, but for its ordinal.
func (s step) listMatching(in *etree.Element) []*etree.Element {
	return slices.DeleteFunc(in.ChildElements(), func(e *etree.Element) bool {
		return e.Tag != s.tag || e.NamespaceURI() != s.space || s.key != "" && e.SelectAttrValue(s.key, "") != s.value
	})
}

// followStep returns the element that a step leads to; nil where there is none.
func (s step) followStep(in *etree.Element) *etree.Element {
	all := s.listMatching(in)
	if n := max(s.ordinal, 1); n <= len(all) {
		return all[n-1]
	}
	return nil
}

// findPath returns the elements that the steps lead to, from the root on, as far as they are there.
func (p place) findPath(root *etree.Element) []*etree.Element {
	found := []*etree.Element{root}
	for _, s := range p.steps[1:] {
		next := s.followStep(found[len(found)-1])
		if next == nil {
			break
		}
		found = append(found, next)
	}
	return found
}

// readValue returns the value at the place, and whether it is there.
func (p place) readValue(root *etree.Element) (value string, there bool) {
	found := p.findPath(root)
	if len(found) < len(p.steps) {
		return "", false
	}
	e := found[len(found)-1]
	if p.attribute == "" {
		return strings.TrimSpace(e.Text()), true
	}
	a := e.SelectAttr(p.attribute)
	if a == nil {
		return "", false
	}
	return a.Value, true
}

// writeValue puts a value at the place, with the elements that lead to it. It returns how many of these there were before.
func (p place) writeValue(root *etree.Element, value string) (there int, err error) {
	found := p.findPath(root)
	e := found[len(found)-1]
	for _, s := range p.steps[len(found):] {
		if n := len(s.listMatching(e)); s.ordinal > n+1 {
			return 0, fmt.Errorf("there are %d <%s> in <%s>", n, s.tag, e.Tag)
		}
		child := e.CreateElement(s.tag)
		if s.space != e.NamespaceURI() {
			child.CreateAttr("xmlns", s.space)
		}
		if s.key != "" {
			child.CreateAttr(s.key, s.value)
		}
		e = child
	}
	switch is, _ := p.readValue(root); {
	case p.attribute != "":
		e.CreateAttr(p.attribute, value)
	case is != value:
		e.SetText(value)
	}
	return len(found), nil
}

// removeValue takes what is at the place away.
func (p place) removeValue(root *etree.Element) {
	found := p.findPath(root)
	if len(found) < len(p.steps) {
		return
	}
	e := found[len(found)-1]
	if p.attribute != "" {
		e.RemoveAttr(p.attribute)
	} else {
		e.Parent().RemoveChild(e)
	}
}
