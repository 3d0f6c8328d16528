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
}

// record is one line of a history.
type record struct {
	At         time.Time   `json:"at"`
	Quiet      bool        `json:"quiet,omitempty"`
	Outcomes   []outcome   `json:"outcomes,omitempty"`
	Violations []violation `json:"violations,omitempty"`
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

func (h *history) add(r round, outcomes []outcome, wrong []violation) {
	h.rounds = append(h.rounds, r)
	h.write(record{At: time.Now(), Quiet: r.Quiet, Outcomes: outcomes, Violations: wrong})
	if len(wrong) > 0 {
		h.save(wrong[0])
	}
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
