package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// forTests are directories of what tests and whoever works on the project use, and no provider has.
var forTests = []string{"internal/acctest", "internal/goldentest", "internal/host/hosttest", "internal/service/haproxy/haproxytest", "test", "tools"}

// countLines counts the lines outside tests, and lists them by subsystem, the largest first.
func countLines(files []file) figure {
	all, support, by := 0, 0, map[string]int{}
	for _, f := range files {
		if f.isTest() {
			continue
		}
		all += f.lines
		if f.isIn(forTests...) {
			support += f.lines
		}
		parts := strings.Split(path.Dir(f.path), "/")
		by[strings.Join(parts[:min(len(parts), 3)], "/")] += f.lines
	}
	names := slices.SortedFunc(maps.Keys(by), func(a, b string) int { return cmp.Or(cmp.Compare(by[b], by[a]), strings.Compare(a, b)) })
	for i, name := range names {
		names[i] = fmt.Sprintf("%d %s", by[name], name)
	}
	return figure{fmt.Sprintf("lines outside tests: %d, %d of them of what tests and tools are made of", all, support), names}
}

// countOneWordNames counts functions and methods outside tests whose name is one word, as a share of all of them. Exported ones are not
// counted as such: they are read with the package or the value that they belong to (bind.Render, store.Create), and many are the names
// that an interface of the framework or of the standard library demands (Schema, Error, String). Nor are main and init, which Go names.
func countOneWordNames(files []file) figure {
	all := 0
	var places []string
	for _, f := range files {
		if f.isTest() {
			continue
		}
		for _, d := range f.syntax.Decls {
			function, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			all++
			if name := function.Name; !name.IsExported() && name.Name != "main" && name.Name != "init" && countWords(name.Name) == 1 {
				places = append(places, f.describePlace(function, name.Name))
			}
		}
	}
	return figure{fmt.Sprintf("one-word names of functions: %.1f %% (%d of %d)", 100*float64(len(places))/float64(max(all, 1)), len(places), all), places}
}

// countWords counts the words of a name in mixed caps; capitals in a row are one word, with the small letters behind the last one another.
func countWords(name string) int {
	runes := []rune(name)
	words := min(len(runes), 1)
	for i := 1; i < len(runes); i++ {
		begins := unicode.IsUpper(runes[i]) && (!unicode.IsUpper(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1]))
		if begins || runes[i] == '_' {
			words++
		}
	}
	return words
}

// ledgers are the packages that keep what one plan holds: plan/ledger what its resources use, planregistry the little that is no use.
var ledgers = []string{"internal/plan/ledger", "internal/planregistry"}

// findImporters finds the packages that import one of the plan's ledgers outside tests.
func findImporters(files []file) figure {
	importers, count := map[string]bool{}, map[string]int{}
	for _, f := range files {
		if f.isTest() || f.isIn(ledgers...) {
			continue
		}
		for _, i := range f.syntax.Imports {
			imported, _ := strconv.Unquote(i.Path.Value)
			for _, ledger := range ledgers {
				place := path.Dir(f.path) + " imports " + ledger
				if strings.HasSuffix(imported, "/"+ledger) && !importers[place] {
					importers[place] = true
					count[ledger]++
				}
			}
		}
	}
	places := slices.Sorted(maps.Keys(importers))
	return figure{fmt.Sprintf("importers of the plan's ledger: %d, of planregistry: %d", count[ledgers[0]], count[ledgers[1]]), places}
}

// nodeDirectories is what a hardware attribute of a node goes through.
var nodeDirectories = []string{"internal/resources/node", "internal/virt/machine"}

// A sibling of memory_mib of which nothing special is known: what it takes is what the next attribute of the hardware would take.
const attribute, field = "rng", "RNG"

// findAttributeFiles finds the files outside tests that name such an attribute, as its field or as the attribute.
func findAttributeFiles(files []file) figure {
	var places []string
	for _, f := range files {
		if f.isTest() || !f.isIn(nodeDirectories...) {
			continue
		}
		named := false
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.Ident:
				named = named || n.Name == field
			case *ast.BasicLit:
				named = named || n.Value == strconv.Quote(attribute)
			}
			return !named
		})
		if named {
			places = append(places, f.path)
		}
	}
	return figure{fmt.Sprintf("files with a hardware attribute of a node (%s): %d", attribute, len(places)), places}
}

// findHandovers counts how often a node's memory_mib is handed on, on its way from the configuration to libvirt when a node is created: each
// field of a literal, assignment, or call that does nothing else, in which MemoryMiB is read. What brings it back (functions that fill,
// read, get or choose), what only compares or checks it, and what only an update does are not part of the way; they are told by the
// verb that a function's name begins with. Where it stays in a value that is passed on whole, it does not climb.
func findHandovers(files []file) figure {
	var places []string
	for _, f := range files {
		if f.isTest() || !f.isIn(nodeDirectories...) {
			continue
		}
		for _, d := range f.syntax.Decls {
			function, ok := d.(*ast.FuncDecl)
			if !ok || function.Body == nil || besideCreate(function.Name.Name) {
				continue
			}
			ast.Inspect(function.Body, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.IfStmt: // what it asks hands nothing on
					return true
				case *ast.AssignStmt:
					if slices.ContainsFunc(n.Rhs, readsMemory) {
						places = append(places, f.describePlace(n, function.Name.Name))
						return false
					}
				case *ast.KeyValueExpr:
					if _, composed := n.Value.(*ast.CompositeLit); !composed && readsMemory(n.Value) {
						places = append(places, f.describePlace(n, function.Name.Name))
						return false
					}
				case *ast.ExprStmt:
					if call, ok := n.X.(*ast.CallExpr); ok && slices.ContainsFunc(call.Args, passesMemory) {
						places = append(places, f.describePlace(n, function.Name.Name))
						return false
					}
				}
				return true
			})
		}
	}
	return figure{fmt.Sprintf("memory_mib is handed on from the configuration to libvirt: %d times", len(places)), places}
}

// besideCreate says that a function is not on the way of a value from a configuration to what is created.
func besideCreate(name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc([]string{"fill", "read", "get", "choose", "compare", "check", "validate", "update", "resize"}, func(verb string) bool {
		return strings.HasPrefix(name, verb)
	})
}

// readsMemory says whether an expression has the field in it, other than to name it in a literal.
func readsMemory(e ast.Expr) bool {
	reads := false
	ast.Inspect(e, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CompositeLit:
			return false // its own fields are looked at by themselves
		case *ast.SelectorExpr:
			reads = reads || n.Sel.Name == "MemoryMiB"
		}
		return !reads
	})
	return reads
}

// passesMemory says whether an argument is the field itself, or its address.
func passesMemory(e ast.Expr) bool {
	if address, ok := e.(*ast.UnaryExpr); ok {
		e = address.X
	}
	selector, ok := e.(*ast.SelectorExpr)
	return ok && selector.Sel.Name == "MemoryMiB"
}
