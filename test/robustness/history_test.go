package robustness

import (
	"encoding/json"
	"os"
	"path/filepath"
	"time"
)

// history is what happened, as lines of JSON: each round with its operations, how they ended, and what was wrong after it.
type history struct {
	dir    string
	file   *os.File
	rounds []round
	// seen is what the clients saw last.
	seen observation
}

// record is one line of a history.
type record struct {
	At       time.Time `json:"at"`
	Quiet    bool      `json:"quiet,omitempty"`
	Outcomes []outcome `json:"outcomes,omitempty"`
	// Seen is what the clients see otherwise than before the round, by thing: what it was, and what it is; of the first round, all.
	Seen       map[string][2]string `json:"seen,omitempty"`
	Violations []violation          `json:"violations,omitempty"`
}

// newHistory writes into a directory; "" keeps it in memory only.
func newHistory(dir string) (*history, error) {
	h := &history{dir: dir}
	if dir == "" {
		return h, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	var err error
	h.file, err = os.Create(filepath.Join(dir, "history.jsonl"))
	return h, err
}

func (h *history) add(r round, outcomes []outcome, seen observation, wrong []violation) {
	h.rounds = append(h.rounds, r)
	h.write(record{At: time.Now(), Quiet: r.Quiet, Outcomes: outcomes, Seen: h.seen.listChanges(seen), Violations: wrong})
	h.seen = seen
	if len(wrong) > 0 {
		h.save(wrong[0])
	}
}

// listChanges returns what another observation has otherwise, by thing: what it was, and what it is.
func (o observation) listChanges(now observation) map[string][2]string {
	changes := map[string][2]string{}
	for thing, is := range now {
		if was := o[thing]; was != is {
			changes[thing] = [2]string{was, is}
		}
	}
	for thing, was := range o {
		if _, there := now[thing]; !there && was != "" {
			changes[thing] = [2]string{was, ""}
		}
	}
	return changes
}

func (h *history) note(v violation) {
	h.write(record{At: time.Now(), Violations: []violation{v}})
	h.save(v)
}

func (h *history) write(r record) {
	if h.file == nil {
		return
	}
	text, _ := json.Marshal(r)
	_, _ = h.file.Write(append(text, '\n'))
}

// found is a history that shows a fault: what shrinks and what is replayed.
type found struct {
	Name      string    `json:"name,omitempty"`
	Violation violation `json:"violation"`
	Rounds    []round   `json:"rounds"`
}

// save keeps the rounds until now as a history that shows a fault.
func (h *history) save(v violation) {
	text, _ := json.MarshalIndent(found{Violation: v, Rounds: h.rounds}, "", " ")
	h.keep(fileName(v)+".json", text)
}

func fileName(v violation) string {
	var name []rune
	for _, r := range v.signature() {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			name = append(name, r)
		} else if len(name) > 0 && name[len(name)-1] != '-' {
			name = append(name, '-')
		}
	}
	return string(name[:min(len(name), 90)])
}
