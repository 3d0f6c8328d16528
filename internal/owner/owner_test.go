package owner

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestMarkSurvivesItsComment(t *testing.T) {
	t.Parallel()
	this := BeginRun()
	c := this.New()
	text := "# virtcluster: backend api " + c.Mark().String()
	rest, m := Cut(text)
	if m != c.Mark() || rest != "# virtcluster: backend api" {
		t.Errorf("Cut(%q) = %q, %v", text, rest, m)
	}
	if Parse("# virtcluster: backend api") != (Mark{}) {
		t.Error("a comment without a mark has one")
	}
}

func TestOnlyItsOwnIsOwned(t *testing.T) {
	t.Parallel()
	this := BeginRun()
	mine, other := this.New(), this.New()
	if !mine.Owns(mine.Mark()) || mine.Owns(other.Mark()) || mine.Owns(Mark{}) {
		t.Error("a claim owns what is not marked as its own, or not what is")
	}
	restored, err := this.Restore(mine.Record())
	if err != nil || !restored.Owns(mine.Mark()) || restored.Owns(other.Mark()) || restored.Owns(Mark{}) {
		t.Errorf("a claim that a state kept is another one: %v", err)
	}
}

// ended is the word of a run that is over: of this process before its provider was configured anew.
func ended() string { return BeginRun().Word() }

func TestOnlyWhatAKilledRunOfTheWorkspaceBeganIsTakenOver(t *testing.T) {
	t.Parallel()
	this := BeginRun()
	run := ended()
	next := this.New()
	here := next.Mark().Workspace
	for name, c := range map[string]struct {
		found Mark
		taken bool
	}{
		"begun by a run that is over":             {Mark{ID: "x", Workspace: here, Creating: run}, true},
		"finished":                                {Mark{ID: "x", Workspace: here}, false},
		"begun by a run that is over, elsewhere":  {Mark{ID: "x", Workspace: "elsewhere", Creating: run}, false},
		"begun by this run":                       {Mark{ID: "x", Workspace: here, Creating: this.Word()}, false},
		"begun by another process that is alive":  {Mark{ID: "x", Workspace: here, Creating: fmt.Sprintf("%s.%d.%s.1", processSpace(), os.Getppid(), processStart(os.Getppid()))}, false},
		"begun by a process whose number another": {Mark{ID: "x", Workspace: here, Creating: fmt.Sprintf("%s.%d.1.1", processSpace(), os.Getppid())}, true},
		"begun on another computer":               {Mark{ID: "x", Workspace: here, Creating: "ffffffff.1.1.1"}, true},
		"begun by who knows whom":                 {Mark{ID: "x", Workspace: here, Creating: "somebody"}, false},
		"a person's":                              {Mark{}, false},
		"without a workspace":                     {Mark{ID: "x", Creating: run}, false},
		"what another resource of this run made":  {this.New().Mark(), false},
	} {
		t.Run(name, func(t *testing.T) {
			if next.MayTake(c.found) != c.taken || this.LeftBehind(c.found) != c.taken {
				t.Errorf("it is taken over: %v", !c.taken)
			}
			if next.Owns(c.found) {
				t.Error("it is owned before a create took it")
			}
		})
	}
}

