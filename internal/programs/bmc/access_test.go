package bmc

import (
	"slices"
	"testing"
	"time"
)

const testPassword = "correct horse" // at most 16 bytes are right for every client of IPMI

func TestWrongPasswordsAreSlowedDown(t *testing.T) {
	b := brake{}
	var waits []time.Duration
	for range 8 {
		b.Fail("10.0.0.1:1000")
		waits = append(waits, b.Wait("10.0.0.1:2000").Round(firstWait))
	}
	if want := []time.Duration{0, 0, 0, firstWait, 2 * firstWait, 4 * firstWait, 8 * firstWait, 16 * firstWait}; !slices.Equal(waits, want) {
		t.Errorf("it waits %v, not %v", waits, want)
	}
	if got := b.Wait("10.0.0.2:1000"); got != 0 {
		t.Errorf("another address waits %v", got)
	}
	for range 2 * mostAddresses {
		b.Fail("10.0.0.3:1")
	}
	if got := b.Wait("10.0.0.3:1"); got > longestWait {
		t.Errorf("it waits %v", got)
	}
	if b.Forget("10.0.0.1:1"); b.Wait("10.0.0.1:1") != 0 {
		t.Error("who was right waits")
	}
}
