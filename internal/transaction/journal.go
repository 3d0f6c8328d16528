package transaction

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
)

// journal is what it takes to undo a swap that was interrupted, and to tell what the swap wrote from what a person did
// since.
type journal struct {
	Files []replacement `json:"files"`
}

// replacement is what a swap did to one file.
type replacement struct {
	Path string `json:"path"`
	// Before is the file as it was; nil where there was none.
	Before *host.File `json:"before,omitempty"`
	// Wrote is the hash of what the swap wrote, "" where it removed the file.
	Wrote string `json:"wrote,omitempty"`
}

func newJournal(tree, next Tree) *journal {
	j := &journal{}
	write, remove := tree.Changes(next)
	for _, path := range slices.Concat(write, remove) {
		r := replacement{Path: path}
		if old, ok := tree[path]; ok {
			r.Before = &old
		}
		if written, ok := next[path]; ok {
			r.Wrote = hashContent(written)
		}
		j.Files = append(j.Files, r)
	}
	return j
}

func hashContent(f host.File) string {
	sum := sha256.Sum256(f.Content)
	return hex.EncodeToString(sum[:])
}

func parseJournal(content []byte) (*journal, error) {
	j := &journal{}
	if err := json.Unmarshal(content, j); err != nil {
		return nil, fmt.Errorf("parse: %w", err)
	}
	return j, nil
}

// undoSwap returns the tree as it was before the swap that the journal belongs to. Where a person changed one of its files
// since, that is what to go on from: the tree stays as it is, as a whole, and theirs are the files.
func (j *journal) undoSwap(tree Tree) (old Tree, theirs []string) {
	old = tree.Clone()
	for _, r := range j.Files {
		now, there := tree[r.Path]
		switch {
		case there && hashContent(now) == r.Wrote, !there && r.Wrote == "": // as the swap left it
			if r.Before == nil {
				delete(old, r.Path)
			} else {
				old[r.Path] = *r.Before
			}
		case there && r.Before != nil && hashContent(now) == hashContent(*r.Before), !there && r.Before == nil: // as it was
		default:
			theirs = append(theirs, r.Path)
		}
	}
	if theirs != nil {
		return tree.Clone(), theirs
	}
	return old, nil
}

// keptOriginal is the configuration as it was before the first commit.
type keptOriginal struct {
	Files []host.File `json:"files"`
}

func parseOriginal(content []byte) (Tree, error) {
	var kept keptOriginal
	if err := json.Unmarshal(content, &kept); err != nil {
		return nil, fmt.Errorf("parse: %w", err)
	}
	t := Tree{}
	for _, f := range kept.Files {
		t[f.Path] = f
	}
	return t, nil
}
