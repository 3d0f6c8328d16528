package haproxy

import (
	"fmt"
	"path"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

// secretWords are those that a secret follows in a line: the name of a userlist's user is before its password, and that of the statistics
// page is one word with it.
var secretWords = []string{"password", "insecure-password", "auth"}

// ListUnmodelled lists what of HAProxy's configuration no resource can be, whoever wrote it: sections of a person's that are neither frontend
// nor backend, those in files beside the main one, and lines outside of all sections. What is in a frontend or a backend can be said by that.
func ListUnmodelled(t transaction.Tree) ([]service.Unmodelled, error) {
	var all []service.Unmodelled
	for _, file := range sortedKeys(t) {
		if path.Ext(file) != ".cfg" {
			continue
		}
		d := parseDocument(t[file].Content)
		next := 0
		for _, s := range d.listSections() {
			all = append(all, d.listLines(file, next, s.start)...)
			next = s.end
			if proxy := s.kind == "frontend" || s.kind == "backend"; s.mark != "" || proxy && file == ConfigPath {
				continue
			}
			var lines []string
			for _, line := range d.lines[s.body-1 : s.end] {
				if firstWord(line) != "" {
					lines = append(lines, strings.TrimRight(line, " \t"))
				}
			}
			text := service.WithoutSecrets(strings.Join(lines, "\n"), secretWords...)
			all = append(all, service.Unmodelled{Place: fmt.Sprintf("%s:%d", file, s.body), What: text})
		}
		all = append(all, d.listLines(file, next, len(d.lines))...)
	}
	return all, nil
}

// listLines lists the lines between two that say something.
func (d *document) listLines(file string, from, to int) (all []service.Unmodelled) {
	for i := from; i < to; i++ {
		if firstWord(d.lines[i]) != "" {
			all = append(all, service.Unmodelled{Place: fmt.Sprintf("%s:%d", file, i+1), What: strings.TrimSpace(d.lines[i])})
		}
	}
	return all
}
