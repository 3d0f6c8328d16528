package transaction

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
)

// swapScript moves staged files over the live ones. Arguments: the stage, what commits keep ("" for a swap that
// keeps nothing), how many files to write, these, then those to remove. The stage holds a journal and perhaps the
// original, which go to what is kept; an original that is there stays. Every copy and the journal are on disk before
// the first rename, so a full disk changes nothing and is status 75; the renames follow each other within
// milliseconds. Directories of the provider's own, named virtcluster, go with their last file. Where starting a
// process takes long, this is what takes long: what can be done for all files at once is.
const swapScript = `set -eu
stage=$1 kept=$2 count=$3; shift 3
all=$#
news() { # then the arguments are the copies, and what is staged to be kept
	i=0
	for f; do [ $((i+=1)) -gt $count ] || set -- "$@" "$f.virtcluster-new"; done
	if [ -n "$kept" ]; then
		set -- "$@" "$stage/journal.json"
		[ ! -e "$stage/original.json" ] || set -- "$@" "$stage/original.json"
	fi
	shift $all
	[ $# = 0 ] || "$then" "$@"
}
keep() {
	if [ -e "$stage/original.json" ] && [ ! -e "$kept/original.json" ]; then mv -f -t "$kept" "$stage/original.json" "$stage/journal.json"
	else mv -f -t "$kept" "$stage/journal.json"; fi && sync "$kept"
}
copy() {
	i=0
	for f; do
		[ $((i+=1)) -le $count ] || break
		[ -d "${f%/*}" ] || mkdir -p "${f%/*}" || exit 1
		cp --preserve=mode,ownership "$stage$f" "$f.virtcluster-new" || exit 1
	done
	then=sync news "$@" || exit 1
	[ -z "$kept" ] || keep || exit 1
}
forget() { rm -f -- "$@" || :; } # fails where the disk became read-only
(copy "$@") || {
	then=forget news "$@"
	exit 75
}
i=0
for f; do [ $((i+=1)) -gt $count ] || mv -f "$f.virtcluster-new" "$f"; done
i=0
for f; do [ $((i+=1)) -le $count ] || rm -f "$f"; done
prune() {
	while case $1 in */virtcluster | */virtcluster/*) rmdir "$1" 2>/dev/null ;; *) false ;; esac do set -- "${1%/*}"; done
}
i=0
for f; do [ $((i+=1)) -le $count ] || prune "${f%/*}"; done
last=
for f; do
	d=${f%/*}
	until [ -d "$d" ]; do d=${d%/*}; done
	[ "$d" = "$last" ] || set -- "$@" "$d"
	last=$d
done
shift $all
[ $# = 0 ] || sync "$@"
`

// exitUnchanged is swapScript's status when it failed before the first rename.
const exitUnchanged = 75

// errUnchanged says that a swap failed before it changed anything.
var errUnchanged = errors.New("nothing was changed")

// replace turns the files of from into those of to: new files first, then changed ones, removals last, so
// that nothing live ever names a file that is not there. What is to be kept, a journal and perhaps the original, is
// there before the first file changes. An error that is errUnchanged left everything as it was.
func (s *site) replace(ctx context.Context, from, to Tree, keep []host.File) error {
	write, remove := from.Changes(to)
	if len(write)+len(remove) == 0 {
		return nil
	}
	slices.SortStableFunc(write, func(a, b string) int { return existing(from, a) - existing(from, b) })
	if err := s.stageFiles(ctx, append(to.files(write), keep...), false); err != nil {
		return fmt.Errorf("%w: %w", errUnchanged, err)
	}
	kept := ""
	if len(keep) > 0 {
		kept = s.dir
	}
	cmd := host.Script("swap the configuration", swapScript, append([]string{s.staged.dir, kept, fmt.Sprint(len(write))}, append(write, remove...)...)...)
	cmd.Lock = s.daemon.Name()
	_, err := s.host.Run(ctx, cmd)
	var exit *host.ExitError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, host.ErrLockLost), errors.As(err, &exit) && exit.Code == exitUnchanged:
		err = fmt.Errorf("%w: %w", errUnchanged, err)
	}
	return fmt.Errorf("replace the configuration of %s on %s: %w", s.daemon.Name(), s.host, err)
}

