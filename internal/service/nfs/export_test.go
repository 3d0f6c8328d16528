package nfs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/hosttest"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/part"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

var (
	mine   = owner.Mark{ID: "mine", Workspace: "here"}
	images = Export{
		Path: "/srv/nfs images", Create: true, Owner: "nobody", Group: "1000", Permissions: "0770",
		Clients: []Client{{"10.0.0.0/24", []string{"rw", "no_root_squash"}}, {"*.okd.example", nil}},
	}
)

func TestFilesAreReadBack(t *testing.T) {
	tree := transaction.Tree{}
	if err := Set(tree, images, mine); err != nil {
		t.Fatal(err)
	}
	const file = "/etc/exports.d/virtcluster-srv%2Fnfs+images.exports"
	want := `# Written by terraform-provider-virtcluster owner=mine workspace=here
# directory create=true owner=nobody group=1000 permissions=0770
"/srv/nfs images" 10.0.0.0/24(rw,no_root_squash) *.okd.example()
`
	if diff := cmp.Diff(want, string(tree[file].Content)); diff != "" {
		t.Error(diff)
	}
	got, err := Find(tree, images.Path)
	if diff := cmp.Diff(images, got); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	if m, there := Mark(tree, images.Path); !there || m != mine {
		t.Errorf("the mark is %+v, %t", m, there)
	}
	if diff := cmp.Diff([]string{images.Path}, ListPaths(tree)); diff != "" {
		t.Error(diff)
	}
	// What a person wrote at its place is a person's; a line that cannot be read is no client of ours.
	tree.Put(file, []byte("/srv *(rw)\n"), 0o644, "", "")
	if m, there := Mark(tree, images.Path); !there || m.ID != "" {
		t.Errorf("the mark of a person's is %+v, %t", m, there)
	}
	if err := Drop(tree, images.Path); err != nil || len(tree) != 0 {
		t.Errorf("%v: left %v", err, tree)
	}
}

func TestWhatNoServerExports(t *testing.T) {
	with := func(change func(*Export)) Export {
		e := images
		e.Clients = []Client{{"10.0.0.0/24", []string{"rw"}}}
		change(&e)
		return e
	}
	for about, c := range map[string]struct {
		e        Export
		at, says string
	}{
		"nothing":           {with(func(*Export) {}), "", ""},
		"no path":           {with(func(e *Export) { e.Path = "srv" }), "path", "absolute"},
		"the root":          {with(func(e *Export) { e.Path = "/" }), "path", "below /"},
		"quotes":            {with(func(e *Export) { e.Path = `/a"b` }), "path", "letters"},
		"the kernel's":      {with(func(e *Export) { e.Path = "/proc/fs" }), "path", "kernel"},
		"a mode in words":   {with(func(e *Export) { e.Permissions = "rwx" }), "permissions", "octal"},
		"a user's field":    {with(func(e *Export) { e.Owner = "a b" }), "owner", "name or a number"},
		"nobody":            {with(func(e *Export) { e.Clients = nil }), "clients", "at least one"},
		"two clients":       {with(func(e *Export) { e.Clients[0].Match = "a b" }), "clients", "@netgroup"},
		"a zone's options":  {with(func(e *Export) { e.Clients[0].Match = "fe80::1%x(rw) *(rw,no_root_squash)" }), "clients", "@netgroup"},
		"a client twice":    {with(func(e *Export) { e.Clients = append(e.Clients, Client{"10.0.0.7/24", nil}) }), "clients", "twice"},
		"no option":         {with(func(e *Export) { e.Clients[0].Options = []string{"rw)", "x"} }), "clients", "exports(5)"},
		"a contradiction":   {with(func(e *Export) { e.Clients[0].Options = []string{"rw", "ro"} }), "clients", "contradict"},
		"root of the world": {with(func(e *Export) { e.Clients[0] = Client{"*", []string{"no_root_squash"}} }), "clients", "every machine"},
		"root of any IPv6":  {with(func(e *Export) { e.Clients[0] = Client{"::/0", []string{"no_root_squash"}} }), "clients", "every machine"},
	} {
		t.Run(about, func(t *testing.T) {
			t.Parallel()
			problems := c.e.Validate()
			if c.at == "" {
				if len(problems) > 0 {
					t.Errorf("%s: %v", about, problems)
				}
				return
			}
			if len(problems) == 0 || problems[0].Path[0] != c.at || !strings.Contains(problems[0].Detail, c.says) {
				t.Errorf("%s: %+v, want %q at %s", about, problems, c.says, c.at)
			} else if problems[0].Warning != strings.HasPrefix(about, "root of") {
				t.Errorf("%s: is a warning: %t", about, problems[0].Warning)
			}
		})
	}
}

