package nfs

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/systemd"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

// Daemon is the NFS server of a machine, to a transaction: the kernel's, which exportfs tells what to export.
type Daemon struct{}

var (
	_ transaction.Daemon    = Daemon{}
	_ transaction.Packaged  = Daemon{}
	_ transaction.Exclusive = Daemon{}
	_ transaction.Sharer    = Daemon{}
	_ transaction.Selective = Daemon{}
)

// script asks and changes the machine: the server's unit, what is exported, and directories.
//
//go:embed nfs.sh
var script string

// Name implements transaction.Daemon.
func (Daemon) Name() string { return "nfs" }

// Package implements transaction.Packaged.
func (Daemon) Package() (program, unit string) { return "exportfs", "nfs-server.service" }

// Globs implements transaction.Daemon.
func (Daemon) Globs() []string { return []string{directory + "/" + prefix + "*" + suffix} }

// Exclusive implements transaction.Exclusive.
func (Daemon) Exclusive() {}

// ServesBesides implements transaction.Sharer: the files with exports, which are a person's or another state's when one's own are gone, and
// what is exported by hand.
func (Daemon) ServesBesides(ctx context.Context, h host.Host) ([]string, error) {
	out, err := h.Run(ctx, host.RepeatableScript("nfs.sh exporters", script, "exporters"))
	return strings.FieldsFunc(string(out), func(r rune) bool { return r == '\n' }), err
}

// ListOthers lists the files with exports that this provider did not write.
func ListOthers(ctx context.Context, h host.Host) ([]string, error) {
	all, err := Daemon{}.ServesBesides(ctx, h)
	return slices.DeleteFunc(all, func(file string) bool {
		return !strings.HasPrefix(file, "/") || strings.HasPrefix(file, directory+"/"+prefix)
	}), err
}

// Check implements transaction.Daemon. exportfs has no dry run, so what is in the files was checked before; here it is whether
// somebody else exports a directory already whose file is not live as it is staged.
func (Daemon) Check(ctx context.Context, h host.Host, stage string, next transaction.Tree) error {
	if len(next) == 0 {
		return nil
	}
	args := []string{stage}
	for _, path := range ListPaths(next) {
		args = append(args, Place(path), path)
	}
	err := runScript(ctx, h, "taken", args...)
	if exit, refused := errors.AsType[*host.ExitError](err); refused {
		return &transaction.RefusedError{Err: errors.New(strings.TrimSpace(exit.Stderr))}
	}
	return err
}

// Activate implements transaction.Daemon: each client of each directory by itself.
func (Daemon) Activate(ctx context.Context, h host.Host, prev, next transaction.Tree) error {
	steps := exportSteps(prev, next)
	if err := runScript(ctx, h, "activate", steps...); err != nil {
		return err
	}
	var gone []string // a person may export the same directory to others
	for step := range slices.Chunk(steps, 4) {
		if step[0] == "end" {
			gone = append(gone, step[1], canonicalMatch(step[2]))
		}
	}
	if gone == nil {
		return nil
	}
	return runScript(ctx, h, "ended", gone...)
}

// exportSteps are what leads from what is exported before to what is after, four words each: end, path, client and a dash, or begin,
// path, client and options. What stays is kept, which begins it again where that can be done, as it may be exported no longer: it may be another
// state's, and the name of its client one that nobody knows any more. Where nothing changed at all, all is to begin.
func exportSteps(prev, next transaction.Tree) []string {
	var all []string
	before, after := listExports(prev), listExports(next)
	write, remove := prev.Changes(next)
	find := func(in []Export, path string, c Client) (Client, bool) {
		for _, e := range in {
			for _, o := range e.Clients {
				if e.Path == path && canonicalMatch(o.Match) == canonicalMatch(c.Match) {
					return o, true
				}
			}
		}
		return Client{}, false
	}
	for _, e := range before {
		for _, c := range e.Clients {
			if _, stays := find(after, e.Path, c); !stays {
				all = append(all, "end", e.Path, c.Match, "-")
			}
		}
	}
	for _, e := range after {
		for _, c := range e.Clients {
			verb := "begin"
			if was, there := find(before, e.Path, c); there && slices.Equal(was.Options, c.Options) && len(write)+len(remove) > 0 {
				verb = "keep"
			}
			all = append(all, verb, e.Path, c.Match, cmp.Or(strings.Join(c.Options, ","), "ro"))
		}
	}
	return all
}

// VerifyChange implements transaction.Selective.
func (Daemon) VerifyChange(ctx context.Context, h host.Host, prev, next transaction.Tree) error {
	var begun []string
	for step := range slices.Chunk(exportSteps(prev, next), 4) {
		if step[0] == "begin" {
			begun = append(begun, step[1])
		}
	}
	return verifyPaths(ctx, h, slices.Compact(begun), next)
}

// Verify implements transaction.Daemon.
func (Daemon) Verify(ctx context.Context, h host.Host, next transaction.Tree) error {
	return verifyPaths(ctx, h, ListPaths(next), next)
}

