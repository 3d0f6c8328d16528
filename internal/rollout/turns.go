package rollout

import (
	"fmt"
	"sync"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
)

// How fast marks change and are looked at; tests shorten it.
var (
	beatEvery = 5 * time.Second
	// deadAfter is how long the mark of a run that is alive may stay as it is. The time is that of who looks.
	deadAfter = 30 * time.Second
	lookEvery = time.Second
)

const (
	// askLimit bounds one question whether a machine serves.
	askLimit = 10 * time.Second
	// removalPatience is how long a machine that goes for good waits for the others, and briefPatience how long once another one of the run has
	// waited in vain: what destroys everything may not say so, as a plan that was saved does not.
	removalPatience = time.Minute
	briefPatience   = 2 * time.Second
)

// Turns is what one run of the provider knows of turns. The zero value knows of none.
type Turns struct {
	mu sync.Mutex
	// alive are the tickets of this run's turns, by their ids.
	alive map[string]bool
	// beats has when the ticket of another run was seen to change last, by its id.
	beats map[string]sighting
	// stopped has why a group's machines are taken down no more in this run, and sizes how many each group has.
	stopped map[string]error
	sizes   map[string]int
	// waiting counts machines that wait for their turn, and open has the turns of machines that were removed to be made anew, by what
	// makes them: their creates have not begun.
	waiting int
	open    map[string]*turn
	// inVain says that a machine which goes for good waited for nothing.
	inVain bool
}

// sighting is a mark as it was seen first with this beat.
type sighting struct {
	run  string
	beat int64
	at   time.Time
}

// lockMaps returns the memory with its maps made, locked until unlock is called.
func (t *Turns) lockMaps() (unlock func()) {
	t.mu.Lock()
	if t.alive == nil {
		t.alive, t.beats, t.stopped, t.sizes, t.open = map[string]bool{}, map[string]sighting{}, map[string]error{}, map[string]int{}, map[string]*turn{}
	}
	return t.mu.Unlock
}

// isAlive says whether the run of a ticket is at work still: by this run's own word, by the processes of this computer, and else by
// whether its beat changes.
func (t *Turns) isAlive(run *owner.Run, k *ticket) bool {
	defer t.lockMaps()()
	switch {
	case k == nil || k.Number == 0 && !k.Choosing:
		return false
	case k.Run == run.Word():
		return t.alive[k.ID]
	case owner.IsGone(k.Run):
		return false
	}
	last, seen := t.beats[k.ID]
	if !seen || last.run != k.Run || last.beat != k.Beat {
		t.beats[k.ID] = sighting{k.Run, k.Beat, time.Now()}
		return true
	}
	return time.Since(last.at) < deadAfter
}

func (t *Turns) setAlive(id string, alive bool) {
	defer t.lockMaps()()
	t.alive[id] = alive
}

// stopGroup has no further machine of a group taken down by this run. The first reason counts.
func (t *Turns) stopGroup(group string, why error) {
	defer t.lockMaps()()
	if t.stopped[group] == nil {
		t.stopped[group] = why
	}
}

func (t *Turns) whyStopped(group string) error {
	defer t.lockMaps()()
	return t.stopped[group]
}

// boundRemoval returns how long a machine that goes for good waits for its turn.
func (t *Turns) boundRemoval() time.Duration {
	defer t.lockMaps()()
	if t.inVain {
		return briefPatience
	}
	return removalPatience
}

// noteInVain notes that a machine which goes for good waited for nothing.
func (t *Turns) noteInVain() {
	defer t.lockMaps()()
	t.inVain = true
}

// noteSize notes how many machines a group has.
func (t *Turns) noteSize(group string, size int) {
	defer t.lockMaps()()
	t.sizes[group] = size
}

// countWaiting counts a machine that waits for its turn, until the result is called.
func (t *Turns) countWaiting() (done func()) {
	defer t.lockMaps()()
	t.waiting++
	return func() {
		defer t.lockMaps()()
		t.waiting--
	}
}

// checkParallelism returns an error where every change that the program makes at a time waits for a machine whose create is not among
// them: none would ever go on.
func (t *Turns) checkParallelism(parallelism int) error {
	defer t.lockMaps()()
	if len(t.open) == 0 || t.waiting < parallelism {
		return nil
	}
	needed := 0
	for _, size := range t.sizes {
		needed += size
	}
	needed = max(needed, t.waiting+len(t.open))
	return fmt.Errorf("all %d changes that are made at a time wait for a machine that is to be made anew, and there is no room for its create: apply again with -parallelism=%d at least", parallelism, needed)
}

// leaveOpen keeps the turn of a machine that was removed, for the create of its successor.
func (t *Turns) leaveOpen(successor string, open *turn) {
	defer t.lockMaps()()
	t.open[successor] = open
}

// takeOpen returns the turn that was left open for a machine; nil for none.
func (t *Turns) takeOpen(successor string) *turn {
	defer t.lockMaps()()
	open := t.open[successor]
	delete(t.open, successor)
	return open
}
