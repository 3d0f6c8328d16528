package bmc

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"hash/maphash"
	"net"
	"sync"
	"time"

	"golang.org/x/crypto/bcrypt"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
)

// access says who may come in: one user, by a password of which only a hash is known.
type access struct {
	user string
	hash []byte

	mu sync.Mutex
	// right is a keyed digest of the password that was right last: to compare with the hash takes a tenth of a second each time.
	key   [32]byte
	right [32]byte
	slow  brake
	// turns has who looks at an attempt, by a digest of the address that it came from: attempts of one address come one after the other.
	turns [1024]chan struct{}
	seed  maphash.Seed
}

func newAccess(user, hash string) *access {
	a := &access{user: user, hash: []byte(hash), seed: maphash.MakeSeed()}
	_, _ = rand.Read(a.key[:]) // it never fails
	for i := range a.turns {
		a.turns[i] = make(chan struct{}, 1)
	}
	return a
}

// Allow says whether user and password are right. Wrong ones make the address wait, longer each time, also those that come at the same time. Whoever
// does not wait for the answer has none.
func (a *access) Allow(ctx context.Context, address, user, password string) bool {
	digest := sha256.Sum256(append(a.key[:], password...))
	known := subtle.ConstantTimeCompare([]byte(user), []byte(a.user)) == 1
	if known && a.wasRight(digest) {
		return true
	}
	turn := a.findTurn(address)
	select {
	case turn <- struct{}{}:
		defer func() { <-turn }()
	case <-ctx.Done():
		return false
	}
	if known && a.wasRight(digest) { // the attempt before was with the same one
		return true
	}
	if hypervisor.Pause(ctx, a.slow.Wait(address)) != nil {
		return false
	}
	if err := bcrypt.CompareHashAndPassword(a.hash, []byte(password)); err != nil || !known {
		a.slow.Fail(address)
		return false
	}
	a.slow.Forget(address)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.right = digest
	return true
}

// findTurn returns what has the one who looks at an attempt of an address.
func (a *access) findTurn(address string) chan struct{} {
	return a.turns[maphash.String(a.seed, ipOf(address))%uint64(len(a.turns))]
}

// wasRight says whether a digest is that of the password that was right last.
func (a *access) wasRight(digest [32]byte) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return subtle.ConstantTimeCompare(digest[:], a.right[:]) == 1
}

// The waits after wrong passwords: none for the first three, then twice as long each time.
const (
	freeFailures = 3
	firstWait    = 250 * time.Millisecond
	longestWait  = 8 * time.Second
	// rememberFailures is after which time without another one they are forgotten.
	rememberFailures = 5 * time.Minute
	// most addresses that are remembered: who has thousands is not slowed by more.
	mostAddresses = 4096
)

// brake slows down who fails, by address. The zero value is ready.
type brake struct {
	mu     sync.Mutex
	failed map[string]failures
}

type failures struct {
	count int
	last  time.Time
}

// Wait is how long an address has to wait by now before its next attempt is looked at.
func (b *brake) Wait(address string) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	f := b.failed[ipOf(address)]
	if f.count <= freeFailures || time.Since(f.last) > rememberFailures {
		return 0
	}
	wait := min(firstWait<<min(f.count-freeFailures-1, 10), longestWait)
	return max(0, wait-time.Since(f.last))
}

// Fail notes a failure.
func (b *brake) Fail(address string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.failed == nil || len(b.failed) >= mostAddresses {
		b.failed = map[string]failures{}
	}
	f := b.failed[ipOf(address)]
	if time.Since(f.last) > rememberFailures {
		f.count = 0
	}
	b.failed[ipOf(address)] = failures{f.count + 1, time.Now()}
}

// Forget forgets the failures of an address.
func (b *brake) Forget(address string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.failed, ipOf(address))
}

// ipOf is an address without its port.
func ipOf(address string) string {
	if host, _, err := net.SplitHostPort(address); err == nil {
		return host
	}
	return address
}

// The sessions of Redfish.
const (
	mostSessions   = 64
	sessionTimeout = 30 * time.Minute
)

// session is one that a client opened by user and password.
type session struct {
	id, token, user string
	last            time.Time
}

// sessions are all that are open. The zero value is ready.
type sessions struct {
	mu  sync.Mutex
	all []*session // the oldest first
}

// openSession makes a session; where there are too many, the oldest ends.
func (s *sessions) openSession(user string) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dropExpired()
	if len(s.all) >= mostSessions {
		s.all = s.all[1:]
	}
	made := &session{id: rand.Text()[:12], token: rand.Text() + rand.Text(), user: user, last: time.Now()}
	s.all = append(s.all, made)
	return made
}

// useSession returns the session of a token and has it live on; nil for none.
func (s *sessions) useSession(token string) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dropExpired()
	for _, one := range s.all {
		if subtle.ConstantTimeCompare([]byte(one.token), []byte(token)) == 1 {
			one.last = time.Now()
			return one
		}
	}
	return nil
}

// listSessions lists the sessions that are open.
func (s *sessions) listSessions() []*session {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dropExpired()
	return append([]*session(nil), s.all...)
}

// endSession ends a session, and says whether there was one.
func (s *sessions) endSession(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, one := range s.all {
		if one.id == id {
			s.all = append(s.all[:i:i], s.all[i+1:]...)
			return true
		}
	}
	return false
}

// dropExpired drops what nobody used for long. The lock is held.
func (s *sessions) dropExpired() {
	live := s.all[:0:0]
	for _, one := range s.all {
		if time.Since(one.last) < sessionTimeout {
			live = append(live, one)
		}
	}
	s.all = live
}
