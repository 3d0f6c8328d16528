package haproxy

import (
	"slices"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
)

// markPrefix begins the comment line above every section that the provider wrote, which says what it is and whose:
// "# virtcluster: frontend api owner=… workspace=…". Sections without one are a person's and stay byte for byte as they are.
const markPrefix = "virtcluster: "

// drainTimeoutNote begins the word of that comment that has a backend's DrainTimeout. importedNote is the one of a section that a person wrote: it stays
// where it stands, and so inherits what it did.
const (
	drainTimeoutNote = "drain_timeout="
	importedNote     = "imported=here"
)

// document is a configuration file by lines, so that what is not edited stays as it is written.
type document struct{ lines []string }

// section is where a section stands in a document.
type section struct {
	kind, name string
	// mark is what the comment above the section says; "" when the provider did not write it.
	mark string
	// owner is whose the section is; a person's is nobody's.
	owner owner.Mark
	// drainTimeout is what else the comment says of a backend.
	drainTimeout string
	// imported says that a person wrote it, before it was the provider's.
	imported bool
	// derived says that its header has more than the name: `from`, and the defaults section that it inherits.
	derived bool
	// conditional says that the section, or a line of it, stands between .if and .endif.
	conditional bool
	// start is the line of the mark or, without one, of the header; body is the line after the header,
	// and end the line after the section's last significant line.
	start, body, end int
}

func parseDocument(content []byte) *document {
	text := strings.TrimSuffix(string(content), "\n")
	if text == "" {
		return &document{}
	}
	return &document{lines: strings.Split(text, "\n")}
}

func (d *document) toBytes() []byte {
	if len(d.lines) == 0 {
		return nil
	}
	return []byte(strings.Join(d.lines, "\n") + "\n")
}

// listSections lists the sections in their order.
func (d *document) listSections() []section {
	var found []section
	depth, inner := 0, 0 // of .if blocks: around the section, and in it
	open := false        // whether lines still belong to the last section
	for i, line := range d.lines {
		first := firstWord(line)
		switch {
		case first == "":
		case slices.Contains(sectionWords, first):
			depth, inner, open = depth+inner, 0, true
			found = append(found, d.readSection(i, first, depth > 0))
		case first == ".if":
			inner++
		case first == ".endif" && inner > 0:
			if inner--; inner == 0 && open {
				s := &found[len(found)-1]
				s.end, s.conditional = i+1, true
			}
		case slices.Contains([]string{".elif", ".else", ".endif"}, first) && inner == 0:
			open = false // the block began above the section
			if first == ".endif" {
				depth--
			}
		case inner == 0 && open:
			found[len(found)-1].end = i + 1
		}
	}
	return found
}

// readSection reads the header of a section and the comment above it.
func (d *document) readSection(i int, kind string, conditional bool) section {
	words, _ := rawWords(d.lines[i])
	s := section{kind: kind, start: i, body: i + 1, end: i + 1, conditional: conditional}
	if len(words) > 1 {
		s.name, s.derived = words[1], len(words) > 2
	}
	if i == 0 {
		return s
	}
	if comment, ok := cutKeyword(d.lines[i-1], "# "+strings.TrimSpace(markPrefix)); ok {
		text, by := owner.Cut(comment)
		var mark []string
		for word := range strings.FieldsSeq(text) {
			if timeout, is := strings.CutPrefix(word, drainTimeoutNote); is {
				s.drainTimeout = timeout
			} else if word == importedNote {
				s.imported = true
			} else if !strings.Contains(word, "=") { // no name of a section has one, but notes of other versions
				mark = append(mark, word)
			}
		}
		if m := strings.Join(mark, " "); s.carriesMark(m) {
			s.mark, s.owner, s.start = m, by, i-1
		}
	}
	return s
}

// leaveConditional moves a place where a section is to be inserted out of the .if block that it is in: above it, or below.
func (d *document) leaveConditional(at int, below bool) int {
	depth, began := 0, 0
	for i, line := range d.lines {
		if i >= at && (depth == 0 || !below) {
			break
		}
		switch firstWord(line) {
		case ".if":
			if depth++; depth == 1 {
				began = i
			}
		case ".endif":
			if depth--; depth == 0 && i >= at {
				return i + 1
			}
		}
	}
	if depth > 0 && !below {
		return began
	}
	return at
}

// carriesMark says whether a mark belongs to the section: one that a person moved or renamed is no longer ours.
func (s section) carriesMark(mark string) bool {
	switch mark {
	case "global", "defaults":
		return s.kind == mark
	case "health", "stats":
		return s.kind == "listen"
	}
	return mark == s.kind+" "+s.name
}

// findMarked finds the section that the provider wrote under a mark.
func (d *document) findMarked(mark string) (section, bool) {
	all := d.listSections()
	i := slices.IndexFunc(all, func(s section) bool { return s.mark == mark })
	if i < 0 {
		return section{}, false
	}
	return all[i], true
}

