package transaction

import (
	"bytes"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
)

// Tree is a daemon's configuration as files by absolute path, as it is or as it shall be. Edits change a
// Tree and nothing else; the transaction turns the difference into writes and removals.
type Tree map[string]host.File

// Clone copies the tree; file contents are shared and never written through.
func (t Tree) Clone() Tree { return maps.Clone(t) }

// Put sets a file's content and keeps its mode and owner where the file exists already.
func (t Tree) Put(path string, content []byte, mode fs.FileMode, owner, group string) {
	if old, ok := t[path]; ok {
		old.Content = content
		t[path] = old
		return
	}
	t[path] = host.File{Path: path, Content: content, Mode: mode, Owner: owner, Group: group}
}

// ListNames lists the files of a directory by their names, of those that end with suffix, and without that, in their order.
func (t Tree) ListNames(directory, suffix string) []string {
	var names []string
	for _, file := range slices.Sorted(maps.Keys(t)) {
		if name, ends := strings.CutSuffix(path.Base(file), suffix); ends && path.Dir(file) == directory {
			names = append(names, name)
		}
	}
	return names
}

// pickFiles are those at the given paths.
func (t Tree) pickFiles(paths []string) []host.File {
	files := make([]host.File, 0, len(paths))
	for _, path := range paths {
		files = append(files, t[path])
	}
	return files
}

// Changes lists what differs between two trees: paths to write (new or other content) and paths to remove,
// each sorted.
func (t Tree) Changes(next Tree) (write, remove []string) {
	for path, file := range next {
		if old, ok := t[path]; !ok || !sameFile(old, file) {
			write = append(write, path)
		}
	}
	for path := range t {
		if _, ok := next[path]; !ok {
			remove = append(remove, path)
		}
	}
	slices.Sort(write)
	slices.Sort(remove)
	return write, remove
}

// changesNotes says whether two trees differ, and in nothing but what cut takes from the contents of files; cut may be nil.
func (t Tree) changesNotes(next Tree, cut func([]byte) []byte) bool {
	write, remove := t.Changes(next)
	if cut == nil || len(write) == 0 || len(remove) > 0 {
		return false
	}
	return !slices.ContainsFunc(write, func(path string) bool {
		old, there := t[path]
		return !there || !sameAccess(old, next[path]) || !bytes.Equal(cut(old.Content), cut(next[path].Content))
	})
}

// sameFile says whether two files are equal in content, permissions and owner.
func sameFile(a, b host.File) bool { return bytes.Equal(a.Content, b.Content) && sameAccess(a, b) }

func sameAccess(a, b host.File) bool {
	owner, group := a.Account()
	otherOwner, otherGroup := b.Account()
	return a.Perm() == b.Perm() && owner == otherOwner && group == otherGroup
}

// restoreOriginal makes each file the original again that an edit brought back to its original content, or to that with a newline at its
// end, which parts behind it needed: with its mode and owner as well. An edit that puts a password into a file takes the file from the
// eyes of others, and the one that takes the password out does not know who could read it before.
func (t Tree) restoreOriginal(before, original Tree) {
	for path, file := range t {
		first, ok := original[path]
		if ok && sameLines(file.Content, first.Content) && !bytes.Equal(file.Content, before[path].Content) {
			t[path] = first
		}
	}
}

// sameLines says whether a file is an original, or one with the newline at its end that the original lacks.
func sameLines(content, original []byte) bool {
	return bytes.Equal(content, original) || bytes.Equal(bytes.TrimSuffix(content, []byte("\n")), original) && !bytes.HasSuffix(original, []byte("\n"))
}
