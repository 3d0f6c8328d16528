package transaction

import (
	"testing"
	"testing/synctest"
	"time"
)

// wave lets edits arrive at a line, with a pause before each, and returns how many of them the next group
// takes, and how long it waited for them.
func wave(t *testing.T, l *queue, edits int, pause time.Duration) (taken int, waited time.Duration) {
	t.Helper()
	start := time.Now()
	go func() {
		for range edits {
			time.Sleep(pause)
			l.mu.Lock()
			l.waiting = append(l.waiting, &request{})
			l.mu.Unlock()
		}
	}()
	l.gatherEdits()
	taken, waited = l.countWaiting(), time.Since(start)
	time.Sleep(time.Minute)
	return taken, waited
}

func TestGroupWaitsForAsManyEditsAsThereWere(t *testing.T) {
	for name, c := range map[string]struct {
		crowd, here, edits int
		age, pause         time.Duration
		taken              int
		waited             time.Duration // at most
	}{
		"edits that come at once":  {edits: 10, pause: time.Millisecond, taken: 10, waited: 45 * time.Millisecond},
		"one edit":                 {here: 1, taken: 1, waited: 30 * time.Millisecond},
		"the other half of a wave": {crowd: 10, here: 5, edits: 5, pause: 40 * time.Millisecond, taken: 10, waited: 250 * time.Millisecond},
		"a wave of long ago":       {crowd: 10, here: 5, edits: 5, age: time.Minute, pause: 40 * time.Millisecond, taken: 5, waited: 30 * time.Millisecond},
		"as many as before":        {crowd: 10, here: 8, edits: 2, pause: 20 * time.Millisecond, taken: 10, waited: 50 * time.Millisecond},
		"as few as before":         {crowd: 1, here: 1, edits: 2, pause: 20 * time.Millisecond, taken: 3, waited: 70 * time.Millisecond},
		"the last ones":            {crowd: 10, here: 3, taken: 3, waited: 110 * time.Millisecond},
		"edits that never end":     {crowd: 100, here: 1, edits: 1000, pause: 20 * time.Millisecond, taken: 13, waited: 255 * time.Millisecond},
		"nobody, after a wave":     {crowd: 10, waited: 30 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := &queue{lastSize: c.crowd, lastEnded: time.Now().Add(-c.age)}
				for range c.here {
					l.waiting = append(l.waiting, &request{})
				}
				taken, waited := wave(t, l, c.edits, c.pause)
				if taken != c.taken || waited > c.waited {
					t.Errorf("a group of %d after %s, want %d within %s", taken, waited, c.taken, c.waited)
				}
			})
		})
	}
}
