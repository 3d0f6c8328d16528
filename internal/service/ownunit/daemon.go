// Package ownunit is daemons that run from units of the provider's own: a template unit, and for each instance of it a directory with
// what that reads. Nothing that a package or a person configures is touched, so nothing has to be given back.
package ownunit

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/programs/selfbinary"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/part"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

// unitDirectory is where administrators' units are.
const unitDirectory = "/etc/systemd/system"

// Daemon is a transaction.Daemon whose configuration is nobody's but the provider's.
type Daemon struct {
	// Label names it in messages and locks.
	Label string
	// Program is what has to be installed for it.
	Program string
	// Unit is the template unit's name up to the @, and Text what it says.
	Unit, Text string
	// Directory has a directory for each instance, and Main is the file in it without which there is none.
	Directory, Main string
	// Reloads says that an instance is told to reload its files where others than the main one changed, and is not started anew.
	Reloads bool
	// CheckInstance asks the program itself about the directory of an instance, as it is staged; nil where it has no checker.
	CheckInstance func(ctx context.Context, h host.Host, staged, instance string) error
}

var (
	_ transaction.Daemon    = &Daemon{}
	_ transaction.Packaged  = &Daemon{}
	_ transaction.Exclusive = &Daemon{}
	_ transaction.Owners    = &Daemon{}
	_ transaction.Selective = &Daemon{}
)

// script asks the machine about units, and changes them.
//
//go:embed units.sh
var script string

// Name implements transaction.Daemon.
func (d *Daemon) Name() string { return d.Label }

// Package implements transaction.Packaged. The unit is written with the configuration, so it cannot be masked before.
func (d *Daemon) Package() (program, unit string) { return d.Program, "" }

// Exclusive implements transaction.Exclusive.
func (d *Daemon) Exclusive() {}

// UnitOf is the unit of an instance.
func (d *Daemon) UnitOf(instance string) string { return d.Unit + "@" + instance + ".service" }

// Path is the place of a file of an instance.
func (d *Daemon) Path(instance, name string) string { return path.Join(d.Directory, instance, name) }

func (d *Daemon) unitPath() string { return path.Join(unitDirectory, d.Unit+"@.service") }

// Globs implements transaction.Daemon.
func (d *Daemon) Globs() []string { return []string{d.Directory + "/*/*", d.unitPath()} }

// Put adds or replaces a file of an instance, and the unit that reads it.
func (d *Daemon) Put(t transaction.Tree, instance, name string, content []byte, mode fs.FileMode, group string) {
	d.PutFile(t, instance, name, content, mode, group)
	t.Put(d.unitPath(), []byte(d.Text), 0o644, "", "")
}

// PutFile is Put for a file of an instance that is there.
func (d *Daemon) PutFile(t transaction.Tree, instance, name string, content []byte, mode fs.FileMode, group string) {
	at := d.Path(instance, name)
	t[at] = host.File{Path: at, Content: content, Mode: mode, Group: group}
}

// Drop takes files of an instance away, and the unit with the last file of all.
func (d *Daemon) Drop(t transaction.Tree, instance string, names ...string) {
	for _, name := range names {
		delete(t, d.Path(instance, name))
	}
	if len(d.ListInstances(t)) == 0 {
		delete(t, d.unitPath())
	}
}

// ListInstances lists those of a tree that have their main file, in order.
func (d *Daemon) ListInstances(t transaction.Tree) []string {
	var all []string
	for _, at := range slices.Sorted(maps.Keys(t)) {
		if rest, ok := strings.CutPrefix(at, d.Directory+"/"); ok {
			if instance, name, _ := strings.Cut(rest, "/"); name == d.Main && !slices.Contains(all, instance) {
				all = append(all, instance)
			}
		}
	}
	return all
}

// Owners implements transaction.Owners.
func (d *Daemon) Owners(t transaction.Tree) []string {
	var all []string
	for _, at := range slices.Sorted(maps.Keys(t)) {
		if m := owner.Parse(firstLine(t[at].Content)); m != (owner.Mark{}) {
			all = append(all, fmt.Sprintf("%s, %s", at, m.Whose()))
		}
	}
	return all
}

func firstLine(content []byte) string {
	line, _, _ := strings.Cut(string(content), "\n")
	return line
}

// Mark tells whose a file is that has its mark in the first line; false where there is no file.
func (d *Daemon) Mark(t transaction.Tree, instance, name string) (owner.Mark, bool) {
	f, there := t[d.Path(instance, name)]
	return owner.Parse(firstLine(f.Content)), there
}

// Check implements transaction.Daemon.
func (d *Daemon) Check(ctx context.Context, h host.Host, stage string, next transaction.Tree) error {
	if d.CheckInstance == nil {
		return nil
	}
	for _, instance := range d.ListInstances(next) {
		if err := d.CheckInstance(ctx, h, stage+path.Join(d.Directory, instance), instance); err != nil {
			return err
		}
	}
	return nil
}

// Activate implements transaction.Daemon: what is new is started, what changed follows its files, what is gone ends.
func (d *Daemon) Activate(ctx context.Context, h host.Host, prev, next transaction.Tree) error {
	return d.runScript(ctx, h, "activate", append([]string{d.Directory}, d.listSteps(prev, next)...)...)
}

