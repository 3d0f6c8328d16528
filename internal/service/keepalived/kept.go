package keepalived

import (
	"net/netip"
	"slices"
	"strings"
)

// kept is what of an instance's block no value says, and stays in it: a person's statements, and what stands behind an address, such as its device.
type kept struct {
	statements []node
	behind     map[netip.Prefix][]string
}

// keptOf returns what of the block of an instance no value says.
func (c config) keptOf(name string) kept {
	all := kept{behind: map[netip.Prefix][]string{}}
	block, _ := c.findBlock("vrrp_instance", name)
	for _, n := range block.node.children {
		r := reader{in: &Instance{}, config: c}
		switch {
		case n.firstWord() == "track_file":
			n.children = slices.DeleteFunc(slices.Clone(n.children), func(line node) bool { return line.wordAt(0) == yieldName || line.wordAt(0) == leaveName })
			if len(n.children) > 0 {
				all.statements = append(all.statements, n)
			}
		case !r.readStatement(n):
			all.statements = append(all.statements, n)
		case strings.HasPrefix(n.firstWord(), "virtual_ipaddress"):
			for _, line := range n.children {
				if p, err := prefixOf(line.wordAt(0)); err == nil && len(line.words) > 1 {
					all.behind[p] = line.words[1:]
				}
			}
		}
	}
	return all
}

// writeAddresses writes a block of addresses, each with what stands behind it.
func (k kept) writeAddresses(w *writer, keyword string, addresses []netip.Prefix) {
	var lines []reference
	for _, a := range addresses {
		lines = append(lines, reference(strings.Join(append([]string{a.String()}, quoteWords(k.behind[a])...), " ")))
	}
	writeList(w, keyword, lines)
}

// writeNode writes a statement as it was read, but for its white space and comments.
func (w *writer) writeNode(n node) {
	words := strings.Join(quoteWords(n.words), " ")
	if !n.block {
		w.writeLine("%s", words)
		return
	}
	w.openBlock("%s", words)
	for _, inner := range n.children {
		w.writeNode(inner)
	}
	w.closeBlock()
}

// quoteWords puts words into quotes that would be several, or none, without.
func quoteWords(words []string) []string {
	quoted := slices.Clone(words)
	for i, word := range quoted {
		if word == "" || strings.ContainsAny(word, blanks+"{}#!") {
			quoted[i] = `"` + word + `"`
		}
	}
	return quoted
}