// Each provider block of a configuration is a process of its own, and so is the test's parent.
func TestAProcessIsAliveUntilItEnds(t *testing.T) {
	t.Parallel()
	this := BeginRun()
	child := exec.CommandContext(t.Context(), "sleep", "60")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	run := fmt.Sprintf("%s.%d.%s.1", processSpace(), child.Process.Pid, processStart(child.Process.Pid))
	if this.hasEnded(run) {
		t.Error("it is taken for one that is over")
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for range 200 { // until the kernel has killed it: it is over while nobody has waited for it too
		if this.hasEnded(run) {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if !this.hasEnded(run) {
		t.Error("it is taken for one that is alive")
	}
	_ = child.Wait()
	if !this.hasEnded(run) {
		t.Error("nobody is there, and it is taken for one that is alive")
	}
}

func TestAFinishedClaimWritesFinishedMarks(t *testing.T) {
	t.Parallel()
	this := BeginRun()
	c := this.New()
	text := fmt.Sprintf("one %s\nanother %s\n{\"owner\": \"%s\"}", c.Mark(), this.New().Mark(), c.Mark())
	got := string(c.FinishText([]byte(text)))
	if strings.Count(got, "creating=") != 1 || strings.Count(got, c.Finished().Mark().String()) != 2 {
		t.Errorf("its own marks are not finished, or others are:\n%s", got)
	}
	if all := string(CutCreating([]byte(text))); strings.Contains(all, "creating=") || all != string(CutCreating([]byte(got))) {
		t.Errorf("what differs in nothing but that is not alike:\n%s", all)
	}
	if c.IsFinished() || !c.Finished().IsFinished() || c.Found(c.Finished().Mark()).IsFinished() || c.Finished().Found(c.Mark()).IsFinished() {
		t.Error("what is not finished counts as it, or the other way round")
	}
	if restored, err := this.Restore(c.Record()); err != nil || !restored.IsFinished() {
		t.Errorf("what a state knows is not finished: %v", err)
	}
}

func TestWhatThisRunRemovesMayBeTaken(t *testing.T) {
	t.Parallel()
	this := BeginRun()
	old, err := this.Restore([]byte(`{"id":"old","takes":"theirs"}`))
	if err != nil {
		t.Fatal(err)
	}
	found := Mark{ID: "old", Workspace: Workspace()}
	if !this.IsUnknown(found) || this.AwaitInState(t.Context(), found, time.Millisecond) || this.New().MayTake(found) {
		t.Error("what nobody has spoken of is known")
	}
	go old.NoteInState()
	if !this.AwaitInState(t.Context(), found, time.Minute) || !this.New().MayTake(found) || !this.New().MayTake(Mark{ID: "theirs", Workspace: "elsewhere"}) {
		t.Error("what the state has, or has taken over, may not be taken")
	}
	if this.New().MayTake(Mark{}) {
		t.Error("a person's may be taken with it")
	}
	if BeginRun().New().MayTake(found) {
		t.Error("it may be taken by a later run")
	}
}

func TestImportTakesOverWhatItFound(t *testing.T) {
	t.Parallel()
	this := BeginRun()
	theirs := Mark{ID: "theirs", Workspace: "elsewhere"}
	for name, found := range map[string]Mark{"another state's": theirs, "a person's": {}} {
		t.Run(name, func(t *testing.T) {
			c := this.Adopt()
			if !c.Owns(found) {
				t.Fatal("an import does not own what it reads")
			}
			c = c.Found(found)
			kept, err := this.Restore(c.Record())
			if err != nil || !kept.Owns(found) || kept.Owns(Mark{ID: "third"}) {
				t.Errorf("after an import, what it found is not owned, or more is: %v", err)
			}
			written, err := this.Restore(kept.Written().Record())
			if err != nil || written.Owns(found) || !written.Owns(kept.Mark()) {
				t.Errorf("after a change, the old mark still counts, or the new one does not: %v", err)
			}
		})
	}
}

func TestWithoutAClaimOnlyWhatTheWorkspaceLeftIsOwned(t *testing.T) {
	t.Parallel()
	this := BeginRun()
	run := ended()
	c := this.OfWorkspace()
	if !c.Owns(Mark{ID: "tainted", Workspace: Workspace(), Creating: run}) || !c.Owns(Mark{ID: "tainted", Workspace: Workspace()}) {
		t.Error("what an earlier run of the workspace left is not owned")
	}
	for name, m := range map[string]Mark{
		"nobody's": {}, "a version's without workspaces": {ID: "x"}, "another workspace's": {ID: "x", Workspace: "elsewhere"},
		"a mark without an id": {Workspace: Workspace()}, "what this run made": this.New().Mark(), "what another provider is making": {ID: "x", Workspace: Workspace(), Creating: "somebody"},
	} {
		t.Run(name, func(t *testing.T) {
			if c.Owns(m) || c.MayTake(m) {
				t.Errorf("%s is owned", name)
			}
		})
	}
}

// A provider that is killed in an update leaves the resource in the state without its claim: what it finds of its own is its claim again.
func TestALostClaimIsFoundAgain(t *testing.T) {
	t.Parallel()
	this := BeginRun()
	own := Mark{ID: "mine", Workspace: Workspace()}
	c := this.OfWorkspace()
	if !c.Anonymous() || !c.Owns(own) {
		t.Fatal("it is not lost, or what it wrote is not owned")
	}
	kept, err := this.Restore(c.Found(own).Record())
	if err != nil || kept.Anonymous() || !kept.Owns(Mark{ID: "mine", Workspace: "elsewhere"}) || kept.Owns(Mark{ID: "x", Workspace: Workspace()}) {
		t.Errorf("what was found is not the claim from then on, or more is: %v", err)
	}
}

func TestReplacementTakesOverWhatItReplaces(t *testing.T) {
	t.Parallel()
	this := BeginRun()
	old, err := this.Restore([]byte(`{"id":"old"}`))
	if err != nil {
		t.Fatal(err)
	}
	next := old.Succeed(false)
	if !next.MayTake(Mark{ID: "old", Workspace: "elsewhere"}) || next.MayTake(Mark{ID: "third", Workspace: "elsewhere"}) {
		t.Error("a replacement may not take what it replaces, or more")
	}
}

// What replaces an import that was never changed finds it with the mark that it had before, a person's with none.
func TestReplacementOfAnImportTakesOverWhatWasImported(t *testing.T) {
	t.Parallel()
	this := BeginRun()
	for _, found := range []Mark{{}, {ID: "theirs", Workspace: "elsewhere"}} {
		t.Run(fmt.Sprint(found), func(t *testing.T) {
			imported := this.Adopt().Found(found)
			if imported.Succeed(false).MayTake(found) || imported.Succeed(false).ReplacesInPlace() {
				t.Errorf("a replacement elsewhere may take what has the mark of what was imported, %v", found)
			}
			next := imported.Succeed(true)
			if !next.Replaces() || !next.ReplacesInPlace() || !next.MayTake(found) || next.MayTake(Mark{ID: "third", Workspace: "elsewhere"}) {
				t.Errorf("a replacement may not take what was imported with %v, or more", found)
			}
			if next.Written().MayTake(found) {
				t.Error("once it is made, it may take what it replaced")
			}
		})
	}
}

func TestForeignErrorNamesOwnerAndImport(t *testing.T) {
	t.Parallel()
	this := BeginRun()
	var err error = &ForeignError{What: `HAProxy backend "api"`, Place: "haproxy.cfg", ImportID: "ssh://x#backend/api", Owner: Mark{ID: "theirs"}}
	for _, want := range []string{"another state", "theirs", `"ssh://x#backend/api"`, "import"} {
		t.Run(want, func(t *testing.T) {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%q does not name %q", err, want)
			}
		})
	}
	err = &ForeignError{What: "it", Place: "there", ImportID: "x", Owner: Mark{ID: "lost", Workspace: Workspace()}}
	if said := err.Error(); !strings.Contains(said, `import it as "x"`) || !strings.Contains(said, "moved") || !strings.Contains(said, "untaint") {
		t.Errorf("%q does not name the ways out for what is finished", said)
	}
	err = &ForeignError{What: "it", Place: "there", Owner: Mark{ID: "x", Workspace: Workspace(), Creating: "somebody"}}
	if !strings.Contains(err.Error(), "is making it") {
		t.Errorf("%q does not say that it is being made", err)
	}
	twin := this.New()
	err = twin.NewForeignError("it", "there", "", twin.Mark())
	if !strings.Contains(err.Error(), "described twice") || !errors.As(err, new(*ForeignError)) {
		t.Errorf("%q does not say that one configuration names it twice", err)
	}
}

func TestWorkspacesAreToldApart(t *testing.T) {
	t.Parallel()
	base := place{"host", "/srv/infra", "default", "", ""}
	seen := map[string]place{fingerprintPlace(base): base}
	for _, p := range []place{
		{"host2", "/srv/infra", "default", "", ""}, {"host", "/srv/other", "default", "", ""}, {"host", "/srv/infra", "prod", "", ""},
		{"host", "/srv/infra", "default", `{"type":"s3"}`, ""}, {"host", "/srv/infra", "default", "", "b.tfstate"},
	} {
		t.Run(p.computer, func(t *testing.T) {
			if twin, taken := seen[fingerprintPlace(p)]; taken {
				t.Errorf("%v and %v are one workspace", p, twin)
			}
			seen[fingerprintPlace(p)] = p
		})
	}
}

func TestTheSelectedWorkspaceIsRead(t *testing.T) {
	data := t.TempDir()
	t.Setenv("TF_WORKSPACE", "")
	if got := selectedWorkspace(data); got != "default" {
		t.Errorf("the workspace without a selection is %q", got)
	}
	if err := os.WriteFile(filepath.Join(data, "environment"), []byte("prod"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := selectedWorkspace(data); got != "prod" {
		t.Errorf("the selected workspace is %q", got)
	}
}

func TestWhatIsLeftIsOwnedUntilTheClaimsMarkIsWritten(t *testing.T) {
	left, other := Mark{ID: "left", Workspace: Workspace()}, Mark{ID: "other", Workspace: Workspace()}
	claim := new(Run).New()
	taking := claim.TakeOver(left)
	for what, wrong := range map[string]bool{
		"before":               claim.Owns(left),
		"what is left":         !taking.Owns(left) || !taking.MayTake(left),
		"its own":              !taking.Owns(claim.Mark()),
		"another's":            taking.Owns(other),
		"once it is its own":   taking.Written().Owns(left),
		"what is written then": !taking.Written().Owns(claim.Mark()),
	} {
		t.Run(what, func(t *testing.T) {
			if wrong {
				t.Error("it is told otherwise")
			}
		})
	}
}
