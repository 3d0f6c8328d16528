package transaction

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
)

// swapScript moves staged files over the live ones. Arguments: the stage, what commits keep ("" for a swap that
// keeps nothing), how many files to write, these, then those to remove. The stage holds the sums of what was read, and where one is not
// what is there, nothing is changed and the status is 76: somebody has edited the file since. It holds a journal and perhaps the
// original, which go to what is kept; an original that is there stays. Every copy and the journal are on disk before
// the first rename, so a full disk changes nothing and is status 75; the renames follow each other within
// milliseconds. A file that is a symbolic link is written where the link leads, and a file that is replaced passes its
// access list, its extended attributes and its SELinux label on to the new one. Directories of the provider's own, named
// virtcluster, go with their last file. Where starting a process takes long, this is what takes long: what can be done for
// all files at once is.
const swapScript = `set -eu
stage=$1 kept=$2 count=$3; shift 3
all=$#
selinux= lists=
! command -v selinuxenabled >/dev/null 2>&1 || ! selinuxenabled || selinux=yes
! command -v getfacl >/dev/null 2>&1 || ! command -v setfacl >/dev/null 2>&1 || lists=yes
lead() { # sets file to where a path leads
	file=$1
	[ ! -L "$1" ] || file=$(readlink -f -- "$1") || { echo "$1 is a symbolic link that leads nowhere" >&2; exit 1; }
	[ ! -e "$file" ] || [ -f "$file" ] || { echo "$file is no regular file" >&2; exit 1; }
}
news() { # then the arguments are the copies, and what is staged to be kept
	i=0
	for f; do [ $((i+=1)) -gt $count ] || { lead "$f"; set -- "$@" "$file.virtcluster-new"; }; done
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
inherit() { # gives the copy $2 of the staged file $3 what the live file $1 has beside mode and owner
	cp --attributes-only --preserve=xattr -- "$1" "$2" 2>/dev/null || :
	[ -z "$selinux" ] || chcon --reference="$1" -- "$2" || :
	[ -n "$lists" ] || return 0
	list=$(getfacl --absolute-names --omit-header --skip-base -- "$1" 2>/dev/null) || :
	[ -z "$list" ] || { printf '%s\n' "$list" | setfacl --set-file=- -- "$2" && chmod --reference="$3" -- "$2"; } || :
}
copy() {
	i=0
	for f; do
		[ $((i+=1)) -le $count ] || break
		lead "$f"
		[ -d "${file%/*}" ] || mkdir -p "${file%/*}" || exit 1
		cp --remove-destination --preserve=mode,ownership "$stage$f" "$file.virtcluster-new" || exit 1
		[ ! -e "$file" ] || inherit "$file" "$file.virtcluster-new" "$stage$f"
	done
	then=sync news "$@" || exit 1
	[ -z "$kept" ] || keep || exit 1
}
asRead() {
	[ ! -s "$stage/read.sums" ] || sha256sum -c "$stage/read.sums" >/dev/null 2>&1 || return 1
	[ ! -e "$stage/read.absent" ] || while IFS= read -r f; do [ ! -e "$f" ] || return 1; done <"$stage/read.absent"
}
asRead || exit 76
forget() { rm -f -- "$@" || :; } # fails where the disk became read-only
(copy "$@") || {
	then=forget news "$@"
	exit 75
}
i=0
for f; do
	[ $((i+=1)) -le $count ] || break
	lead "$f"
	made=
	[ -z "$selinux" ] || [ -e "$file" ] || made=yes
	mv -f "$file.virtcluster-new" "$file"
	[ -z "$made" ] || restorecon -- "$file" || :
done
i=0
for f; do [ $((i+=1)) -le $count ] || rm -f "$f"; done
prune() {
	while case $1 in */virtcluster | */virtcluster/*) rmdir "$1" 2>/dev/null ;; *) false ;; esac do set -- "${1%/*}"; done
}
i=0
for f; do [ $((i+=1)) -le $count ] || prune "${f%/*}"; done
i=0 last=
for f; do
	if [ $((i+=1)) -le $count ]; then lead "$f"; else file=$f; fi
	d=${file%/*}
	until [ -d "$d" ]; do d=${d%/*}; done
	[ "$d" = "$last" ] || set -- "$@" "$d"
	last=$d
done
shift $all
[ $# = 0 ] || sync "$@"
`

// exitUnchanged is swapScript's status when it failed before the first rename, and exitEdited when the files are not as they were read.
const (
	exitUnchanged = 75
	exitEdited    = 76
)

// errUnchanged says that a swap failed before it changed anything.
var errUnchanged = errors.New("nothing was changed")

// errEdited says that a swap found a file other than it was read; then nothing was changed.
var errEdited = errors.New("its files are being edited by somebody else meanwhile")

