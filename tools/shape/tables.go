package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"path"
	"slices"
	"strings"
)

// findTables finds loops of tests over a table, whose cases are no subtests: over two or more elements that are written down, in the
// function or as a variable of the package, with a failure reported inside and no Run. What reports by another function than the test's
// own is not seen. A list of plain values is none in an acceptance test: it says what is asked of one machine after another. Nor are the
// words that are looked for in one text, anywhere: that text is the case.
func findTables(files []file) figure {
	tables := map[string]tableKind{} // DIRECTORY name
	for _, f := range files {
		if f.isTest() {
			for _, d := range f.syntax.Decls {
				noteTables(d, func(name string, kind tableKind) { tables[path.Dir(f.path)+" "+name] = kind })
			}
		}
	}
	var places []string
	for _, f := range files {
		if !f.isTest() {
			continue
		}
		for _, d := range f.syntax.Decls {
			function, ok := d.(*ast.FuncDecl)
			if !ok || function.Body == nil || !strings.HasPrefix(function.Name.Name, "Test") {
				continue
			}
			least := plainList
			if strings.HasPrefix(function.Name.Name, "TestAcc") || strings.HasSuffix(f.path, "_acc_test.go") {
				least = cases
			}
			local := map[string]tableKind{}
			noteTables(function.Body, func(name string, kind tableKind) { local[name] = kind })
			ast.Inspect(function.Body, func(n ast.Node) bool {
				if isSubtest(n) {
					return false // a loop in a case is part of that case
				}
				loop, ok := n.(*ast.RangeStmt)
				if !ok {
					return true
				}
				kind := kindOfTable(loop.X)
				if name, ok := loop.X.(*ast.Ident); ok {
					kind = max(local[name.Name], tables[path.Dir(f.path)+" "+name.Name])
				}
				if kind < least || !reportsFailure(loop.Body) || searchesOneText(loop) {
					return true
				}
				places = append(places, f.describePlace(loop, function.Name.Name))
				return false
			})
		}
	}
	return figure{fmt.Sprintf("table-driven tests without t.Run: %d", len(places)), places}
}

// noteTables notes the variables below a node that are a table.
func noteTables(n ast.Node, note func(name string, kind tableKind)) {
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			return false
		case *ast.ValueSpec:
			for i, name := range n.Names {
				if i < len(n.Values) {
					note(name.Name, kindOfTable(n.Values[i]))
				}
			}
		case *ast.AssignStmt:
			for i, left := range n.Lhs {
				if name, ok := left.(*ast.Ident); ok && n.Tok == token.DEFINE && i < len(n.Rhs) {
					note(name.Name, kindOfTable(n.Rhs[i]))
				}
			}
		}
		return true
	})
}

// tableKind says what an expression is a table of.
type tableKind int

const (
	noTable   tableKind = iota
	plainList           // texts or numbers, written down
	cases               // what goes in and what comes out: a map, or a list of structures or lists
)

// kindOfTable says whether an expression is a list or a map of two elements or more, and of what.
func kindOfTable(e ast.Expr) tableKind {
	literal, ok := e.(*ast.CompositeLit)
	if !ok || len(literal.Elts) < 2 {
		return noTable
	}
	switch literal.Type.(type) {
	case *ast.MapType:
		return cases
	case *ast.ArrayType:
		switch literal.Elts[0].(type) {
		case *ast.CompositeLit:
			return cases
		case *ast.BasicLit:
			return plainList
		}
	}
	return noTable
}

// reportsFailure says whether the body of a loop has a test fail by itself, not in a function that something else calls. One that has
// subtests does not.
func reportsFailure(body *ast.BlockStmt) bool {
	reports, runs := false, false
	ast.Inspect(body, func(n ast.Node) bool {
		runs = runs || isSubtest(n)
		if _, later := n.(*ast.FuncLit); later {
			return false
		}
		if selector, ok := n.(*ast.SelectorExpr); ok && isTest(selector.X) {
			reports = reports || slices.Contains([]string{"Error", "Errorf", "Fatal", "Fatalf", "Fail", "FailNow"}, selector.Sel.Name)
		}
		return true
	})
	return reports && !runs
}

// searchesOneText says whether all that a loop does is to ask whether a text that is the same for all its elements contains them.
func searchesOneText(loop *ast.RangeStmt) bool {
	element, ok := loop.Value.(*ast.Ident)
	if !ok || len(loop.Body.List) != 1 {
		return false
	}
	question, ok := loop.Body.List[0].(*ast.IfStmt)
	if !ok || question.Init != nil || question.Else != nil {
		return false
	}
	condition := question.Cond
	if not, ok := condition.(*ast.UnaryExpr); ok {
		condition = not.X
	}
	call, ok := condition.(*ast.CallExpr)
	if !ok || len(call.Args) != 2 || !isName(call.Args[1], element.Name) {
		return false
	}
	selector, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || !isName(selector.X, "strings") || selector.Sel.Name != "Contains" {
		return false
	}
	same := true
	ast.Inspect(call.Args[0], func(n ast.Node) bool {
		if name, ok := n.(*ast.Ident); ok && (name.Name == element.Name || isName(loop.Key, name.Name)) {
			same = false
		}
		return same
	})
	return same
}

// isSubtest says whether a node is a call of t.Run.
func isSubtest(n ast.Node) bool {
	call, ok := n.(*ast.CallExpr)
	if !ok {
		return false
	}
	selector, ok := call.Fun.(*ast.SelectorExpr)
	return ok && selector.Sel.Name == "Run" && isTest(selector.X)
}

// isTest says whether an expression is what tests are called by everywhere in the project.
func isTest(e ast.Expr) bool { return isName(e, "t") }

func isName(e ast.Expr, name string) bool {
	identifier, ok := e.(*ast.Ident)
	return ok && identifier.Name == name
}
