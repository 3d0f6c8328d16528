package hostnet

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

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
	files, err := renderFiles(t.Context(), h, ifupdown{}, Desired{}, Desired{Devices: []Device{{Name: "eth1"}}, Mark: mark})
	if err != nil {
		t.Fatal(err)
	}
	if err := host.WriteAll(t.Context(), h, "/staged", Change{Files: files}.stagedFiles()); err != nil {
		t.Fatal(err)
	}
	got := h.Files()["/staged/new/0"]
	if files[0].Path != path || string(got.Content) != commentOut(interfaces, "eth1") {
		t.Errorf("%s becomes\n%s", files[0].Path, got.Content)
	}
	if got.Mode != 0o640 || got.Owner != "root" || got.Group != "netdev" {
		t.Errorf("it has mode %o and is %s:%s", got.Mode, got.Owner, got.Group)
	}
}

// change is a change in a directory of its own, of files below a root.
type change struct{ root, dir string }

// stage writes a change as Site.arm has it on the machine.
func stage(t *testing.T, c Change) change {
	t.Helper()
	root := t.TempDir()
	s := change{root, filepath.Join(root, "changes", "aaaa")}
	for i := range c.Files {
		c.Files[i].Path = filepath.Join(root, c.Files[i].Path)
	}
	for _, f := range c.stagedFiles() {
		s.write(t, "changes/aaaa"+f.Path, string(f.Content), f.Perm())
	}
	return s
}

func (c change) write(t *testing.T, name, text string, mode os.FileMode) {
	t.Helper()
	at := filepath.Join(c.root, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o755), os.WriteFile(at, []byte(text), mode)); err != nil {
		t.Fatal(err)
	}
}

// run has change.sh do one of its steps.
func (c change) run(verb string) (string, error) {
	out, err := exec.Command("sh", "-c", changeScript, "sh", verb, c.dir).CombinedOutput()
	return string(out), err
}

func (c change) there(name string) bool {
	_, err := os.Lstat(filepath.Join(c.root, name))
	return err == nil
}

// The files of a change are written where symbolic links lead, so what is there has to come back, and the links too.
func TestARollbackRestoresAllThatAChangeWrites(t *testing.T) {
	c := stage(t, Change{Files: []File{
		{Path: "etc/plain", Content: "changed\n"}, {Path: "etc/link", Content: "changed\n"}, {Path: "etc/removed", Absent: true},
		{Path: "etc/dangling", Content: "changed\n"}, {Path: "etc/new", Content: "new\n", Mode: 0o600}, {Path: "etc/made/deep/new", Content: "new\n"},
		{Path: "etc/absent", Absent: true}, {Path: "etc/kept/new", Content: "new\n"},
	}})
	c.write(t, "etc/plain", "plain\n", 0o640)
	c.write(t, "kept/a %\"target", "linked\n", 0o640)
	c.write(t, "kept/removed", "stays\n", 0o640)
	c.write(t, "etc/kept/old", "old\n", 0o644)
	for link, target := range map[string]string{"etc/link": "two", "etc/two": filepath.Join(c.root, "kept/a %\"target"), "etc/removed": "../kept/removed", "etc/dangling": filepath.Join(c.root, "kept/none")} {
		t.Run(link, func(t *testing.T) {
			if err := os.Symlink(target, filepath.Join(c.root, link)); err != nil {
				t.Fatal(err)
			}
		})
	}
	look := func() string {
		t.Helper()
		out, err := exec.Command("sh", "-c", `cd "$1" && find etc kept -printf '%p %y %m %l\n' | sort && grep -r "" kept etc | sort`, "sh", c.root).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return string(out)
	}
	run := func(verb, want string) {
		t.Helper()
		if out, err := c.run(verb); err != nil || out != want {
			t.Fatalf("%s: %v: %s", verb, err, out)
		}
	}
	before := look()
	run("save", "")
	unit, err := os.ReadFile(c.dir + "/unit")
	if want := `RequiresMountsFor="` + c.root + `/kept/a %%\"target"` + "\n"; err != nil || !strings.Contains(string(unit), want) {
		t.Errorf("no %s in\n%s", want, unit)
	}
	c.write(t, "changes/aaaa/armed", "", 0o600)
	run("make", "")
	after := look()
	for _, want := range []string{"etc/plain:changed\n", "kept/a %\"target:changed\n", "kept/none:changed\n", "etc/new f 600", "etc/made/deep/new:new\n", "etc/kept/new:new\n", "etc/made d 755"} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			if !strings.Contains(after, want) {
				t.Errorf("no %q in\n%s", want, after)
			}
		})
	}
	if c.there("etc/removed") || !c.there("kept/removed") {
		t.Errorf("not removed in\n%s", after)
	}
	// One that was killed before it had renamed its new file.
	c.write(t, "etc/.virtcluster-aaaa-0", "half", 0o600)
	run("back", "back\n")
	if after := look(); after != before {
		t.Errorf("was\n%s\nand became\n%s", before, after)
	}
	if c.there("changes") {
		t.Error("its directory is left")
	}
}

