package haproxy

import (
	"slices"
	"strings"
)

// Sections inherit the last defaults section above them, in files that are read later too. With a base, the
// provider's defaults and proxies therefore stand together above the first defaults section that a person
// wrote: whatever comes after it inherits what it did before. Without one, the provider's proxies stand at
// the end and inherit what a person wrote.

// insert writes a section's lines where its mark belongs.
func (d *document) insert(mark string, lines []string) {
	d.lines = slices.Insert(d.lines, d.place(mark), append([]string{""}, lines...)...)
}

// place is the line to insert a section at; the order does not depend on who came first.
func (d *document) place(mark string) int {
	if mark == "global" {
		at := 0
		for _, s := range d.sections() {
			if s.kind == "global" {
				at = s.end
			}
		}
		return d.unconditional(at, true)
	}
	run := d.run()
	for _, s := range run {
		switch {
		case rank(s.mark) <= rank(mark):
		case d.spaced(s):
			return s.start - 1
		default:
			return s.start
		}
	}
	switch {
	case len(run) > 0:
		return run[len(run)-1].end
	case mark == "defaults":
		return d.top()
	}
	return len(d.lines)
}

// run is where the provider's sections stand one after the other: from its defaults on or, without any, the
// last ones. A section that was imported may stand elsewhere.
func (d *document) run() []section {
	all := d.sections()
	ours := func(s section) bool { return s.mark != "" && s.mark != "global" }
	first := slices.IndexFunc(all, func(s section) bool { return s.mark == "defaults" })
	if first < 0 {
		for first = len(all); first > 0 && ours(all[first-1]) && d.spaced(all[first-1]); first-- {
		}
		return all[first:]
	}
	last := first
	for last < len(all) && ours(all[last]) {
		last++
	}
	return all[first:last]
}

// spaced says whether a blank line stands above a section, as above all that put wrote.
func (d *document) spaced(s section) bool {
	return s.start > 0 && strings.TrimSpace(d.lines[s.start-1]) == ""
}

// top is the line above the first defaults section and the comments that belong to it.
func (d *document) top() int {
	at := 0
	for _, s := range d.sections() {
		if s.kind == "defaults" {
			return d.unconditional(at, false)
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
	run := d.run()
	slices.Reverse(run)
	for _, s := range run {
		if s.kind == "frontend" || s.kind == "backend" {
			proxies = append(proxies, moved{s.mark, slices.Clone(d.lines[s.start:s.end])})
			d.drop(s)
		}
	}
	change()
	for _, p := range proxies {
		d.insert(p.mark, p.lines)
	}
}

// rank orders the provider's sections: defaults before what inherits them, then by kind and name.
func rank(mark string) string {
	kind, _, _ := strings.Cut(mark, " ")
	return string(rune('a'+slices.Index([]string{"global", "defaults", "health", "stats", "frontend", "backend"}, kind))) + mark
}
