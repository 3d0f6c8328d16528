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

// renderXML returns an element and all that is in it as text.
func renderXML(e *etree.Element) string {
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
		setAttribute(e, attributes[i], attributes[i+1])
	}
	return e
}

// setAttribute sets an attribute; an empty value removes it.
func setAttribute(e *etree.Element, name, value string) {
	if value == "" {
		e.RemoveAttr(name)
		return
	}
	e.CreateAttr(name, value)
}

// readAttribute returns an attribute's value, or "" where it or the element is not there.
func readAttribute(e *etree.Element, name string) string {
	if e == nil {
		return ""
	}
	return e.SelectAttrValue(name, "")
}

// ensureChild returns the first child element of a name, made where there is none.
func ensureChild(e *etree.Element, name string) *etree.Element {
	if child := e.SelectElement(name); child != nil {
		return child
	}
	return e.CreateElement(name)
}

// removeChildren takes out the child elements for which a condition holds.
func removeChildren(e *etree.Element, condition func(*etree.Element) bool) {
	for _, child := range e.ChildElements() {
		if condition(child) {
			e.RemoveChild(child)
		}
	}
}

// removeChildrenNamed takes out the child elements of a name.
func removeChildrenNamed(e *etree.Element, name string) {
	removeChildren(e, func(child *etree.Element) bool { return child.FullTag() == name })
}

// isEmptyElement says whether an element has neither attributes nor content, so that it says nothing.
func isEmptyElement(e *etree.Element) bool {
	for _, token := range e.Child {
		if text, ok := token.(*etree.CharData); !ok || strings.TrimSpace(text.Data) != "" {
			return false
		}
	}
	return len(e.Attr) == 0
}

// readText returns an element's text, or "" where it is not there.
func readText(e *etree.Element) string {
	if e == nil {
		return ""
	}
	return strings.TrimSpace(e.Text())
}
