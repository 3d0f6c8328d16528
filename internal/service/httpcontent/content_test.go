package httpcontent

import (
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/hosttest"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/programs/selfbinary"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/part"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

var (
	mine = owner.Mark{ID: "abcdefgh12345678", Workspace: "0123456789abcdef"}
	at   = netip.MustParseAddr("10.0.0.1")
)

func partAt(path string) part.Part[Content] {
	return newPart(8080, path, "x", mine, &selfbinary.Program{Sum: strings.Repeat("a", 64)})
}

func TestContentsOfAPortShareItsServer(t *testing.T) {
	t.Parallel()
	tree := transaction.Tree{}
	text := Content{Address: at, Port: 8080, Path: "/a", Files: map[string]string{"": SumOfText("x")}}
	repository := Content{Address: at, Port: 8080, Path: "/b", Directory: "/srv/b", Files: map[string]string{"x/y": SumOfText("y")}}
	first, second := partAt("/a"), partAt("/b")
	if err := first.Add(tree, text); err != nil {
		t.Fatal(err)
	}
	if err := second.Add(tree, repository); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		part part.Part[Content]
		want Content
	}{{first, text}, {second, repository}} {
		t.Run(c.want.Path, func(t *testing.T) {
			if got, err := c.part.Find(tree); err != nil || !reflect.DeepEqual(got, c.want) {
				t.Errorf("%v: %+v, want %+v", err, got, c.want)
			}
		})
	}
	unit := string(tree["/etc/systemd/system/virtcluster-http@.service"].Content)
	if !strings.Contains(unit, "ExecStart=/usr/local/lib/virtcluster/terraform-provider-virtcluster-aaaaaaaaaaaaaaaa webfiles ") {
		t.Errorf("the unit is %s", unit)
	}
	text.Address = netip.MustParseAddr("10.0.0.2")
	if err := first.Add(tree, text); err == nil || !strings.Contains(err.Error(), "another address") {
		t.Errorf("another address is %v", err)
	}
	if err := first.Drop(tree); err != nil || len(tree) != 3 {
		t.Errorf("%v: the other one has %d files", err, len(tree))
	}
	if err := second.Drop(tree); err != nil || len(tree) != 0 {
		t.Errorf("%v: left %v", err, tree)
	}
}

func TestAServersFileThatAPersonEditedIsSeenAndMended(t *testing.T) {
	t.Parallel()
	a := Content{Address: at, Port: 8080, Path: "/a", Files: map[string]string{"": SumOfText("x")}}
	for name, c := range map[string]struct {
		edited  string
		damaged bool
		address string
		says    string
	}{
		"written otherwise":  {`{"port": 8080, "address": "10.0.0.1"}`, false, "10.0.0.1", ""},
		"another address":    {`{"address": "10.0.0.2", "port": 8080}`, false, "10.0.0.2", "another address"},
		"another port":       {`{"address": "10.0.0.1", "port": 9090}`, true, "", ""},
		"no address":         {`{"address": "", "port": 8080}`, true, "", ""},
		"not to be read":     {"mine", true, "", ""},
		"nothing is left of": {"", true, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tree := transaction.Tree{}
			for _, path := range []string{"/a", "/b"} {
				c := a
				c.Path = path
				if err := partAt(path).Add(tree, c); err != nil {
					t.Fatal(err)
				}
			}
			file := NewDaemon("").Path("8080", "listen.json")
			was := string(tree[file].Content)
			tree.Put(file, []byte(c.edited), 0o644, "", "")
			if got, err := partAt("/a").Find(tree); err != nil || got.Damaged != c.damaged || !c.damaged && got.Address.String() != c.address {
				t.Errorf("read is %+v, %v", got, err)
			} else if c.damaged && got.Checksum() != "" {
				t.Errorf("nobody sees it: %s", got.Checksum())
			}
			err := partAt("/a").Set(tree, a)
			if c.says != "" {
				if err == nil || !strings.Contains(err.Error(), c.says) {
					t.Errorf("got %v", err)
				}
				return
			}
			if err != nil || string(tree[file].Content) != was {
				t.Errorf("the file has %q, %v", tree[file].Content, err)
			}
		})
	}
}

// TestNobodysFileIsReplacedByAnothers has a directory have a file where another content is, and a content be where a directory has a file.
func TestNobodysFileIsReplacedByAnothers(t *testing.T) {
	t.Parallel()
	file := Content{Address: at, Port: 8080, Path: "/rhcos/kernel", Files: map[string]string{"": SumOfText("x")}}
	tree := func(files ...string) Content {
		c := Content{Address: at, Port: 8080, Path: "/rhcos", Directory: "/srv/rhcos", Files: map[string]string{}}
		for _, name := range files {
			c.Files[name] = SumOfText(name)
		}
		return c
	}
	for name, c := range map[string]struct {
		there, want Content
		says        string
	}{
		"a file of a directory":         {tree("initrd", "kernel"), file, "/rhcos/kernel is served at port 8080 already, by the content /rhcos:"},
		"a directory with such a file":  {file, tree("kernel"), "/rhcos/kernel is served at port 8080 already, by the content /rhcos/kernel:"},
		"a directory with other files":  {file, tree("initrd", "kernel.sig", "below/kernel"), ""},
		"the same one, which it may be": {file, file, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			served := transaction.Tree{}
			if err := partAt(c.there.Path).Add(served, c.there); err != nil {
				t.Fatal(err)
			}
			err := partAt(c.want.Path).Add(served, c.want)
			if at, _ := errors.AsType[*service.AttributeError](err); (err == nil) != (c.says == "") || err != nil && (!strings.Contains(err.Error(), c.says) || at == nil || at.Path[0] != "path") {
				t.Errorf("%v, want %q", err, c.says)
			}
		})
	}
}

