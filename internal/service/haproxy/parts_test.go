package haproxy

import (
	"errors"
	"io/fs"
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
		AddProxy(tree, Backend{Name: "api", Mode: "tcp"}, by),
		AddProxy(tree, Frontend{Name: "api", Mode: "tcp", Binds: []Bind{{Address: "*", Port: 6443}}}, other),
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
		t.Run(line, func(t *testing.T) {
			if !slices.Contains(strings.Split(string(tree[ConfigPath].Content), "\n"), line) {
				t.Errorf("no line %q in\n%s", line, tree[ConfigPath].Content)
			}
		})
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

	if err := SetProxy(tree, Backend{Name: "api", Mode: "http"}, other); err != nil {
		t.Fatal(err)
	}
	m, ok = ProxyMark(tree, "backend", "api")
	check("a backend that changed hands", m, ok, other, true)
}

func TestStripTakesNothingThatHasAnOwner(t *testing.T) {
	by, other := owner.Mark{ID: "mine", Workspace: "here"}, owner.Mark{ID: "theirs", Workspace: "there"}
	tree := written(t, by, other)
	before := string(tree[ConfigPath].Content)
	if err := AddProxy(tree, Backend{Name: "old"}, owner.Mark{}); err != nil {
		t.Fatal(err)
	}
	want := []string{"HAProxy base configuration, of another state (owner mine)", `HAProxy frontend "api", of another state (owner theirs)`, `HAProxy backend "api", of another state (owner mine)`, `HAProxy backend "old", whose owner is not known`}
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
		t.Run(c.except, func(t *testing.T) {
			if got, _ := ForeignListener(tree, Bind{Address: "*", Port: c.port}, mine, c.except); got != c.want {
				t.Errorf("%d except %q: %q", c.port, c.except, got)
			}
		})
	}
}

