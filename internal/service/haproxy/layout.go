package haproxy

import (
	"slices"
	"strings"
)

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
// last ones. A section that was imported may stand elsewhere.
func (d *document) ownRun() []section {
	all := d.listSections()
	ours := func(s section) bool { return s.mark != "" && s.mark != "global" }
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
// where they belong then.
func (d *document) moveProxies(change func()) {
	type moved struct {
		mark  string
		lines []string
	}
	var proxies []moved
	run := d.ownRun()
	slices.Reverse(run)
	for _, s := range run {
		if s.kind == "frontend" || s.kind == "backend" {
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
