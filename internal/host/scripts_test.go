package host

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// firstLine tells ShellCheck (tools/lint) what kind of script it is.
var firstLine = regexp.MustCompile(`\A(?:# shellcheck shell=|#!/bin/)(sh|bash)\n# \S`)

// TestEveryScriptIsEmbeddedAndNamedByATest looks through the project's sources: each script beside them says by its first line which shell
// is to read it, and then what it does; that shell can read it; a Go file embeds it; and the test that runs it has its name or that
// of the variable (xScript), as a test of its directory or of one below, or its name behind that of the directory.
func TestEveryScriptIsEmbeddedAndNamedByATest(t *testing.T) {
	t.Parallel()
	scripts, sources, tests := []string{}, map[string][]byte{}, map[string][]byte{}
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.Name() == "testdata":
			return fs.SkipDir
		case strings.HasSuffix(path, ".sh"):
			scripts = append(scripts, path)
		case strings.HasSuffix(path, "_test.go") && path != "../host/scripts_test.go":
			tests[path], err = os.ReadFile(path)
		case strings.HasSuffix(path, ".go"):
			sources[path], err = os.ReadFile(path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, script := range scripts {
		t.Run(strings.TrimPrefix(script, "../"), func(t *testing.T) {
			t.Parallel()
			dir, name := filepath.Split(script)
			text, err := os.ReadFile(script)
			if err != nil {
				t.Fatal(err)
			}
			shell := firstLine.FindSubmatch(text)
			if shell == nil {
				t.Fatal(`it begins neither with "# shellcheck shell=sh" nor with "#!/bin/sh", or no comment follows`)
			}
			if out, err := exec.Command(shellOf(string(shell[1])), "-n", script).CombinedOutput(); err != nil {
				t.Errorf("no script of %s: %v: %s", shell[1], err, out)
			}
			variable := variableOf(dir, name, sources)
			if variable == "" {
				t.Error("no Go file of its directory embeds it")
			}
			if !isNamed(dir, name, variable, tests) {
				t.Errorf("no test names it: run it by one of its directory, and have its name %q or that of its variable there", name)
			}
		})
	}
	if len(scripts) < 20 {
		t.Errorf("only %d scripts were found: the test looks at the wrong place", len(scripts))
	}
}

// shellOf returns the program for a kind of script: dash, where it is installed, as it has little that POSIX does not.
func shellOf(kind string) string {
	if path, err := exec.LookPath("dash"); kind == "sh" && err == nil {
		return path
	}
	return kind
}

// variableOf returns the name of the variable that has a script, "" where none of its directory does.
func variableOf(dir, name string, sources map[string][]byte) string {
	embed := regexp.MustCompile(`//go:embed ` + regexp.QuoteMeta(name) + `\n\s*(?:var )?(\w+) string`)
	for path, source := range sources {
		if found := embed.FindSubmatch(source); found != nil && filepath.Dir(path) == filepath.Clean(dir) {
			return string(found[1])
		}
	}
	return ""
}

// isNamed says whether a test below the directory has a script's name or that of its variable as a word, or any other test has the script's
// behind that of the directory.
func isNamed(dir, name, variable string, tests map[string][]byte) bool {
	word := func(text string) *regexp.Regexp {
		return regexp.MustCompile(`(?:^|[^\w.-])` + regexp.QuoteMeta(text) + `\b`)
	}
	own, embedded, any := word(name), word(variable), word(filepath.Join(filepath.Base(dir), name))
	for path, text := range tests {
		below := strings.HasPrefix(path, dir)
		if any.Match(text) || below && (own.Match(text) || strings.HasSuffix(variable, "Script") && embedded.Match(text)) {
			return true
		}
	}
	return false
}