// replace turns the files of from into those of to: new files first, then changed ones, removals last, so
// that nothing live ever names a file that is not there. What is to be kept, a journal and perhaps the original, is
// there before the first file changes. An error that is errUnchanged left everything as it was.
func (s *site) replace(ctx context.Context, from, to Tree, keep []host.File) error {
	write, remove := from.Changes(to)
	if len(write)+len(remove) == 0 {
		return nil
	}
	slices.SortStableFunc(write, func(a, b string) int { return existing(from, a) - existing(from, b) })
	if err := s.stageFiles(ctx, slices.Concat(to.files(write), keep, from.listSums(to)), false); err != nil {
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
	case errors.As(err, &exit) && exit.Code == exitEdited:
		err = fmt.Errorf("%w: %w", errUnchanged, errEdited)
	case errors.Is(err, host.ErrLockLost), errors.As(err, &exit) && exit.Code == exitUnchanged:
		err = fmt.Errorf("%w: %w", errUnchanged, err)
	}
	return fmt.Errorf("replace the configuration of %s on %s: %w", s.daemon.Name(), s.host, err)
}

// listSums are the files of a stage by which a swap to another tree finds whether what it replaces or removes is what was read.
func (t Tree) listSums(to Tree) []host.File {
	var sums, absent strings.Builder
	write, remove := t.Changes(to)
	for _, path := range slices.Sorted(slices.Values(slices.Concat(write, remove))) {
		if f, there := t[path]; there {
			fmt.Fprintf(&sums, "%s  %s\n", hash(f), path)
		} else {
			fmt.Fprintln(&absent, path)
		}
	}
	return []host.File{{Path: sumsName, Content: []byte(sums.String()), Mode: 0o600}, {Path: absentName, Content: []byte(absent.String()), Mode: 0o600}}
}

// existing is 1 for a file that the tree has, 0 for another.
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

// Where a stage has what a swap keeps, and what it looks for first; no daemon's configuration is in the root directory.
const (
	journalName  = "/journal.json"
	originalName = "/original.json"
	sumsName     = "/read.sums"
	absentName   = "/read.absent"
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

// records are what the swap from tree to next keeps: what it takes to undo it, and the tree where it is the original. Only
// root reads them: they can hold passwords.
func (s *site) records(tree, next Tree) ([]host.File, error) {
	undo, err := json.Marshal(newJournal(tree, next))
	if _, exclusive := s.daemon.(Exclusive); err != nil || exclusive || s.original != nil {
		return []host.File{{Path: journalName, Content: undo, Mode: 0o600}}, err
	}
	whole, err := json.Marshal(keptOriginal{Files: tree.files(slices.Sorted(maps.Keys(tree)))})
	return []host.File{{Path: journalName, Content: undo, Mode: 0o600}, {Path: originalName, Content: whole, Mode: 0o600}}, err
}

// clearStage removes what a refused configuration left on the stage, and the directory where nothing was ever committed; a journal
// stays.
func (s *site) clearStage(ctx context.Context) {
	if s.staged.dir == "" {
		return
	}
	s.staged = staged{}
	// What this cannot remove, the next commit's end does.
	_, _ = s.host.Run(ctx, host.Cmd{Argv: []string{"rm", "-rf", "--", s.dir + "/stage"}})
	_, _ = s.host.Run(ctx, host.Cmd{Argv: []string{"rmdir", "--ignore-fail-on-non-empty", "--", s.dir}})
}

// endCommit ends a commit: what is live is what the daemon serves.
func (s *site) endCommit(ctx context.Context) error {
	if _, err := s.host.Run(ctx, host.Cmd{
		Argv: []string{"rm", "-rf", "--", s.journalPath(), s.dir + "/stage"}, Lock: s.daemon.Name(),
	}); err != nil {
		return fmt.Errorf("end the commit to %s on %s: %w", s.daemon.Name(), s.host, err)
	}
	s.staged = staged{}
	return nil
}

// leaveJournal is endCommit of a change that was interrupted, and whose files somebody edited since: what it replaced stays readable.
func (s *site) leaveJournal(ctx context.Context) error {
	if _, err := s.host.Run(ctx, host.Cmd{
		Argv: []string{"mv", "-f", "-T", "--", s.journalPath(), s.interruptedPath()}, Lock: s.daemon.Name(),
	}); err != nil {
		return fmt.Errorf("keep what an interrupted change of %s on %s replaced: %w", s.daemon.Name(), s.host, err)
	}
	return s.endCommit(ctx)
}

// removeState removes all that commits kept, while the machine's lock is held: whoever has it next begins anew.
func (s *site) removeState(ctx context.Context) error {
	if _, err := s.host.Run(ctx, host.Cmd{Argv: []string{"rm", "-rf", "--", s.dir}, Lock: s.daemon.Name()}); err != nil {
		return fmt.Errorf("remove %s on %s: %w", s.dir, s.host, err)
	}
	s.original, s.staged = nil, staged{}
	return nil
}
