package provider

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A page without a subcategory stands apart from its like in a registry's list: templates/ says which it is in.
func TestEveryPageIsInAGroup(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"resources", "data-sources", "actions"} {
		t.Run(kind, func(t *testing.T) {
			pages, err := filepath.Glob("../../docs/" + kind + "/*.md")
			if err != nil || len(pages) == 0 {
				t.Fatalf("no pages of %s: %v", kind, err)
			}
			for _, page := range pages {
				text, err := os.ReadFile(page)
				if err != nil {
					t.Fatal(err)
				}
				if strings.Contains(string(text), "\nsubcategory: \"\"\n") || !strings.Contains(string(text), "\nsubcategory: \"") {
					t.Errorf("%s is in no group: name its type in templates/%s.md.tmpl", page, kind)
				}
			}
		})
	}
}
