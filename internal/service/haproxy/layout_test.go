package haproxy

import (
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

// inherits says from which defaults section each proxy of the main file inherits, and what a file that is read
// after it does: by the first line of the section's body.
func inherits(t transaction.Tree) map[string]string {
	d, from, found := parseDocument(t[ConfigPath].Content), "", map[string]string{}
	for _, s := range d.listSections() {
		switch s.kind {
		case "defaults":
			from = strings.TrimSpace(d.lines[s.body])
		case "frontend", "backend", "listen":
			found[s.kind+" "+s.name] = from
		}
	}
	found["a later file"] = from
	return found
}

func TestEveryProxyInheritsWhatItShould(t *testing.T) {
	const persons = "listen early\n bind :1\n\n# The person's.\ndefaults\n timeout client 1s\n\nfrontend theirs\n bind :2\n"
	const mine, theirs, appended = "log global", "timeout client 1s", "\nbackend appended\n server a 10.0.0.1:80\n"
	base := Base{Mode: "tcp", Health: &Health{Bind: Bind{Address: "*", Port: 3}, URI: "/"}}
	steps := map[string]func(transaction.Tree) error{
		"base":     func(t transaction.Tree) error { return SetBase(t, base, owner.Mark{}) },
		"frontend": func(t transaction.Tree) error { return AddProxy(t, Frontend{Name: "f"}, owner.Mark{}) },
		"backend":  func(t transaction.Tree) error { return AddProxy(t, Backend{Name: "b"}, owner.Mark{}) },
		"no base":  DropBase,
		"a person appends": func(t transaction.Tree) error {
			t.Put(ConfigPath, append(t[ConfigPath].Content, appended...), 0o644, "", "")
			return nil
		},
		"a person writes between": func(t transaction.Tree) error {
			const next = "\n# virtcluster: backend b"
			t.Put(ConfigPath, []byte(strings.Replace(string(t[ConfigPath].Content), next, appended+next, 1)), 0o644, "", "")
			return nil
		},
	}
	for _, c := range []struct {
		order []string
		ours  string
	}{
		{[]string{"frontend", "backend"}, theirs},
		{[]string{"base", "frontend", "backend"}, mine},
		{[]string{"frontend", "base", "backend"}, mine},
		{[]string{"backend", "frontend", "base"}, mine},
		{[]string{"base", "frontend", "backend", "no base"}, theirs},
		{[]string{"frontend", "backend", "base", "no base", "base"}, mine},
		{[]string{"frontend", "backend", "a person appends", "base"}, mine},
		{[]string{"frontend", "a person appends", "backend", "base"}, mine},
		{[]string{"base", "frontend", "backend", "a person writes between", "no base"}, theirs},
	} {
		t.Run(c.ours, func(t *testing.T) {
			tree := transaction.Tree{}
			tree.Put(ConfigPath, []byte(persons), 0o644, "", "")
			for _, step := range c.order {
				if err := steps[step](tree); err != nil {
					t.Fatal(err)
				}
			}
			got := inherits(tree)
			for proxy, want := range map[string]string{"listen early": "", "frontend theirs": theirs, "a later file": theirs, "frontend f": c.ours, "backend b": c.ours} {
				if got[proxy] != want {
					t.Errorf("after %s: %s inherits %q, want %q", strings.Join(c.order, ", "), proxy, got[proxy], want)
				}
			}
			if err := Strip(tree); err != nil || strings.Replace(string(tree[ConfigPath].Content), appended, "", 1) != persons {
				t.Errorf("after %s and Strip: %v\n%s", strings.Join(c.order, ", "), err, tree[ConfigPath].Content)
			}
		})
	}
}

func TestAnImportedProxyInheritsWhatItDid(t *testing.T) {
	t.Parallel()
	tree := transaction.Tree{}
	tree.Put(ConfigPath, []byte("defaults\n timeout client 1s\n\nfrontend theirs\n bind :2\n"), 0o644, "", "")
	put := func() error {
		return SetProxy(tree, Frontend{Name: "theirs", Binds: []Bind{{Address: "*", Port: 3}}}, owner.Mark{ID: "me"})
	}
	base := func() error { return SetBase(tree, Base{Mode: "tcp"}, owner.Mark{}) }
	for _, step := range []func() error{put, put, base, put} {
		if err := step(); err != nil {
			t.Fatal(err)
		}
		if got := inherits(tree)["frontend theirs"]; got != "timeout client 1s" {
			t.Errorf("it inherits %q of\n%s", got, tree[ConfigPath].Content)
		}
	}
}
