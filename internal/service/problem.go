// Package service holds what every daemon's configuration values have in common. Each daemon has a package
// below it: plain values with Validate, Render and Parse, and how to check and reload the daemon.
package service

import (
	"errors"
	"fmt"
)

// Key is a path step into a map, beside string (an attribute) and int (a list index).
type Key string

// Problem is something wrong with a value, found without asking any machine.
type Problem struct {
	// Path leads to the attribute: "servers", Key("okd-master-01"), "port". Empty means the whole value.
	Path []any
	// Summary is a few words: "Invalid port". Detail says what to write instead.
	Summary, Detail string
	// Warning marks a problem that the daemon would accept.
	Warning bool
}

// Problemf makes an error for one attribute.
func Problemf(path []any, summary, format string, args ...any) Problem {
	return Problem{Path: path, Summary: summary, Detail: fmt.Sprintf(format, args...)}
}

// Warningf makes a warning for one attribute.
func Warningf(path []any, summary, format string, args ...any) Problem {
	p := Problemf(path, summary, format, args...)
	p.Warning = true
	return p
}

// AttributeError is an error that belongs to one attribute. Its path is one of Problem.
type AttributeError struct {
	Path []any
	Err  error
}

func (e *AttributeError) Error() string { return e.Err.Error() }
func (e *AttributeError) Unwrap() error { return e.Err }

// At says which attribute an error belongs to; no error stays none.
func At(path []any, err error) error {
	if err == nil {
		return nil
	}
	return &AttributeError{path, err}
}

// NewProblem is an error as a problem: at its attribute, where it belongs to one.
func NewProblem(summary string, err error) Problem {
	p := Problem{Summary: summary, Detail: err.Error()}
	if at, ok := errors.AsType[*AttributeError](err); ok {
		p.Path = at.Path
	}
	return p
}
