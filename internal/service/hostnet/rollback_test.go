package hostnet

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/hosttest"
)

// A person's file of interfaces may hold the password of a wireless network.
func TestAFileOfAPersonKeepsItsModeAndOwner(t *testing.T) {
	const path = "/etc/network/interfaces"
	h := hosttest.New(host.File{Path: path, Content: []byte(interfaces), Mode: 0o640, Owner: "root", Group: "netdev"})
	h.On(func(_ context.Context, _ *hosttest.Host, cmd host.Cmd) ([]byte, error) {
		if cmd.Name == "look for stanzas" {
			return []byte(path + "\n"), nil
		}
		return nil, nil
	}, "sh")
	configured := []Setup{{Device: "eth1"}}
	for _, step := range []struct {
		from, to []Setup
		want     string
	}{
		{nil, configured, commentOut(interfaces, "eth1")},
		{configured, nil, interfaces},
	} {
		files, err := ifupdown{}.Files(t.Context(), h, step.from, step.to, mark)
		if err != nil {
			t.Fatal(err)
		}
		if err := (Site{Host: h}).make(t.Context(), stateDir+"/test", files); err != nil {
			t.Fatal(err)
		}
		got := h.Files()[path]
		if string(got.Content) != step.want {
			t.Errorf("the file became\n%s", got.Content)
		}
		if got.Mode != 0o640 || got.Owner != "root" || got.Group != "netdev" {
			t.Errorf("it has mode %o and is %s:%s", got.Mode, got.Owner, got.Group)
		}
	}
}

// The files of a change are written where symbolic links lead, so what is there has to come back, and the links too.
func TestARollbackRestoresWhatLinksLeadTo(t *testing.T) {
	root := t.TempDir()
	at := func(name string) string { return filepath.Join(root, name) }
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	write := func(name, text string, mode os.FileMode) {
		t.Helper()
		check(os.MkdirAll(filepath.Dir(at(name)), 0o755))
		check(os.WriteFile(at(name), []byte(text), mode))
	}
	dir := at("change")
	write("change/undo", "", 0o600)
	write("change/unit", "[Service]\nType=oneshot\n", 0o600)
	write("etc/plain", "plain\n", 0o640)
	write("kept/a %\"target", "linked\n", 0o640)
	write("kept/removed", "stays\n", 0o640)
	for link, target := range map[string]string{"etc/link": "two", "etc/two": at("kept/a %\"target"), "etc/removed": "../kept/removed", "etc/dangling": at("kept/none"), "etc/nowhere": at("none/none")} {
		check(os.Symlink(target, at(link)))
	}
	var files []File
	for _, name := range []string{"etc/plain", "etc/link", "etc/removed", "etc/dangling", "etc/nowhere", "etc/new"} {
		files = append(files, File{Path: at(name)})
	}
	look := func() string {
		t.Helper()
		out, err := exec.Command("sh", "-c", `cd "$1" && find etc kept -printf '%p %y %m %l\n' | sort && grep -r "" kept etc/plain | sort`, "sh", root).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return string(out)
	}
	run := func(script string, args ...string) {
		t.Helper()
		if out, err := exec.Command("sh", append([]string{"-c", script, "sh"}, args...)...).CombinedOutput(); err != nil || len(out) > 0 {
			t.Fatalf("%v: %s", err, out)
		}
	}
	before := look()
	arguments := []string{dir, "unit"}
	for _, f := range files {
		arguments = append(arguments, f.Path)
	}
	run(saveScript, arguments...)
	// As host.Write and host.Remove do.
	for _, name := range []string{"kept/a %\"target", "kept/none", "etc/plain", "etc/new"} {
		_ = os.Remove(at(name))
		write(name, "changed\n", 0o644)
	}
	check(os.Remove(at("etc/removed")))
	if look() == before {
		t.Fatal("nothing changed")
	}
	run(restoreFiles(dir, files))
	if after := look(); after != before {
		t.Errorf("was\n%s\nand became\n%s", before, after)
	}
	unit, err := os.ReadFile(dir + "/unit")
	check(err)
	if want := `RequiresMountsFor="` + root + `/kept/a %%\"target"` + "\n"; !strings.Contains(string(unit), want) {
		t.Errorf("no %s in\n%s", want, unit)
	}
}
