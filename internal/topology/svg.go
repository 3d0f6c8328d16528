package topology

import (
	_ "embed"
	"fmt"
	"html"
	"strings"
	"unicode/utf8"
)

//go:embed style.css
var style string

// SVG is the picture, light or dark as its reader has it.
func (t Topology) SVG() string { return t.svg(false) }

// svg draws; with links, each element leads to its table on the page around it.
func (t Topology) svg(links bool) string {
	p := t.layout()
	var b strings.Builder
	fmt.Fprintf(&b, "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"topology\" viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" height=\"%.0f\" role=\"img\" aria-label=\"%s\">\n",
		p.w, p.h, p.w, p.h, html.EscapeString(t.Title))
	fmt.Fprintf(&b, "<style>%s</style>\n<rect class=\"paper\" width=\"%.0f\" height=\"%.0f\"/>\n", style, p.w, p.h)
	text(&b, margin, 30, "title", p.title)
	for _, ln := range p.lanes {
		fmt.Fprintf(&b, "<rect class=\"lane %s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"8\"/>\n", ln.kind, ln.x, ln.y, ln.w, ln.h)
	}
	for _, l := range p.lines {
		fmt.Fprintf(&b, "<line class=\"%s\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n", l.kind, l.x1, l.y1, l.x2, l.y2)
	}
	for _, ln := range p.lanes {
		element(&b, links, ln.id, func() {
			text(&b, ln.x+12, ln.y+24, "name", ln.title)
			for i, one := range ln.lines {
				text(&b, ln.x+12, ln.y+42+float64(i)*16, "note", one)
			}
		})
		for _, g := range ln.groups {
			text(&b, g.x, g.y, "note", g.text)
		}
		for _, x := range ln.boxes {
			element(&b, links, x.id, func() { draw(&b, x) })
		}
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// element draws one, as a link where there is something to lead to.
func element(b *strings.Builder, links bool, id string, draw func()) {
	if links {
		fmt.Fprintf(b, "<a href=\"#%s\">", html.EscapeString(id))
		defer b.WriteString("</a>\n")
	}
	draw()
}

// draw draws a machine, or a row of what machines serve.
func draw(b *strings.Builder, x box) {
	fmt.Fprintf(b, "<g><title>%s</title><rect class=\"box %s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"5\"/>",
		html.EscapeString(strings.Join(append([]string{x.title}, x.lines...), "\n")), colour(x.kind), x.x, x.y, x.w, x.h)
	fmt.Fprintf(b, "<rect class=\"edge %s\" x=\"%.1f\" y=\"%.1f\" width=\"5\" height=\"%.1f\" rx=\"2\"/>", colour(x.kind), x.x, x.y, x.h)
	if x.tag == "" {
		text(b, x.x+13, x.y+17, "name", shorten(x.title))
		for i, one := range x.lines {
			text(b, x.x+13, x.y+33+float64(i)*14, "note", one)
		}
	} else {
		text(b, x.x+12, x.y+16, "tag", x.tag)
		room := int((x.w - 70) / small)
		name, rest := x.title, strings.Join(x.lines, " ")
		if utf8.RuneCountInString(name+rest)+1 > room {
			name = cut(name, max(room/2, 3))
		}
		text(b, x.x+64, x.y+16, "label", name)
		used := utf8.RuneCountInString(name) + 1
		text(b, x.x+64+float64(used)*small, x.y+16, "note", cut(rest, max(room-used, 3)))
	}
	b.WriteString("</g>\n")
}

// colour is the class of a kind: roles that have no colour of their own share one.
func colour(k kind) string {
	switch k {
	case "service", "bootstrap", "master", "worker", "vip", "frontend", "view", "exposure":
		return string(k)
	}
	return "other"
}

func text(b *strings.Builder, x, y float64, class, text string) {
	fmt.Fprintf(b, "<text class=\"%s\" x=\"%.1f\" y=\"%.1f\">%s</text>", class, x, y, html.EscapeString(text))
}