func existing(t Tree, path string) int {
	if _, ok := t[path]; ok {
		return 1
	}
	return 0
}

// staged is what the stage on the machine holds: files by their paths below dir.
type staged struct {
	dir  string
	tree Tree
}

// Where a stage has what a swap keeps; no daemon's configuration is in the root directory.
const (
	journalName  = "/journal.json"
	originalName = "/original.json"
)

// stageFiles puts files on the stage, unless they are there already: what was checked is what goes live. alone
// asks that nothing else is there.
func (s *site) stageFiles(ctx context.Context, files []host.File, alone bool) error {
	missing := func(f host.File) bool {
		there, ok := s.staged.tree[f.Path]
		return !ok || !same(there, f)
	}
	if s.staged.dir != "" && !slices.ContainsFunc(files, missing) && (!alone || len(files) == len(s.staged.tree)) {
		return nil
	}
	dir, tree := s.dir+"/stage/"+rand.Text(), Tree{}
	for _, f := range files {
		tree[f.Path] = f
	}
	if err := host.WriteAll(ctx, s.host, dir, files); err != nil {
		return fmt.Errorf("stage the configuration of %s on %s: %w", s.daemon.Name(), s.host, err)
	}
	s.staged = staged{dir: dir, tree: tree}
	return nil
}

// records are what the swap from tree to next keeps: what it takes to undo it, and, once in the life of a process, the
// tree in case it is the original, which a machine that has one does not take. Only root reads them: they can hold
// passwords.
func (s *site) records(tree, next Tree) ([]host.File, error) {
	write, remove := tree.Changes(next)
	undo, err := json.Marshal(newJournal(tree, write, remove))
	if err != nil || s.originalKept {
		return []host.File{{Path: journalName, Content: undo, Mode: 0o600}}, err
	}
	whole, err := json.Marshal(&journal{Replaced: tree.files(slices.Sorted(maps.Keys(tree)))})
	return []host.File{{Path: journalName, Content: undo, Mode: 0o600}, {Path: originalName, Content: whole, Mode: 0o600}}, err
}

// original returns the tree from before the first commit; nil when there was none.
func (s *site) original(ctx context.Context) (Tree, error) {
	content, err := s.host.Read(ctx, s.originalPath())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read %s on %s: %w", s.originalPath(), s.host, err)
	}
	j, err := parseJournal(content)
	if err != nil {
		return nil, fmt.Errorf("read %s on %s: %w", s.originalPath(), s.host, err)
	}
	return j.undo(Tree{}), nil
}

// sweep removes what a refused configuration left on the stage; a journal stays.
func (s *site) sweep(ctx context.Context) {
	if s.staged.dir == "" {
		return
	}
	s.staged = staged{}
	// What this cannot remove, the next commit's end does.
	_, _ = s.host.Run(ctx, host.Cmd{Argv: []string{"rm", "-rf", "--", s.dir + "/stage"}})
}

// settle ends a commit: what is live is what the daemon serves.
func (s *site) settle(ctx context.Context) error {
	if _, err := s.host.Run(ctx, host.Cmd{
		Argv: []string{"rm", "-rf", "--", s.journalPath(), s.dir + "/stage"}, Lock: s.daemon.Name(),
	}); err != nil {
		return fmt.Errorf("end the commit to %s on %s: %w", s.daemon.Name(), s.host, err)
	}
	s.staged = staged{}
	return nil
}

// removeState removes all that commits kept.
func (s *site) removeState(ctx context.Context) error {
	if _, err := s.host.Run(ctx, host.Cmd{Argv: []string{"rm", "-rf", "--", s.dir}}); err != nil {
		return fmt.Errorf("remove %s on %s: %w", s.dir, s.host, err)
	}
	s.originalKept = false
	return nil
}
