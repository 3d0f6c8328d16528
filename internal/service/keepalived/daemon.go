package keepalived

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/systemd"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

// Daemon is keepalived, to a transaction.
type Daemon struct{}

var (
	_ transaction.Daemon   = Daemon{}
	_ transaction.Packaged = Daemon{}
	_ transaction.Stripper = Daemon{}
	_ transaction.Owners   = Daemon{}
)

// Name implements transaction.Daemon.
func (Daemon) Name() string { return "keepalived" }

// Package implements transaction.Packaged.
func (Daemon) Package() (program, unit string) { return "keepalived", "keepalived.service" }

// Globs implements transaction.Daemon. Files that a person includes stay where they are and are read there.
func (Daemon) Globs() []string {
	return []string{Path, UnitPath, releasePath, scriptDir + "/*"}
}

// Check asks keepalived. It exits with a failure for warnings too, such as a password that it would cut, so
// a configuration that a person left with warnings is refused only for what is new.
func (Daemon) Check(ctx context.Context, h host.Host, stage string, next transaction.Tree) error {
	if !hasStatements(next) {
		return nil
	}
	scripts, err := scriptUsers(next)
	if err != nil {
		return err
	}
	for script, program := range listInterpreters(next) {
		if err := runCommand(ctx, h, "test", "-x", program); err != nil {
			return refusedError(err, fmt.Sprintf("%s cannot run %s, which the first line of %s names: install it there, or name another program", h, program, script))
		}
	}
	err = checkFile(ctx, h, stage+Path, stage, scripts)
	var exit *host.ExitError
	if !errors.As(err, &exit) {
		return err
	}
	before := checkFile(ctx, h, Path, "", nil)
	var old *host.ExitError
	if errors.As(before, &old) && old.Code == exit.Code && len(newMessages(exit, old)) == 0 && len(checkerMessages(exit)) > 0 {
		return nil
	}
	said := strings.Join(checkerMessages(exit), "; ")
	if said == "" {
		said = fmt.Sprintf("its check ends with status %d", exit.Code)
	}
	return refusedError(err, explainRefusal(strings.ReplaceAll(said, stage, "")))
}

// hasStatements says whether a configuration has more than comments, as is left of one for a moment whose only instance a rollout takes out:
// keepalived takes no other one.
func hasStatements(t transaction.Tree) bool {
	c, err := parseConfig(t[Path].Content)
	return err != nil || len(c.chunks) > 0
}

// explainRefusal adds to keepalived's words what they leave out: why a script is none that it runs.
func explainRefusal(said string) string {
	if !strings.Contains(said, "due to insecure") {
		return said
	}
	return said + ": nobody but root may be able to write to a script's program or the directories above it, and keepalived 2.3 takes no path that leads over a symbolic link, as /bin is one: write /usr/bin/… instead"
}

// refusedError is what the checker says in place of an exit of a command, whose text has the command line and where the
// configuration is staged; another error stays as it is.
func refusedError(err error, said string) error {
	if errors.As(err, new(*host.ExitError)) {
		return &transaction.RefusedError{Err: errors.New(said)}
	}
	return err
}

// checkScript checks a configuration whose scripts have other users than root, or are on the stage.
//
//go:embed check.sh
var checkScript string

// checkFile asks keepalived about a file; users are those of its scripts, root apart.
func checkFile(ctx context.Context, h host.Host, file, stage string, users []string) error {
	if len(users) == 0 && stage == "" {
		return runCommand(ctx, h, "keepalived", "-t", "-f", file)
	}
	return runScript(ctx, h, host.Script("keepalived -t", checkScript, append([]string{file, stage, scriptDir}, users...)...))
}

// scriptUsers lists the users, root apart, that the provider's scripts run as.
func scriptUsers(t transaction.Tree) ([]string, error) {
	ours, _, err := Instances(t)
	if err != nil {
		return nil, err
	}
	var users []string
	for _, in := range ours {
		for _, s := range in.Track {
			if s.User != "" && s.User != "root" && !slices.Contains(users, s.User) {
				users = append(users, s.User)
			}
		}
	}
	return users, nil
}

// checkerMessages are the checker's words without their places, which move with every edit.
func checkerMessages(e *host.ExitError) []string {
	var all []string
	for line := range strings.Lines(e.Stderr + e.Stdout) {
		if _, rest, ok := strings.Cut(line, ") "); ok && strings.HasPrefix(line, "(") && strings.Contains(line, "Line ") {
			line = rest
		}
		if line = strings.TrimSpace(line); line != "" {
			all = append(all, line)
		}
	}
	return all
}

