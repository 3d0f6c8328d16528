package hypervisor

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/digitalocean/go-libvirt"
)

const (
	// chunk is how much is read and sent at a time; a few of them are all the memory that an upload takes.
	chunk = 1 << 20
	// packet is how much the daemon is sent at once: with larger ones, which it takes too, it spends twice the time
	// on its buffers.
	packet = 256 << 10
	// block is the smallest run of zeros that becomes a hole. It divides chunk.
	block = 64 << 10
)

// UploadVolume streams content into a new volume of a pool of files: one that was made with capacity 0 takes
// the content's length. Zeros become holes, so that sparse content takes no more room than where it came
// from. It returns the number of bytes of content. When it fails, the volume holds a part of the content.
func (c *Client) UploadVolume(ctx context.Context, v *Volume, content io.Reader) (int64, error) {
	s, err := c.openVolume(ctx, fmt.Sprintf("upload volume %q to storage pool %q", v.Name(), v.Pool), rpcUpload, v, 0, 0, uint32(libvirt.StorageVolUploadSparseStream))
	if err != nil {
		return 0, err
	}
	defer s.closeConnection()
	return s.sendContent(content)
}

// PatchVolume overwrites a part of a volume.
func (c *Client) PatchVolume(ctx context.Context, v *Volume, offset uint64, content []byte) error {
	s, err := c.openVolume(ctx, fmt.Sprintf("write to volume %q of storage pool %q", v.Name(), v.Pool), rpcUpload, v, offset, uint64(len(content)), 0)
	if err != nil {
		return err
	}
	defer s.closeConnection()
	if err := s.sendPacket(packetStream, statusContinue, content); err != nil {
		return s.explainError(err)
	}
	return s.explainError(s.finishUpload())
}

// maxPeek is the most that is read of a volume into memory: the largest table that QEMU takes (storage.IsEmptyQCOW2), and room for more.
const maxPeek = 64 << 20

// PeekVolume reads a part of a volume, of maxPeek bytes at most; it is shorter than length where the volume ends. A daemon that sends
// more than it was asked for is an error.
func (c *Client) PeekVolume(ctx context.Context, v *Volume, offset, length uint64) ([]byte, error) {
	switch {
	case length == 0: // to libvirt that is all there is
		return nil, nil
	case length > maxPeek:
		return nil, fmt.Errorf("read %d bytes of volume %q of storage pool %q: %d are the most", length, v.Name(), v.Pool, maxPeek)
	}
	content := boundedBuffer{left: length}
	err := c.DownloadVolume(ctx, v, offset, length, &content)
	return content.Bytes(), err
}

// boundedBuffer is a buffer that takes a number of bytes and no more.
type boundedBuffer struct {
	bytes.Buffer
	left uint64
}

// Write is an error where it would be more, and takes nothing then.
func (b *boundedBuffer) Write(p []byte) (int, error) {
	if uint64(len(p)) > b.left {
		return 0, fmt.Errorf("the daemon sends more of the volume than it was asked for, beginning with %d bytes instead of %d", len(p), b.left)
	}
	b.left -= uint64(len(p))
	return b.Buffer.Write(p)
}

// DownloadVolume streams a part of a volume to w; length 0 means up to its end. An error of w ends it, and
// is returned as it is.
func (c *Client) DownloadVolume(ctx context.Context, v *Volume, offset, length uint64, w io.Writer) error {
	s, err := c.openVolume(ctx, fmt.Sprintf("read from volume %q of storage pool %q", v.Name(), v.Pool), rpcDownload, v, offset, length, 0)
	if err != nil {
		return err
	}
	defer s.closeConnection()
	for {
		payload, err := s.receivePacket()
		if err != nil {
			return s.explainError(err)
		}
		if len(payload) == 0 { // so the daemon marks the end
			// One that is left without a word is aborted, and virtqemud 8.0 does not always survive to abort what another
			// daemon sends through it.
			return s.explainError(s.finishUpload())
		}
		if _, err := w.Write(payload); err != nil {
			return err
		}
	}
}

// openVolume starts a stream with remote_storage_vol_upload_args, which are those of a download too.
func (c *Client) openVolume(ctx context.Context, what string, proc uint32, v *Volume, offset, length uint64, flags uint32) (*stream, error) {
	arguments := appendText(appendText(appendText(nil, v.Pool), v.Name()), v.XML.Key)
	return c.openStream(ctx, what, proc, appendUint32(appendUint64(appendUint64(arguments, offset), length), flags))
}

