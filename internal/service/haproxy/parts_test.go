package haproxy

import (
	"slices"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

// written is a tree that two owners share with the distribution and a person.
func written(t *testing.T, by, other owner.Mark) transaction.Tree {
	t.Helper()
	tree := transaction.Tree{}
	tree.Put(ConfigPath, []byte(debianConfig+"\nbackend theirs\n server a 10.0.0.1:1\n"), 0o644, "root", "root")
	for _, err := range []error{
		SetBase(tree, Base{Mode: "tcp", Maxconn: 100, Health: &Health{Bind: Bind{Address: "*", Port: 9000}, URI: "/up"}}, by),
		AddBackend(tree, Backend{Name: "api", Mode: "tcp"}, by),
		AddFrontend(tree, Frontend{Name: "api", Mode: "tcp", Binds: []Bind{{Address: "*", Port: 6443}}}, other),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return tree
}

func TestPartsCarryTheirOwner(t *testing.T) {
	by, other := owner.Mark{ID: "mine", Workspace: "here"}, owner.Mark{ID: "theirs", Workspace: "there"}
	tree := written(t, by, other)
	for _, line := range []string{"# virtcluster: backend api owner=mine workspace=here", "# virtcluster: frontend api owner=theirs workspace=there", "# virtcluster: health owner=mine workspace=here"} {
		if !slices.Contains(strings.Split(string(tree[ConfigPath].Content), "\n"), line) {
			t.Errorf("no line %q in\n%s", line, tree[ConfigPath].Content)
		}
	}
	check := func(what string, got owner.Mark, there bool, want owner.Mark, wantThere bool) {
		t.Helper()
		if got != want || there != wantThere {
			t.Errorf("%s: %v, %v", what, got, there)
		}
	}
	m, ok := BaseMark(tree)
	check("base", m, ok, by, true)
	m, ok = ProxyMark(tree, "backend", "api")
	check("backend", m, ok, by, true)
	m, ok = ProxyMark(tree, "frontend", "api")
	check("frontend", m, ok, other, true)
	m, ok = ProxyMark(tree, "backend", "theirs")
	check("a person's", m, ok, owner.Mark{}, true)
	_, ok = ProxyMark(tree, "backend", "none")
	check("none", owner.Mark{}, ok, owner.Mark{}, false)

	if err := SetBackend(tree, Backend{Name: "api", Mode: "http"}, other); err != nil {
		t.Fatal(err)
	}
	m, ok = ProxyMark(tree, "backend", "api")
	check("a backend that changed hands", m, ok, other, true)
}

func TestStripTakesNothingThatHasAnOwner(t *testing.T) {
	by, other := owner.Mark{ID: "mine", Workspace: "here"}, owner.Mark{ID: "theirs", Workspace: "there"}
	tree := written(t, by, other)
	before := string(tree[ConfigPath].Content)
	if err := AddBackend(tree, Backend{Name: "old"}, owner.Mark{}); err != nil {
		t.Fatal(err)
	}
	want := []string{"HAProxy base configuration (owner mine)", `HAProxy frontend "api" (owner theirs)`, `HAProxy backend "api" (owner mine)`, `HAProxy backend "old" (owner unknown)`}
	if got := (Daemon{}).Owners(tree); !slices.Equal(got, want) {
		t.Errorf("the owners are %q", got)
	}
	if err := Strip(tree); err != nil || string(tree[ConfigPath].Content) != before {
		t.Errorf("after Strip: %v\n%s", err, tree[ConfigPath].Content)
	}
}

func TestAnotherStatesListenerIsForeign(t *testing.T) {
	by, other := owner.Mark{ID: "mine", Workspace: "here"}, owner.Mark{ID: "theirs", Workspace: "there"}
	tree := written(t, by, other)
	mine := func(m owner.Mark) bool { return m == by }
	for _, c := range []struct {
		port         int64
		except, want string
	}{
		{6443, "", `frontend "api" of /etc/haproxy/haproxy.cfg, which is another state's (owner theirs),`},
		{6443, "frontend api", ""},
		{9000, "", ""},
		{9001, "", ""},
	} {
		if got, _ := ForeignListener(tree, Bind{Address: "*", Port: c.port}, mine, c.except); got != c.want {
			t.Errorf("%d except %q: %q", c.port, c.except, got)
		}
	}
}
