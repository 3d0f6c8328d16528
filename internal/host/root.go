package host

import (
	"fmt"
	"strings"
)

// RootError says that a login works but may not become root.
type RootError struct {
	Host, User string
	// Words are what sudo said; Err is why it could not run at all, or nil.
	Words string
	Err   error
}

// Error names the ways out.
func (e *RootError) Error() string {
	why := strings.TrimSpace(e.Words)
	if why == "" && e.Err != nil {
		why = e.Err.Error()
	}
	return fmt.Sprintf("cannot become root on %s as %s: %s; log in as root, or let %[2]s run sudo without a password "+
		"(a line \"%[2]s ALL=(ALL) NOPASSWD: ALL\" in /etc/sudoers.d/virtcluster)", e.Host, e.User, why)
}

// Unwrap returns why sudo could not run.
func (e *RootError) Unwrap() error { return e.Err }