// TestAPersonsExportIsSeen has nfs.sh look for directories in files of a person's.
func TestAPersonsExportIsSeen(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "exports")
	if err := os.WriteFile(file, []byte("# /srv/a *(rw)\n/srv/b\t*(rw)\n\"/srv/c d\" *(ro)\n/srv/e\\040f *(ro)\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	text := strings.ReplaceAll(script, "/etc/exports ", file+" ")
	for path, taken := range map[string]bool{"/srv/a": false, "/srv/b": true, "/srv": false, "/srv/c": false, "/srv/c d": true, "/srv/e f": true} {
		t.Run(path, func(t *testing.T) {
			out, err := exec.Command("sh", "-c", text, "sh", "taken", dir, "/staged", path).CombinedOutput()
			if (err != nil) != taken {
				t.Errorf("%s: taken %t: %s", path, err != nil, out)
			}
		})
	}
}

// TestExportersAreThoseOfWhatIsLeft has nfs.sh list the files that export something.
func TestExportersAreThoseOfWhatIsLeft(t *testing.T) {
	file := filepath.Join(t.TempDir(), "exports")
	for name, c := range map[string]struct {
		text  string
		found bool
	}{"a comment": {"# /srv/a *(rw)\n\n", false}, "an export": {"# mine\n/srv/b *(rw)\n", true}, "nothing": {"", false}} {
		t.Run(name, func(t *testing.T) {
			if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command("sh", "-c", strings.ReplaceAll(script, "/etc/exports ", file+" "), "sh", "exporters")
			cmd.Env = []string{"PATH=/usr/bin:/bin"}
			out, err := cmd.Output()
			if err != nil || strings.Contains(string(out), file) != c.found {
				t.Errorf("%q, %v", out, err)
			}
		})
	}
}

// TestDirectoriesAreMadeAndUnmade has the script make a directory with what leads to it, and leave alone what is there, what is used and
// what has something in it.
func TestDirectoriesAreMadeAndUnmade(t *testing.T) {
	root := t.TempDir()
	exports := filepath.Join(root, "exports")
	text := strings.ReplaceAll(script, "/etc/exports ", exports+" ")
	do := func(t *testing.T, fails bool, args ...string) string {
		t.Helper()
		out, err := exec.Command("sh", append([]string{"-c", text, "sh"}, args...)...).CombinedOutput()
		if (err != nil) != fails {
			t.Errorf("%q: %v: %s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	write := func(t *testing.T, path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	there := func(path string) bool { _, err := os.Stat(path); return err == nil }
	outer := filepath.Join(root, "a b")
	dir := filepath.Join(outer, "c")
	t.Run("missing", func(t *testing.T) {
		if said := do(t, true, "prepare", dir, "false", "", "", ""); !strings.Contains(said, "create = true") {
			t.Errorf("it says %q", said)
		}
		if said := do(t, false, "look", dir); said != "" {
			t.Errorf("it is %q", said)
		}
	})
	t.Run("an account that is not there", func(t *testing.T) {
		if said := do(t, true, "prepare", dir, "true", "no-such-user", "", ""); !strings.Contains(said, "no user") || there(outer) {
			t.Errorf("it says %q, made %t", said, there(outer))
		}
		do(t, true, "prepare", dir, "true", "", "no-such-group", "")
	})
	t.Run("made and unmade", func(t *testing.T) {
		made := do(t, false, "prepare", dir, "true", "1000", "", "0750")
		if is := do(t, false, "look", dir); len(strings.Split(made, "\n")) != 2 || !strings.HasSuffix(is, " 750") || !strings.Contains(is, " 1000 ") {
			t.Errorf("made %q, it is %q", made, is)
		}
		if do(t, false, "unmake", made); there(outer) {
			t.Error("what was made for it is left")
		}
	})
	t.Run("one that is there stays as it is until the end", func(t *testing.T) {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if made := do(t, false, "prepare", dir, "true", "1000", "1000", "0700"); made != "" {
			t.Errorf("making it says %q", made)
		}
		if is := do(t, false, "look", dir); !strings.HasSuffix(is, " 755") || !strings.Contains(is, "root 0 ") {
			t.Errorf("it is %q", is)
		}
		do(t, false, "give", dir, "1000", "", "0700")
		if is := do(t, false, "look", dir); !strings.HasSuffix(is, " 700") || !strings.Contains(is, " 1000 ") {
			t.Errorf("it is %q", is)
		}
		if err := os.RemoveAll(outer); err != nil {
			t.Fatal(err)
		}
	})
	for name, use := range map[string]func(t *testing.T){
		"exported by a file":    func(t *testing.T) { write(t, exports, "\""+dir+"\" *(ro)\n") },
		"it has something":      func(t *testing.T) { write(t, filepath.Join(dir, "data"), "") },
		"it is another one now": func(t *testing.T) { _ = os.Rename(dir, dir+"2"); _ = os.Mkdir(dir, 0o700) },
	} {
		t.Run(name, func(t *testing.T) {
			made := do(t, false, "prepare", dir, "true", "", "", "")
			use(t)
			if do(t, false, "unmake", made); !there(dir) {
				t.Error("it is gone")
			}
			_ = os.Remove(exports)
			if err := os.RemoveAll(outer); err != nil {
				t.Fatal(err)
			}
		})
	}
	write(t, filepath.Join(root, "file"), "")
	do(t, true, "prepare", filepath.Join(root, "file"), "true", "", "", "")
}

// TestADirectoryThatIsGoneIsSeen has nobody mount what is missing, whether it is to be made or not.
func TestADirectoryThatIsGoneIsSeen(t *testing.T) {
	t.Parallel()
	bare := Export{Path: "/srv/a", Clients: images.Clients}
	for name, c := range map[string]struct {
		says string
		want Export
	}{
		"there": {"root 0 root 0 755\n", Export{Path: "/srv/a", Clients: images.Clients, Owner: "root", Group: "root", Permissions: "0755"}},
		"gone":  {"", Export{Path: "/srv/a"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := hosttest.New()
			h.On(hosttest.Answer(c.says, 0, ""), "sh", "-c")
			got, err := readLive(t.Context(), h, bare)
			if diff := cmp.Diff(c.want, got); err != nil || diff != "" {
				t.Errorf("%v\n%s", err, diff)
			}
		})
	}
}

// TestAClientThatWasEndedByHandIsSeen has exportfs tell who may mount a directory, of which it has its own spelling for hosts alone.
func TestAClientThatWasEndedByHandIsSeen(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	of := func(matches ...string) (all []Client) {
		for _, m := range matches {
			all = append(all, Client{Match: m})
		}
		return all
	}
	for name, c := range map[string]struct {
		clients []Client
		told    string
		left    []Client
	}{
		"all there":                      {of("10.0.0.7/24", "*.OKD.example", "@hosts", "fd00::/64", "*"), "10.0.0.0/24 *.okd.example @hosts fd00::/64 *", of("10.0.0.7/24", "*.OKD.example", "@hosts", "fd00::/64", "*")},
		"a prefix ended":                 {of("10.0.0.0/24", "10.1.0.0/24"), "10.1.0.0/24", of("10.1.0.0/24")},
		"a pattern ended":                {of("*.a.example", "*.b.example"), "*.b.example 10.9.9.9", of("*.b.example")},
		"hosts by other names of theirs": {of("10.0.0.9", "alias.example"), "host.example", of("10.0.0.9", "alias.example")},
		"hosts ended":                    {of("10.0.0.9", "10.1.0.0/24"), "10.1.0.0/24", of("10.1.0.0/24")},
		"served to nobody":               {of("10.0.0.0/24"), "", of("10.0.0.0/24")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			table := dir + "x  10.8.0.0/24(rw)\n"
			for told := range strings.FieldsSeq(c.told) {
				table += dir + "  " + told + "(rw,sync,sec=sys)\n"
			}
			end, _ := serve(t, table, "look", dir)
			h := hosttest.New()
			h.On(hosttest.Answer(end.Stdout, end.Status, end.Stderr), "sh", "-c")
			got, err := readLive(t.Context(), h, Export{Path: dir, Clients: c.clients})
			if diff := cmp.Diff(c.left, got.Clients); err != nil || diff != "" {
				t.Errorf("%v\n%s\n%+v", err, diff, end)
			}
			tree := transaction.Tree{}
			if err := Set(tree, Export{Path: dir, Clients: c.clients}, mine); err != nil {
				t.Fatal(err)
			}
			end, _ = serve(t, table, "check", dir)
			h = hosttest.New()
			h.On(hosttest.Answer(end.Stdout, end.Status, end.Stderr), "sh", "-c")
			if err := (Daemon{}).Verify(t.Context(), h, tree); (err == nil) != (c.told != "" && len(c.left) == len(c.clients)) {
				t.Errorf("verified: %v", err)
			}
		})
	}
}

func TestOnlyOurOwnClientsAreExportedAndEnded(t *testing.T) {
	before, after := transaction.Tree{}, transaction.Tree{}
	changed := images
	changed.Clients = []Client{{"10.0.0.7/24", []string{"ro"}}, {"@hosts", nil}}
	old := Export{Path: "/srv/old", Clients: []Client{{"*", []string{"rw"}}}}
	for _, err := range []error{Set(before, images, mine), Set(before, old, mine), Set(after, changed, mine)} {
		t.Run(fmt.Sprint(err), func(t *testing.T) {
			t.Parallel()
			if err != nil {
				t.Fatal(err)
			}
		})
	}
	want := []string{
		"end", "/srv/nfs images", "*.okd.example", "-",
		"end", "/srv/old", "*", "-",
		"begin", "/srv/nfs images", "10.0.0.7/24", "ro",
		"begin", "/srv/nfs images", "@hosts", "ro",
	}
	if diff := cmp.Diff(want, exportSteps(before, after)); diff != "" {
		t.Error(diff)
	}
}

// serve has nfs.sh be run with a table of exports in which its exportfs ends what it is told to.
func serve(t *testing.T, table string, args ...string) (hosttest.Ending, string) {
	t.Helper()
	at := filepath.Join(t.TempDir(), "table")
	if err := os.WriteFile(at, []byte(table), 0o600); err != nil {
		t.Fatal(err)
	}
	end := hosttest.Script{Text: script, Args: args, Programs: map[string]string{
		"systemctl": "",
		"exportfs": `case $1 in
-s) cat ` + at + ` ;;
-i) case $4 in
	refused*) echo "exportfs: Failed to stat ${4#*:}"; exit 1 ;;
	esac ;;
-u) case $2 in
	lost*) echo "exportfs: Failed to resolve ${2%%:*}"; exit 1 ;;
	*) awk -v line="${2#*:}  ${2%%:*}(" 'index($0, line) != 1' ` + at + ` >` + at + `.new && mv ` + at + `.new ` + at + ` ;;
	esac ;;
esac`,
	}}.Run(t)
	left, err := os.ReadFile(at)
	if err != nil {
		t.Fatal(err)
	}
	return end, string(left)
}

// TestWhatAPersonExportsBesideIsNotInTheWay ends an export of a directory that a person exports to others by hand.
func TestWhatAPersonExportsBesideIsNotInTheWay(t *testing.T) {
	t.Parallel()
	const theirs = "/srv/x  10.9.9.9(ro)\n"
	for name, c := range map[string]struct {
		table string
		args  []string
		says  string
	}{
		"it ends":                        {"/srv/x  10.0.0.1(rw)\n" + theirs, []string{"activate", "end", "/srv/x", "10.0.0.1", "-"}, ""},
		"it is gone":                     {theirs, []string{"ended", "/srv/x", "10.0.0.1"}, ""},
		"it is there still":              {"/srv/x  10.0.0.1(rw)\n" + theirs, []string{"ended", "/srv/x", "10.0.0.1"}, "/srv/x is exported to 10.0.0.1 still"},
		"nobody knows its name":          {"/srv/x  old.example(rw)\n", []string{"activate", "end", "/srv/x", "lost.example", "-"}, "whose name is not known any more"},
		"the directory stays for others": {"/srv/x  old.example(rw)\n", []string{"activate", "end", "/srv/x", "lost.example", "-", "begin", "/srv/x", "10.0.0.1", "ro"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			end, left := serve(t, c.table, c.args...)
			if (end.Status == 0) != (c.says == "") || !strings.Contains(end.Stderr, c.says) {
				t.Errorf("%+v", end)
			}
			if name == "it ends" && left != theirs {
				t.Errorf("the table has %q", left)
			}
		})
	}
}

// TestAClientThatNobodyKnowsIsInTheWayOfNoOther has a host have lost its name that a directory is exported to, which may be another state's.
func TestAClientThatNobodyKnowsIsInTheWayOfNoOther(t *testing.T) {
	t.Parallel()
	lost, more := Export{Path: t.TempDir(), Clients: []Client{{"refused.example", []string{"rw"}}}}, Export{Path: "/srv/more", Clients: []Client{{"10.0.0.1", nil}}}
	before, after := transaction.Tree{}, transaction.Tree{}
	if err := errors.Join(Set(before, lost, mine), Set(after, lost, mine), Set(after, more, mine)); err != nil {
		t.Fatal(err)
	}
	steps := exportSteps(before, after)
	if end, _ := serve(t, "", append([]string{"activate"}, steps...)...); end.Status != 0 || !slices.Contains(steps, more.Path) {
		t.Errorf("another export is made by %q: %+v", steps, end)
	}
	steps = exportSteps(after, before)
	if end, _ := serve(t, more.Path+"  10.0.0.1(ro)\n", append([]string{"activate"}, steps...)...); end.Status != 0 {
		t.Errorf("another export ends by %q: %+v", steps, end)
	}
	changed := lost
	changed.Clients = []Client{{"refused.example", []string{"ro"}}}
	again := transaction.Tree{}
	if err := Set(again, changed, mine); err != nil {
		t.Fatal(err)
	}
	for name, prev := range map[string]transaction.Tree{"is made": {}, "changes": before, "stays": again} {
		t.Run("its own "+name, func(t *testing.T) {
			t.Parallel()
			if end, _ := serve(t, "", append([]string{"activate"}, exportSteps(prev, again)...)...); end.Status == 0 || !strings.Contains(end.Stderr, "refused.example") {
				t.Errorf("it ends with %+v", end)
			}
		})
	}
}

func TestOnlyWhatChangesIsVerified(t *testing.T) {
	t.Parallel()
	there, more := Export{Path: "/srv/there", Clients: []Client{{"refused.example", nil}}}, Export{Path: "/srv/more", Clients: []Client{{"10.0.0.1", nil}, {"10.0.1.0/24", nil}}}
	before, after := transaction.Tree{}, transaction.Tree{}
	if err := errors.Join(Set(before, there, mine), Set(after, there, mine), Set(after, more, mine)); err != nil {
		t.Fatal(err)
	}
	const table = "/srv/more  10.0.0.1(ro)\n/srv/more  10.0.1.0/24(ro)\n/srv/there  refused.example(ro)\n"
	for name, c := range map[string]struct {
		prev, next transaction.Tree
		want       []string
	}{
		"one is made":     {before, after, []string{"/srv/more"}},
		"one ends":        {after, before, nil},
		"nothing changes": {after, after, []string{"/srv/more", "/srv/there"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := hosttest.New()
			var asked []string
			h.On(func(_ context.Context, _ *hosttest.Host, cmd host.Cmd) ([]byte, error) {
				asked = cmd.Argv[slices.Index(cmd.Argv, "check")+1:]
				return []byte(table), nil
			}, "sh")
			if err := (Daemon{}).VerifyChange(t.Context(), h, c.prev, c.next); err != nil || !slices.Equal(asked, c.want) {
				t.Errorf("asked about %q, %v", asked, err)
			}
			h = hosttest.New()
			h.On(hosttest.Answer(strings.Replace(table, "/srv/more  10.0.1.0/24(ro)\n", "", 1), 0, ""), "sh")
			if err := (Daemon{}).VerifyChange(t.Context(), h, c.prev, c.next); (err != nil) != slices.Contains(c.want, "/srv/more") {
				t.Errorf("with a client that was ended: %v", err)
			}
		})
	}
}

// TestADirectoryThatIsGoneIsInTheWayOfNoOther exports directories that exportfs refuses, of which one is gone: that is another export's.
func TestADirectoryThatIsGoneIsInTheWayOfNoOther(t *testing.T) {
	t.Parallel()
	there := t.TempDir()
	for path, says := range map[string]string{there: "export " + there + " to refused.example: exportfs: Failed to stat", filepath.Join(there, "gone"): ""} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			end, _ := serve(t, "", "activate", "begin", path, "refused.example", "ro")
			if (end.Status == 0) != (says == "") || !strings.Contains(end.Stderr, says) {
				t.Errorf("%+v", end)
			}
		})
	}
}

