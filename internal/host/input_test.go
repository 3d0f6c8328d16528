package host

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// takesInput finds a command of a script that writes the script's standard input to a file.
var takesInput = regexp.MustCompile(`(?m)(?:^|[;&|({]|\b(?:then|do|else))[ \t]*(?:(?:cat|tee)[ \t]*(?:-[ \t]*)?>{1,2}[^\n<]*$|(?:dd|tee|head -c|install /dev/stdin)\b[^|\n<]*$)`)

// TestNoCommandHasAnInputButByScriptWithInput looks through the project's sources: what gives a command an input sends its length and sum
// along, and no script takes what nobody has proven to be whole.
func TestNoCommandHasAnInputButByScriptWithInput(t *testing.T) {
	scripts, inputs := 0, 0
	for _, p := range readSources(t) {
		for _, f := range p.files {
			if filepath.Base(f.path) == "input.go" && f.syntax.Name.Name == "host" {
				continue // where ScriptWithInput is
			}
			ast.Inspect(f.syntax, func(n ast.Node) bool {
				if at, ok := setsInput(n); ok && !f.imports("os/exec") && !f.imports("golang.org/x/crypto/ssh") {
					t.Errorf("%s:%d gives a command an input without its length and sum: use ScriptWithInput", f.path, f.line(at))
				}
				call, ok := n.(*ast.CallExpr)
				if !ok || len(call.Args) < 2 {
					return true
				}
				switch nameOf(call.Fun) {
				case "ScriptWithInput":
					inputs++
				case "Script":
					scripts++
					if found := takesInput.FindString(p.text(call.Args[1])); found != "" {
						t.Errorf("%s:%d runs a script that writes its input to a file, %q: use ScriptWithInput", f.path, f.line(call.Pos()), strings.TrimSpace(found))
					}
				}
				return true
			})
		}
	}
	if scripts < 30 || inputs < 6 {
		t.Errorf("only %d scripts and %d inputs were found: the test looks at the wrong place", scripts, inputs)
	}
}

// TestTheSearchFindsScriptsThatTakeTheirInput holds the pattern to what it is for.
func TestTheSearchFindsScriptsThatTakeTheirInput(t *testing.T) {
	for script, takes := range map[string]bool{
		"set -eu\ncat >\"$new\"\nmv \"$new\" \"$1\"":      true,
		"umask 077; cat > $1 && mv $1 $2":                 true,
		"if x; then cat >>\"$1\"; fi":                     true,
		"dd of=\"$1\"":                                    true,
		"tee \"$1\" >/dev/null":                           true,
		"head -c \"$2\" >\"$1\"":                          true,
		"cat >\"$1\" <<END\nx\nEND":                       false,
		"cat \"$1\" >\"$2\"":                              false,
		"printf x | cat >\"$1\"":                          true, // rather one too many
		"sed -n p \"$1\" | head -c 4 -- \"$1\" | wc -c":   false,
		"out=$(cat \"$1\"); printf '%s' \"$out\" >\"$2\"": false,
	} {
		if got := takesInput.MatchString(script); got != takes {
			t.Errorf("%q: %t", script, got)
		}
	}
}

// readSources reads the project's packages, without their tests.
func readSources(t *testing.T) map[string]*sources {
	t.Helper()
	packages := map[string]*sources{}
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		dir := filepath.Dir(path)
		if packages[dir] == nil {
			packages[dir] = &sources{texts: map[string]ast.Expr{}, embedded: map[string]string{}}
		}
		return packages[dir].read(path)
	})
	if err != nil {
		t.Fatal(err)
	}
	return packages
}

// sources are a package's files, and what texts and embedded files its names stand for.
type sources struct {
	files    []*source
	texts    map[string]ast.Expr
	embedded map[string]string
}

type source struct {
	path   string
	set    *token.FileSet
	syntax *ast.File
}

func (p *sources) read(path string) error {
	set := token.NewFileSet()
	syntax, err := parser.ParseFile(set, path, nil, parser.ParseComments)
	if err != nil {
		return err
	}
	p.files = append(p.files, &source{path: path, set: set, syntax: syntax})
	for _, d := range syntax.Decls {
		general, ok := d.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, s := range general.Specs {
			value, ok := s.(*ast.ValueSpec)
			if !ok {
				continue
			}
			for i, v := range value.Values {
				p.texts[value.Names[i].Name] = v
			}
			for _, doc := range []*ast.CommentGroup{general.Doc, value.Doc} {
				if doc == nil {
					continue
				}
				for _, line := range doc.List {
					if name, ok := strings.CutPrefix(line.Text, "//go:embed "); ok {
						text, err := os.ReadFile(filepath.Join(filepath.Dir(path), name))
						if err != nil {
							continue // a directory, or a pattern
						}
						p.embedded[value.Names[0].Name] = string(text)
					}
				}
			}
		}
	}
	return nil
}

// text is what an expression stands for, as far as it is put together of the package's texts.
func (p *sources) text(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, _ := strconv.Unquote(e.Value)
		return text
	case *ast.BinaryExpr:
		return p.text(e.X) + p.text(e.Y)
	case *ast.Ident:
		if text, ok := p.embedded[e.Name]; ok {
			return text
		}
		if value, ok := p.texts[e.Name]; ok {
			return p.text(value)
		}
	}
	return ""
}

func (f *source) line(at token.Pos) int { return f.set.Position(at).Line }

func (f *source) imports(path string) bool {
	for _, i := range f.syntax.Imports {
		if i.Path.Value == strconv.Quote(path) {
			return true
		}
	}
	return false
}

// setsInput says whether a node gives something's Stdin a value.
func setsInput(n ast.Node) (token.Pos, bool) {
	switch n := n.(type) {
	case *ast.AssignStmt:
		for _, left := range n.Lhs {
			if s, ok := left.(*ast.SelectorExpr); ok && s.Sel.Name == "Stdin" {
				return n.Pos(), true
			}
		}
	case *ast.CompositeLit:
		for _, e := range n.Elts {
			if kv, ok := e.(*ast.KeyValueExpr); ok && nameOf(n.Type) == "Cmd" && nameOf(kv.Key) == "Stdin" {
				return kv.Pos(), true
			}
		}
	}
	return token.NoPos, false
}

func nameOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	}
	return ""
}