// listSteps are what leads from one tree to another: whether systemd is to read its units anew, and a verb and its unit for each instance that
// changed, be it by the template. What did not change may be another state's, which is not running or cannot be started: it is left alone. Where
// nothing changed at all, all are to run.
func (d *Daemon) listSteps(prev, next transaction.Tree) []string {
	write, remove := prev.Changes(next)
	changed := func(instance string) bool {
		return slices.ContainsFunc(slices.Concat(write, remove), func(at string) bool { return strings.HasPrefix(at, d.Path(instance, "")+"/") })
	}
	reload := "-"
	if slices.Contains(slices.Concat(write, remove), d.unitPath()) {
		reload = "reload"
	}
	args := []string{reload}
	before, after := d.ListInstances(prev), d.ListInstances(next)
	end := "stop"
	if strings.Contains(d.Text, "\nStateDirectory=") {
		end = forgetting
	}
	for _, instance := range before {
		if !slices.Contains(after, instance) {
			args = append(args, end, d.UnitOf(instance))
		}
	}
	for _, instance := range after {
		verb := "start"
		switch there := slices.Contains(before, instance); {
		case len(write)+len(remove) == 0:
		case there && !changed(instance) && reload == "-":
			continue
		case there && !changed(instance):
			verb = ifRunning
		case there && d.Reloads && reload == "-" && !slices.Contains(write, d.Path(instance, d.Main)):
			verb = "reload-or-restart"
		default:
			verb = "restart"
		}
		args = append(args, verb, d.UnitOf(instance))
	}
	return args
}

const (
	// ifRunning is the verb for an instance that is started anew where it runs, and left alone otherwise.
	ifRunning = "try-restart"
	// forgetting is the verb for one that ends, and has a directory of systemd's for what it kept.
	forgetting = "forget"
)

// VerifyChange implements transaction.Selective.
func (d *Daemon) VerifyChange(ctx context.Context, h host.Host, prev, next transaction.Tree) error {
	var units []string
	for step := range slices.Chunk(d.listSteps(prev, next)[1:], 2) {
		if verb, unit := step[0], step[1]; verb != "stop" && verb != forgetting && verb != ifRunning {
			units = append(units, unit)
		}
	}
	if units == nil {
		return nil
	}
	return d.runScript(ctx, h, "verify", units...)
}

// Verify implements transaction.Daemon.
func (d *Daemon) Verify(ctx context.Context, h host.Host, next transaction.Tree) error {
	var units []string
	for _, instance := range d.ListInstances(next) {
		units = append(units, d.UnitOf(instance))
	}
	return d.runScript(ctx, h, "verify", units...)
}

// Running implements transaction.Daemon: whether every instance runs that has its files, and will after a restart of the
// machine. A machine without any needs none.
func (d *Daemon) Running(ctx context.Context, h host.Host) (bool, error) {
	stopped, err := d.listStopped(ctx, h)
	return err == nil && len(stopped) == 0, err
}

// Serves returns what tells whether an instance runs, for its parts.
func (d *Daemon) Serves(instance string) func(context.Context, host.Host) (bool, error) {
	return func(ctx context.Context, h host.Host) (bool, error) {
		stopped, err := d.listStopped(ctx, h)
		return err == nil && !slices.Contains(stopped, d.UnitOf(instance)), err
	}
}

// listStopped lists the units that have their files and do not run.
func (d *Daemon) listStopped(ctx context.Context, h host.Host) ([]string, error) {
	out, err := h.Run(ctx, host.RepeatableScript("units.sh running", script, "running", d.Directory, d.Unit, d.Main))
	return strings.Fields(string(out)), err
}

func (d *Daemon) runScript(ctx context.Context, h host.Host, verb string, args ...string) error {
	_, err := h.Run(ctx, host.Script("units.sh "+verb, script, append([]string{verb}, args...)...))
	return err
}

// WithProgram returns a part that the provider's own program serves: it is put on the machine before the unit names it, where program tells
// the part's Add and Set, and goes with the last unit that does. version is the provider's.
func WithProgram[S any](p part.Part[S], program *selfbinary.Program, version string) part.Part[S] {
	look, change, remove := p.Look, p.Change, p.Remove
	p.Look = func(ctx context.Context, h host.Host, want S) error {
		chosen, err := selfbinary.ForServiceNode(ctx, h, version)
		if err != nil {
			return err
		}
		if err := chosen.Look(ctx); err != nil {
			return service.At([]any{"service_node"}, err)
		}
		if look == nil {
			return nil
		}
		return look(ctx, h, want)
	}
	p.Change = func(ctx context.Context, h host.Host, want S, write func(context.Context, S) (S, error)) (got S, err error) {
		release, err := selfbinary.Install(ctx, h, version, program)
		if err != nil {
			return want, err
		}
		defer func() { err = errors.Join(err, release(context.WithoutCancel(ctx))) }()
		if change == nil {
			return write(ctx, want)
		}
		return change(ctx, h, want, write)
	}
	p.Remove = func(ctx context.Context, h host.Host, removePart func(context.Context) error) error {
		return selfbinary.Uninstall(ctx, h, func(ctx context.Context) error {
			if remove == nil {
				return removePart(ctx)
			}
			return remove(ctx, h, removePart)
		})
	}
	return p
}
