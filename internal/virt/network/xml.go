package network

import (
	"fmt"
	"strings"

	"github.com/beevik/etree"
)

// Definitions are edited as trees, so that what is not known here survives: attributes, elements, comments, namespace
// prefixes, their order and white space.

// parseXML returns the root of a document.
func parseXML(text string) (*etree.Element, error) {
	d := etree.NewDocument()
	if err := d.ReadFromString(text); err != nil {
		return nil, fmt.Errorf("parse XML: %w", err)
	}
	if d.Root() == nil {
		return nil, fmt.Errorf("parse XML: no element in %q", text)
	}
	return d.Root(), nil
}

// render returns an element and all that is in it as text.
func render(e *etree.Element) string {
	d := etree.NewDocumentWithRoot(e.Copy())
	d.WriteSettings.CanonicalAttrVal = true // a line break in an attribute stays one
	text, err := d.WriteToString()
	if err != nil {
		panic(fmt.Sprintf("write XML: %v", err)) // into memory nothing can fail
	}
	return text
}

// newElement makes an element with attributes given as name, value, name, value…; an empty value leaves its attribute out.
func newElement(name string, attributes ...string) *etree.Element {
	e := etree.NewElement(name)
	for i := 0; i+1 < len(attributes); i += 2 {
		set(e, attributes[i], attributes[i+1])
	}
	return e
}

// set sets an attribute; an empty value removes it.
func set(e *etree.Element, name, value string) {
	if value == "" {
		e.RemoveAttr(name)
		return
	}
	e.CreateAttr(name, value)
}

// attr is an attribute's value, or "" where it or the element is not there.
func attr(e *etree.Element, name string) string {
	if e == nil {
		return ""
	}
	return e.SelectAttrValue(name, "")
}

// ensure is the first child element of a name, made where there is none.
func ensure(e *etree.Element, name string) *etree.Element {
	if child := e.SelectElement(name); child != nil {
		return child
	}
	return e.CreateElement(name)
}

// remove takes out the child elements for which a condition holds.
func remove(e *etree.Element, condition func(*etree.Element) bool) {
	for _, child := range e.ChildElements() {
		if condition(child) {
			e.RemoveChild(child)
		}
	}
}

// removeNamed takes out the child elements of a name.
func removeNamed(e *etree.Element, name string) {
	remove(e, func(child *etree.Element) bool { return child.FullTag() == name })
}

// isEmpty says whether an element has neither attributes nor content, so that it says nothing.
func isEmpty(e *etree.Element) bool {
	for _, token := range e.Child {
		if text, ok := token.(*etree.CharData); !ok || strings.TrimSpace(text.Data) != "" {
			return false
		}
	}
	return len(e.Attr) == 0
}

// textOf is an element's text, or "" where it is not there.
func textOf(e *etree.Element) string {
	if e == nil {
		return ""
	}
	return strings.TrimSpace(e.Text())
}
