package netboot

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// Record is what is known of a machine. It is for one profile, by its ID, and one generation of that: what was known of another one counts no
// more.
type Record struct {
	MAC        string `json:"mac"`
	Profile    string `json:"profile,omitempty"`
	Generation int64  `json:"generation"`
	// Fetched are the files that it has had whole since it last asked what to boot.
	Fetched []string `json:"fetched,omitempty"`
	// Spent is when it was installed: had everything, or reported back; nil before.
	Spent *time.Time `json:"spent,omitempty"`
	// Seen is when it last asked for anything, and Asked what that was.
	Seen  time.Time `json:"seen"`
	Asked string    `json:"asked,omitempty"`
}

// isOf says whether the record is one of a profile, of whatever generation.
func (r Record) isOf(p Profile) bool { return r.Profile == p.ID || r.Profile == "" || p.ID == "" }

// Counts says whether the record is one of a profile as it is now.
func (r Record) Counts(p Profile) bool { return r.isOf(p) && r.Generation == p.Generation }

// RecordFile is the file of a machine's record, in the directory of the state.
func RecordFile(mac string) string { return strings.ReplaceAll(mac, ":", "-") + ".json" }

// states are the records of all machines, in a directory that outlives the program.
type states struct {
	directory string
	mu        sync.Mutex
	records   map[string]Record
	// changed is told of each change of this server's own; may be nil.
	changed func(Record)
}

// openStates reads a directory. A record that cannot be read is an error: to forget it would be to install a machine again.
func openStates(directory string) (*states, error) {
	s := &states{directory: directory, records: map[string]Record{}}
	paths, err := filepath.Glob(filepath.Join(directory, "*.json"))
	for _, path := range paths {
		var r Record
		content, failed := os.ReadFile(path) //nolint:gosec // it is the state
		if failed == nil {
			failed = json.Unmarshal(content, &r)
		}
		if failed != nil {
			return nil, failed
		}
		s.records[r.MAC] = r
	}
	return s, err
}

// getRecord returns what is known of a profile's machine.
func (s *states) getRecord(p Profile) Record {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.findRecord(p)
}

func (s *states) findRecord(p Profile) Record {
	if r, there := s.records[p.MAC]; there && r.Counts(p) {
		return r
	}
	return Record{MAC: p.MAC, Profile: p.ID, Generation: p.Generation}
}

// changeRecord has the record of a profile's machine changed, and kept on disk before anybody is told.
func (s *states) changeRecord(p Profile, changeRecord func(*Record)) (Record, error) {
	s.mu.Lock()
	r := s.findRecord(p)
	r.Fetched = slices.Clone(r.Fetched)
	changeRecord(&r)
	r.Seen = time.Now().UTC()
	err := s.writeRecord(r)
	s.mu.Unlock()
	if err == nil && s.changed != nil {
		s.changed(r)
	}
	return r, err
}

// mergeRecord takes what another server knows of a profile's machine. What was spent in a generation stays so, whoever saw it; of two generations
// the profile's own counts, or else the later one: a server that was not told of the next generation yet is not to forget this one. Of one
// generation the later sight counts.
func (s *states) mergeRecord(p Profile, theirs Record) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	ours, there := s.records[p.MAC]
	switch {
	case !theirs.isOf(p):
		return nil
	case !there || !ours.isOf(p):
		return s.writeRecord(theirs)
	case theirs.Generation != ours.Generation:
		if theirs.Counts(p) || !ours.Counts(p) && theirs.Seen.After(ours.Seen) {
			return s.writeRecord(theirs)
		}
		return nil
	}
	merged := ours
	if theirs.Seen.After(ours.Seen) {
		merged = theirs
	}
	if merged.Spent == nil {
		merged.Spent = ours.Spent
	}
	if merged.Spent == nil {
		merged.Spent = theirs.Spent
	}
	if merged.Seen.Equal(ours.Seen) && (merged.Spent == nil) == (ours.Spent == nil) {
		return nil // nothing new
	}
	return s.writeRecord(merged)
}

// listRecords returns every record.
func (s *states) listRecords() []Record {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []Record
	for _, r := range s.records {
		all = append(all, r)
	}
	return all
}

// writeRecord writes a record so that a crash leaves the old one or the new one.
func (s *states) writeRecord(r Record) error {
	content, err := json.Marshal(r)
	if err != nil {
		return err
	}
	path := filepath.Join(s.directory, RecordFile(r.MAC))
	f, err := os.OpenFile(path+".new", os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o640) //nolint:gosec // it is the state
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(path+".new", path)
	}
	if err == nil {
		s.records[r.MAC] = r
	}
	return err
}

// forgetRecord removes the record of a machine that has no profile any more.
func (s *states) forgetRecord(mac string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := os.Remove(filepath.Join(s.directory, RecordFile(mac))); err == nil || errors.Is(err, fs.ErrNotExist) {
		delete(s.records, mac)
	}
}
