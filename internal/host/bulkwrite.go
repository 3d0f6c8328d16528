package host

import (
	"archive/tar"
	"bytes"
	"context"
	_ "embed"
	"encoding/base64"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
)

// treeWriter is a Host that writes many files in its own way, as one in memory does.
type treeWriter interface {
	WriteAll(ctx context.Context, root string, files []File) error
}

// exitNoTar is how writeScript says that the machine has no tar.
const exitNoTar = 45

// writeScript writes the files of its input below a directory.
//
//go:embed write_tree.sh
var writeScript string

// The forms of writeScript's input.
const (
	formTar   = "tar"
	formLines = "lines"
)

// WriteAll writes files below a directory on the machine, each at root + its path, with its mode and owner:
// one round trip. Missing directories are made for root alone, and no file is ever readable by more than its mode says:
// they can hold passwords. It is meant for a staging directory: a file is not replaced atomically, does not outlive a
// power cut, and after an error some may be written and some not.
func WriteAll(ctx context.Context, h Host, root string, files []File) error {
	if w, ok := h.(treeWriter); ok {
		return w.WriteAll(ctx, root, files)
	}
	if err := checkPath(root); err != nil {
		return err
	}
	var accounts []string
	for _, f := range files {
		if _, err := f.checkOwner(); err != nil {
			return err
		}
		owner, group := f.Account()
		if owner != "root" {
			accounts = append(accounts, "u:"+owner)
		}
		if group != "root" {
			accounts = append(accounts, "g:"+group)
		}
	}
	slices.Sort(accounts)
	args := append([]string{root}, slices.Compact(accounts)...)

	name := fmt.Sprintf("write %d files below %s", len(files), root)
	archive, err := tarOf(files)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	cmd := ScriptWithInput(name, writeScript, archive, append([]string{formTar}, args...)...)
	cmd.Repeatable = true
	_, err = h.Run(ctx, cmd)
	var exit *ExitError
	if errors.As(err, &exit) && exit.Code == exitNoTar {
		cmd := ScriptWithInput(name, writeScript, linesOf(files), append([]string{formLines}, args...)...)
		cmd.Repeatable = true
		_, err = h.Run(ctx, cmd)
	}
	return err
}

func tarOf(files []File) ([]byte, error) {
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	for _, f := range files {
		owner, group := f.Account()
		err := w.WriteHeader(&tar.Header{
			Typeflag: tar.TypeReg, Name: strings.TrimPrefix(f.Path, "/"), Size: int64(len(f.Content)),
			Mode: int64(f.Perm()), Uname: owner, Gname: group,
		})
		if err != nil {
			return nil, err
		}
		if _, err := w.Write(f.Content); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return buf.Bytes(), err
}

func linesOf(files []File) []byte {
	var buf bytes.Buffer
	encode := base64.StdEncoding.EncodeToString
	for _, f := range files {
		owner, group := f.Account()
		fmt.Fprintf(&buf, "%s %s:%s %s\n%s\n", formatMode(f.Perm()), owner, group,
			encode([]byte(strings.TrimPrefix(path.Clean(f.Path), "/"))), encode(f.Content))
	}
	return buf.Bytes()
}
