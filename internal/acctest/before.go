package acctest

import (
	"os"
	"path/filepath"
	"strings"
)

// Restore makes the state one that a version before wrote: a file of the test's, with texts in it replaced by those of this run, as
// strings.NewReplacer takes them.
func (s *State) Restore(file string, texts ...string) {
	s.t.Helper()
	state, err := os.ReadFile(file)
	if err != nil {
		s.t.Fatal(err)
	}
	if registry := os.Getenv("TF_ACC_PROVIDER_HOST"); registry != "" {
		texts = append(texts, "registry.terraform.io", registry)
	}
	if err := os.WriteFile(filepath.Join(s.Dir, "terraform.tfstate"), []byte(strings.NewReplacer(texts...).Replace(string(state))), 0o600); err != nil {
		s.t.Fatal(err)
	}
}
