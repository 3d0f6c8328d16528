package transaction

import (
	"context"
	"crypto/rand"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/failpoint"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
)

// swapScript moves staged files over the live ones.
//
//go:embed swap.sh
var swapScript string

// exitUnchanged is swapScript's status when it failed before the first file changed, and exitEdited when the files are not as they were read.
const (
	exitUnchanged = 75
	exitEdited    = 76
)

// errUnchanged says that a swap failed before it changed anything.
var errUnchanged = errors.New("nothing was changed")

// errEdited says that a swap found a file other than it was read; then nothing was changed.
var errEdited = errors.New("its files are being edited by somebody else meanwhile")

// replaceFiles turns the files of from into those of to: new files first, then changed ones, removals last, so
// that nothing live ever names a file that is not there. What is to be kept, a journal and perhaps the original, is
// there before the first file changes. An error that is errUnchanged left everything as it was.
func (t *target) replaceFiles(ctx context.Context, from, to Tree, keep []host.File) error {
	write, remove := from.Changes(to)
	if len(write)+len(remove) == 0 {
		return nil
	}
	slices.SortStableFunc(write, func(a, b string) int { return countExisting(from, a) - countExisting(from, b) })
	if err := t.stageFiles(ctx, slices.Concat(to.pickFiles(write), keep, from.listSums(to)), false); err != nil {
		return fmt.Errorf("%w: %w", errUnchanged, err)
	}
	failpoint.Hit("commit/staged")
	kept := ""
	if len(keep) > 0 {
		kept = t.dir
	}
	cmd := host.Script("swap the configuration", failpoint.Arm(host.PlaceFunctions+swapScript), append([]string{t.staged.dir, kept, fmt.Sprint(len(write))}, append(write, remove...)...)...)
	cmd.Lock = t.daemon.Name()
	_, err := t.host.Run(ctx, cmd)
	var exit *host.ExitError
	switch {
	case err == nil:
		failpoint.Hit("commit/swapped")
		return nil
	case errors.As(err, &exit) && exit.Code == exitEdited:
		err = fmt.Errorf("%w: %w", errUnchanged, errEdited)
	case errors.Is(err, host.ErrLockLost), errors.As(err, &exit) && exit.Code == exitUnchanged:
		err = fmt.Errorf("%w: %w", errUnchanged, err)
	}
	return fmt.Errorf("replace the configuration of %s on %s: %w", t.daemon.Name(), t.host, err)
}

// listSums are the files of a stage by which a swap to another tree finds whether what it replaces or removes is what was read.
func (t Tree) listSums(to Tree) []host.File {
	var sums, absent strings.Builder
	write, remove := t.Changes(to)
	for _, path := range slices.Sorted(slices.Values(slices.Concat(write, remove))) {
		if f, there := t[path]; there {
			fmt.Fprintf(&sums, "%s  %s\n", hashContent(f), path)
		} else {
			fmt.Fprintln(&absent, path)
		}
	}
	return []host.File{{Path: sumsName, Content: []byte(sums.String()), Mode: 0o600}, {Path: absentName, Content: []byte(absent.String()), Mode: 0o600}}
}

// countExisting is 1 for a file that the tree has, 0 for another.
func countExisting(t Tree, path string) int {
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
func (t *target) stageFiles(ctx context.Context, files []host.File, alone bool) error {
	missing := func(f host.File) bool {
		there, ok := t.staged.tree[f.Path]
		return !ok || !sameFile(there, f)
	}
	if t.staged.dir != "" && !slices.ContainsFunc(files, missing) && (!alone || len(files) == len(t.staged.tree)) {
		return nil
	}
	dir, tree := t.dir+"/stage/"+rand.Text(), Tree{}
	for _, f := range files {
		tree[f.Path] = f
	}
	if err := host.WriteAll(ctx, t.host, dir, files); err != nil {
		return fmt.Errorf("stage the configuration of %s on %s: %w", t.daemon.Name(), t.host, err)
	}
	t.staged = staged{dir: dir, tree: tree}
	return nil
}

// swapRecords are what the swap from tree to next keeps: what it takes to undo it, and the tree where it is the original. Only
// root reads them: they can hold passwords.
func (t *target) swapRecords(tree, next Tree) ([]host.File, error) {
	undo, err := json.Marshal(newJournal(tree, next))
	if _, exclusive := t.daemon.(Exclusive); err != nil || exclusive || t.original != nil {
		return []host.File{{Path: journalName, Content: undo, Mode: 0o600}}, err
	}
	whole, err := json.Marshal(keptOriginal{Files: tree.pickFiles(slices.Sorted(maps.Keys(tree)))})
	return []host.File{{Path: journalName, Content: undo, Mode: 0o600}, {Path: originalName, Content: whole, Mode: 0o600}}, err
}

// clearScript removes stages.
//
//go:embed clear.sh
var clearScript string

// clearStages is the command that removes all stages, and further paths, while the daemon's lock is held: only who holds it stages, so what else is
// there a killed run left.
func (t *target) clearStages(name string, further ...string) host.Cmd {
	cmd := host.Script(name, clearScript, append([]string{t.dir + "/stage"}, further...)...)
	cmd.Lock = t.daemon.Name()
	return cmd
}

// clearStage removes what a refused configuration left on the stage, and the directory where nothing was ever committed; a journal
// stays.
func (t *target) clearStage(ctx context.Context) {
	if t.staged.dir == "" {
		return
	}
	t.staged = staged{}
	// What this cannot remove, the next commit's end does.
	_, _ = t.host.Run(ctx, t.clearStages("clear the stage"))
	_, _ = t.host.Run(ctx, host.Cmd{Argv: []string{"rmdir", "--ignore-fail-on-non-empty", "--", t.dir}})
}

// endCommit ends a commit: what is live is what the daemon serves.
func (t *target) endCommit(ctx context.Context) error {
	failpoint.Hit("commit/served")
	if _, err := t.host.Run(ctx, t.clearStages("end the commit", t.journalPath())); err != nil {
		return fmt.Errorf("end the commit to %s on %s: %w", t.daemon.Name(), t.host, err)
	}
	t.staged = staged{}
	failpoint.Hit("commit/ended")
	return nil
}

// leaveJournal is endCommit of a change that was interrupted, and whose files somebody edited since: what it replaced stays readable.
func (t *target) leaveJournal(ctx context.Context) error {
	if err := t.copyJournal(ctx); err != nil {
		return err
	}
	return t.endCommit(ctx)
}

// copyJournal keeps what an interrupted change replaced where no later one writes its journal.
func (t *target) copyJournal(ctx context.Context) error {
	if _, err := t.host.Run(ctx, host.Cmd{
		Argv: []string{"cp", "-f", "-p", "-T", "--", t.journalPath(), t.interruptedPath()}, Lock: t.daemon.Name(),
	}); err != nil {
		return fmt.Errorf("keep what an interrupted change of %s on %s replaced: %w", t.daemon.Name(), t.host, err)
	}
	return nil
}

// removeState removes all that commits kept, while the machine's lock is held: whoever has it next begins anew.
func (t *target) removeState(ctx context.Context) error {
	if _, err := t.host.Run(ctx, t.clearStages("remove what commits kept", t.dir)); err != nil {
		return fmt.Errorf("remove %s on %s: %w", t.dir, t.host, err)
	}
	t.original, t.staged = nil, staged{}
	return nil
}
