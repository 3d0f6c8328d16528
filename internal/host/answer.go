package host

import (
	"bytes"
	"fmt"
)

// MaxAnswer bounds what a machine may answer to one command, on each of its outputs: many times what the largest
// configuration takes, and little enough to be held in memory.
const MaxAnswer = 64 << 20

// ErrTooLong says that a machine answered more than MaxAnswer; the command was ended.
var ErrTooLong = fmt.Errorf("the answer is longer than %d MiB, which is the most that is taken from a machine", MaxAnswer>>20)

// Answer is what a command prints, up to MaxAnswer. The zero value is ready.
type Answer struct {
	// TooLong is called when more arrives; may be nil.
	TooLong func()
	buf     bytes.Buffer
}

// Write implements io.Writer.
func (a *Answer) Write(p []byte) (int, error) {
	if a.buf.Len()+len(p) > MaxAnswer {
		if a.TooLong != nil {
			a.TooLong()
		}
		return 0, ErrTooLong
	}
	return a.buf.Write(p)
}

// Bytes returns what was printed.
func (a *Answer) Bytes() []byte { return a.buf.Bytes() }

// String returns what was printed.
func (a *Answer) String() string { return a.buf.String() }