func TestAContentHasTheFilesOfItsSource(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	write("one", "1")
	write("tree/a", "a")
	write("tree/below/b", "b")
	write("blank/a b/c", "")
	one := "sha256:" + SumOfText("1")
	for name, c := range map[string]struct {
		content Content
		sum     string
		says    string
	}{
		"a text":             {Content{Text: "1"}, one, ""},
		"a file":             {Content{Source: filepath.Join(dir, "one")}, one, ""},
		"as it is planned":   {Content{Source: filepath.Join(dir, "one"), Planned: one[:7] + strings.ToUpper(one[7:])}, one, ""},
		"a directory":        {Content{Directory: filepath.Join(dir, "tree")}, "sha256:" + SumOfText(SumOfText("a")+"  a\n"+SumOfText("b")+"  below/b\n"), ""},
		"a URL":              {Content{Source: "https://x/y", Planned: one}, one, ""},
		"a URL of anything":  {Content{Source: "https://x/y"}, "", "write the checksum"},
		"it changed":         {Content{Text: "2", Planned: one}, "", "it should be " + one},
		"no such file":       {Content{Source: filepath.Join(dir, "none")}, "", "no such file"},
		"no file":            {Content{Source: dir}, "", "is no file"},
		"nothing in it":      {Content{Directory: t.TempDir()}, "", "there is no file"},
		"a name with blanks": {Content{Directory: filepath.Join(dir, "blank")}, "", "cannot be served"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := c.content.Complete()
			if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) || err == nil && got.Checksum() != c.sum {
				t.Errorf("%v: it has %s, want %s", err, got.Checksum(), c.sum)
			}
		})
	}
}

func TestWhatIsNoContent(t *testing.T) {
	t.Parallel()
	for name, err := range map[string]error{
		"a path that leads out": CheckPath("/../x"), "one that begins nowhere": CheckPath("x"), "a directory's": CheckPath("/x/"), "an empty one": CheckPath(""),
		"a port alone": CheckListen(":8080"), "no port": CheckListen("10.0.0.1"), "port 0": CheckListen("10.0.0.1:0"), "a short checksum": CheckChecksum("sha256:ab"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err == nil {
				t.Error("it is taken")
			}
		})
	}
	if problems := (Content{Text: strings.Repeat("x", longestText+1)}).Validate(); len(problems) != 1 {
		t.Errorf("%+v", problems)
	}
}

// TestFilesAreKeptByTheirSums runs append.sh and store.sh.
func TestFilesAreKeptByTheirSums(t *testing.T) {
	t.Parallel()
	store, config := filepath.Join(t.TempDir(), "store"), t.TempDir()
	run := func(status int, input, verb string, args ...string) string {
		t.Helper()
		s := hosttest.Script{Text: script, Args: append([]string{verb, store}, args...), Input: input}
		if verb == "append" {
			s.Text, s.Args = appendScript, s.Args[1:]
		}
		end := s.Run(t)
		if end.Status != status {
			t.Fatalf("%s: %+v", verb, end)
		}
		return strings.TrimSpace(end.Stdout)
	}
	sum := SumOfText("hello world")
	if said := run(0, "", "damaged", sum); said != sum {
		t.Errorf("before it is there: %q", said)
	}
	run(0, "hello ", "append", sum, "0")
	run(0, "worse", "append", sum, "6")
	run(0, "world", "append", sum, "6") // as after a connection that broke
	run(1, "x", "append", sum, "100")
	run(0, "", "finish", sum)
	for range 2 {
		if said := run(0, "", "damaged", sum); said != "" {
			t.Errorf("it is whole: %q", said)
		}
	}
	if err := os.WriteFile(filepath.Join(store, sum), []byte("hello there"), 0o600); err != nil {
		t.Fatal(err)
	}
	if said := run(0, "", "damaged", sum); said != sum {
		t.Errorf("it is another one: %q", said)
	}
	run(0, "hello", "append", sum, "0")
	run(1, "", "finish", sum)
	named := SumOfText("named")
	run(0, "named", "append", named, "0")
	run(0, "", "finish", named)
	if err := os.MkdirAll(filepath.Join(config, "8080"), 0o755); err != nil {
		t.Fatal(err)
	}
	entry := filepath.Join(config, "8080", "content-1.json")
	if err := os.WriteFile(entry, []byte(named), 0o600); err != nil {
		t.Fatal(err)
	}
	run(0, "", "collect", config)
	left, _ := filepath.Glob(filepath.Join(store, "*"))
	if len(left) != 1 || filepath.Base(left[0]) != named {
		t.Errorf("left %q", left)
	}
	if err := os.Remove(entry); err != nil {
		t.Fatal(err)
	}
	run(0, "", "collect", config)
	if _, err := os.Stat(store); err == nil {
		t.Error("the directory is left")
	}
}

func TestWhatAMachineServesIsListed(t *testing.T) {
	t.Parallel()
	tree := transaction.Tree{}
	add := func(path string) error {
		return partAt(path).Add(tree, Content{Address: at, Port: 8080, Path: path, Files: map[string]string{"": SumOfText("x")}})
	}
	if err := errors.Join(add("/b"), add("/a/deep")); err != nil {
		t.Fatal(err)
	}
	want := []Content{{Address: at, Port: 8080, Path: "/a/deep"}, {Address: at, Port: 8080, Path: "/b"}}
	if got := ListContents(tree); !reflect.DeepEqual(got, want) {
		t.Errorf("listed is %+v", got)
	}
	tree.Put(NewDaemon("").Path("8080", entryFile("/b")), []byte("damaged"), 0o644, "", "")
	if got := ListContents(tree); !reflect.DeepEqual(got, want[:1]) {
		t.Errorf("beside a damaged one there is %+v", got)
	}
}
