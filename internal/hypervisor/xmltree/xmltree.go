// Package xmltree edits XML without losing what it does not know: attributes, elements, comments, namespace
// prefixes and their order survive. White space between elements does not.
package xmltree

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Element is one element. Names carry their prefix as written: "dnsmasq:option".
type Element struct {
	Name  string
	Attrs []Attr
	nodes []node
}

// Attr is one attribute.
type Attr struct{ Name, Value string }

// node is an element, or else text or markup (comments and the like) to be written as it is.
type node struct {
	element *Element
	text    string
	comment bool
}

// New makes an element with attributes given as name, value, name, value…; an empty value leaves its
// attribute out.
func New(name string, attrs ...string) *Element {
	e := &Element{Name: name}
	for pair := range slices.Chunk(attrs, 2) {
		e.Set(pair[0], pair[1])
	}
	return e
}

// Parse reads a document and returns its root.
func Parse(text string) (*Element, error) {
	d := xml.NewDecoder(strings.NewReader(text))
	document := &Element{}
	open := []*Element{document}
	for {
		token, err := d.RawToken() // raw: prefixes stay as they were written
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("parse XML: %w", err)
		}
		top := open[len(open)-1]
		switch t := token.(type) {
		case xml.StartElement:
			e := &Element{Name: prefixed(t.Name)}
			for _, a := range t.Attr {
				e.Attrs = append(e.Attrs, Attr{prefixed(a.Name), a.Value})
			}
			top.nodes = append(top.nodes, node{element: e})
			open = append(open, e)
		case xml.EndElement:
			if len(open) == 1 || top.Name != prefixed(t.Name) {
				return nil, fmt.Errorf("parse XML: </%s> closes nothing", prefixed(t.Name))
			}
			open = open[:len(open)-1]
		case xml.CharData:
			top.nodes = append(top.nodes, node{text: string(t)})
		case xml.Comment:
			top.nodes = append(top.nodes, node{text: string(t), comment: true})
		}
	}
	if len(open) != 1 {
		return nil, fmt.Errorf("parse XML: <%s> is not closed", open[len(open)-1].Name)
	}
	for e := range document.All() {
		return e, nil
	}
	return nil, errors.New("parse XML: no element")
}

func prefixed(n xml.Name) string {
	if n.Space == "" {
		return n.Local
	}
	return n.Space + ":" + n.Local
}

// All lists the child elements in order.
func (e *Element) All() func(yield func(*Element) bool) {
	return func(yield func(*Element) bool) {
		for _, n := range e.nodes {
			if n.element != nil && !yield(n.element) {
				return
			}
		}
	}
}

// Children lists the child elements of a name.
func (e *Element) Children(name string) []*Element {
	var found []*Element
	for child := range e.All() {
		if child.Name == name {
			found = append(found, child)
		}
	}
	return found
}

// Child is the first child element of a name, or nil.
func (e *Element) Child(name string) *Element {
	for child := range e.All() {
		if child.Name == name {
			return child
		}
	}
	return nil
}

// Ensure is the first child element of a name, made where there is none.
func (e *Element) Ensure(name string) *Element {
	if child := e.Child(name); child != nil {
		return child
	}
	child := &Element{Name: name}
	e.Append(child)
	return child
}

// Append adds child elements at the end.
func (e *Element) Append(children ...*Element) {
	for _, child := range children {
		e.nodes = append(e.nodes, node{element: child})
	}
}

// Remove takes out the child elements for which a condition holds.
func (e *Element) Remove(condition func(*Element) bool) {
	e.nodes = slices.DeleteFunc(e.nodes, func(n node) bool { return n.element != nil && condition(n.element) })
}

// RemoveNamed takes out the child elements of a name.
func (e *Element) RemoveNamed(name string) {
	e.Remove(func(child *Element) bool { return child.Name == name })
}

// Empty says whether the element has neither attributes nor content, so that it says nothing.
func (e *Element) Empty() bool {
	return len(e.Attrs) == 0 && !slices.ContainsFunc(e.nodes, func(n node) bool {
		return n.element != nil || n.comment || strings.TrimSpace(n.text) != ""
	})
}

// Attr is an attribute's value, or "".
func (e *Element) Attr(name string) string {
	for _, a := range e.Attrs {
		if a.Name == name {
			return a.Value
		}
	}
	return ""
}

// Set sets an attribute; an empty value removes it.
func (e *Element) Set(name, value string) {
	at := slices.IndexFunc(e.Attrs, func(a Attr) bool { return a.Name == name })
	switch {
	case value == "" && at >= 0:
		e.Attrs = slices.Delete(e.Attrs, at, at+1)
	case value == "":
	case at >= 0:
		e.Attrs[at].Value = value
	default:
		e.Attrs = append(e.Attrs, Attr{name, value})
	}
}

// SetText replaces the element's content by a text.
func (e *Element) SetText(text string) { e.nodes = []node{{text: text}} }

// Text is the element's own text, without that of its children.
func (e *Element) Text() string {
	var b strings.Builder
	for _, n := range e.nodes {
		if n.element == nil && !n.comment {
			b.WriteString(n.text)
		}
	}
	return strings.TrimSpace(b.String())
}

// String renders the element, indented by two spaces a level.
func (e *Element) String() string {
	var b strings.Builder
	e.write(&b, "", false)
	return b.String()
}

// write renders the element; inline leaves white space as it is, which matters where text and elements mix.
func (e *Element) write(b *strings.Builder, indent string, inline bool) {
	b.WriteString("<" + e.Name)
	for _, a := range e.Attrs {
		fmt.Fprintf(b, ` %s="%s"`, a.Name, escape(a.Value))
	}
	nodes := e.nodes
	mixed := inline || e.Text() != ""
	if !mixed {
		nodes = slices.DeleteFunc(slices.Clone(nodes), func(n node) bool { return n.element == nil && !n.comment })
	}
	if len(nodes) == 0 {
		b.WriteString("/>")
		return
	}
	b.WriteString(">")
	for _, n := range nodes {
		if !mixed {
			b.WriteString("\n" + indent + "  ")
		}
		switch {
		case n.element != nil:
			n.element.write(b, indent+"  ", mixed)
		case n.comment:
			b.WriteString("<!--" + n.text + "-->")
		default:
			b.WriteString(escapeText(n.text))
		}
	}
	if !mixed {
		b.WriteString("\n" + indent)
	}
	b.WriteString("</" + e.Name + ">")
}

func escapeText(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(s)
}

func escape(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "\n", "&#10;", "\t", "&#9;", "\r", "&#13;").Replace(s)
}
