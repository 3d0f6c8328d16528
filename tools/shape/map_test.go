package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// quoted is what stands in backquotes and may be a file or a directory.
var quoted = regexp.MustCompile("`([A-Za-z0-9_./*-]+)`")

// TestTheMapNamesWhatIsThere reads the tables of ARCHITECTURE.md. A path is below the root or below internal; a file without a directory is
// in that of the path before it in its row.
func TestTheMapNamesWhatIsThere(t *testing.T) {
	text, err := os.ReadFile("../../ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for row := range strings.Lines(string(text)) {
		if !strings.HasPrefix(row, "| ") {
			continue
		}
		dir := ""
		for _, found := range quoted.FindAllStringSubmatch(row, -1) {
			name := found[1]
			file := strings.HasSuffix(name, ".go") || strings.HasSuffix(name, ".sh")
			switch {
			case strings.Contains(strings.Trim(name, "/"), "/") && !strings.HasPrefix(name, "/"):
				dir = filepath.Join("../..", name)
				if !isThere(dir) {
					dir = filepath.Join("../../internal", name)
				}
				n++
				if !isThere(dir) {
					t.Errorf("%s is not there: %s", name, row)
				}
				if file {
					dir = filepath.Dir(dir)
				}
			case file && dir != "":
				n++
				if !isThere(filepath.Join(dir, name)) {
					t.Errorf("%s is not in %s: %s", name, dir, row)
				}
			}
		}
	}
	if n < 100 {
		t.Errorf("only %d paths were found", n)
	}
}

func isThere(pattern string) bool {
	found, err := filepath.Glob(pattern)
	return err == nil && len(found) > 0
}
