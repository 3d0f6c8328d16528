package hunt

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// count is what a hunt came to, of each kind and of all (""), with what the hunts before it that have the same log came to.
type count struct {
	sync.Mutex
	of   map[string]*figures
	seen map[string]bool
	// begins has, by name, the lives that did not end yet.
	begins map[string]bool
	log    *os.File // nil where none is kept
}

// figures are those of a kind. waiting are lives that did not begin.
type figures struct{ tried, atPlan, atApply, misplaced, broken, waiting int }

func (f figures) String() string {
	text := fmt.Sprintf("%d tried, %d refused at plan (%d elsewhere than at the attribute), %d refused at apply, %d broken", f.tried, f.atPlan, f.misplaced, f.atApply, f.broken)
	if f.waiting > 0 {
		text += fmt.Sprintf(", %d to go", f.waiting)
	}
	return text
}

// How trials end, as the log says it.
const (
	endBroken    = "broken"
	endAtApply   = "refused at apply"
	endMisplaced = "refused elsewhere"
	endAtPlan    = "refused"
	endLived     = "lived"
)

func (o outcome) end() (end string, err error) {
	switch {
	case o.broken != nil:
		return endBroken, o.broken
	case o.atApply != nil:
		return endAtApply, o.atApply
	case o.atPlan != nil && o.misplaced:
		return endMisplaced, o.atPlan
	case o.atPlan != nil:
		return endAtPlan, o.atPlan
	}
	return endLived, nil
}

// newCount continues the log in a file; "" is none. What was broken in it is to be tried again.
func newCount(file string) (*count, error) {
	n := &count{of: map[string]*figures{}, seen: map[string]bool{}, begins: map[string]bool{}}
	if file == "" {
		return n, nil
	}
	text, err := os.ReadFile(file) //nolint:gosec // the caller's own
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for line := range strings.Lines(string(text)) {
		end, name, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if kind, _, named := strings.Cut(name, ": "); ok && named && end != endBroken && !n.seen[name] {
			n.seen[name] = true
			n.figures(kind).add(end)
			n.figures("").add(end)
		}
	}
	n.log, err = os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600) //nolint:gosec // the caller's own
	return n, err
}

// tried says whether a trial is in the log.
func (n *count) tried(of trial) bool { return n.seen[of.String()] }

// lives notes what is to be lived through.
func (n *count) lives(lanes map[string][]trial) {
	for _, lane := range lanes {
		for _, t := range lane {
			n.begins[t.String()] = true
			n.figures(t.kind()).waiting++
			n.figures("").waiting++
		}
	}
}

func (n *count) figures(kind string) *figures {
	if n.of[kind] == nil {
		n.of[kind] = &figures{}
	}
	return n.of[kind]
}

func (n *count) add(t *testing.T, of trial, o outcome, took time.Duration) {
	n.Lock()
	defer n.Unlock()
	end, err := o.end()
	text := fmt.Sprintf("%s [%.1fs] %s", end, took.Seconds(), of)
	if err != nil {
		text += ": " + strings.ReplaceAll(err.Error(), "\n", "\\n")
	}
	if end != endAtPlan && end != endLived || testing.Verbose() {
		fmt.Println(text)
	}
	if end == endBroken {
		t.Errorf("%s: %v", of, err)
	}
	for _, kind := range []string{of.kind(), ""} {
		f := n.figures(kind)
		f.add(end)
		if n.begins[of.String()] {
			f.waiting--
		}
	}
	delete(n.begins, of.String())
	if n.log != nil {
		if _, err := fmt.Fprintf(n.log, "%s\t%s\n", end, of); err != nil {
			t.Error(err)
		}
	}
}

func (f *figures) add(end string) {
	f.tried++
	switch end {
	case endBroken:
		f.broken++
	case endAtApply:
		f.atApply++
	case endMisplaced:
		f.misplaced++
		f.atPlan++
	case endAtPlan:
		f.atPlan++
	}
}

// print writes the figures of each kind, and of all.
func (n *count) print() {
	for _, kind := range slices.Sorted(maps.Keys(n.of)) {
		fmt.Printf("hunt of %s: %s\n", cmp.Or(kind, "all"), n.of[kind])
	}
}

// A life may be refused by a plan too, as that of a machine sees more than one of nobody.
func TestWhatEndedWaitsNoLonger(t *testing.T) {
	n, err := newCount("")
	if err != nil {
		t.Fatal(err)
	}
	one := func(path string) trial { return trial{subject{kind: "virtcluster_vip"}, []mutation{{path: path}}} }
	n.lives(map[string][]trial{"vip": {one("a"), one("b"), one("c")}})
	n.add(t, one("refused at once"), outcome{atPlan: errors.New("wrong")}, 0)
	n.add(t, one("a"), outcome{atPlan: errors.New("keepalived refuses it"), misplaced: true}, 0)
	n.add(t, one("b"), outcome{}, 0)
	if n.of[""].waiting != 1 || n.of["vip"].waiting != 1 {
		t.Errorf("%s; %s", n.of[""], n.of["vip"])
	}
}

// TestALogIsContinued wants a hunt to skip what the hunt before it tried, and to count it.
func TestALogIsContinued(t *testing.T) {
	file := t.TempDir() + "/log"
	log := "lived\tnode: machine 1\nbroken\tnode: machine 2\nrefused elsewhere\tvip: x, y: z\nlived\tnode: machine 1\n"
	if err := os.WriteFile(file, []byte(log), 0o600); err != nil {
		t.Fatal(err)
	}
	n, err := newCount(file)
	if err != nil {
		t.Fatal(err)
	}
	one := func(path, class string) trial {
		return trial{subject{kind: "virtcluster_node"}, []mutation{{path: path, class: class}}}
	}
	if !n.tried(one("machine", "1")) || n.tried(one("machine", "2")) {
		t.Error("tried again, or what was broken is not")
	}
	n.add(t, one("machine", "2"), outcome{}, 0)
	if got := *n.of[""]; got != (figures{tried: 3, atPlan: 1, misplaced: 1}) || *n.of["node"] != (figures{tried: 2}) {
		t.Errorf("%+v, %+v", got, *n.of["node"])
	}
	if again, err := newCount(file); err != nil || *again.of[""] != *n.of[""] {
		t.Errorf("%v, %v", again.of[""], err)
	}
}