// findProxy finds the section that provides a frontend or a backend of the name; a listen section is both.
func (d *document) findProxy(kind, name string) (section, bool) {
	for _, s := range d.listSections() {
		if (s.kind == kind || s.kind == "listen") && s.name == name {
			return s, true
		}
	}
	return section{}, false
}

// bodyOf is a section's body.
func (d *document) bodyOf(s section) []string { return d.lines[s.body:s.end] }

// putSection writes an owner's section under a mark: in the place of old where there is one, else where its kind belongs.
func (d *document) putSection(mark string, by owner.Mark, note, header string, body []string, old *section) {
	if old != nil && (old.mark == "" || old.imported) {
		note += " " + importedNote
	}
	lines := []string{strings.Join(strings.Fields("# "+markPrefix+mark+" "+by.String()+" "+note), " "), header}
	for _, line := range body {
		lines = append(lines, "    "+line)
	}
	if old != nil {
		d.lines = slices.Replace(d.lines, old.start, old.end, lines...)
		return
	}
	d.insertSection(mark, lines)
}

// dropSection removes a section, its mark, and the blank line that putSection set before it.
func (d *document) dropSection(s section) {
	start := s.start
	blank := func(i int) bool { return i >= 0 && i < len(d.lines) && strings.TrimSpace(d.lines[i]) == "" }
	if blank(start-1) && (s.mark != "" || s.end == len(d.lines) || blank(s.end)) {
		start--
	}
	d.lines = slices.Delete(d.lines, start, s.end)
}

// describeLine names the section that a line (counted from 1) is in: `frontend "api"`.
func (d *document) describeLine(line int) string {
	place := ""
	for _, s := range d.listSections() {
		if s.start < line {
			place = s.kind
			if s.name != "" {
				place += ` "` + s.name + `"`
			}
		}
	}
	return place
}

// Sections inherit the last defaults section above them, in files that are read later too. With a base, the
// provider's defaults and proxies therefore stand together above the first defaults section that a person
// wrote: whatever comes after it inherits what it did before. Without one, the provider's proxies stand at
// the end and inherit what a person wrote.

// insertSection writes a section's lines where its mark belongs.
func (d *document) insertSection(mark string, lines []string) {
	d.lines = slices.Insert(d.lines, d.findPlace(mark), append([]string{""}, lines...)...)
}

// findPlace is the line to insert a section at; the order does not depend on who came first.
func (d *document) findPlace(mark string) int {
	if mark == "global" {
		at := 0
		for _, s := range d.listSections() {
			if s.kind == "global" {
				at = s.end
			}
		}
		return d.leaveConditional(at, true)
	}
	run := d.ownRun()
	for _, s := range run {
		switch {
		case rankMark(s.mark) <= rankMark(mark):
		case d.isSpaced(s):
			return s.start - 1
		default:
			return s.start
		}
	}
	switch {
	case len(run) > 0:
		return run[len(run)-1].end
	case mark == "defaults":
		return d.topLine()
	}
	return len(d.lines)
}

// ownRun is where the provider's sections stand one after the other: from its defaults on or, without any, the
// last ones. A section that was imported is none of them, wherever it stands.
func (d *document) ownRun() []section {
	all := d.listSections()
	ours := func(s section) bool { return s.mark != "" && s.mark != "global" && !s.imported }
	first := slices.IndexFunc(all, func(s section) bool { return s.mark == "defaults" })
	if first < 0 {
		for first = len(all); first > 0 && ours(all[first-1]) && d.isSpaced(all[first-1]); first-- {
		}
		return all[first:]
	}
	last := first
	for last < len(all) && ours(all[last]) {
		last++
	}
	return all[first:last]
}

// isSpaced says whether a blank line stands above a section, as above all that putSection wrote.
func (d *document) isSpaced(s section) bool {
	return s.start > 0 && strings.TrimSpace(d.lines[s.start-1]) == ""
}

// topLine is the line above the first defaults section and the comments that belong to it.
func (d *document) topLine() int {
	at := 0
	for _, s := range d.listSections() {
		if s.kind == "defaults" {
			return d.leaveConditional(at, false)
		}
		at = s.end
	}
	return len(d.lines)
}

// moveProxies takes the provider's frontends and backends out while the base comes or goes, and puts them
// where they belong then. People's sections may stand between them.
func (d *document) moveProxies(change func()) {
	type moved struct {
		mark  string
		lines []string
	}
	var proxies []moved
	all := d.listSections()
	slices.Reverse(all)
	for _, s := range all {
		if s.mark != "" && !s.imported && !s.conditional && (s.kind == "frontend" || s.kind == "backend") {
			proxies = append(proxies, moved{s.mark, slices.Clone(d.lines[s.start:s.end])})
			d.dropSection(s)
		}
	}
	change()
	for _, p := range proxies {
		d.insertSection(p.mark, p.lines)
	}
}

// rankMark orders the provider's sections: defaults before what inherits them, then by kind and name.
func rankMark(mark string) string {
	kind, _, _ := strings.Cut(mark, " ")
	return string(rune('a'+slices.Index([]string{"global", "defaults", "health", "stats", "frontend", "backend"}, kind))) + mark
}
