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
	// left is the room that was free at the last look, less what was promised of it.
	left int64
}

// promise is the room for one upload. It grows where the image turns out to take more than was known beforehand.
type promise struct {
	pool   *promised
	gauge  gauge
	volume string
	bytes  int64
}

// gauge measures a pool, in bytes.
type gauge struct {
	// written is what a volume takes by now; 0 where it is not there yet.
	written func(volume string) int64
	// free is the room that nothing is in.
	free func() (int64, error)
}

// look takes stock: of what is free, what was promised and is not written yet is not left. The lock is held. What is
// written meanwhile counts twice, so there is rather too little left than too much.
func (p *promised) look(g gauge) error {
	outstanding := p.outstanding(g.written)
	free, err := g.free()
	if err != nil {
		return err
	}
	p.left = max(free-outstanding, 0)
	return nil
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

// promise keeps room for a volume until it is released. The lock is held.
func (p *promised) promise(volume string, bytes int64, g gauge) *promise {
	u := &promise{pool: p, gauge: g, volume: volume, bytes: bytes}
	p.uploads = append(p.uploads, u)
	p.left -= bytes
	return u
}

// reach asks for so much room altogether. Where that is more than is left, room is all that the upload could have had,
// and others what was promised to those beside it.
func (u *promise) reach(bytes int64) (enough bool, room, others int64, err error) {
	p := u.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	more := bytes - u.bytes
	if more > p.left {
		// Others may have failed meanwhile, or volumes were deleted.
		if err := p.look(u.gauge); err != nil {
			return false, 0, 0, err
		}
	}
	if more > p.left {
		return false, u.bytes + p.left, p.others(u), nil
	}
	p.left -= max(more, 0)
	u.bytes += max(more, 0)
	return true, 0, 0, nil
}

// others is what was promised to all but one upload.
func (p *promised) others(but *promise) (n int64) {
	for _, u := range p.uploads {
		if u != but {
			n += u.bytes
		}
	}
	return n
}

// release ends a promise: the image was written, or given up.
func (u *promise) release() {
	u.pool.mu.Lock()
	defer u.pool.mu.Unlock()
	u.pool.uploads = slices.DeleteFunc(u.pool.uploads, func(other *promise) bool { return other == u })
}
