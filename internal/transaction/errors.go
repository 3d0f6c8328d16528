package transaction

import (
	"fmt"
	"strings"
)

// RefusedError is the daemon's own checker saying no. Nothing was changed.
type RefusedError struct {
	Daemon, Host string
	Err          error
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("%s on %s refuses the configuration, and serves the one before: %v", e.Daemon, e.Host, e.Err)
}

func (e *RefusedError) Unwrap() error { return e.Err }

// RolledBackError is a configuration that the checker took and the daemon did not. The one before was put
// back; Restore is what went wrong with that, nil when it serves again.
type RolledBackError struct {
	Daemon, Host string
	Err, Restore error
}

func (e *RolledBackError) Error() string {
	if e.Restore != nil {
		return fmt.Sprintf("%s on %s does not serve the new configuration: %v; and the one before could not be put back (the next apply tries again): %v",
			e.Daemon, e.Host, e.Err, e.Restore)
	}
	return fmt.Sprintf("%s on %s does not serve the new configuration, and serves the one before again: %v", e.Daemon, e.Host, e.Err)
}

func (e *RolledBackError) Unwrap() []error { return []error{e.Err, e.Restore} }

// masked hides secrets in an error's text; the chain is kept for errors.Is and errors.As.
func masked(err error, secrets []string) error {
	text := err.Error()
	for _, s := range secrets {
		if s != "" {
			text = strings.ReplaceAll(text, s, "***")
		}
	}
	if text == err.Error() {
		return err
	}
	return &maskedError{text: text, err: err}
}

type maskedError struct {
	text string
	err  error
}

func (e *maskedError) Error() string { return e.text }
func (e *maskedError) Unwrap() error { return e.err }
