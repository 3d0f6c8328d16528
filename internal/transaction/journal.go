package transaction

import (
	"encoding/json"
	"fmt"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
)

// journal is what it takes to undo a swap.
type journal struct {
	// Replaced are the files that the swap replaced or removed, as they were.
	Replaced []host.File `json:"replaced"`
	// Added are the paths that did not exist before.
	Added []string `json:"added"`
}

func newJournal(tree Tree, write, remove []string) *journal {
	j := &journal{}
	for _, path := range append(append([]string{}, write...), remove...) {
		if old, ok := tree[path]; ok {
			j.Replaced = append(j.Replaced, old)
		} else {
			j.Added = append(j.Added, path)
		}
	}
	return j
}

func parseJournal(content []byte) (*journal, error) {
	j := &journal{}
	if err := json.Unmarshal(content, j); err != nil {
		return nil, fmt.Errorf("parse: %w", err)
	}
	return j, nil
}

// undo returns the tree as it was before the swap that the journal belongs to.
func (j *journal) undo(tree Tree) Tree {
	old := tree.Clone()
	for _, path := range j.Added {
		delete(old, path)
	}
	for _, f := range j.Replaced {
		old[f.Path] = f
	}
	return old
}
