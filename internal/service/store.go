package service

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

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

// ReadBack returns what a store has after a change that ended with err: for stores whose changes return nothing.
func ReadBack[S any](ctx context.Context, get func(context.Context) (S, error), err error) (S, error) {
	var none S
	if err != nil {
		return none, err
	}
	got, err := get(ctx)
	if err != nil {
		return none, &Unfinished{Err: fmt.Errorf("read back: %w", err)}
	}
	return got, nil
}

// UnseenError is that of a Get which cannot look now, for a reason that proves nothing about the object: what the state knows of
// it stays.
type UnseenError struct {
	// Why it cannot be seen, and what to do to have it checked, in whole sentences.
	Why string
	Err error
	// Placeless says that not even the place is there in which the object would be: on another hypervisor it may be.
	Placeless bool
}

func (e *UnseenError) Error() string { return e.Err.Error() }
func (e *UnseenError) Unwrap() error { return e.Err }

// Unmodelled is something on a machine or a hypervisor that no attribute of a resource says: it stays as it is, and has to be known of.
type Unmodelled struct {
	// Place is where it stands: FILE:LINE, or the path of an element in an object's XML, such as "/domain/devices/tpm".
	Place string
	// What is its own text, or what keeps it from being a resource.
	What string
}

// ListLines lists the lines of a file that say something, each with its place. comment is what comments begin with.
func ListLines(path string, content []byte, comment string) (all []Unmodelled) {
	for i, line := range strings.Split(string(content), "\n") {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, comment) {
			all = append(all, Unmodelled{Place: fmt.Sprintf("%s:%d", path, i+1), What: line})
		}
	}
	return all
}

// WithoutSecrets returns a text of several lines, and of each of them without what is behind a word that a secret follows.
func WithoutSecrets(text string, before ...string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		rest := line
		for _, word := range strings.Fields(line) {
			_, rest, _ = strings.Cut(rest, word)
			if slices.Contains(before, word) && strings.TrimSpace(rest) != "" {
				lines[i] = strings.TrimSuffix(line, rest) + " (a secret)"
				break
			}
		}
	}
	return strings.Join(lines, "\n")
}
