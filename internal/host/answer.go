package host

import (
	"fmt"
	"slices"
)

// MaxAnswer bounds what a machine may answer to one command, on each of its outputs: many times what the largest
// configuration takes, and little enough to be held in memory.
const MaxAnswer = 64 << 20

// ErrTooLong says that a machine answered more than MaxAnswer; the command was ended.
var ErrTooLong = fmt.Errorf("the answer is longer than %d MiB, which is the most that is taken from a machine", MaxAnswer>>20)

// Answer is what a command prints, up to MaxAnswer. The zero value is ready. It is kept in pieces: one buffer that grows would take three times
// as much memory when it does, just where a machine answers too much to several commands at a time.
type Answer struct {
	// TooLong is called when more arrives; may be nil.
	TooLong func()
	pieces  [][]byte
	length  int
}

// pieceSize is how much of an answer lies in one piece.
const pieceSize = 1 << 20

// Write implements io.Writer.
func (a *Answer) Write(p []byte) (int, error) {
	if a.length+len(p) > MaxAnswer {
		if a.TooLong != nil {
			a.TooLong()
		}
		return 0, ErrTooLong
	}
	last := len(a.pieces) - 1
	if last < 0 || len(a.pieces[last])+len(p) > pieceSize {
		// The first one grows as any other: most answers are short.
		a.pieces = append(a.pieces, nil)
		last++
	}
	a.pieces[last] = append(a.pieces[last], p...)
	a.length += len(p)
	return len(p), nil
}

// Bytes returns what was printed.
func (a *Answer) Bytes() []byte {
	if len(a.pieces) == 1 {
		return a.pieces[0]
	}
	return slices.Concat(a.pieces...)
}

// String returns what was printed.
func (a *Answer) String() string { return string(a.Bytes()) }