// TestFormsKeepTheirMeaning reads sections as people write them and writes them again.
func TestFormsKeepTheirMeaning(t *testing.T) {
	for name, c := range map[string]struct{ body, want string }{
		"an expectation below what is sent": {
			"option httpchk GET /; http-check send hdr Host x; http-check expect status 200",
			"option httpchk GET /; http-check send hdr Host x; http-check expect status 200",
		},
		"an expectation above": {"http-check expect status 200; option httpchk GET /", "option httpchk GET /; http-check expect status 200"},
		"steps": {
			"option httpchk; http-check send uri /a; http-check expect status 200; http-check connect port 81; http-check send uri /b; http-check expect string ok",
			"option httpchk OPTIONS /; http-check send uri /a; http-check expect status 200; http-check connect port 81; http-check send uri /b; http-check expect string ok",
		},
		"two default-server lines": {
			"default-server check inter 2s; default-server inter 5s fall 2; server a 10.0.0.1:80",
			"default-server check inter 2s; default-server inter 5s fall 2; server a 10.0.0.1:80",
		},
		"a template that inherits":   {"default-server check; server-template s 1-3 x:80", "default-server check; server-template s 1-3 x:80"},
		"a server with a zone":       {"server a fe80::1%eth0:80; server b 10.0.0.1:80", "server a fe80::1%eth0:80; server b 10.0.0.1:80"},
		"two servers of one address": {"server a 10.0.0.1:80; server b 10.0.0.1:80", "server a 10.0.0.1:80; server b 10.0.0.1:80"},
		"a server of a variable":     {`server a "${IP}:80"`, `server a "${IP}:80"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := ParseBackend("b", strings.Split(c.body, "; "))
			if got := strings.Join(b.Body(), "; "); got != c.want {
				t.Errorf("%s: %s", name, got)
			}
			for _, p := range b.Validate() {
				if !p.Warning {
					t.Errorf("%s: what was read is refused: %+v", name, p)
				}
			}
		})
	}
	f := ParseFrontend("f", []string{"bind :8000-8010", "bind 10.0.0.1:80,10.0.0.2:80", `bind "$IP:81"`, "bind 10.0.0.3:80"})
	if len(f.Binds) != 1 || len(f.Extra) != 3 || len(f.Validate()) > 0 {
		t.Errorf("binds of other forms: %+v %+v", f, f.Validate())
	}
	for where, want := range map[string]bool{":8005": true, "8000": false, "10.0.0.2:80": true, "10.0.0.1:8005": false} {
		t.Run(where, func(t *testing.T) {
			t.Parallel()
			address, port, _ := splitEndpoint(where)
			b := Bind{Address: CanonicalBindAddress(address), Port: port}
			if got := listensAt(":8000-8010,10.0.0.2:80", b); got != want {
				t.Errorf("%s: %v", where, got)
			}
		})
	}
}

// What a person puts a section of the provider's under stays around it as the base comes and goes.
func TestASectionThatAPersonPutUnderAConditionStaysThere(t *testing.T) {
	t.Parallel()
	tree, by := transaction.Tree{}, owner.Mark{ID: "mine"}
	if err := SetProxy(tree, Backend{Name: "ours", Mode: "tcp"}, by); err != nil {
		t.Fatal(err)
	}
	ruled := ".if defined(LAB)\n" + strings.TrimSpace(string(tree[ConfigPath].Content)) + "\n.endif\n"
	tree.Put(ConfigPath, []byte(ruled), 0o600, "root", "root")
	put := func(t transaction.Tree) error { return SetBase(t, Base{Mode: "tcp"}, by) }
	for i, change := range []func(transaction.Tree) error{put, DropBase} {
		if err := change(tree); err != nil || !strings.Contains(string(tree[ConfigPath].Content), ruled) {
			t.Errorf("step %d: %v\n%s", i, err, tree[ConfigPath].Content)
		}
	}
}

func TestWhatAConditionRulesIsNotTakenApart(t *testing.T) {
	const file = `global
    maxconn 10

.if defined(LAB)
defaults
    mode http

backend lab
    server a 10.0.0.1:80
.else
defaults
    mode tcp

backend prod
    server a 10.0.0.1:80
.endif

backend inner
    mode tcp
    .if defined(LAB)
    balance leastconn
    .endif
    server a 10.0.0.1:80

backend plain
    server a 10.0.0.1:80
.if defined(LAB)
listen last
    bind :1
.endif
`
	tree := transaction.Tree{}
	tree.Put(ConfigPath, []byte(file), 0o600, "root", "root")
	for name, want := range map[string]string{"lab": ".if", "prod": ".if", "inner": ".if", "plain": ""} {
		t.Run(name, func(t *testing.T) {
			_, err := FindBackend(tree, name)
			if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
	succeeded := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	by := owner.Mark{ID: "mine"}
	succeeded(SetProxy(tree, Backend{Name: "ours"}, by))
	succeeded(SetBase(tree, Base{Mode: "tcp", Maxconn: 5}, by))
	succeeded(SetProxy(tree, Frontend{Name: "ours", Binds: []Bind{{Address: "*", Port: 2}}}, by))
	depth := 0
	for line := range strings.Lines(string(tree[ConfigPath].Content)) {
		switch firstWord(strings.TrimSpace(line)) {
		case ".if":
			depth++
		case ".endif":
			depth--
		}
		if strings.HasPrefix(line, "# virtcluster:") && depth != 0 {
			t.Errorf("%q is in a condition:\n%s", line, tree[ConfigPath].Content)
		}
	}
	succeeded(DropProxy(tree, "frontend", "ours"))
	succeeded(DropProxy(tree, "backend", "ours"))
	succeeded(DropBase(tree))
	if got := tree[ConfigPath]; string(got.Content) != file || got.Perm() != 0o600 {
		t.Errorf("mode %o and\n%s", got.Perm(), got.Content)
	}
}

func TestADefaultServerBelowAServerIsNotManaged(t *testing.T) {
	tree := transaction.Tree{}
	tree.Put(ConfigPath, []byte("backend b\n server a 10.0.0.1:80\n default-server check\n server b 10.0.0.2:80\n"), 0o644, "", "")
	if _, err := FindBackend(tree, "b"); err == nil || !strings.Contains(err.Error(), "below a server line") {
		t.Errorf("%v", err)
	}
}

func TestAProxyThatNamesItsDefaultsIsNotManaged(t *testing.T) {
	t.Parallel()
	tree := transaction.Tree{}
	tree.Put(ConfigPath, []byte("defaults web\n mode http\n\nfrontend f from web # a comment\n bind :80\n\nbackend b # of all\n server a 10.0.0.1:80\n"), 0o644, "", "")
	if _, err := FindFrontend(tree, "f"); err == nil || !strings.Contains(err.Error(), "names its defaults section") {
		t.Errorf("a frontend that does: %v", err)
	}
	if _, err := FindBackend(tree, "b"); err != nil {
		t.Errorf("a backend that does not: %v", err)
	}
}

func TestAFileThatAPersonClosedStaysClosed(t *testing.T) {
	t.Parallel()
	stats := func(user string) Base {
		return Base{Mode: "tcp", Stats: &Stats{Bind: Bind{Address: "*", Port: 9}, URI: "/", User: user, Password: user}}
	}
	for name, c := range map[string]struct {
		user   string
		closes fs.FileMode // 0 where nobody does
		want   fs.FileMode
	}{
		"with a password":              {"admin", 0, 0o644},
		"closed, with a password":      {"admin", 0o600, 0o600},
		"without one":                  {"", 0, 0o644},
		"closed a little, without one": {"", 0o640, 0o640},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tree := transaction.Tree{}
			tree.Put(ConfigPath, []byte("global\n maxconn 5\n"), 0o644, "", "")
			err := SetBase(tree, stats(c.user), owner.Mark{})
			if f := tree[ConfigPath]; c.closes != 0 {
				f.Mode = c.closes
				tree[ConfigPath] = f
			}
			if err = errors.Join(err, SetBase(tree, stats(c.user), owner.Mark{}), DropBase(tree)); err != nil || tree[ConfigPath].Perm() != c.want {
				t.Errorf("mode %o, want %o, %v", tree[ConfigPath].Perm(), c.want, err)
			}
		})
	}
}

func TestTheBaseOpensASocketWhereNoneCanBeUsed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		global string
		extra  []string
		opens  bool
	}{
		"none":                    {" maxconn 5\n", nil, true},
		"one that may all":        {" stats socket /run/a.sock level admin\n", nil, false},
		"one of the base's lines": {" maxconn 5\n", []string{"stats socket /run/a.sock level admin"}, false},
		"one that may see":        {" stats socket /run/a.sock level user\n", nil, true},
		"one without a path":      {" stats socket ipv4@127.0.0.1:9999 level admin\n", nil, true},
		"one in a condition":      {" .if defined(LAB)\n stats socket /run/a.sock level admin\n .endif\n", nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tree := transaction.Tree{}
			tree.Put(ConfigPath, []byte("global\n"+c.global), 0o644, "", "")
			for range 2 {
				if err := SetBase(tree, Base{Mode: "tcp", Extra: c.extra}, owner.Mark{}); err != nil {
					t.Fatal(err)
				}
				api, err := openRuntime(nil, tree)
				if own := strings.Contains(string(tree[ConfigPath].Content), adminSocket); own != c.opens || err != nil || (api.socket == "/run/a.sock") == c.opens {
					t.Errorf("it opens %v, and %q is used, %v", own, api.socket, err)
				}
			}
		})
	}
}

func TestWhatSomebodyDidToTheBaseIsSeen(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		old, replacement string
		drop             bool
		want             string
	}{
		"nothing":                       {"", "", false, "health stats maxconn"},
		"a comment":                     {"    stats enable\n", "    # a comment\n    stats enable\n", false, "health stats maxconn"},
		"another address":               {"    bind *:9\n", "    bind *:10\n", false, "health stats maxconn"},
		"a statement more":              {"    stats enable\n", "    stats enable\n    stats admin if TRUE\n", false, "health maxconn"},
		"a statement less":              {"    stats enable\n", "", false, "health maxconn"},
		"the mode of the health":        {"    mode http\n    option dontlognull\n", "    option dontlognull\n", false, "stats maxconn"},
		"no files for what is promised": {"", "", true, "health stats"},
		"no logging":                    {"    log global\n", "", false, "health stats maxconn, not whole"},
		"no socket":                     {"    " + adminSocket + "\n", "", false, "health stats maxconn, not whole"},
		"another socket":                {adminSocket, "stats socket /run/other.sock level admin", false, "health stats maxconn"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tree, bind := transaction.Tree{}, Bind{Address: "*", Port: 9}
			base := Base{Mode: "tcp", Maxconn: 100, Health: &Health{Bind: Bind{Address: "*", Port: 8}, URI: "/up"}, Stats: &Stats{Bind: bind, URI: "/", User: "a", Password: "b c", Refresh: "5s"}}
			if err := SetBase(tree, base, owner.Mark{}); err != nil {
				t.Fatal(err)
			}
			text := string(tree[ConfigPath].Content)
			if !strings.Contains(text, c.old) {
				t.Fatalf("no %q in\n%s", c.old, text)
			}
			tree.Put(ConfigPath, []byte(strings.Replace(text, c.old, c.replacement, 1)), 0o644, "", "")
			if c.drop {
				delete(tree, UnitPath)
			}
			got, err := FindBase(tree)
			var found []string
			for what, there := range map[string]bool{"health": got.Health != nil, "stats": got.Stats != nil, "maxconn": got.Maxconn == 100} {
				if there {
					found = append(found, what)
				}
			}
			slices.Sort(found)
			have, notWhole := strings.CutSuffix(c.want, ", not whole")
			want := strings.Fields(have)
			slices.Sort(want)
			if err != nil || !slices.Equal(found, want) || isBaseWhole(tree) == notWhole {
				t.Errorf("it has %q, want %q, %v; whole: %t", found, c.want, err, isBaseWhole(tree))
			}
		})
	}
}

func TestADisabledProxyIsNotMissing(t *testing.T) {
	tree := transaction.Tree{}
	for _, name := range []string{"on", "off"} {
		t.Run(name, func(t *testing.T) {
			b := Backend{Name: name}
			if name == "off" {
				b.Extra = []string{"disabled"}
			}
			if err := SetProxy(tree, b, owner.Mark{}); err != nil {
				t.Fatal(err)
			}
		})
	}
	if got := findMissing(tree, statTable{}, serverTable{}); !slices.Equal(got, []string{`backend "on" is not there`}) {
		t.Errorf("%q", got)
	}
}

// What an import took over and a destroy removes leaves the file as if it had never been there: no blank line more.
func TestAPersonsSectionTakesTheBlankLineBeforeItAlong(t *testing.T) {
	const section = "backend mine\n\tmode tcp\n"
	for name, c := range map[string][2]string{
		"at the end":      {"defaults\n\tmode tcp\n\n" + section, "defaults\n\tmode tcp\n"},
		"in the middle":   {"defaults\n\tmode tcp\n\n" + section + "\nfrontend f\n\tbind *:80\n", "defaults\n\tmode tcp\n\nfrontend f\n\tbind *:80\n"},
		"close to a next": {"defaults\n\tmode tcp\n\n" + section + "frontend f\n\tbind *:80\n", "defaults\n\tmode tcp\n\nfrontend f\n\tbind *:80\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tree := transaction.Tree{}
			tree.Put(ConfigPath, []byte(c[0]), 0o644, "", "")
			if err := DropProxy(tree, "backend", "mine"); err != nil {
				t.Fatal(err)
			}
			if got := string(tree[ConfigPath].Content); got != c[1] {
				t.Errorf("%s: left %q, want %q", name, got, c[1])
			}
		})
	}
}
