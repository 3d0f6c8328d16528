package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// file is a Go file of the project, by its path below the repository.
type file struct {
	path   string
	lines  int
	syntax *ast.File
	set    *token.FileSet
}

// readFiles reads the Go files that Git knows, and those that it would not ignore.
func readFiles(root string) ([]file, error) {
	cmd := exec.Command("git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard", "*.go")
	cmd.Stderr = os.Stderr
	names, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("list the files of %s: %w", root, err)
	}
	var files []file
	set := token.NewFileSet()
	for name := range strings.SplitSeq(strings.Trim(string(names), "\x00"), "\x00") {
		text, err := os.ReadFile(filepath.Join(root, name))
		if os.IsNotExist(err) {
			continue // removed, and not committed yet
		}
		if err != nil {
			return nil, err
		}
		f, err := parseFile(set, name, text)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	return files, nil
}

func parseFile(set *token.FileSet, name string, text []byte) (file, error) {
	syntax, err := parser.ParseFile(set, name, text, parser.SkipObjectResolution)
	return file{path: name, lines: bytes.Count(text, []byte("\n")), syntax: syntax, set: set}, err
}

func (f file) isTest() bool { return strings.HasSuffix(f.path, "_test.go") }

// isIn says whether the file is in one of some directories, or below it.
func (f file) isIn(directories ...string) bool {
	for _, d := range directories {
		if strings.HasPrefix(f.path, d+"/") {
			return true
		}
	}
	return false
}

// place is where something of the file is.
func (f file) place(n ast.Node, what string) string {
	return fmt.Sprintf("%s:%d: %s", f.path, f.set.Position(n.Pos()).Line, what)
}
