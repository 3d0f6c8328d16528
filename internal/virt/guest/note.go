package guest

import (
	"slices"
	"strconv"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
)

// Note is what libvirt's description of a snapshot or of a backup's checkpoint says: words, of which the owner's mark are some. Memory and Revert
// are a snapshot's.
type Note struct {
	Mark    owner.Mark
	Quiesce string
	Frozen  bool
	Memory  bool
	Revert  int64
}

const (
	noteWord    = "virtcluster"
	quiesceWord = "quiesce="
	frozenWord  = "frozen"
	memoryWord  = "memory"
	revertWord  = "revert="
)

func (n Note) String() string {
	words := []string{noteWord, n.Mark.String(), quiesceWord + n.Quiesce}
	if n.Frozen {
		words = append(words, frozenWord)
	}
	if n.Memory {
		words = append(words, memoryWord)
	}
	if n.Revert != 0 {
		words = append(words, revertWord+strconv.FormatInt(n.Revert, 10))
	}
	return strings.Join(words, " ")
}

// ParseNote reads a description. One that somebody else wrote is nobody's mark.
func ParseNote(text string) Note {
	words := strings.Fields(text)
	if len(words) == 0 || words[0] != noteWord {
		return Note{}
	}
	n := Note{Mark: owner.Parse(text), Frozen: slices.Contains(words, frozenWord), Memory: slices.Contains(words, memoryWord)}
	for _, word := range words {
		if value, is := strings.CutPrefix(word, quiesceWord); is {
			n.Quiesce = value
		}
		if value, is := strings.CutPrefix(word, revertWord); is {
			n.Revert, _ = strconv.ParseInt(value, 10, 64)
		}
	}
	return n
}