// TestOnlyWhatChangesIsAskedAbout has a person export a directory of ours in a file of theirs, which keeps no other one from a change.
func TestOnlyWhatChangesIsAskedAbout(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file, live, stage := filepath.Join(dir, "exports"), filepath.Join(dir, "live"), filepath.Join(dir, "stage")
	put := func(path, text string) {
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	put(file, "/srv/x *(ro)\n")
	put(live, "one")
	put(stage+live, "one")
	taken := func() hosttest.Ending {
		return hosttest.Script{Text: strings.ReplaceAll(script, "/etc/exports ", file+" "), Args: []string{"taken", stage, live, "/srv/x", dir + "/new", "/srv/y"}, Programs: map[string]string{"systemctl": "exit 3"}}.Run(t)
	}
	if end := taken(); end.Status != 0 {
		t.Errorf("what does not change: %+v", end)
	}
	put(stage+live, "two")
	if end := taken(); end.Status != 1 || !strings.Contains(end.Stderr, "/srv/x is exported by "+file) {
		t.Errorf("what changes: %+v", end)
	}
}

func TestADirectoryIsServedBesideOneThatIsNot(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		seen            string
		running, served bool
	}{
		"all is exported":     {"active\n", true, true},
		"another one is not":  {"active\n/srv/other\n", false, true},
		"it is not":           {"active\n/srv/other\n/srv/a b\n", false, false},
		"the server is ended": {"inactive\n", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := hosttest.New()
			h.On(hosttest.Answer(c.seen, 0, ""), "sh")
			if running, err := (Daemon{}).Running(t.Context(), h); err != nil || running != c.running {
				t.Errorf("running is %t, %v", running, err)
			}
			if served, err := NewPart(part.Identity{Name: "/srv/a b"}).Serves(t.Context(), h); err != nil || served != c.served {
				t.Errorf("served is %t, %v", served, err)
			}
		})
	}
}
