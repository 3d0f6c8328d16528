package image

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
)

// holeLength is the smallest run of zeros that an upload leaves out.
const holeLength = 64 << 10

// makeSure makes sure that the pool has room for the image: what is known beforehand is compared before anything is
// written, and kept for this image until it is released; beyond that room is taken as the content grows, and the content
// ends with an error when there is no more. libvirt 11.3 crashes where an upload fills the disk.
func makeSure(ctx context.Context, c *hypervisor.Client, s spec, image *content, size int64) (release func(), err error) {
	pool, err := c.Pool(ctx, s.pool)
	if err != nil {
		return nil, err
	}
	if _, told := available(pool); !told {
		return func() {}, nil
	}
	gauge := gauge{
		written: func(volume string) int64 { return written(ctx, c, s.pool, volume) },
		free:    func() (int64, error) { return free(ctx, c, s.pool) },
	}
	kept := promises.of(c.URI(), pool.UUID())
	kept.mu.Lock()
	defer kept.mu.Unlock()
	if err := kept.look(gauge); err != nil {
		return nil, err
	}
	need, err := leastNeed(s.source, image, size, kept.left)
	if err != nil {
		return nil, err
	}
	if need > kept.left {
		return nil, fmt.Errorf("%s takes %s, and storage pool %q has %s left%s: make room there, or choose another pool", s.source, amount(need), s.pool, amount(kept.left), beside(kept.others(nil)))
	}
	upload := kept.promise(s.name, need, gauge)
	head := int64(len(image.head))
	image.rest = &bounded{Reader: image.rest, at: head, takes: head, reach: func(bytes int64) error {
		enough, room, others, err := upload.reach(bytes)
		if err == nil && !enough {
			err = fmt.Errorf("%s takes more than %s, which is all that storage pool %q has left%s: make room there, or choose another pool", s.source, amount(room), s.pool, beside(others))
		}
		return err
	}}
	return upload.release, nil
}

// beside says that others take room too.
func beside(others int64) string {
	if others == 0 {
		return ""
	}
	return fmt.Sprintf(" beside %s for other images that are being uploaded", amount(others))
}

// free is the room in a pool.
func free(ctx context.Context, c *hypervisor.Client, name string) (int64, error) {
	// Of what was written since it last looked, libvirt does not know.
	if err := c.RefreshPool(ctx, name); err != nil {
		return 0, err
	}
	pool, err := c.Pool(ctx, name)
	if err != nil {
		return 0, err
	}
	bytes, _ := available(pool)
	return bytes, nil
}

// available is the room in a pool as libvirt last saw it; not told for a kind of pool that does not know.
func available(p *hypervisor.Pool) (bytes int64, told bool) {
	if p.XML.Capacity == nil || p.XML.Available == nil || p.XML.Capacity.Value == 0 {
		return 0, false
	}
	return int64(p.XML.Available.Value), true
}

// written is what a volume takes by now; 0 where it is not there yet.
func written(ctx context.Context, c *hypervisor.Client, pool, volume string) int64 {
	v, err := c.Volume(ctx, pool, volume)
	if err != nil {
		return 0
	}
	return int64(v.Allocation())
}

// leastNeed is what an image takes at least; 0 where nobody can know beforehand. Of raw content that is downloaded
// only the length is known, and it may be zeros for the most part, which take nothing.
func leastNeed(src source, image *content, size, free int64) (int64, error) {
	switch {
	case image.compressed:
		return 0, nil
	case src.url != nil && image.format == "qcow2":
		return max(size, 0), nil
	case src.url != nil:
		return 0, nil
	}
	info, err := src.stat()
	if err != nil {
		return 0, err
	}
	if need := allocated(info); need <= free {
		return need, nil
	}
	return dataOf(src.file) // zeros that were written take room there, and none in the pool
}

// dataOf counts what an upload of a file would write.
func dataOf(name string) (int64, error) {
	f, err := os.Open(name)
	if err != nil {
		return 0, err
	}
	defer f.Close() //nolint:errcheck // only read
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	r, all := withHoles(f, info.Size()), int64(0)
	for buffer := make([]byte, 16*holeLength); ; {
		n, err := hypervisor.Fill(r, buffer)
		all += data(buffer[:n], 0)
		switch {
		case err == io.EOF: //nolint:errorlint // an EOF that is wrapped is no end
			return all, nil
		case err != nil:
			return 0, err
		}
	}
}

var zeros [holeLength]byte

// data is how much of a piece of content, which begins at an offset, is written for sure: the piece is divided as the
// upload divides the whole.
func data(p []byte, offset int64) (n int64) {
	for len(p) > 0 {
		b := p[:min(int64(len(p)), holeLength-offset%holeLength)]
		if !bytes.Equal(b, zeros[:len(b)]) {
			n += int64(len(b))
		}
		p, offset = p[len(b):], offset+int64(len(b))
	}
	return n
}

// bounded is content that asks for the room that it takes.
type bounded struct {
	io.Reader
	// at is the offset of what is read next, takes what all before it takes.
	at, takes int64
	reach     func(bytes int64) error
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	more := data(p[:n], b.at)
	b.at += int64(n)
	b.takes += more
	if more > 0 {
		if err := b.reach(b.takes); err != nil {
			return 0, err
		}
	}
	return n, err
}

// amount spells a number of bytes.
func amount(n int64) string { return fmt.Sprintf("%.1f MiB (%d bytes)", float64(n)/(1<<20), n) }
