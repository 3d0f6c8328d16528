package image

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"
)

// decompress undoes a compression that it knows by its first bytes, whatever the source is called.
func decompress(source io.Reader) (io.Reader, func(), error) {
	whole := &watched{Reader: source}
	// Larger reads than the buffer pass it by.
	buffered := bufio.NewReaderSize(whole, 64<<10)
	magic, err := buffered.Peek(6)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, nil, err
	}
	starts := func(prefix string) bool { return bytes.HasPrefix(magic, []byte(prefix)) }
	switch {
	case starts("\xfd7zXZ\x00"):
		n, ending := named{what: "decompress xz", source: whole}, &ending{Reader: buffered}
		r, err := xz.NewReader(ending)
		if err != nil {
			return nil, nil, n.explain(err)
		}
		n.Reader = &complete{r, ending}
		return n, func() {}, nil
	case starts("\x1f\x8b"):
		n := named{what: "decompress gzip", source: whole}
		r, err := gzip.NewReader(buffered)
		if err != nil {
			return nil, nil, n.explain(err)
		}
		r.Multistream(false)
		n.Reader = &members{r, buffered}
		return n, func() { _ = r.Close() }, nil
	case starts("\x28\xb5\x2f\xfd"):
		n := named{what: "decompress zstd", source: whole}
		// One block at a time: a window of 8 MiB, which is what zstd uses up to level 19, is all it takes.
		r, err := zstd.NewReader(buffered, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true))
		if err != nil {
			return nil, nil, n.explain(err)
		}
		n.Reader = r
		return n, r.Close, nil
	}
	return buffered, func() {}, nil
}

// watched remembers how reading a source failed.
type watched struct {
	io.Reader
	failed error
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.Reader.Read(p)
	if err != nil && err != io.EOF { //nolint:errorlint // an EOF that is wrapped is a source that broke off, not the end
		w.failed = err
	}
	return n, err
}

// named says in errors what was being done; the bare end of the content stays what it is.
type named struct {
	what string
	io.Reader
	source *watched
}

func (n named) Read(p []byte) (int, error) {
	got, err := n.Reader.Read(p)
	if err != nil && err != io.EOF { //nolint:errorlint // an EOF that is wrapped is a source that broke off, not the end
		err = n.explain(err)
	}
	return got, err
}

func (n named) explain(err error) error {
	if n.source.failed != nil { // which is why
		return fmt.Errorf("%s: %w", n.what, err)
	}
	return fmt.Errorf("%s: %w: the source is damaged, cut off, or has something behind its end: fetch or make it anew", n.what, err)
}

// members reads the members of a gzip file one after the other, and passes over zeros behind the last one, as gzip does.
type members struct {
	*gzip.Reader
	source *bufio.Reader
}

func (m *members) Read(p []byte) (int, error) {
	n, err := m.Reader.Read(p)
	if err != io.EOF { //nolint:errorlint // as above
		return n, err
	}
	switch next, err := m.source.Peek(1); {
	case err != nil:
		return n, err
	case next[0] == 0:
		return n, onlyZeros(m.source)
	}
	if err := m.Reset(m.source); err != nil {
		return n, err
	}
	m.Multistream(false)
	return n, nil
}

// onlyZeros is io.EOF where nothing but zeros is left.
func onlyZeros(r *bufio.Reader) error {
	for {
		switch b, err := r.ReadByte(); {
		case err != nil:
			return err
		case b != 0:
			return gzip.ErrHeader
		}
	}
}

// ending remembers the last two bytes that are read, padding left out.
type ending struct {
	io.Reader
	last []byte
}

func (e *ending) Read(p []byte) (int, error) {
	n, err := e.Reader.Read(p)
	if seen := bytes.TrimRight(p[:n], "\x00"); len(seen) > 0 {
		e.last = append(e.last, seen[max(0, len(seen)-2):]...)
		e.last = e.last[max(0, len(e.last)-2):]
	}
	return n, err
}

// complete makes sure that an xz file has its footer: the decompressor takes one that is cut off between two
// blocks for a whole one.
type complete struct {
	io.Reader
	source *ending
}

func (c *complete) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	if err == io.EOF && string(c.source.last) != "YZ" {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}