// newMessages lists the messages that are not among the old ones.
func newMessages(e, old *host.ExitError) []string {
	known := checkerMessages(old)
	return slices.DeleteFunc(checkerMessages(e), func(m string) bool { return slices.Contains(known, m) })
}

// Running implements transaction.Daemon.
func (Daemon) Running(ctx context.Context, h host.Host) (bool, error) {
	return systemd.Running(ctx, h, "keepalived.service")
}

// activateScript starts, reloads or stops keepalived.
//
//go:embed activate.sh
var activateScript string

// Activate starts, reloads or stops keepalived. A reload keeps the state of every instance that stays. A
// machine without a configuration, or one of comments alone, runs none: its unit would not start. Whether the unit is enabled is for
// the service node to say.
func (Daemon) Activate(ctx context.Context, h host.Host, prev, next transaction.Tree) error {
	reload, gone, stop := "", "", ""
	if string(prev[UnitPath].Content) != string(next[UnitPath].Content) {
		reload = "reload"
	}
	if _, ok := next[UnitPath]; !ok {
		gone = path.Dir(UnitPath)
	}
	if !hasStatements(next) {
		stop = "stop"
	}
	ours, _, err := Instances(next)
	if err != nil {
		return err
	}
	arguments := append([]string{reload, gone, stop}, listYieldPaths(ours)...)
	return runScript(ctx, h, host.Script("activate keepalived", activateScript, arguments...))
}

func runCommand(ctx context.Context, h host.Host, argv ...string) error {
	return runScript(ctx, h, host.Cmd{Argv: argv})
}

func runScript(ctx context.Context, h host.Host, cmd host.Cmd) error {
	_, err := h.Run(ctx, cmd)
	return err
}

// verifyLimit bounds the wait for a reload, which keepalived does in its own time: milliseconds, or many
// seconds on a machine that is busy or emulated.
const verifyLimit = 30 * time.Second

// Verify asks the running keepalived what it serves, by the same signals that a reload goes by and so after
// it, and compares that with every instance of next.
func (d Daemon) Verify(ctx context.Context, h host.Host, next transaction.Tree) error {
	if !hasStatements(next) {
		running, err := d.Running(ctx, h)
		if err == nil && running {
			err = errors.New("keepalived still runs, without a configuration")
		}
		return err
	}
	want, foreign, err := Instances(next)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, verifyLimit)
	defer cancel()
	for {
		err := d.verifyInstances(ctx, h, want, foreign > 0)
		if err == nil || errors.Is(err, errNotRunning) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func (d Daemon) verifyInstances(ctx context.Context, h host.Host, want []Instance, others bool) error {
	served, err := Dump(ctx, h)
	if err != nil {
		return err
	}
	for _, in := range want {
		i := slices.IndexFunc(served, func(s Status) bool { return s.Name == in.Name })
		if i < 0 {
			return fmt.Errorf("the running keepalived does not know vrrp_instance %s", in.Name)
		}
		if difference := served[i].describeDifference(in); difference != "" {
			return fmt.Errorf("the running keepalived has another vrrp_instance %s: %s", in.Name, difference)
		}
	}
	if len(served) != len(want) && !others {
		return fmt.Errorf("the running keepalived has %d VRRP instances, its configuration %d", len(served), len(want))
	}
	return nil
}

// Instances reads the provider's instances of a tree, and counts a person's.
func Instances(t transaction.Tree) (ours []Instance, foreign int, err error) {
	c, err := parseConfig(t[Path].Content)
	if err != nil {
		return nil, 0, err
	}
	for _, k := range c.chunks {
		switch {
		case k.node.firstWord() == "include":
			foreign++
		case k.node.firstWord() != "vrrp_instance":
		case k.vipOf() == "":
			foreign++
		default:
			in, err := c.readInstance(k)
			if err != nil {
				return nil, 0, err
			}
			ours = append(ours, in.withScripts(t))
		}
	}
	return ours, foreign, nil
}

// Strip implements transaction.Stripper: what a person wrote stays, and so does what carries an owner's mark, which goes with
// that owner. What is left to remove is of a version without marks.
func (Daemon) Strip(t transaction.Tree) error {
	return editConfig(t, func(c *config) {
		c.removeChunks(func(k chunk) bool { return k.vipOf() != "" && k.ownerMark() == owner.Mark{} })
	})
}
