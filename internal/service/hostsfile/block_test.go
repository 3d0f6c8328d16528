package hostsfile

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
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

func TestBlockStandsBesideWhatPeopleWrote(t *testing.T) {
	for name, before := range map[string]string{
		"usual":              "127.0.0.1 localhost\n# a comment\n",
		"no newline":         "127.0.0.1 localhost",
		"empty":              "",
		"a block of another": "# BEGIN virtcluster okd2 owner=x\n1.2.3.4 x\n# END virtcluster okd2\n",
	} {
		t.Run(name, func(t *testing.T) {
			text := block.Put(before, mark)
			want := before
			if want != "" && !strings.HasSuffix(want, "\n") {
				want += "\n"
			}
			if text != want+rendered {
				t.Errorf("got\n%s", text)
			}
			got, m, found := Find(text, "okd")
			if diff := cmp.Diff(block, got, cmpopts.EquateComparable(netip.Addr{})); !found || m != mark || diff != "" {
				t.Errorf("%v %v %s", found, m, diff)
			}
			if again := block.Put(text, mark); again != text {
				t.Errorf("put twice:\n%s", again)
			}
			if left := Drop(text+"9.9.9.9 behind\n", "okd"); left != want+"9.9.9.9 behind\n" {
				t.Errorf("dropped:\n%s", left)
			}
		})
	}
}

func TestBlockWithoutItsEndLosesNothingElse(t *testing.T) {
	text := "a\n# BEGIN virtcluster okd owner=me\n8.8.8.8 person\n"
	if left := Drop(text, "okd"); left != "a\n8.8.8.8 person\n" {
		t.Errorf("left %q", left)
	}
}

func TestHandEditInTheBlockShows(t *testing.T) {
	got, _, _ := Find(strings.Replace(rendered, "api-int.okd.example", "other # why", 1), "okd")
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
		if p := (Block{Name: "x", Entries: map[netip.Addr][]string{a: names}}).Validate(); len(p) != 1 || p[0].Summary != want {
			t.Errorf("want %q, got %v", want, p)
		}
	}
	if p := (Block{Name: "a\nb"}).Validate(); len(p) != 1 {
		t.Errorf("a name with a newline: %v", p)
	}
}
