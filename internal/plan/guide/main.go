// Command guide writes the rules of internal/plan into the guide on cross-checks that is its argument.
package main

import (
	"fmt"
	"os"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/plan"
)

func main() {
	if err := writeGuide(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "guide:", err)
		os.Exit(1)
	}
}

func writeGuide(path string) error {
	guide, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	written, err := plan.ReplaceGuide(string(guide))
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return os.WriteFile(path, []byte(written), 0o644) //nolint:gosec // documentation
}
