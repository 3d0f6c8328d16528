package upload

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
)

// holeLength is the smallest run of zeros that an upload leaves out.
const holeLength = 64 << 10

// reserveRoom makes sure that the pool has room for the image: what is known beforehand is compared before anything is
// written, and kept for this image until it is released; beyond that room is taken as the content grows, and the content
// ends with an error when there is no more. libvirt 11.3 crashes where an upload fills the disk.
func reserveRoom(ctx context.Context, c *hypervisor.Client, req Request, image *content, size int64) (release func(), err error) {
	pool, err := c.Pool(ctx, req.Pool)
	if err != nil {
		return nil, err
	}
	if _, told := readAvailable(pool); !told {
		return func() {}, nil
	}
	m := meter{
		written: func(volume string) int64 { return measureWritten(ctx, c, req.Pool, volume) },
		free:    func() (int64, error) { return measureFree(ctx, c, req.Pool) },
	}
	kept := roomInUse.findPoolRoom(c.URI(), pool.UUID())
	kept.mu.Lock()
	defer kept.mu.Unlock()
	if err := kept.measureLeft(m); err != nil {
		return nil, err
	}
	need, err := estimateLeastRoom(req.Source, image, size, kept.left)
	if err != nil {
		return nil, err
	}
	if need > kept.left {
		return nil, fmt.Errorf("%s takes %s, and storage pool %q has %s left%s: make room there, or choose another pool", req.Source, describeBytes(need), req.Pool, describeBytes(kept.left), describeOthers(kept.sumReservedBeside(nil)))
	}
	upload := kept.reserveRoom(req.Name, need, m)
	head := int64(len(image.head))
	image.rest = &meteredReader{Reader: image.rest, at: head, takes: head, reserve: func(bytes int64) error {
		enough, room, others, err := upload.extendRoom(bytes)
		if err == nil && !enough {
			err = fmt.Errorf("%s takes more than %s, which is all that storage pool %q has left%s: make room there, or choose another pool", req.Source, describeBytes(room), req.Pool, describeOthers(others))
		}
		return err
	}}
	return upload.releaseRoom, nil
}

// describeOthers says that others take room too.
func describeOthers(others int64) string {
	if others == 0 {
		return ""
	}
	return fmt.Sprintf(" beside %s for other images that are being uploaded", describeBytes(others))
}

// measureFree returns the room in a pool.
func measureFree(ctx context.Context, c *hypervisor.Client, name string) (int64, error) {
	// Of what was written since it last looked, libvirt does not know.
	if err := c.RefreshPool(ctx, name); err != nil {
		return 0, err
	}
	pool, err := c.Pool(ctx, name)
	if err != nil {
		return 0, err
	}
	bytes, _ := readAvailable(pool)
	return bytes, nil
}

// readAvailable returns the room in a pool as libvirt last saw it; not told for a kind of pool that does not know.
func readAvailable(p *hypervisor.Pool) (bytes int64, told bool) {
	if p.XML.Capacity == nil || p.XML.Available == nil || p.XML.Capacity.Value == 0 {
		return 0, false
	}
	return int64(p.XML.Available.Value), true
}

// measureWritten returns what a volume takes by now; 0 where it is not there yet.
func measureWritten(ctx context.Context, c *hypervisor.Client, pool, volume string) int64 {
	v, err := c.Volume(ctx, pool, volume)
	if err != nil {
		return 0
	}
	return int64(v.Allocation())
}

// estimateLeastRoom returns what an image takes at least; 0 where nobody can know beforehand. Of raw content that is downloaded
// only the length is known, and it may be zeros for the most part, which take nothing.
func estimateLeastRoom(src Source, image *content, size, free int64) (int64, error) {
	switch {
	case image.compressed:
		return 0, nil
	case src.url != nil && image.format == "qcow2":
		return max(size, 0), nil
	case src.url != nil:
		return 0, nil
	}
	info, err := src.Stat()
	if err != nil {
		return 0, err
	}
	if need := measureAllocated(info); need <= free {
		return need, nil
	}
	return countFile(src.file) // zeros that were written take room there, and none in the pool
}

// countFile counts what an upload of a file would write.
func countFile(name string) (int64, error) {
	f, err := os.Open(name)
	if err != nil {
		return 0, err
	}
	defer f.Close() //nolint:errcheck // only read
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	file, all := openSparse(f, info.Size()), int64(0)
	for buffer := make([]byte, 16*holeLength); ; {
		n, err := hypervisor.Fill(file, buffer)
		all += countData(buffer[:n], 0)
		switch {
		case err == io.EOF: //nolint:errorlint // an EOF that is wrapped is no end
			return all, nil
		case err != nil:
			return 0, err
		}
	}
}

var zeros [holeLength]byte

// countData is how much of a piece of content, which begins at an offset, is written for sure: the piece is divided as the
// upload divides the whole.
func countData(p []byte, offset int64) (n int64) {
	for len(p) > 0 {
		b := p[:min(int64(len(p)), holeLength-offset%holeLength)]
		if !bytes.Equal(b, zeros[:len(b)]) {
			n += int64(len(b))
		}
		p, offset = p[len(b):], offset+int64(len(b))
	}
	return n
}

// meteredReader is content that asks for the room that it takes.
type meteredReader struct {
	io.Reader
	// at is the offset of what is read next, takes what all before it takes.
	at, takes int64
	reserve   func(bytes int64) error
}

func (r *meteredReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	more := countData(p[:n], r.at)
	r.at += int64(n)
	r.takes += more
	if more > 0 {
		if err := r.reserve(r.takes); err != nil {
			return 0, err
		}
	}
	return n, err
}

// describeBytes spells a number of bytes.
func describeBytes(n int64) string { return fmt.Sprintf("%.1f MiB (%d bytes)", float64(n)/(1<<20), n) }

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
