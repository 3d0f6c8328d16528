package haproxy

import (
	"maps"
	"slices"
	"strings"
)

// notes are what the comment above a section keeps for an import, as HAProxy has no words for it: "drain_timeout=45s",
// "empty=options,timeouts". The values have no blanks.
type notes map[string]string

// Words of notes.
const (
	drainTimeoutNote = "drain_timeout"
	// emptyNote lists the attributes that are written, and empty.
	emptyNote = "empty"
)

func newNotes(empty []string, drainTimeout string) notes {
	n := notes{drainTimeoutNote: drainTimeout, emptyNote: strings.Join(slices.Sorted(slices.Values(empty)), ",")}
	maps.DeleteFunc(n, func(_, value string) bool { return value == "" })
	return n
}

// empty are the attributes that are written, and empty; sorted.
func (n notes) empty() []string {
	if n[emptyNote] == "" {
		return nil
	}
	return strings.Split(n[emptyNote], ",")
}

func (n notes) String() string {
	var words []string
	for _, key := range sortedKeys(n) {
		words = append(words, key+"="+n[key])
	}
	return strings.Join(words, " ")
}

// cutNotes returns a comment without its notes, and these. No name of a section has a = in it.
func cutNotes(text string) (rest string, n notes) {
	var words []string
	for word := range strings.FieldsSeq(text) {
		if key, value, ok := strings.Cut(word, "="); ok {
			if n == nil {
				n = notes{}
			}
			n[key] = value
			continue
		}
		words = append(words, word)
	}
	return strings.Join(words, " "), n
}
