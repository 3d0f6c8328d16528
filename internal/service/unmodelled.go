package service

import (
	"fmt"
	"slices"
	"strings"
)

// Unmodelled is something on a machine or a hypervisor that no attribute of a resource says: it stays as it is, and has to be known of.
type Unmodelled struct {
	// Place is where it stands: FILE:LINE, or the path of an element in an object's XML, such as "/domain/devices/tpm".
	Place string
	// What is its own text, or what keeps it from being a resource.
	What string
}

// ListLines lists the lines of a file that say something, each with its place. comment is what comments begin with.
func ListLines(path string, content []byte, comment string) (all []Unmodelled) {
	for i, line := range strings.Split(string(content), "\n") {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, comment) {
			all = append(all, Unmodelled{Place: fmt.Sprintf("%s:%d", path, i+1), What: line})
		}
	}
	return all
}

// WithoutSecrets returns a text of several lines, and of each of them without what is behind a word that a secret follows.
func WithoutSecrets(text string, before ...string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		rest := line
		for _, word := range strings.Fields(line) {
			_, rest, _ = strings.Cut(rest, word)
			if slices.Contains(before, word) && strings.TrimSpace(rest) != "" {
				lines[i] = strings.TrimSuffix(line, rest) + " (a secret)"
				break
			}
		}
	}
	return strings.Join(lines, "\n")
}
