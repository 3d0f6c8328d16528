package transaction

import (
	"fmt"
	"slices"
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
	// Journal is the file there that has what is to be put back, where Restore failed.
	Journal string
	// Stopped says that the daemon did not run before, so that nothing could serve again.
	Stopped bool
	// Unfit is what the daemon says to the files as they were found, nil where it loads them: then the change is the reason.
	Unfit        error
	Err, Restore error
}

func (e *RolledBackError) Error() string {
	switch {
	case e.Restore != nil:
		return fmt.Sprintf("%s on %s does not serve the new configuration: %v; and the one before could not be put back: %v; "+
			"the next apply tries again by %s there, and keeps what is edited by hand until then", e.Daemon, e.Host, e.Err, e.Restore, e.Journal)
	case e.Stopped:
		return fmt.Sprintf("%s on %s, which did not run, does not serve the new configuration, and its files are as they were before: %v", e.Daemon, e.Host, e.Err)
	}
	text := fmt.Sprintf("%s on %s does not serve the new configuration, and serves the one before again: %v", e.Daemon, e.Host, e.Err)
	if e.Unfit != nil {
		text += "; it does not load its files as they were found either, so mend these first"
	}
	return text
}

func (e *RolledBackError) Unwrap() []error { return []error{e.Err, e.Restore} }

// UnfitError is a daemon that cannot be told to load its configuration as it is found, so that nothing was changed.
type UnfitError struct {
	Daemon, Host string
	// Journal is what a change that was interrupted left there, "" where there is none.
	Journal string
	// Edited are files of that change which somebody edited since: then none was put back.
	Edited []string
	Err    error
}

func (e *UnfitError) Error() string {
	text := fmt.Sprintf("nothing was changed, because %s on %s cannot be told to load a configuration, even as it is found: %v; mend that there first", e.Daemon, e.Host, e.Err)
	switch {
	case len(e.Edited) > 0:
		text += fmt.Sprintf(" (a change was interrupted before, and %s was edited by hand since, which is kept as it is; what that change replaced is in %s)", strings.Join(e.Edited, ", "), e.Journal)
	case e.Journal != "":
		text += fmt.Sprintf(" (a change was interrupted before, and its files are put back; what it takes to tell is in %s)", e.Journal)
	}
	return text
}

func (e *UnfitError) Unwrap() error { return e.Err }

// maskSecrets hides the secrets of all edits of the turn in an error's text, as a checker's answer to one may quote another; the chain is kept for
// errors.Is and errors.As.
func (t *target) maskSecrets(err error) error {
	text := t.maskText(err.Error())
	if text == err.Error() {
		return err
	}
	return &maskedError{text: text, err: err}
}

func (t *target) maskText(text string) string {
	for _, s := range t.secrets {
		text = strings.ReplaceAll(text, s, "***")
	}
	return text
}

// collectSecrets returns the secrets of a group, each before those that are a part of it.
func collectSecrets(group []*request) []string {
	var secrets []string
	for _, r := range group {
		secrets = append(secrets, r.edit.Secrets...)
	}
	secrets = slices.DeleteFunc(secrets, func(s string) bool { return s == "" })
	slices.SortFunc(secrets, func(a, b string) int { return len(b) - len(a) })
	return secrets
}

type maskedError struct {
	text string
	err  error
}

func (e *maskedError) Error() string { return e.text }
func (e *maskedError) Unwrap() error { return e.err }
