package upload

import (
	"slices"
	"sync"
)

// roomInUse is the room that the uploads of this process will take in each pool: they begin side by side, and each would
// see the room that all of them are about to take.
var roomInUse roomByPool

// roomByPool holds what is reserved by pool; the zero value is ready to use.
type roomByPool struct {
	pools sync.Map // [hypervisor's URI, pool's UUID] → *poolRoom
}

func (r *roomByPool) findPoolRoom(uri, pool string) *poolRoom {
	p, _ := r.pools.LoadOrStore([2]string{uri, pool}, &poolRoom{})
	return p.(*poolRoom)
}

// poolRoom is the room that the running uploads into one pool have reserved. Who measures the pool and then reserves
// holds the lock all the while.
type poolRoom struct {
	mu           sync.Mutex
	reservations []*reservation
	// left is the room that was free when it was last measured, less what was reserved of it.
	left int64
}

// reservation is the room for one upload. It grows where the image turns out to take more than was known beforehand.
type reservation struct {
	pool   *poolRoom
	meter  meter
	volume string
	bytes  int64
}

// meter measures a pool, in bytes.
type meter struct {
	// written is what a volume takes by now; 0 where it is not there yet.
	written func(volume string) int64
	// free is the room that nothing is in.
	free func() (int64, error)
}

// measureLeft finds out how much is left: of what is free, what was reserved and is not written yet is not. The lock is held.
// What is written meanwhile counts twice, so there is rather too little left than too much.
func (p *poolRoom) measureLeft(m meter) error {
	outstanding := p.sumOutstanding(m.written)
	free, err := m.free()
	if err != nil {
		return err
	}
	p.left = max(free-outstanding, 0)
	return nil
}

// sumOutstanding returns what was reserved and is not written yet.
func (p *poolRoom) sumOutstanding(written func(volume string) int64) (n int64) {
	for _, r := range p.reservations {
		if r.bytes > 0 {
			n += max(r.bytes-written(r.volume), 0)
		}
	}
	return n
}

// reserveRoom keeps room for a volume until it is released. The lock is held.
func (p *poolRoom) reserveRoom(volume string, bytes int64, m meter) *reservation {
	r := &reservation{pool: p, meter: m, volume: volume, bytes: bytes}
	p.reservations = append(p.reservations, r)
	p.left -= bytes
	return r
}

// extendRoom asks for so much room altogether. Where that is more than is left, room is all that the upload could have had,
// and others what is reserved for those beside it.
func (r *reservation) extendRoom(bytes int64) (enough bool, room, others int64, err error) {
	p := r.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	more := bytes - r.bytes
	if more > p.left {
		// Others may have failed meanwhile, or volumes were deleted.
		if err := p.measureLeft(r.meter); err != nil {
			return false, 0, 0, err
		}
	}
	if more > p.left {
		return false, r.bytes + p.left, p.sumReservedBeside(r), nil
	}
	p.left -= max(more, 0)
	r.bytes += max(more, 0)
	return true, 0, 0, nil
}

// sumReservedBeside returns what is reserved for all but one upload.
func (p *poolRoom) sumReservedBeside(but *reservation) (n int64) {
	for _, r := range p.reservations {
		if r != but {
			n += r.bytes
		}
	}
	return n
}

// releaseRoom ends a reservation: the image was written, or given up.
func (r *reservation) releaseRoom() {
	r.pool.mu.Lock()
	defer r.pool.mu.Unlock()
	r.pool.reservations = slices.DeleteFunc(r.pool.reservations, func(other *reservation) bool { return other == r })
}
