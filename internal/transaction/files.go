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

// swapScript moves staged files over the live ones. Arguments: the stage, the journal's path or "", its size,
// how many files to write, these, then those to remove. Input: the journal, whose size is checked because a
// connection that breaks looks like its end. Every copy and the journal are on disk before the first rename,
// so a full disk changes nothing and is status 75; the renames follow each other within milliseconds.
// Directories of the provider's own, named virtcluster, go with their last file. Where starting a process
// takes long, this is what takes long: what can be done for all files at once is.
const swapScript = `set -eu
stage=$1 journal=$2 size=$3 count=$4; shift 4
all=$#
news() { # then the arguments are the copies
	i=0
	for f; do [ $((i+=1)) -gt $count ] || set -- "$@" "$f.virtcluster-new"; done
	shift $all
	"$then" "$@"
}
copy() {
	i=0
	for f; do
		[ $((i+=1)) -le $count ] || break
		[ -d "${f%/*}" ] || mkdir -p "${f%/*}" || exit 1
		cp --preserve=mode,ownership "$stage$f" "$f.virtcluster-new" || exit 1
	done
	[ $count = 0 ] || then=sync news "$@" || exit 1
	[ -n "$journal" ] || return 0
	(umask 077; cat >"$journal.new") && whole "$journal.new" && sync "$journal.new" && mv -f "$journal.new" "$journal" && sync "${journal%/*}" || exit 1
}
whole() { [ "$(wc -c <"$1")" -eq $size ] || { echo "the connection broke: $(wc -c <"$1") of $size bytes of the journal arrived" >&2; return 1; }; }
forget() { rm -f -- "$@" || :; } # fails where the disk became read-only
(copy "$@") || {
	then=forget news "$@"
	[ -z "$journal" ] || forget "$journal.new"
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
// that nothing live ever names a file that is not there. A journal, where one is given, is there before the
// first file changes. An error that is errUnchanged left everything as it was.
func (s *site) replace(ctx context.Context, from, to Tree, j *journal) error {
	write, remove := from.Changes(to)
	if len(write)+len(remove) == 0 {
		return nil
	}
	slices.SortStableFunc(write, func(a, b string) int { return existing(from, a) - existing(from, b) })
	if err := s.stageFiles(ctx, to, write, false); err != nil {
		return fmt.Errorf("%w: %w", errUnchanged, err)
	}
	record, path := []byte(nil), ""
	if j != nil {
		var err error
		if record, err = json.Marshal(j); err != nil {
			return fmt.Errorf("%w: %w", errUnchanged, err)
		}
		path = s.journalPath()
	}
	argv := append([]string{"sh", "-c", swapScript, "sh", s.staged.dir, path, fmt.Sprint(len(record)), fmt.Sprint(len(write))}, append(write, remove...)...)
	cmd := host.Cmd{Argv: argv, Stdin: record, Name: "swap the configuration", Lock: s.daemon.Name()}
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

// staged is what the stage on the machine holds: the files of tree, below dir.
type staged struct {
	dir  string
	tree Tree
}

// stageFiles puts the named files of a tree on the stage, unless they are there already: what was checked
// is what goes live. alone asks that nothing else is there.
func (s *site) stageFiles(ctx context.Context, t Tree, paths []string, alone bool) error {
	missing := func(path string) bool {
		f, ok := s.staged.tree[path]
		return !ok || !same(f, t[path])
	}
	if s.staged.dir != "" && !slices.ContainsFunc(paths, missing) && (!alone || len(paths) == len(s.staged.tree)) {
		return nil
	}
	dir := s.dir + "/stage/" + rand.Text()
	files, tree := make([]host.File, 0, len(paths)), Tree{}
	for _, path := range paths {
		files, tree[path] = append(files, t[path]), t[path]
	}
	if err := host.WriteAll(ctx, s.host, dir, files); err != nil {
		return fmt.Errorf("stage the configuration of %s on %s: %w", s.daemon.Name(), s.host, err)
	}
	s.staged = staged{dir: dir, tree: tree}
	return nil
}

// keepScript writes its input, of $2 bytes, to a file ($1) that only root reads, unless it is there.
const keepScript = `set -eu
[ ! -e "$1" ] || exit 0
umask 077
mkdir -p "${1%/*}"
trap 'rm -f "$1.new"' EXIT
cat >"$1.new"
[ "$(wc -c <"$1.new")" -eq "$2" ] || { echo "the connection broke: $(wc -c <"$1.new") of $2 bytes arrived" >&2; exit 1; }
sync "$1.new"
mv -f "$1.new" "$1"
sync "${1%/*}"`

// keepOriginal saves the tree before the first commit; later ones leave it alone. It can hold passwords.
func (s *site) keepOriginal(ctx context.Context, tree Tree) error {
	if s.originalKept {
		return nil
	}
	j := &journal{}
	for _, path := range slices.Sorted(maps.Keys(tree)) {
		j.Replaced = append(j.Replaced, tree[path])
	}
	content, err := json.Marshal(j)
	if err != nil {
		return err
	}
	cmd := host.Script("write "+s.originalPath(), keepScript, s.originalPath(), fmt.Sprint(len(content)))
	cmd.Stdin, cmd.Lock = content, s.daemon.Name()
	if _, err := s.host.Run(ctx, cmd); err != nil {
		return fmt.Errorf("keep what %s had on %s: %w", s.daemon.Name(), s.host, err)
	}
	s.originalKept = true
	return nil
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
