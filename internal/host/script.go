package host

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"
)

// Runner is the part of a Host that the rest can be made of: what follows here is files by way of a POSIX
// shell, and is shared by every Host that runs real commands.
type Runner interface {
	fmt.Stringer
	Run(ctx context.Context, cmd Cmd) ([]byte, error)
}

// Environment is what every command starts with, beside what the machine gives it: messages in one
// language, and the administrator's commands in the path whoever logs in.
var Environment = []string{"LC_ALL=C", "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}

// exitAbsent is how readScript says that a file is proven absent, apart from every status of cat or sh.
const exitAbsent = 44

// readScript prints a file, or proves that it is absent.
//
//go:embed read.sh
var readScript string

// Script is a command that runs a POSIX shell script with arguments ($1 and on); name is what messages call it.
func Script(name, script string, args ...string) Cmd {
	return Cmd{Name: name, Argv: append([]string{"sh", "-c", script, "sh"}, args...)}
}

// RepeatableScript is a Script that may run twice, where a connection breaks: it only asks, or does nothing that is done already.
func RepeatableScript(name, script string, args ...string) Cmd {
	cmd := Script(name, script, args...)
	cmd.Repeatable = true
	return cmd
}

// ReadFile implements Host.Read by a command.
func ReadFile(ctx context.Context, r Runner, path string) ([]byte, error) {
	if err := checkPath(path); err != nil {
		return nil, err
	}
	out, err := r.Run(ctx, RepeatableScript("read "+path, readScript, path))
	var exit *ExitError
	if errors.As(err, &exit) && exit.Code == exitAbsent {
		return nil, &fs.PathError{Op: "read", Path: path, Err: fs.ErrNotExist}
	}
	return out, err
}

// accountName is what useradd and groupadd allow, and a number.
var accountName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]*\$?$`)

// checkOwner returns "owner:group" of a file that can be written.
func (f File) checkOwner() (string, error) {
	if err := checkPath(f.Path); err != nil {
		return "", err
	}
	owner, group := f.Account()
	for _, name := range []string{owner, group} {
		if !accountName.MatchString(name) {
			return "", fmt.Errorf("write %s: %q is no name of a user or group", f.Path, name)
		}
	}
	return owner + ":" + group, nil
}

// Account returns the owner and the group, root where the file names none.
func (f File) Account() (owner, group string) {
	owner, group = f.Owner, f.Group
	if owner == "" {
		owner = "root"
	}
	if group == "" {
		group = "root"
	}
	return owner, group
}

func checkPath(p string) error {
	if !path.IsAbs(p) || path.Clean(p) != p || p == "/" || strings.ContainsAny(p, "\n\x00") {
		return fmt.Errorf("%q is not an absolute, clean path of a file", p)
	}
	return nil
}

func formatMode(mode fs.FileMode) string { return fmt.Sprintf("%04o", mode.Perm()) }

// Quote renders arguments so that a POSIX shell reads exactly them.
func Quote(argv []string) string {
	quoted := make([]string, len(argv))
	for i, arg := range argv {
		quoted[i] = quoteArgument(arg)
	}
	return strings.Join(quoted, " ")
}

func quoteArgument(arg string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:,+@%", r)
	}
	if arg != "" && strings.IndexFunc(arg, func(r rune) bool { return !plain(r) }) < 0 {
		return arg
	}
	return "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
}

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
