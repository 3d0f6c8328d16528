// Package goldentest compares what tests make with files of testdata.
package goldentest

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

// Compare fails the test unless a file has this text. Where UPDATE_GOLDEN is set it is given it first, to be looked at before it is committed.
func Compare(t *testing.T, file, got string) {
	t.Helper()
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("-%s +got (UPDATE_GOLDEN=1 writes it)\n%s", file, diff)
	}
}

// CompareUnmodelled does so with testdata/leftover.txt and what is listed of each of some files as not modelled, which are libvirt's XML of objects.
func CompareUnmodelled(t *testing.T, files []string, list func(xml string) ([]service.Unmodelled, error)) {
	t.Helper()
	var b strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all, err := list(string(text))
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		fmt.Fprintln(&b, file)
		for _, u := range all {
			fmt.Fprintf(&b, "  %s: %s\n", u.Place, u.What)
		}
	}
	Compare(t, "testdata/leftover.txt", b.String())
}
