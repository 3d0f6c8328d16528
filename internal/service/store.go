package service

import "errors"

// ErrAbsent is a proven "does not exist": the only error that drops a resource from state. Stores return it wrapped or bare.
var ErrAbsent = errors.New("does not exist")

// Unfinished is the error of a change that made something and then failed: the state keeps it, after a create as tainted, so
// that the next apply goes on from there.
type Unfinished struct {
	// Made says that what came with the error is what was made; else the state keeps what was planned.
	Made bool
	Err  error
}

func (e *Unfinished) Error() string { return e.Err.Error() }
func (e *Unfinished) Unwrap() error { return e.Err }

// UnseenError is that of a Get which cannot look now, for a reason that proves nothing about the object: what the state knows of
// it stays.
type UnseenError struct {
	// Why it cannot be seen, and what to do to have it checked, in whole sentences.
	Why string
	Err error
}

func (e *UnseenError) Error() string { return e.Err.Error() }
func (e *UnseenError) Unwrap() error { return e.Err }
