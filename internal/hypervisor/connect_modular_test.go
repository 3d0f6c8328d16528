package hypervisor

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func TestACallWaitsForAModularDaemonThatRestarts(t *testing.T) {
	var calls atomic.Int32
	d := &daemon{answer: func(uint32) (uint32, []byte, bool) {
		if calls.Add(1) < 3 {
			return 1, refusal(38, "Failed to connect socket to '/run/libvirt/virtnetworkd-sock': Connection refused"), true
		}
		return 0, make([]byte, 8), true
	}}
	if _, err := callOnce(t.Context(), newClient(t, d.serve(t)), `define network "a"`, version); err != nil {
		t.Fatal(err)
	}
	if calls.Load() != 3 || d.connections.Load() != 1 {
		t.Errorf("%d calls on %d connections", calls.Load(), d.connections.Load())
	}
}

func TestADaemonThatIsNotInstalledIsNotWaitedFor(t *testing.T) {
	var calls atomic.Int32
	d := &daemon{answer: func(uint32) (uint32, []byte, bool) {
		calls.Add(1)
		return 1, refusal(38, "Failed to connect socket to '/run/libvirt/virtinterfaced-sock': No such file or directory"), true
	}}
	if _, err := callOnce(t.Context(), newClient(t, d.serve(t)), "look", version); err == nil || !strings.Contains(err.Error(), "No such file") || calls.Load() != 1 {
		t.Errorf("%d calls, %v", calls.Load(), err)
	}
}

func TestADaemonThatStaysAwayIsWaitedForOnce(t *testing.T) {
	var r refusals
	start := time.Now()
	for _, c := range []struct{ at, since time.Duration }{
		{0, 0}, {19 * time.Second, 0}, {38 * time.Second, 0}, // all that is asked meanwhile fails at once
		{70 * time.Second, 70 * time.Second}, // another restart
	} {
		if got := r.noteRefusal("virtnetworkd-sock", start.Add(c.at)).Sub(start); got != c.since {
			t.Errorf("at %s it refuses since %s", c.at, got)
		}
	}
}
