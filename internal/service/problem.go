// Package service holds what every daemon's configuration values have in common. Each daemon has a package
// below it: plain values with Validate, Render and Parse, and how to check and reload the daemon.
package service

import (
	"errors"
	"fmt"
	"net/netip"
)

// Key is a path step into a map, beside string (an attribute) and int (a list index).
type Key string

// Problem is something wrong with a value, found without asking any machine.
type Problem struct {
	// Path leads to the attribute: "servers", Key("okd-master-01"), "port". Empty means the whole value.
	Path []any
	// Summary is a few words: "Invalid port". Detail says what to write instead.
	Summary, Detail string
	// Known are further root attributes that have to be known for it to be one.
	Known []string
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

// ParseAddress reads an IPv4 or IPv6 address that goes into a configuration file. A zone ("fe80::1%eth0") is refused: Go takes
// any text for one, line breaks and braces included, and a daemon would read it as configuration.
func ParseAddress(text string) (netip.Addr, error) {
	a, err := netip.ParseAddr(text)
	if err != nil {
		return netip.Addr{}, fmt.Errorf("%q is no IPv4 or IPv6 address", text)
	}
	if a.Zone() != "" {
		return netip.Addr{}, fmt.Errorf("%q has a zone, which is not supported: write an address without %%", text)
	}
	return a, nil
}
