package host

import (
	"go/ast"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
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

// longestInGo is how many ends of lines a script in a Go string may have.
const longestInGo = 2

// TestNoLongScriptIsInAGoString looks through the project's sources but for those that are there for tests: what a shell is given as a script
// is embedded where it has more than a few lines, so that ShellCheck reads it, and a test finds it.
func TestNoLongScriptIsInAGoString(t *testing.T) {
	t.Parallel()
	found := 0
	for dir, p := range readSources(t) {
		if strings.HasSuffix(dir, "test") { // acctest, hosttest and so on
			continue
		}
		for _, f := range p.files {
			ast.Inspect(f.syntax, func(n ast.Node) bool {
				for _, script := range scriptsOf(n) {
					found++
					if lines := p.linesInGo(script); lines > longestInGo {
						t.Errorf("%s:%d has a script of %d lines in a Go string: embed a file", f.path, f.line(script.Pos()), lines)
					}
				}
				return true
			})
		}
	}
	if found < 40 {
		t.Errorf("only %d scripts were found: the test looks at the wrong place", found)
	}
}

// scriptsOf returns what a node gives to a shell as a script: the second argument of Script, and what follows "-c" in a list.
func scriptsOf(n ast.Node) []ast.Expr {
	var list []ast.Expr
	switch n := n.(type) {
	case *ast.CallExpr:
		if name := nameOf(n.Fun); (name == "Script" || name == "ScriptWithInput") && len(n.Args) > 1 {
			return n.Args[1:2]
		}
		list = n.Args
	case *ast.CompositeLit:
		list = n.Elts
	}
	for i, e := range list {
		if option, ok := e.(*ast.BasicLit); ok && option.Value == `"-c"` && i+1 < len(list) {
			return list[i+1 : i+2]
		}
	}
	return nil
}

// linesInGo returns how many ends of lines of a script are in Go strings; a variable of another package counts for nothing.
func (p *sources) linesInGo(e ast.Expr) int {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, _ := strconv.Unquote(e.Value)
		return strings.Count(text, "\n")
	case *ast.BinaryExpr:
		return p.linesInGo(e.X) + p.linesInGo(e.Y)
	case *ast.CallExpr: // such as failpoint.Arm, or fmt.Sprintf
		lines := 0
		for _, a := range e.Args {
			lines += p.linesInGo(a)
		}
		return lines
	case *ast.Ident:
		if value, ok := p.texts[e.Name]; ok {
			return p.linesInGo(value)
		}
	}
	return 0
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
