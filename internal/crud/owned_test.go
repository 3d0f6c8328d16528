package crud_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// Every store that has a claim finishes its marks, and has the claim written once its mark stands on the machine: crud does nothing for
// one that lacks either, without a word, and what that makes is lost by a failure, or taken by another run.
func TestEveryStoreWithAClaimFinishesItsMarks(t *testing.T) {
	t.Parallel()
	type store struct{ claims, finishes bool }
	stores, written := map[string]store{}, map[string]bool{}
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || filepath.Base(filepath.Dir(path)) == "owner" {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		dir := filepath.Dir(path)
		for _, decl := range file.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok || f.Recv == nil {
				continue
			}
			name := dir + "." + receiverOf(f.Recv.List[0].Type)
			s := stores[name]
			s.claims, s.finishes = s.claims || f.Name.Name == "Claim", s.finishes || f.Name.Name == "FinishMark"
			stores[name] = s
			ast.Inspect(f.Body, func(n ast.Node) bool {
				if call, ok := n.(*ast.SelectorExpr); ok && call.Sel.Name == "Written" {
					written[dir] = true
				}
				return true
			})
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for name, s := range stores {
		if !s.claims {
			continue
		}
		found++
		if dir, _, _ := cutLast(name); !s.finishes || !written[dir] {
			t.Errorf("%s has a claim; it finishes its marks: %v, and says when they are written: %v", name, s.finishes, written[dir])
		}
	}
	if found < 8 {
		t.Errorf("only %d stores have a claim: the test looks in the wrong place", found)
	}
}

func cutLast(name string) (dir, receiver string, ok bool) {
	i := strings.LastIndexByte(name, '.')
	return name[:i], name[i+1:], i >= 0
}

// receiverOf is the name of a receiver's type, without its parameters.
func receiverOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiverOf(e.X)
	case *ast.IndexExpr:
		return receiverOf(e.X)
	case *ast.IndexListExpr:
		return receiverOf(e.X)
	case *ast.Ident:
		return e.Name
	}
	return "?"
}
