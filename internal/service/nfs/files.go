package nfs

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/part"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

const (
	directory = "/etc/exports.d"
	prefix    = "virtcluster-"
	suffix    = ".exports"
	words     = "# Written by terraform-provider-virtcluster "
	wish      = "# directory "
)

// Place is the file of an exported directory.
func Place(exported string) string {
	return path.Join(directory, prefix+url.QueryEscape(strings.TrimPrefix(exported, "/"))+suffix)
}

// renderFile returns the file of an export.
func (e Export) renderFile(m owner.Mark) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s%s\n", words, m)
	fmt.Fprintf(&b, "%screate=%t owner=%s group=%s permissions=%s\n", wish, e.Create, e.Owner, e.Group, e.Permissions)
	fmt.Fprintf(&b, "%q", e.Path)
	for _, c := range e.Clients {
		fmt.Fprintf(&b, " %s(%s)", c.Match, strings.Join(c.Options, ","))
	}
	b.WriteString("\n")
	return b.String()
}

// parseFile reads the file of an export.
func parseFile(text string) (Export, error) {
	e := Export{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		rest, wished := strings.CutPrefix(line, wish)
		switch {
		case wished:
			for _, word := range strings.Fields(rest) {
				name, value, _ := strings.Cut(word, "=")
				switch name {
				case "create":
					e.Create = value == "true"
				case "owner":
					e.Owner = value
				case "group":
					e.Group = value
				case "permissions":
					e.Permissions = value
				}
			}
		case line == "" || strings.HasPrefix(line, "#"):
		default:
			if e.Path != "" {
				return e, fmt.Errorf("it exports more than %s", e.Path)
			}
			quoted, err := strconv.QuotedPrefix(line)
			if err != nil {
				return e, fmt.Errorf("%q does not begin with a directory in quotes", line)
			}
			e.Path, _ = strconv.Unquote(quoted)
			for _, word := range strings.Fields(line[len(quoted):]) {
				match, options, ok := strings.Cut(strings.TrimSuffix(word, ")"), "(")
				if !ok {
					return e, fmt.Errorf("%q is no client", word)
				}
				c := Client{Match: match}
				if options != "" {
					c.Options = strings.Split(options, ",")
				}
				e.Clients = append(e.Clients, c)
			}
		}
	}
	if e.Path == "" {
		return e, fmt.Errorf("it exports nothing")
	}
	return e, nil
}

// Find reads an export; transaction.ErrAbsent where there is none.
func Find(t transaction.Tree, exported string) (Export, error) {
	f, there := t[Place(exported)]
	if !there {
		return Export{}, fmt.Errorf("%s is not exported: %w", exported, transaction.ErrAbsent)
	}
	e, unreadable := parseFile(string(f.Content))
	if unreadable != nil {
		e.Clients = nil // a person's hand was in it: all of it is to be written anew
	}
	e.Path = exported
	return e, nil
}

// Mark tells whose an export is; false where there is none.
func Mark(t transaction.Tree, exported string) (owner.Mark, bool) {
	f, there := t[Place(exported)]
	if !there {
		return owner.Mark{}, false
	}
	first, _, _ := strings.Cut(string(f.Content), "\n")
	if !strings.HasPrefix(first, words) {
		return owner.Mark{}, true // a person's
	}
	return owner.Parse(first), true
}

// Set adds or changes an export.
func Set(t transaction.Tree, want Export, m owner.Mark) error {
	t.Put(Place(want.Path), []byte(want.renderFile(m)), 0o644, "", "")
	return nil
}

// Drop takes an export away; an absent one is no error. The directory and what is in it stay.
func Drop(t transaction.Tree, exported string) error {
	delete(t, Place(exported))
	return nil
}

// listExports are what the files of a tree export, by directory. A file that a person changed beyond reading exports nothing of ours.
func listExports(t transaction.Tree) []Export {
	var all []Export
	for file, f := range t {
		if e, err := parseFile(string(f.Content)); err == nil && Place(e.Path) == file {
			all = append(all, e)
		}
	}
	slices.SortFunc(all, func(a, b Export) int { return strings.Compare(a.Path, b.Path) })
	return all
}

// ListPaths lists the directories that a tree exports, whosever the exports are, in order.
func ListPaths(t transaction.Tree) []string {
	var all []string
	for _, e := range listExports(t) {
		all = append(all, e.Path)
	}
	return all
}

// NewPart returns the part of the machine's exports that one is, with its directory.
func NewPart(of part.Identity) part.Part[Export] {
	put := func(t transaction.Tree, want Export) error { return Set(t, want, of.Mark) }
	return part.Part[Export]{
		Daemon: Daemon{}, Owner: fmt.Sprintf("NFS export %q", of.Name), Place: Place(of.Name), ImportID: of.ImportID,
		Mark: func(t transaction.Tree) (owner.Mark, bool) { return Mark(t, of.Name) },
		Find: func(t transaction.Tree) (Export, error) { return Find(t, of.Name) }, Serves: serves(of.Name),
		Add: put, Set: put,
		Drop:     func(t transaction.Tree) error { return Drop(t, of.Name) },
		Complete: readLive, Change: putExport,
	}
}

// putExport makes a directory that is missing, exports it, and gives it owner, group and permissions last, when nothing refuses the export any
// more.
func putExport(ctx context.Context, h host.Host, want Export, write func(context.Context, Export) (Export, error)) (Export, error) {
	undo, err := prepareDirectory(ctx, h, want)
	if err == nil {
		var got Export
		if got, err = write(ctx, want); err == nil {
			return finishDirectory(ctx, h, got, want)
		}
	} else {
		err = service.At([]any{"path"}, err)
	}
	if !errors.As(err, new(*service.Unfinished)) {
		undo(context.WithoutCancel(ctx))
	}
	return want, err
}

// finishDirectory makes the directory of what is exported now what it shall be.
func finishDirectory(ctx context.Context, h host.Host, got, want Export) (Export, error) {
	if err := giveDirectory(ctx, h, want); err != nil {
		return got, &service.Unfinished{Err: err}
	}
	got.Owner, got.Group, got.Permissions = want.Owner, want.Group, want.Permissions // got was read while the directory was as before
	return service.ReadBack(ctx, func(ctx context.Context) (Export, error) { return readLive(ctx, h, got) }, nil)
}
