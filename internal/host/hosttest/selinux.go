package hosttest

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
)

// Labels are the SELinux labels that a stand-in gives to files: the kernels that tests run on need not have SELinux. A label
// belongs to the file itself and not to its name, as a real one does.
type Labels struct{ dir string }

// DefaultLabel is what the stand-in's policy says of every file.
const DefaultLabel = "by_policy_t"

// selinuxCommands are the commands of SELinux that scripts use; $labels is where they keep labels, and id names a file there.
var selinuxCommands = map[string]string{
	"selinuxenabled": "exit 0",
	"chcon": `case $1 in --reference=*) ref=${1#--reference=} ;; *) echo "chcon: $*" >&2; exit 1 ;; esac
[ "$2" = -- ] && [ $# = 3 ] || exit 1
cp "$labels/$(id "$ref")" "$labels/$(id "$3")"`,
	"restorecon": `[ "$1" != -R ] || shift
[ "$1" = -- ] && [ $# = 2 ] || exit 1
find "$2" | while read -r file; do printf by_policy_t >"$labels/$(id "$file")"; done`,
}

// SELinux puts stand-ins for the commands of SELinux first in PATH, for the rest of a test.
func SELinux(t *testing.T) Labels {
	t.Helper()
	bin, l := t.TempDir(), Labels{t.TempDir()}
	for name, script := range selinuxCommands {
		text := "#!/bin/sh\nlabels='" + l.dir + "'\n" + `id() { stat -L -c '%i %w' -- "$1" | tr ' ' _; }` + "\n" + script + "\n"
		if err := os.WriteFile(filepath.Join(bin, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	before := host.Environment
	host.Environment = slices.Clone(before)
	for i, variable := range before {
		if path, ok := strings.CutPrefix(variable, "PATH="); ok {
			host.Environment[i] = "PATH=" + bin + ":" + path
		}
	}
	t.Cleanup(func() { host.Environment = before })
	return l
}

// labelFile is where the label of a file stands.
func (l Labels) labelFile(t *testing.T, path string) string {
	t.Helper()
	out, err := exec.Command("stat", "-L", "-c", "%i %w", "--", path).Output()
	if err != nil {
		t.Fatalf("stat %s: %v", path, err)
	}
	return filepath.Join(l.dir, strings.ReplaceAll(strings.TrimSpace(string(out)), " ", "_"))
}

// Set gives a file a label.
func (l Labels) Set(t *testing.T, path, label string) {
	t.Helper()
	if err := os.WriteFile(l.labelFile(t, path), []byte(label), 0o644); err != nil {
		t.Fatal(err)
	}
}

// Of is a file's label, "" where it never got one.
func (l Labels) Of(t *testing.T, path string) string {
	t.Helper()
	label, _ := os.ReadFile(l.labelFile(t, path))
	return string(label)
}
