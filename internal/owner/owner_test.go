package owner

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/cli"
)

func TestMarkSurvivesItsComment(t *testing.T) {
	c := New()
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
	mine, other := New(), New()
	if !mine.Owns(mine.Mark()) || mine.Owns(other.Mark()) || mine.Owns(Mark{}) {
		t.Error("a claim owns what is not marked as its own, or not what is")
	}
	restored, err := Restore(mine.Record())
	if err != nil || !restored.Owns(mine.Mark()) || restored.Owns(other.Mark()) || restored.Owns(Mark{}) {
		t.Errorf("a claim that a state kept is another one: %v", err)
	}
}

func TestKilledRunIsTakenOverByItsOwnWorkspaceOnly(t *testing.T) {
	next := New()
	left := Mark{ID: "leftbehind", Workspace: next.Mark().Workspace}
	if !next.MayTake(left) {
		t.Error("what a killed run of this workspace left behind is not taken over")
	}
	if next.Owns(left) {
		t.Error("what a killed run left behind is owned before a create took it")
	}
	left.Workspace = "elsewhere"
	if next.MayTake(left) || next.MayTake(Mark{}) || next.MayTake(Mark{ID: "x"}) {
		t.Error("what another workspace made, or a person, is taken over")
	}
	if twin := New(); next.MayTake(twin.Mark()) {
		t.Error("what another resource of this very run made is taken over")
	}
}

func TestWithChosenResourcesNothingLooksLeftBehind(t *testing.T) {
	found := Mark{ID: "leftbehind", Workspace: New().Mark().Workspace}
	if !New().MayTake(found) {
		t.Error("what a killed run left is not taken over")
	}
	chooses := cli.Chooses
	t.Cleanup(func() { cli.Chooses = chooses })
	cli.Chooses = func() bool { return true }
	if New().MayTake(found) {
		t.Error("what may be another resource's is taken over")
	}
	if said := (&ForeignError{What: "zone z", Place: "svc-1", Owner: found}).Error(); !strings.Contains(said, "plan without -target") {
		t.Errorf("it says %s", said)
	}
}

func TestImportTakesOverWhatItFound(t *testing.T) {
	theirs := Mark{ID: "theirs", Workspace: "elsewhere"}
	for name, found := range map[string]Mark{"another state's": theirs, "a person's": {}} {
		t.Run(name, func(t *testing.T) {
			c, err := Restore(nil)
			if err != nil || !c.Owns(found) {
				t.Fatalf("an import does not own what it reads: %v", err)
			}
			c = c.Found(found)
			kept, err := Restore(c.Record())
			if err != nil || !kept.Owns(found) || kept.Owns(Mark{ID: "third"}) {
				t.Errorf("after an import, what it found is not owned, or more is: %v", err)
			}
			written, err := Restore(kept.Written().Record())
			if err != nil || written.Owns(found) || !written.Owns(kept.Mark()) {
				t.Errorf("after a change, the old mark still counts, or the new one does not: %v", err)
			}
		})
	}
}

func TestWithoutAClaimOnlyWhatTheWorkspaceLeftIsOwned(t *testing.T) {
	c := OfWorkspace()
	if !c.Owns(Mark{ID: "tainted", Workspace: Workspace()}) {
		t.Error("what an earlier run of the workspace left is not owned")
	}
	for name, m := range map[string]Mark{
		"nobody's": {}, "a version's without workspaces": {ID: "x"}, "another workspace's": {ID: "x", Workspace: "elsewhere"},
		"a mark without an id": {Workspace: Workspace()}, "what this run made": New().Mark(),
	} {
		if c.Owns(m) || c.MayTake(m) {
			t.Errorf("%s is owned", name)
		}
	}
}

func TestReplacementTakesOverWhatItReplaces(t *testing.T) {
	old, err := Restore([]byte(`{"id":"old"}`))
	if err != nil {
		t.Fatal(err)
	}
	next := old.Succeed()
	if !next.MayTake(Mark{ID: "old", Workspace: "elsewhere"}) || next.MayTake(Mark{ID: "third", Workspace: "elsewhere"}) {
		t.Error("a replacement may not take what it replaces, or more")
	}
}

