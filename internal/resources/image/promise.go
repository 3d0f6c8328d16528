package image

import (
	"slices"
	"sync"
)

// promises are what the uploads of this process will write into each pool: they begin side by side, and each would
// see the room that all of them are about to take.
var promises ledger

// ledger holds the promises by pool; the zero value is ready to use.
type ledger struct {
	pools sync.Map // [hypervisor's URI, pool's UUID] → *promised
}

func (l *ledger) of(uri, pool string) *promised {
	p, _ := l.pools.LoadOrStore([2]string{uri, pool}, &promised{})
	return p.(*promised)
}

// promised is the room that the running uploads into one pool were promised. Who looks at the pool and then promises
// holds the lock all the while.
type promised struct {
	mu      sync.Mutex
	uploads []*promise
}

type promise struct {
	volume string
	bytes  int64
}

// outstanding is what was promised and is not written yet.
func (p *promised) outstanding(written func(volume string) int64) (n int64) {
	for _, u := range p.uploads {
		if u.bytes > 0 {
			n += max(u.bytes-written(u.volume), 0)
		}
	}
	return n
}

// promise keeps room for a volume until it is released.
func (p *promised) promise(volume string, bytes int64) (release func()) {
	u := &promise{volume, bytes}
	p.uploads = append(p.uploads, u)
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.uploads = slices.DeleteFunc(p.uploads, func(other *promise) bool { return other == u })
	}
}
