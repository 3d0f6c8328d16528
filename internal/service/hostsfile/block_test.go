package hostsfile

import (
	"bytes"
	"errors"
	"net/netip"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/hosttest"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

var (
	mark  = owner.Mark{ID: "me", Workspace: "here"}
	block = Block{Name: "okd", Entries: map[netip.Addr][]string{
		netip.MustParseAddr("10.0.0.100"):  {"api.okd.example", "api-int.okd.example"},
		netip.MustParseAddr("2001:db8::1"): {"six.okd.example"},
	}}
)

const rendered = `# BEGIN virtcluster okd owner=me workspace=here
10.0.0.100 api.okd.example api-int.okd.example
2001:db8::1 six.okd.example
# END virtcluster okd
`

// Two states want one block: who comes second is told while planning.
func TestABlockOfSomebodyElseIsRefusedAtPlan(t *testing.T) {
	for name, c := range map[string]struct {
		text   string
		create bool
		want   string
	}{
		"nobody's":         {"127.0.0.1 localhost\n", true, ""},
		"another state's":  {rendered, true, "another state"},
		"lost to it":       {rendered, false, "another state"},
		"gone, to be made": {"", false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			h := hosttest.New(host.File{Path: Path, Content: []byte(c.text)})
			err := Open(h, "okd", "ssh://root@test#okd", new(owner.Run).New()).Plan(t.Context(), c.create)
			at, placed := errors.AsType[*service.AttributeError](err)
			if (err == nil) != (c.want == "") || err != nil && (!placed || at.Path[0] != "name" || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestBlockStandsBesideWhatPeopleWrote(t *testing.T) {
	for name, c := range map[string]struct{ before, notes string }{
		"usual":              {before: "127.0.0.1 localhost\n# a comment\n"},
		"no newline":         {before: "127.0.0.1 localhost", notes: noEnd},
		"empty":              {},
		"a block of another": {before: "# BEGIN virtcluster okd2 owner=x\n1.2.3.4 x\n# END virtcluster okd2\n"},
	} {
		t.Run(name, func(t *testing.T) {
			text := block.Put([]byte(c.before), mark)
			want := c.before
			if c.notes != "" {
				want += "\n"
			}
			head, rest, _ := strings.Cut(rendered, "\n")
			if string(text) != want+head+"\n"+c.notes+rest {
				t.Errorf("got\n%s", text)
			}
			got, m, found := Find(text, "okd")
			if diff := cmp.Diff(block, got, cmpopts.EquateComparable(netip.Addr{})); !found || m != mark || diff != "" {
				t.Errorf("%v %v %s", found, m, diff)
			}
			if again := block.Put(text, mark); string(again) != string(text) {
				t.Errorf("put twice:\n%s", again)
			}
			if left := Drop(append(text, "9.9.9.9 behind\n"...), "okd"); string(left) != want+"9.9.9.9 behind\n" {
				t.Errorf("dropped:\n%s", left)
			}
		})
	}
}

func TestFileIsAsItWasWhenItsLastBlockIsGone(t *testing.T) {
	blocks := map[string]Block{}
	for _, name := range []string{"a", "b", "c"} {
		blocks[name] = Block{Name: name, Entries: block.Entries}
	}
	for name, before := range map[string][]byte{
		"no file": nil, "empty": {}, "no final newline": []byte("127.0.0.1 localhost"), "usual": []byte("127.0.0.1 localhost\n"), "only a newline": []byte("\n"),
	} {
		for _, order := range []string{"abc", "acb", "bac", "bca", "cab", "cba"} {
			t.Run(name+" "+order, func(t *testing.T) {
				text := before
				for _, put := range []string{"a", "b", "c", "a"} {
					text = blocks[put].Put(text, mark)
				}
				for _, drop := range order {
					text = Drop(text, string(drop))
				}
				if !bytes.Equal(text, before) || (text == nil) != (before == nil) {
					t.Errorf("got %q, nil %t", text, text == nil)
				}
			})
		}
	}
	if left := Drop(append(blocks["a"].Put(nil, mark), "9.9.9.9 person\n"...), "a"); string(left) != "9.9.9.9 person\n" {
		t.Errorf("what a person wrote into a file that was not there: %q", left)
	}
}

func TestABlockWithoutItsEndIsNotChanged(t *testing.T) {
	t.Parallel()
	text := "a\n# BEGIN virtcluster okd owner=me\n8.8.8.8 ours-or-a-persons\n# BEGIN virtcluster other owner=me\n9.9.9.9 others\n# END virtcluster other\n"
	for name, change := range map[string]func(*Store) error{
		"plan":   func(s *Store) error { return s.Plan(t.Context(), false) },
		"update": func(s *Store) error { _, err := s.Update(t.Context(), Block{}, Block{Name: "okd"}); return err },
		"delete": func(s *Store) error { return s.Delete(t.Context()) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, claim := hosttest.New(), owner.BeginRun().New()
			text := strings.Replace(text, "owner=me", claim.Mark().String(), 1)
			h.Put(Path, text)
			err := change(Open(h, "okd", "id", claim))
			if err == nil || !strings.Contains(err.Error(), `write "# END virtcluster okd" below its last line`) {
				t.Errorf("it says %v", err)
			}
			if left := h.Content(Path); left != text {
				t.Errorf("left is %q", left)
			}
		})
	}
	if got, _, _ := Find([]byte(text), "okd"); len(got.Entries) != 1 {
		t.Errorf("of the block are %v", got.Entries)
	}
	if err := checkEnd([]byte(text), "other"); err != nil {
		t.Error(err)
	}
}

func TestHandEditInTheBlockShows(t *testing.T) {
	got, _, _ := Find([]byte(strings.Replace(rendered, "api-int.okd.example", "other # why", 1)), "okd")
	if names := got.Entries[netip.MustParseAddr("10.0.0.100")]; len(names) != 2 || names[1] != "other" {
		t.Errorf("got %v", names)
	}
}

func TestValidate(t *testing.T) {
	if p := block.Validate(); len(p) > 0 {
		t.Fatalf("a good block: %v", p)
	}
	a := netip.MustParseAddr("10.0.0.1")
	for want, names := range map[string][]string{"No name": {}, "Invalid host name": {"a b"}, "Duplicate host name": {"a", "a"}} {
		t.Run(want, func(t *testing.T) {
			if p := (Block{Name: "x", Entries: map[netip.Addr][]string{a: names}}).Validate(); len(p) != 1 || p[0].Summary != want {
				t.Errorf("want %q, got %v", want, p)
			}
		})
	}
	if p := (Block{Name: "a\nb"}).Validate(); len(p) != 1 {
		t.Errorf("a name with a newline: %v", p)
	}
}

func TestBlocksOfAHostsFileAreListed(t *testing.T) {
	t.Parallel()
	text := "127.0.0.1 localhost\n" + rendered + "# BEGIN a person's\n" + strings.ReplaceAll(rendered, "okd owner", "other owner")
	if got := strings.Join(ListNames([]byte(text)), " "); got != "okd other" {
		t.Errorf("listed are %s", got)
	}
}

func TestLinesOfAHostsFileThatAreInNoBlockAreListed(t *testing.T) {
	t.Parallel()
	own := "127.0.0.1 localhost\n127.0.1.1 svc-1\n::1 localhost ip6-localhost\nfe00::0 ip6-localnet\nff02::1 ip6-allnodes\n"
	text := own + "10.0.0.5 registry\n" + rendered + "# a comment\n\n  10.0.0.6 proxy # by hand\n" + strings.ReplaceAll(rendered, "virtcluster okd", "virtcluster other") + "no-address name\n"
	var said []string
	for _, u := range ListOthers([]byte(text)) {
		said = append(said, u.Place+" "+u.What)
		number, _ := strconv.Atoi(strings.TrimPrefix(u.Place, Path+":"))
		if line := strings.Split(text, "\n")[number-1]; strings.TrimSpace(line) != u.What {
			t.Errorf("line %d is %q, not %q", number, line, u.What)
		}
	}
	if got := strings.Join(said, "\n"); len(said) != 3 || !strings.Contains(got, ":6 10.0.0.5 registry") || !strings.Contains(got, "10.0.0.6 proxy # by hand") || !strings.Contains(got, "no-address") {
		t.Errorf("listed is\n%s", got)
	}
	if all := ListOthers([]byte(own + rendered)); len(all) != 0 {
		t.Errorf("of a machine's own lines and a block it says %v", all)
	}
}
