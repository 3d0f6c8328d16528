package host

import (
	"archive/tar"
	"bufio"
	"bytes"
	"context"
	_ "embed"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// globReader is a Host that reads many files in its own way, as one in memory does.
type globReader interface {
	ReadGlobs(ctx context.Context, globs []string) (map[string]File, error)
}

// globsScript prints every regular file that matches one of the patterns: as a tar archive, or as lines of base64.
//
//go:embed globs.sh
var globsScript string

// ReadGlobs returns every regular file that matches one of the shell patterns, by path, in one round trip.
// A link is read as the file that it leads to. No match is no error.
func ReadGlobs(ctx context.Context, h Host, globs []string) (map[string]File, error) {
	if r, ok := h.(globReader); ok {
		return r.ReadGlobs(ctx, globs)
	}
	if len(globs) == 0 {
		return map[string]File{}, nil
	}
	cmd := RepeatableScript("read "+strings.Join(globs, " "), globsScript, globs...)
	for attempt := 1; ; attempt++ {
		out, err := h.Run(ctx, cmd)
		var exit *ExitError
		if errors.As(err, &exit) && attempt < 3 {
			continue // a file that vanished or grew while it was read; the next look sees the new state
		}
		if err != nil {
			return nil, err
		}
		files, err := parseFiles(out)
		if err != nil {
			return nil, fmt.Errorf("%s on %s: %w", cmd, h, err)
		}
		return files, nil
	}
}

func parseFiles(out []byte) (map[string]File, error) {
	form, rest, _ := bytes.Cut(out, []byte("\n"))
	switch string(form) {
	case "tar":
		return parseTar(rest)
	case "lines":
		return parseLines(rest)
	}
	return nil, fmt.Errorf("unexpected answer %.80q", out)
}

// parseTar reads regular files. What they hold together is no longer than the archive: one that says so is made up of holes (GNU's sparse
// files), which take nothing in an archive and all of a reader's memory.
func parseTar(archive []byte) (map[string]File, error) {
	files := map[string]File{}
	left := int64(len(archive))
	for r := tar.NewReader(bytes.NewReader(archive)); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files, nil
		}
		if err != nil {
			return nil, err
		}
		if header.Typeflag != tar.TypeReg {
			return nil, fmt.Errorf("%.200q is no regular file, but of tar's type %q", header.Name, header.Typeflag)
		}
		if left -= header.Size; left < 0 {
			return nil, fmt.Errorf("%.200q is said to have %d bytes, more than the archive", header.Name, header.Size)
		}
		content, err := io.ReadAll(r)
		if err != nil {
			return nil, err
		}
		files[header.Name] = File{
			Path: header.Name, Content: content, Mode: fs.FileMode(header.Mode).Perm(),
			Owner: nameOrNumber(header.Uname, header.Uid), Group: nameOrNumber(header.Gname, header.Gid),
		}
	}
}

// nameOrNumber returns a name, or the number of an account that has none.
func nameOrNumber(name string, id int) string {
	if name == "" {
		return strconv.Itoa(id)
	}
	return name
}

// accountNumber returns the number that stands for an account without a name, as nameOrNumber makes it. A machine has files of such accounts
// where a package or a user was removed, or where they were unpacked from an archive that another machine made.
func accountNumber(account string) (id int, isNumber bool) {
	id, err := strconv.Atoi(account)
	return id, err == nil
}

// parseLines reads pairs of lines: "base64(path LF) mode owner:number group:number", and base64 of the content.
func parseLines(text []byte) (map[string]File, error) {
	files := map[string]File{}
	r := bufio.NewReader(bytes.NewReader(text))
	for {
		head, err := r.ReadString('\n')
		if errors.Is(err, io.EOF) && head == "" {
			return files, nil
		}
		body, err2 := r.ReadString('\n')
		if err := errors.Join(err, err2); err != nil {
			return nil, err
		}
		file, err := parseLine(strings.Fields(head), strings.TrimSuffix(body, "\n"))
		if err != nil {
			return nil, err
		}
		files[file.Path] = file
	}
}

func parseLine(head []string, body string) (File, error) {
	if len(head) != 4 {
		return File{}, fmt.Errorf("unexpected answer %.80q", head)
	}
	name, err := base64.StdEncoding.DecodeString(head[0])
	if err != nil {
		return File{}, err
	}
	mode, err := strconv.ParseUint(head[1], 8, 32)
	if err != nil {
		return File{}, err
	}
	content, err := base64.StdEncoding.DecodeString(body)
	if err != nil {
		return File{}, err
	}
	return File{
		Path: strings.TrimSuffix(string(name), "\n"), Content: content,
		Mode: fs.FileMode(mode).Perm(), Owner: parseAccount(head[2]), Group: parseAccount(head[3]),
	}, nil
}

// parseAccount returns the name of "name:number", or the number where stat knows no name.
func parseAccount(text string) string {
	name, number, _ := strings.Cut(text, ":")
	if name == "UNKNOWN" {
		return number
	}
	return name
}

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
		if _, isNumber := accountNumber(owner); !isNumber && owner != "root" {
			accounts = append(accounts, "u:"+owner)
		}
		if _, isNumber := accountNumber(group); !isNumber && group != "root" {
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
		header := tar.Header{
			Typeflag: tar.TypeReg, Name: strings.TrimPrefix(f.Path, "/"), Size: int64(len(f.Content)),
			Mode: int64(f.Perm()), Uname: owner, Gname: group,
		}
		if id, isNumber := accountNumber(owner); isNumber {
			header.Uid, header.Uname = id, ""
		}
		if id, isNumber := accountNumber(group); isNumber {
			header.Gid, header.Gname = id, ""
		}
		if err := w.WriteHeader(&header); err != nil {
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
