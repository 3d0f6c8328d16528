package upload

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/therootcompany/xz"
)

// windowLimit is how much of its output a decompressor keeps to copy from, in bytes, and so about all the memory that it takes.
// The header of a source says how much it needs, up to 4 GiB whatever it holds. `xz -9` needs 64 MiB, and 128 MiB is what
// `zstd --ultra -22` needs and what zstd itself allows without being told otherwise (zstd(1), --memory). gzip needs 32 KiB.
const windowLimit = 128 << 20

// decompressSource undoes a compression that it knows by its first bytes, whatever the source is called.
func decompressSource(source io.Reader) (io.Reader, func(), error) {
	whole := &watchedReader{Reader: source}
	// Larger reads than the buffer pass it by.
	buffered := bufio.NewReaderSize(whole, 64<<10)
	magic, err := buffered.Peek(6)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, nil, err
	}
	starts := func(prefix string) bool { return bytes.HasPrefix(magic, []byte(prefix)) }
	switch {
	case starts("\xfd7zXZ\x00"):
		n := namedReader{what: "decompress xz", source: whole}
		r, err := xz.NewReader(buffered, windowLimit)
		if err != nil {
			return nil, nil, n.explainError(err)
		}
		n.Reader = r
		return n, func() {}, nil
	case starts("\x1f\x8b"):
		n := namedReader{what: "decompress gzip", source: whole}
		r, err := gzip.NewReader(buffered)
		if err != nil {
			return nil, nil, n.explainError(err)
		}
		r.Multistream(false)
		n.Reader = &gzipMembers{r, buffered}
		return n, func() { _ = r.Close() }, nil
	case starts("\x28\xb5\x2f\xfd"):
		n := namedReader{what: "decompress zstd", source: whole}
		// One block at a time: a window of 8 MiB, which is what zstd uses up to level 19, is all it takes.
		r, err := zstd.NewReader(buffered, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(windowLimit))
		if err != nil {
			return nil, nil, n.explainError(err)
		}
		n.Reader = r
		return n, r.Close, nil
	}
	return buffered, func() {}, nil
}

// watchedReader remembers how reading a source failed.
type watchedReader struct {
	io.Reader
	failed error
}

func (w *watchedReader) Read(p []byte) (int, error) {
	n, err := w.Reader.Read(p)
	if err != nil && err != io.EOF { //nolint:errorlint // an EOF that is wrapped is a source that broke off, not the end
		w.failed = err
	}
	return n, err
}

// namedReader says in errors what was being done; the bare end of the content stays what it is.
type namedReader struct {
	what string
	io.Reader
	source *watchedReader
}

func (n namedReader) Read(p []byte) (int, error) {
	got, err := n.Reader.Read(p)
	if err != nil && err != io.EOF { //nolint:errorlint // an EOF that is wrapped is a source that broke off, not the end
		err = n.explainError(err)
	}
	return got, err
}

func (n namedReader) explainError(err error) error {
	switch {
	case n.source.failed != nil: // which is why
		return fmt.Errorf("%s: %w", n.what, err)
	case errors.Is(err, xz.ErrMemlimit), errors.Is(err, zstd.ErrWindowSizeExceeded), errors.Is(err, zstd.ErrDecoderSizeExceeded):
		return fmt.Errorf("%s: %w: the source asks for a dictionary of more than %d MiB to be decompressed: compress it with a smaller one, as xz does up to -9 and zstd without --long",
			n.what, err, windowLimit>>20)
	}
	return fmt.Errorf("%s: %w: the source is damaged, cut off, or has something behind its end: fetch or make it anew", n.what, err)
}

// gzipMembers reads the gzipMembers of a gzip file one after the other, and passes over zeros behind the last one, as gzip does.
type gzipMembers struct {
	*gzip.Reader
	source *bufio.Reader
}

func (m *gzipMembers) Read(p []byte) (int, error) {
	n, err := m.Reader.Read(p)
	if err != io.EOF { //nolint:errorlint // as above
		return n, err
	}
	switch next, err := m.source.Peek(1); {
	case err != nil:
		return n, err
	case next[0] == 0:
		return n, expectZeros(m.source)
	}
	if err := m.Reset(m.source); err != nil {
		return n, err
	}
	m.Multistream(false)
	return n, nil
}

// expectZeros returns io.EOF where nothing but zeros is left.
func expectZeros(r *bufio.Reader) error {
	for {
		switch b, err := r.ReadByte(); {
		case err != nil:
			return err
		case b != 0:
			return gzip.ErrHeader
		}
	}
}
