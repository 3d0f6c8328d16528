package bmc

import (
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/crypto/bcrypt"
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

// TestAttemptsThatComeTogetherAreSlowedDown has an address try twelve passwords at once, and another one know the right one.
func TestAttemptsThatComeTogetherAreSlowedDown(t *testing.T) {
	hash, err := bcrypt.GenerateFromPassword([]byte(testPassword), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		password string
		allowed  int32
		takes    time.Duration
	}{
		// None for the first four, then 0.25, 0.5, 1, 2, 4 and 8 s, and no more than that.
		"wrong": {"battery staple", 0, 250*time.Millisecond + 500*time.Millisecond + 7*time.Second + 3*longestWait},
		"right": {testPassword, 12, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a, began := newAccess("admin", string(hash)), time.Now()
				var allowed atomic.Int32
				var all sync.WaitGroup
				for range 12 {
					all.Go(func() {
						if a.Allow(t.Context(), "10.0.0.1:1000", "admin", c.password) {
							allowed.Add(1)
						}
					})
				}
				other := "10.0.0.2"
				for a.findTurn(other) == a.findTurn("10.0.0.1") { // by chance
					other += "0"
				}
				if synctest.Wait(); !a.Allow(t.Context(), other, "admin", testPassword) || time.Since(began) > 0 {
					t.Errorf("another address is kept for %s", time.Since(began))
				}
				all.Wait()
				if took := time.Since(began); took != c.takes || allowed.Load() != c.allowed {
					t.Errorf("%d are allowed, after %s, not %d after %s", allowed.Load(), took, c.allowed, c.takes)
				}
			})
		})
	}
}
