//go:build !linux

package image

import (
	"io"
	"os"
)

// withHoles reads a file of a size; elsewhere its holes are read like everything else.
func withHoles(f *os.File, _ int64) io.ReadCloser { return f }
