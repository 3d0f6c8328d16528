package haproxy

import (
	"strings"
)

// notes are what the comment above a section keeps for an import, as HAProxy has no words for it: "drain_timeout=45s".
// The values have no blanks. Words that are not known, such as those of other versions, are left out.
type notes map[string]string

const drainTimeoutNote = "drain_timeout"

func newNotes(drainTimeout string) notes {
	if drainTimeout == "" {
		return nil
	}
	return notes{drainTimeoutNote: drainTimeout}
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