// A file that cannot be written ends the change before anything of the network moves.
func TestAChangeWhoseFilesCannotBeWrittenDoesNothing(t *testing.T) {
	c := stage(t, Change{Files: []File{{Path: "etc/directory", Content: "new\n"}}, Do: "echo did"})
	c.write(t, "etc/directory/file", "", 0o644)
	if out, err := c.run("save"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	c.write(t, "changes/aaaa/armed", "", 0o600)
	if out, err := c.run("make"); err == nil || !strings.Contains(out, "no regular file") || strings.Contains(out, "did") {
		t.Errorf("%v: %s", err, out)
	}
	if out, err := c.run("status"); err == nil || !strings.Contains(out, "no regular file") {
		t.Errorf("its status: %v: %s", err, out)
	}
}

// TestChangeThatBeginsLateDoesNothing has a busy machine begin a change after it was given up.
func TestChangeThatBeginsLateDoesNothing(t *testing.T) {
	for name, want := range map[string]bool{armed: true, going: false, "": false} {
		t.Run("it is "+name, func(t *testing.T) {
			c := stage(t, Change{Files: []File{{Path: "etc/file", Content: "new\n"}}})
			c.write(t, "changes/aaaa/do", "touch "+c.root+"/made\n", 0o600)
			if name != "" {
				c.write(t, "changes/aaaa/"+name, "", 0o600)
			}
			out, err := c.run("make")
			if (err == nil) != want || c.there("made") != want || c.there("etc/file") != want {
				t.Errorf("%v: %s: made: %t, written: %t", err, out, c.there("made"), c.there("etc/file"))
			}
		})
	}
}

// TestEarlierChangesAreEnded has a run find what a killed one left: armed, on its way back, and proven.
func TestEarlierChangesAreEnded(t *testing.T) {
	for left, back := range map[string]bool{armed: true, going: true, proven: false, "": false} {
		t.Run("it is "+left, func(t *testing.T) {
			c := stage(t, Change{})
			c.write(t, "changes/aaaa/undo", "touch "+c.root+"/went\n", 0o600)
			if left != "" {
				c.write(t, "changes/aaaa/"+left, "", 0o600)
			}
			script := strings.ReplaceAll(changeScript, "-lt 300", "-lt 3") // of 0.1 s each
			if out, err := exec.Command("sh", "-c", script, "sh", "earlier", filepath.Dir(c.dir)).CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
			if c.there("went") != back {
				t.Errorf("went back: %t", !back)
			}
			if c.there("changes") {
				t.Error("its directory is left")
			}
		})
	}
}

// TestWhoGoesBackIsWaitedFor has the machine go back by itself while the provider would have it do so.
func TestWhoGoesBackIsWaitedFor(t *testing.T) {
	c := stage(t, Change{})
	c.write(t, "changes/aaaa/"+going, "", 0o600)
	const took = 500 * time.Millisecond
	began := time.Now()
	time.AfterFunc(took, func() { _ = os.RemoveAll(c.dir) })
	if out, err := c.run("back"); err != nil || out != "back\n" || time.Since(began) < took {
		t.Errorf("after %s: %v: %s", time.Since(began), err, out)
	}
}

// A machine that starts again in between goes back before its network is configured, but stays with what is proven.
func TestAMachineThatStartsAgain(t *testing.T) {
	for left, back := range map[string]bool{armed: true, going: true, proven: false} {
		t.Run("it is "+left, func(t *testing.T) {
			c := stage(t, Change{Files: []File{{Path: "etc/file", Content: "new\n"}}})
			c.write(t, "changes/aaaa/undo", "touch "+c.root+"/undone\n", 0o600)
			for _, verb := range []string{"save", "make"} {
				if out, err := c.run(verb); err != nil {
					t.Fatalf("%v: %s", err, out)
				}
				c.write(t, "changes/aaaa/armed", "", 0o600)
			}
			if err := os.Rename(filepath.Join(c.dir, armed), filepath.Join(c.dir, left)); err != nil {
				t.Fatal(err)
			}
			if out, err := c.run("boot"); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			if c.there("etc/file") == back || c.there("undone") {
				t.Errorf("its file is there: %t, undone: %t", !back, c.there("undone"))
			}
		})
	}
}

// The files that a change's directory has one of, from its arming on.
const (
	armed = "armed"
	going = "going"
)

// shellMachine is a machine whose scripts run here, with the provider's directory below a root, and no systemd.
type shellMachine struct {
	host.Host
	paths *strings.Replacer
	// lost says of commands, by their names, whether their answers are lost, or they are before they run.
	lost map[string]string
}

const (
	answer  = "answer"
	command = "command"
)

func (m shellMachine) String() string { return "root@test" }

func (m shellMachine) Run(ctx context.Context, cmd host.Cmd) ([]byte, error) {
	if cmd.Name == "look at the network" {
		return []byte("[]\n[]\n[]\n"), nil
	}
	if m.lost[cmd.Name] == command {
		return nil, host.ErrCut
	}
	var argv []string
	for _, a := range cmd.Argv {
		argv = append(argv, m.paths.Replace(a))
	}
	c := exec.CommandContext(ctx, argv[0], argv[1:]...)
	c.Stdin = strings.NewReader(string(cmd.Stdin))
	var stderr strings.Builder
	c.Stderr = &stderr
	out, err := c.Output()
	if m.lost[cmd.Name] == answer {
		return nil, host.ErrCut
	}
	if err != nil {
		return out, &host.ExitError{Host: m.String(), Cmd: cmd.String(), Code: 1, Stderr: stderr.String()}
	}
	return out, nil
}

// TestALostAnswerIsNoRollback has connections break at each step of a change: what is told is what the machine came to.
func TestALostAnswerIsNoRollback(t *testing.T) {
	for name, c := range map[string]struct {
		lost, lostAnew map[string]string
		unreachable    bool
		stays          bool
		says           string
	}{
		"nothing":                              {stays: true},
		"the answer to the change":             {lost: map[string]string{"change the network": answer}, stays: true},
		"the answer to the proof":              {lostAnew: map[string]string{"disarm the rollback": answer}, stays: true},
		"the answer to the proof, and the old": {lost: map[string]string{"go back": answer}, lostAnew: map[string]string{"disarm the rollback": answer}, stays: true},
		"the answer to the end":                {lost: map[string]string{"end the change": answer}, stays: true},
		"the end":                              {lost: map[string]string{"end the change": command}, stays: true},
		"the proof":                            {lostAnew: map[string]string{"disarm the rollback": command}, says: "has what it had before"},
		"the answer to the return":             {lost: map[string]string{"go back": answer}, lostAnew: map[string]string{"disarm the rollback": command}, says: "has what it had before"},
		"the answer to the arming":             {lost: map[string]string{"arm the rollback": answer}, says: "has what it had before"},
		"the arming":                           {lost: map[string]string{"arm the rollback": command}, says: "has what it had before"},
		"the machine":                          {lost: map[string]string{"go back": command}, unreachable: true, says: "by itself"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			machine := shellMachine{paths: strings.NewReplacer(stateDir, root+"/changes", "/run/systemd/system", root+"/none", "/etc/systemd/system", root+"/none"), lost: c.lost}
			fresh := machine
			fresh.lost = c.lostAnew
			s := Site{Host: machine, Fresh: func(context.Context) (host.Host, error) {
				if c.unreachable {
					return nil, errors.New("no route to host")
				}
				return fresh, nil
			}}
			err := s.Run(t.Context(), Change{
				Files: []File{{Path: root + "/etc/file", Content: "new\n", Owner: fmt.Sprint(os.Getuid()), Group: fmt.Sprint(os.Getgid())}},
				Do:    "touch " + root + "/did", Undo: "rm -f " + root + "/did", Timeout: 6 * time.Second,
			})
			if (err == nil) != c.stays || err != nil && !strings.Contains(err.Error(), c.says) {
				t.Errorf("it says %v", err)
			}
			there := func(name string) bool {
				_, err := os.Stat(filepath.Join(root, name))
				return err == nil
			}
			for deadline := time.Now().Add(20 * time.Second); c.unreachable && there("did") && time.Now().Before(deadline); {
				time.Sleep(100 * time.Millisecond) // until it has gone back by itself
			}
			if there("etc/file") != c.stays || there("did") != c.stays {
				t.Errorf("its file is there: %t, it did it: %t", there("etc/file"), there("did"))
			}
			if left := there("changes"); left != (c.lost["end the change"] == command) {
				t.Errorf("its directory is left: %t", left)
			}
		})
	}
}
