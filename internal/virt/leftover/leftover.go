// Package leftover finds what of an object's XML no attribute of a resource says: what is in libvirt's XML, and not in the XML that is made of
// what was read from it. It asks nobody.
package leftover

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/beevik/etree"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

// shown bounds how much of an element's own text is said, in bytes.
const shown = 400

// Find lists what the XML has and modelled, which was made of what was read from it, has not: elements, attributes and texts, each by its
// path, in their order. What libvirt fills in by itself is not among them: patterns of such paths (path.Match) without places among
// like elements, such as "/domain/devices/*/address", and behind an "=" the one value that is meant.
func Find(xml, modelled string, filledIn ...string) ([]service.Unmodelled, error) {
	is, err := parseXML(xml)
	if err != nil {
		return nil, err
	}
	says, err := parseXML(modelled)
	if err != nil {
		return nil, err
	}
	c := comparison{filledIn}
	return c.compareElements(place{named: "/" + is.FullTag(), at: "/" + is.FullTag()}, is, says), nil
}

func parseXML(text string) (*etree.Element, error) {
	doc := etree.NewDocument()
	if err := doc.ReadFromString(text); err != nil {
		return nil, fmt.Errorf("parse XML of libvirt: %w", err)
	}
	if doc.Root() == nil {
		return nil, fmt.Errorf("XML of libvirt without an element: %.100q", text)
	}
	return doc.Root(), nil
}

type comparison struct{ filledIn []string }

// place is where an element is: named without places among like elements, and at with them.
type place struct{ named, at string }

func (p place) childAt(name, at string) place {
	return place{p.named + "/" + name, p.at + "/" + name + at}
}

// isFilledIn says whether libvirt fills in what is there by itself, with this value.
func (c comparison) isFilledIn(at place, value string) bool {
	return slices.ContainsFunc(c.filledIn, func(pattern string) bool {
		pattern, only, valued := strings.Cut(pattern, "=")
		matches, err := path.Match(pattern, at.named)
		return err == nil && matches && (!valued || value == only)
	})
}

// compareElements lists what an element has that another one has not.
func (c comparison) compareElements(at place, is, says *etree.Element) (all []service.Unmodelled) {
	for _, a := range is.Attr {
		here := at.childAt("@"+a.FullKey(), "")
		if a.Space == "xmlns" || a.Key == "xmlns" || says.SelectAttrValue(a.FullKey(), "") == a.Value || c.isFilledIn(here, a.Value) {
			continue
		}
		all = append(all, service.Unmodelled{Place: here.at, What: withoutSecret(a.Key, a.Value)})
	}
	if text := textOf(is); text != "" && text != textOf(says) && !c.isFilledIn(at, text) {
		all = append(all, service.Unmodelled{Place: at.at, What: text})
	}
	return append(all, c.compareChildren(at, is, says)...)
}

// compareChildren compares the elements in two elements, each with the one of its name that is most like it.
func (c comparison) compareChildren(at place, is, says *etree.Element) (all []service.Unmodelled) {
	var pairs []pair
	for _, child := range is.ChildElements() {
		here := at.childAt(child.FullTag(), formatOrdinal(is, child))
		if c.isFilledIn(here, textOf(child)) {
			continue
		}
		pairs = append(pairs, pair{child: child, missing: c.listWhole(here, child), cost: 1 << 20})
		for _, other := range says.SelectElements(child.FullTag()) {
			missing := c.compareElements(here, child, other)
			pairs = append(pairs, pair{child, other, missing, len(missing)})
		}
	}
	slices.SortStableFunc(pairs, func(a, b pair) int { return cmp.Compare(a.cost, b.cost) })
	found, taken := map[*etree.Element][]service.Unmodelled{}, map[*etree.Element]bool{}
	for _, p := range pairs {
		if _, done := found[p.child]; !done && (p.other == nil || !taken[p.other]) {
			found[p.child], taken[p.other] = p.missing, p.other != nil
		}
	}
	for _, child := range is.ChildElements() {
		all = append(all, found[child]...)
	}
	return all
}

// listWhole lists an element of which nothing is said elsewhere: one that only holds what libvirt fills in is nothing.
func (c comparison) listWhole(at place, e *etree.Element) []service.Unmodelled {
	if len(e.ChildElements()) > 0 && len(c.compareElements(at, e, etree.NewElement(e.FullTag()))) == 0 {
		return nil
	}
	return []service.Unmodelled{{Place: at.at, What: renderElement(e)}}
}

// pair is an element and one that may say the same, nil for none: what of it is missing then.
type pair struct {
	child, other *etree.Element
	missing      []service.Unmodelled
	cost         int
}

// formatOrdinal is the place of an element among those of its name, as XPath counts: "[2]"; "" for the only one.
func formatOrdinal(in, child *etree.Element) string {
	like := in.SelectElements(child.FullTag())
	if len(like) < 2 {
		return ""
	}
	return fmt.Sprintf("[%d]", slices.Index(like, child)+1)
}

func textOf(e *etree.Element) string { return strings.TrimSpace(e.Text()) }

// withoutSecret returns the value of an attribute, and of a password that it is one.
func withoutSecret(name, value string) string {
	if strings.Contains(strings.ToLower(name), "passw") {
		return "(a secret)"
	}
	return value
}

// renderElement returns an element as one line of text, without secrets.
func renderElement(e *etree.Element) string {
	doc := etree.NewDocument()
	doc.SetRoot(e.Copy())
	for _, x := range append(doc.FindElements("//*"), doc.Root()) {
		for i, a := range x.Attr {
			x.Attr[i].Value = withoutSecret(a.Key, a.Value)
		}
	}
	doc.Unindent()
	text, err := doc.WriteToString()
	if err != nil {
		return e.FullTag()
	}
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > shown {
		text = strings.ToValidUTF8(text[:shown], "") + "…"
	}
	return text
}