// finishUpload says that all was sent and waits for the daemon to have written it.
func (s *stream) finishUpload() error {
	if err := s.sendPacket(packetStream, statusOK, nil); err != nil {
		return err
	}
	_, err := s.receivePacket()
	return err
}

// sendContent sends content until its end. It reads ahead, so that decompressing and sending go side by side.
func (s *stream) sendContent(content io.Reader) (int64, error) {
	// The daemon may refuse at any time, and the context may end while the content is waited for.
	var said error
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, said = s.receivePacket()
	}()
	total, err := s.sendAll(content, ended)
	if err == nil {
		err = s.sendPacket(packetStream, statusOK, nil)
	}
	if err != nil {
		s.closeConnection()
	}
	<-ended
	if failure, ok := errors.AsType[*contentError](err); ok && s.ctx.Err() == nil {
		return total, failure.error // says itself what it is about
	}
	// What the daemon said last is the reason why nothing more could be sent to it.
	return total, s.explainError(cmp.Or(said, err))
}

// contentError is a failure to read what is to be sent.
type contentError struct{ error }

// errEnded says that the daemon, or the context, ended the stream before the content did.
var errEnded = errors.New("the stream ended early")

func (s *stream) sendAll(content io.Reader, ended <-chan struct{}) (int64, error) {
	ready, free, done := readAhead(content)
	defer close(done)
	var total, hole int64
	for {
		var p part
		var more bool
		select {
		case p, more = <-ready:
		case <-ended:
			return total, errEnded
		}
		if !more {
			return total, s.skipHole(&hole)
		}
		if p.err != nil {
			return total, &contentError{p.err}
		}
		total += int64(len(p.data))
		for data := range splitAtZeros(p.data) {
			if data.zero {
				hole += int64(len(data.bytes))
				continue
			}
			if err := s.skipHole(&hole); err != nil {
				return total, err
			}
			for piece := range slices.Chunk(data.bytes, packet) {
				if err := s.sendPacket(packetStream, statusContinue, piece); err != nil {
					return total, err
				}
			}
		}
		free <- p.data[:cap(p.data)]
	}
}

// skipHole sends the hole that has gathered (virNetStreamHole: length and flags).
func (s *stream) skipHole(hole *int64) error {
	if *hole == 0 {
		return nil
	}
	defer func() { *hole = 0 }()
	return s.sendPacket(packetHole, statusContinue, appendUint32(appendUint64(nil, uint64(*hole)), 0))
}

// part is one chunk of content, or the reason why there is none.
type part struct {
	data []byte
	err  error
}

// readAhead reads content into a few buffers, which the caller gives back through free. It stops when done
// is closed, though a read that hangs then goes on until its source is closed.
func readAhead(content io.Reader) (ready <-chan part, free chan<- []byte, done chan<- struct{}) {
	const buffers = 3
	parts, spare, end := make(chan part), make(chan []byte, buffers), make(chan struct{})
	for range buffers {
		spare <- make([]byte, chunk)
	}
	go func() {
		defer close(parts)
		for {
			var buffer []byte
			select {
			case buffer = <-spare:
			case <-end:
				return
			}
			n, err := Fill(content, buffer)
			p := part{data: buffer[:n], err: err}
			if err == io.EOF { //nolint:errorlint // an EOF that is wrapped is a source that broke off, not the end
				p.err = nil
			}
			select {
			case parts <- p:
			case <-end:
				return
			}
			if err != nil {
				return
			}
		}
	}()
	return parts, spare, end
}

// Fill reads until the buffer is full or the content ends, with io.EOF. io.ReadFull would not do: it turns the end of
// short content into the same error by which a broken transfer announces itself.
func Fill(content io.Reader, buffer []byte) (int, error) {
	n := 0
	for n < len(buffer) {
		m, err := content.Read(buffer[n:])
		n += m
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

// stretch is a part of a chunk that is all zero or has something in it.
type stretch struct {
	bytes []byte
	zero  bool
}

var zeros [block]byte

// splitAtZeros divides a chunk into stretches, at multiples of block.
func splitAtZeros(data []byte) func(yield func(stretch) bool) {
	return func(yield func(stretch) bool) {
		zero := func(at int) bool {
			b := data[at:min(at+block, len(data))]
			return bytes.Equal(b, zeros[:len(b)])
		}
		for start := 0; start < len(data); {
			kind := zero(start)
			end := start + block
			for end < len(data) && zero(end) == kind {
				end += block
			}
			end = min(end, len(data))
			if !yield(stretch{data[start:end], kind}) {
				return
			}
			start = end
		}
	}
}