// What replaces an import that was never changed finds it with the mark that it had before, a person's with none.
func TestReplacementOfAnImportTakesOverWhatWasImported(t *testing.T) {
	for _, found := range []Mark{{}, {ID: "theirs", Workspace: "elsewhere"}} {
		next := Adopt().Found(found).Succeed()
		if !next.Replaces() || !next.MayTake(found) || next.MayTake(Mark{ID: "third", Workspace: "elsewhere"}) {
			t.Errorf("a replacement may not take what was imported with %v, or more", found)
		}
		if next.Written().MayTake(found) {
			t.Error("once it is made, it may take what it replaced")
		}
	}
}

func TestAServersRunKnowsWhatItMade(t *testing.T) {
	m := New().Mark()
	if LeftBehind(m) {
		t.Error("what a run made was left behind for it")
	}
	if BeginRun(); !LeftBehind(m) {
		t.Error("what a run made was not left behind for the next")
	}
}

func TestForeignErrorNamesOwnerAndImport(t *testing.T) {
	var err error = &ForeignError{What: `HAProxy backend "api"`, Place: "haproxy.cfg", ImportID: "ssh://x#backend/api", Owner: Mark{ID: "theirs"}}
	for _, want := range []string{"another state", "theirs", `"ssh://x#backend/api"`, "import"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not name %q", err, want)
		}
	}
	twin := New()
	err = &ForeignError{What: "it", Place: "there", Owner: twin.Mark()}
	if !strings.Contains(err.Error(), "described twice") || !errors.As(err, new(*ForeignError)) {
		t.Errorf("%q does not say that one configuration names it twice", err)
	}
}

func TestWorkspacesAreToldApart(t *testing.T) {
	base := place{"host", "/srv/infra", "default", "", ""}
	seen := map[string]place{fingerprint(base): base}
	for _, p := range []place{
		{"host2", "/srv/infra", "default", "", ""}, {"host", "/srv/other", "default", "", ""}, {"host", "/srv/infra", "prod", "", ""},
		{"host", "/srv/infra", "default", `{"type":"s3"}`, ""}, {"host", "/srv/infra", "default", "", "b.tfstate"},
	} {
		if twin, taken := seen[fingerprint(p)]; taken {
			t.Errorf("%v and %v are one workspace", p, twin)
		}
		seen[fingerprint(p)] = p
	}
}

func TestWhatTerraformKnowsOfADirectory(t *testing.T) {
	data := t.TempDir()
	t.Setenv("TF_WORKSPACE", "")
	if got := selected(data); got != "default" {
		t.Errorf("the workspace without a selection is %q", got)
	}
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(data, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("environment", "prod")
	if got := selected(data); got != "prod" {
		t.Errorf("the selected workspace is %q", got)
	}
	write("terraform.tfstate", `{"version":3,"backend":{"type":"s3","config":{"key":"a"}}}`)
	one := backend(data)
	write("terraform.tfstate", `{"version":3,"backend":{"type":"s3","config":{"key":"a","access_key":"x"}}}`)
	if backend(data) != one {
		t.Error("one backend with other credentials is another one")
	}
	write("terraform.tfstate", `{"version":3,"backend":{"type":"local","config":{"path":"a"}}}`)
	if backend(data) != "" {
		t.Error("a file on this computer is a backend elsewhere")
	}
	write("terraform.tfstate", `{"version":3,"backend":{"type":"s3","config":{"key":"b"}}}`)
	if one == "" || backend(data) == one {
		t.Error("two backends are not told apart")
	}
	kubernetes := func(settings string) string {
		write("terraform.tfstate", `{"version":3,"backend":{"type":"kubernetes","config":{`+settings+`}}}`)
		return backend(data)
	}
	state := kubernetes(`"secret_suffix":"okd","namespace":"tf"`)
	if kubernetes(`"secret_suffix":"k8s","namespace":"tf"`) == state {
		t.Error("two states of one Kubernetes cluster are not told apart")
	}
	if kubernetes(`"secret_suffix":"okd","namespace":"tf","token":"x","client_key":"y"`) != state {
		t.Error("one state in Kubernetes with other credentials is another one")
	}
}
