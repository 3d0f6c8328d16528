package network

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What networks of other programs and people have, as libvirt has it, and no attribute says: of all else there is nothing to be told.
func TestWhatOfANetworkIsNotModelledIsListed(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../peer/testdata/*/networks/*.xml")
	if err != nil || len(files) == 0 {
		t.Fatalf("there is no network: %v", err)
	}
	var b strings.Builder
	for _, name := range []string{"bridge", "foreign", "full", "isolated", "nat", "route6"} {
		files = append(files, "testdata/"+name+".xml")
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		d, err := Parse(string(text))
		if err != nil {
			t.Fatal(err)
		}
		all, err := listUnmodelled(string(text), d)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(&b, file)
		for _, u := range all {
			fmt.Fprintf(&b, "  %s: %s\n", u.Place, u.What)
		}
	}
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile("testdata/leftover.txt", []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("testdata/leftover.txt")
	if err != nil || b.String() != string(want) {
		t.Errorf("%v; it lists\n%s", err, b.String())
	}
}
