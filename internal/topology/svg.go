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
func (t Topology) SVG() string { return t.drawSVG(false) }

// drawSVG draws; with links, each element leads to its table on the page around it.
func (t Topology) drawSVG(links bool) string {
	p := t.placeElements()
	var b strings.Builder
	fmt.Fprintf(&b, "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"topology\" viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" height=\"%.0f\" role=\"img\" aria-label=\"%s\">\n",
		p.w, p.h, p.w, p.h, html.EscapeString(t.Title))
	fmt.Fprintf(&b, "<style>%s</style>\n<rect class=\"paper\" width=\"%.0f\" height=\"%.0f\"/>\n", style, p.w, p.h)
	drawText(&b, margin, 30, "title", p.title)
	for _, ln := range p.lanes {
		fmt.Fprintf(&b, "<rect class=\"lane %s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"8\"/>\n", ln.kind, ln.x, ln.y, ln.w, ln.h)
	}
	for _, l := range p.lines {
		fmt.Fprintf(&b, "<line class=\"%s\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n", l.kind, l.x1, l.y1, l.x2, l.y2)
	}
	for _, ln := range p.lanes {
		drawElement(&b, links, ln.id, func() {
			drawText(&b, ln.x+12, ln.y+24, "name", ln.title)
			for i, one := range ln.lines {
				drawText(&b, ln.x+12, ln.y+42+float64(i)*16, "note", one)
			}
		})
		for _, g := range ln.groups {
			drawText(&b, g.x, g.y, "note", g.text)
		}
		for _, x := range ln.boxes {
			drawElement(&b, links, x.id, func() { drawBox(&b, x) })
		}
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// drawElement draws one, as a link where there is something to lead to.
func drawElement(b *strings.Builder, links bool, id string, draw func()) {
	if links {
		fmt.Fprintf(b, "<a href=\"#%s\">", html.EscapeString(id))
		defer b.WriteString("</a>\n")
	}
	draw()
}

// drawBox draws a machine, or a row of what machines serve.
func drawBox(b *strings.Builder, x box) {
	fmt.Fprintf(b, "<g><title>%s</title><rect class=\"box %s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"5\"/>",
		html.EscapeString(strings.Join(append([]string{x.title}, x.lines...), "\n")), colourClass(x.kind), x.x, x.y, x.w, x.h)
	fmt.Fprintf(b, "<rect class=\"edge %s\" x=\"%.1f\" y=\"%.1f\" width=\"5\" height=\"%.1f\" rx=\"2\"/>", colourClass(x.kind), x.x, x.y, x.h)
	if x.tag == "" {
		drawText(b, x.x+13, x.y+17, "name", shortenName(x.title))
		for i, one := range x.lines {
			drawText(b, x.x+13, x.y+33+float64(i)*14, "note", one)
		}
	} else {
		drawText(b, x.x+12, x.y+16, "tag", x.tag)
		room := int((x.w - 70) / small)
		name, rest := x.title, strings.Join(x.lines, " ")
		if utf8.RuneCountInString(name+rest)+1 > room {
			name = cutMiddle(name, max(room/2, 3))
		}
		drawText(b, x.x+64, x.y+16, "label", name)
		used := utf8.RuneCountInString(name) + 1
		drawText(b, x.x+64+float64(used)*small, x.y+16, "note", cutMiddle(rest, max(room-used, 3)))
	}
	b.WriteString("</g>\n")
}

// colourClass is the class of a kind: roles that have no colour of their own share one.
func colourClass(k kind) string {
	switch k {
	case "service", "bootstrap", "master", "worker", "vip", "frontend", "view", "exposure":
		return string(k)
	}
	return "other"
}

func drawText(b *strings.Builder, x, y float64, class, text string) {
	fmt.Fprintf(b, "<text class=\"%s\" x=\"%.1f\" y=\"%.1f\">%s</text>", class, x, y, html.EscapeString(text))
}
