package haproxy

import (
	"slices"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
)

// markPrefix begins the comment line above every section that the provider wrote, which says what it is and whose:
// "# virtcluster: frontend api owner=… workspace=…". Sections without one are a person's and stay byte for byte as they are.
const markPrefix = "virtcluster: "

// document is a configuration file by lines, so that what is not edited stays as it is written.
type document struct{ lines []string }

// section is where a section stands in a document.
type section struct {
	kind, name string
	// mark is what the comment above the section says; "" when the provider did not write it.
	mark string
	// owner is whose the section is; a person's is nobody's.
	owner owner.Mark
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

func (d *document) bytes() []byte {
	if len(d.lines) == 0 {
		return nil
	}
	return []byte(strings.Join(d.lines, "\n") + "\n")
}

// sections lists the sections in their order.
func (d *document) sections() []section {
	var found []section
	for i, line := range d.lines {
		first := firstWord(line)
		if first == "" {
			continue
		}
		if !slices.Contains(sectionWords, first) {
			if n := len(found); n > 0 {
				found[n-1].end = i + 1
			}
			continue
		}
		words, _ := rawWords(line)
		s := section{kind: first, start: i, body: i + 1, end: i + 1}
		if len(words) > 1 {
			s.name = words[1]
		}
		if i > 0 {
			if comment, ok := cut(d.lines[i-1], "# "+strings.TrimSpace(markPrefix)); ok {
				if mark, by := owner.Cut(comment); s.carries(mark) {
					s.mark, s.owner, s.start = mark, by, i-1
				}
			}
		}
		found = append(found, s)
	}
	return found
}

// carries says whether a mark belongs to the section: one that a person moved or renamed is no longer ours.
func (s section) carries(mark string) bool {
	switch mark {
	case "global", "defaults":
		return s.kind == mark
	case "health", "stats":
		return s.kind == "listen"
	}
	return mark == s.kind+" "+s.name
}

// marked finds the section that the provider wrote under a mark.
func (d *document) marked(mark string) (section, bool) {
	all := d.sections()
	i := slices.IndexFunc(all, func(s section) bool { return s.mark == mark })
	if i < 0 {
		return section{}, false
	}
	return all[i], true
}

// proxy finds the section that provides a frontend or a backend of the name; a listen section is both.
func (d *document) proxy(kind, name string) (section, bool) {
	for _, s := range d.sections() {
		if (s.kind == kind || s.kind == "listen") && s.name == name {
			return s, true
		}
	}
	return section{}, false
}

// text is a section's body.
func (d *document) text(s section) []string { return d.lines[s.body:s.end] }

// put writes an owner's section under a mark: in the place of old where there is one, else where its kind belongs.
func (d *document) put(mark string, by owner.Mark, header string, body []string, old *section) {
	lines := []string{strings.TrimSpace("# " + markPrefix + mark + " " + by.String()), header}
	for _, line := range body {
		lines = append(lines, "    "+line)
	}
	if old != nil {
		d.lines = slices.Replace(d.lines, old.start, old.end, lines...)
		return
	}
	d.insert(mark, lines)
}

// drop removes a section, its mark, and the blank line that put set before it.
func (d *document) drop(s section) {
	start := s.start
	if s.mark != "" && start > 0 && strings.TrimSpace(d.lines[start-1]) == "" {
		start--
	}
	d.lines = slices.Delete(d.lines, start, s.end)
}

// where names the section that a line (counted from 1) is in: `frontend "api"`.
func (d *document) where(line int) string {
	place := ""
	for _, s := range d.sections() {
		if s.start < line {
			place = s.kind
			if s.name != "" {
				place += ` "` + s.name + `"`
			}
		}
	}
	return place
}
