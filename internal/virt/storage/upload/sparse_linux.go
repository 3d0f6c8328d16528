package upload

import (
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// openSparse reads a file of a size.
func openSparse(f *os.File, size int64) io.ReadCloser { return &sparse{File: f, size: size} }

// measureAllocated returns how many bytes a file takes on its disk.
func measureAllocated(info fs.FileInfo) int64 {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return s.Blocks * 512 // whatever the file system's block is (stat(2))
	}
	return 0
}

// sparse is a file whose holes are not read: the system would make pages of zeros to copy them from.
type sparse struct {
	*os.File
	// size is what the file had when it was opened; what was added since is read too.
	size int64
	// at is where the next read begins; up to data there is a hole, and from there data up to hole.
	at, data, hole int64
}

// Read implements io.Reader.
func (s *sparse) Read(p []byte) (n int, err error) {
	if s.at >= s.hole {
		s.findNextData()
	}
	if s.at < s.data {
		n = int(min(int64(len(p)), s.data-s.at))
		clear(p[:n])
	} else {
		n, err = s.ReadAt(p[:min(int64(len(p)), s.hole-s.at)], s.at)
		if n > 0 && errors.Is(err, io.EOF) {
			err = nil // the next call says so
		}
	}
	s.at += int64(n)
	return n, err
}

// findNextData finds the next data and its end. Where the file system does not tell, and behind the end, all is data.
func (s *sparse) findNextData() {
	s.data, s.hole = s.at, math.MaxInt64
	data, err := s.Seek(s.at, unix.SEEK_DATA)
	if errors.Is(err, unix.ENXIO) && s.at < s.size {
		s.data, s.hole = s.size, s.size // a hole up to the end
		return
	}
	if err != nil {
		return
	}
	if hole, err := s.Seek(data, unix.SEEK_HOLE); err == nil {
		s.data, s.hole = data, hole
	}
}
