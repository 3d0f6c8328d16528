package transaction

import (
	"errors"
	"testing"
)

// TestTurnThatDidNotBeginForThoseWhoLeftMeanwhile is a waiter that withdraws after the machine refused the lock and
// before its group is taken up.
func TestTurnThatDidNotBeginForThoseWhoLeftMeanwhile(t *testing.T) {
	l := &queue{leading: true}
	l.runGroup(t.Context(), turn{}, errors.New("no lock"))
	if _, more := l.leaderContext(); more {
		t.Error("there is nobody to lead")
	}
}