// verifyPaths wants directories exported, each to all of the clients that it has in the files.
func verifyPaths(ctx context.Context, h host.Host, paths []string, t transaction.Tree) error {
	table, err := h.Run(ctx, host.RepeatableScript("nfs.sh check", script, append([]string{"check"}, paths...)...))
	if err != nil {
		return err
	}
	for _, e := range listExports(t) {
		if !slices.Contains(paths, e.Path) {
			continue
		}
		exported := listClients(string(table), e.Path)
		if at := slices.IndexFunc(e.Clients, func(c Client) bool { return !c.isAmong(exported) }); at >= 0 {
			return fmt.Errorf("%s is not exported to %s: exportfs -s says\n%s", e.Path, e.Clients[at].Match, table)
		}
	}
	return nil
}

// listClients returns to whom a table of exports, as exportfs -s tells it, has a directory exported.
func listClients(table, path string) []string {
	var all []string
	for line := range strings.Lines(table) {
		if rest, found := strings.CutPrefix(line, path+"  "); found {
			client, _, _ := strings.Cut(rest, "(")
			all = append(all, client)
		}
	}
	return all
}

// Running implements transaction.Daemon: whether the server runs and exports what is in the files. A machine with nothing to export
// needs none.
func (Daemon) Running(ctx context.Context, h host.Host) (bool, error) {
	up, missing, err := readExported(ctx, h)
	return up && len(missing) == 0, err
}

// serves returns what tells whether the server runs and exports a directory.
func serves(path string) func(context.Context, host.Host) (bool, error) {
	return func(ctx context.Context, h host.Host) (bool, error) {
		up, missing, err := readExported(ctx, h)
		return up && !slices.Contains(missing, path), err
	}
}

// readExported returns whether the server runs, which it need not where there is nothing to export, and the directories in the files that it does
// not export.
func readExported(ctx context.Context, h host.Host) (up bool, missing []string, err error) {
	out, err := h.Run(ctx, host.RepeatableScript("nfs.sh exported", script, "exported"))
	state, rest, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	if err != nil || state == "" {
		return err == nil, nil, err
	}
	up, err = systemd.Up(state)
	return up, strings.FieldsFunc(rest, func(r rune) bool { return r == '\n' }), err
}

func runScript(ctx context.Context, h host.Host, what string, args ...string) error {
	_, err := h.Run(ctx, host.Script("nfs.sh "+what, script, append([]string{what}, args...)...))
	return err
}

// prepareDirectory makes the directory of an export where it may and is missing. One that is there stays as it is, until giveDirectory. undo removes what
// was made just now, where nothing uses it.
func prepareDirectory(ctx context.Context, h host.Host, e Export) (undo func(context.Context), err error) {
	out, err := h.Run(ctx, host.Script("nfs.sh prepare", script, "prepare", e.Path, fmt.Sprint(e.Create), e.Owner, e.Group, e.Permissions))
	if exit, failed := errors.AsType[*host.ExitError](err); failed {
		err = fmt.Errorf("prepare %s on %s: %s", e.Path, h, strings.TrimSpace(exit.Stderr))
	}
	return func(ctx context.Context) {
		if made := strings.TrimSpace(string(out)); made != "" {
			_ = runScript(ctx, h, "unmake", made) // what cannot be removed has something of somebody's
		}
	}, err
}

// giveDirectory gives the directory of an export owner, group and permissions, where these are wanted. What is in it is left alone. It comes last:
// a person's directory stays as it is where the export is refused.
func giveDirectory(ctx context.Context, h host.Host, e Export) error {
	if e.Owner == "" && e.Group == "" && e.Permissions == "" {
		return nil
	}
	_, err := h.Run(ctx, host.RepeatableScript("nfs.sh give", script, "give", e.Path, e.Owner, e.Group, e.Permissions))
	if exit, failed := errors.AsType[*host.ExitError](err); failed {
		return fmt.Errorf("%s on %s is exported, but not as it shall be: %s", e.Path, h, strings.TrimSpace(exit.Stderr))
	}
	return err
}

// readLive returns an export as the machine has it: its directory's owner, group and permissions, and the clients that the server exports it to.
// A directory that is missing has none of these, as nobody mounts it. A name and its number are the same where want has the number.
func readLive(ctx context.Context, h host.Host, want Export) (Export, error) {
	out, err := h.Run(ctx, host.RepeatableScript("nfs.sh look", script, "look", want.Path))
	if err != nil {
		return want, err
	}
	first, _, _ := strings.Cut(string(out), "\n")
	is := strings.Fields(first)
	if strings.HasPrefix(first, "/") || len(is) != 5 {
		want.Owner, want.Group, want.Permissions, want.Clients = "", "", "", nil
		return want, nil
	}
	if exported := listClients(string(out), want.Path); len(exported) > 0 { // else the server does not serve it at all, which Running says
		want.Clients = slices.DeleteFunc(slices.Clone(want.Clients), func(c Client) bool { return !c.isAmong(exported) })
	}
	pick := func(want, name, number string) string {
		if want == number {
			return number
		}
		return name
	}
	want.Owner, want.Group = pick(want.Owner, is[0], is[1]), pick(want.Group, is[2], is[3])
	if mode := "0000"[:max(0, 4-len(is[4]))] + is[4]; strings.TrimLeft(want.Permissions, "0") != strings.TrimLeft(mode, "0") {
		want.Permissions = mode
	}
	return want, nil
}
