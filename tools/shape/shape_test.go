package main

import (
	"go/token"
	"slices"
	"strings"
	"testing"
)

func TestWordsOfNamesAreCounted(t *testing.T) {
	for name, want := range map[string]int{"": 0, "read": 1, "SSH": 1, "readFile": 2, "parseMAC": 2, "HTTPServer": 2, "toURLPath": 3, "a_b": 2, "address4": 1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := countWords(name); got != want {
				t.Errorf("%d words, not %d", got, want)
			}
		})
	}
}

// sample are files with everything that is counted, and beside each what only looks like it.
var sample = map[string]string{
	"internal/acctest/run.go":        "package acctest\n",
	"internal/plan/ledger/ledger.go": "package ledger\n",
	"internal/crud/plan.go": `package crud

import "example/internal/plan/ledger"

func main() { helper() }

func helper() {}

func (s Store) Read() {}

func writeFile() { _ = plan.Use{} }
`,
	"internal/crud/plan_test.go": `package crud

import "example/internal/plan/ledger"

func once() {}
`,
	"internal/virt/machine/apply.go": `package machine

func applyHardware(m Machine) {
	x := Hardware{MemoryMiB: m.MemoryMiB}
	y := x
	if m.MemoryMiB > 0 && m.RNG {
		y.MemoryMiB = m.MemoryMiB
	}
	keep(&x.MemoryMiB, 1)
}

func fillModel(m Machine) { m.MemoryMiB = x.MemoryMiB }
`,
	"internal/virt/machine/apply_test.go": `package machine

var table = []string{"a", "b"}

func TestOne(t *testing.T) {
	for _, c := range table {
		t.Error(c)
	}
	for _, c := range table {
		t.Run(c, func(t *testing.T) {
			for _, d := range []int{1, 2} {
				t.Error(d)
			}
		})
	}
	for _, c := range []string{"alone"} {
		t.Error(c)
	}
	for _, c := range table {
		prepare(c)
	}
	for _, c := range table {
		if !strings.Contains(text, c) {
			t.Error(c)
		}
	}
	for i, c := range table {
		if strings.Contains(render(i), c) {
			t.Error(c)
		}
	}
	for _, c := range table {
		if strings.Contains(render(c), "x") {
			t.Error(c)
		}
	}
}

func TestAccTwo(t *testing.T) {
	for _, c := range table {
		t.Error(c)
	}
	for c, d := range map[string]int{"a": 1, "b": 2} {
		t.Error(c, d)
	}
}
`,
}

func readSample(t *testing.T) []file {
	t.Helper()
	var files []file
	set := token.NewFileSet()
	for name, text := range sample {
		f, err := parseFile(set, name, []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	return files
}

func TestFiguresOfASampleAreCounted(t *testing.T) {
	for name, c := range map[string]struct {
		count  func([]file) figure
		says   string
		places []string
	}{
		"lines": {countLines, "lines outside tests: 25, 1 of them of what tests and tools are made of", []string{
			"12 internal/virt/machine", "11 internal/crud", "1 internal/acctest", "1 internal/plan/ledger",
		}},
		"names":      {countOneWordNames, "one-word names of functions: 16.7 % (1 of 6)", []string{"internal/crud/plan.go:7: helper"}},
		"importers":  {findImporters, "importers of the plan's ledger: 1, of planregistry: 0", []string{"internal/crud imports internal/plan/ledger"}},
		"attributes": {findAttributeFiles, "files with a hardware attribute of a node (rng): 1", []string{"internal/virt/machine/apply.go"}},
		"handovers": {findHandovers, "memory_mib is handed on from the configuration to libvirt: 3 times", []string{
			"internal/virt/machine/apply.go:4: applyHardware", "internal/virt/machine/apply.go:7: applyHardware", "internal/virt/machine/apply.go:9: applyHardware",
		}},
		"tables": {findTables, "table-driven tests without t.Run: 4", []string{
			"internal/virt/machine/apply_test.go:6: TestOne", "internal/virt/machine/apply_test.go:27: TestOne", "internal/virt/machine/apply_test.go:32: TestOne",
			"internal/virt/machine/apply_test.go:43: TestAccTwo",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := c.count(readSample(t))
			if got.text != c.says || !slices.Equal(got.places, c.places) {
				t.Errorf("%s\n%s", got.text, strings.Join(got.places, "\n"))
			}
		})
	}
}
