package chrony

import (
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/host/hosttest"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service/part"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

var mine = owner.Mark{ID: "abcdefgh12345678", Workspace: "0123456789abcdef"}

var all = Server{
	Clients:   []netip.Prefix{netip.MustParsePrefix("10.0.0.0/24"), netip.MustParsePrefix("fd00::/64")},
	Upstreams: []string{"ntp.example.com", "10.0.0.1"}, LocalStratum: 8,
}

func TestAServerIsReadBack(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]Server{"all": all, "nothing": {}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tree := transaction.Tree{}
			p := NewPart(part.Identity{ImportID: "x#time", Mark: mine})
			if err := p.Add(tree, want); err != nil {
				t.Fatal(err)
			}
			if got, err := p.Find(tree); err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("%v: %+v", err, got)
			}
			if m, there := p.Mark(tree); !there || m != mine {
				t.Errorf("the mark is %+v, %t", m, there)
			}
			if err := p.Drop(tree); err != nil || len(tree) != 0 {
				t.Errorf("%v: left %v", err, tree)
			}
			if _, err := p.Find(tree); err == nil {
				t.Error("it finds one where none is")
			}
		})
	}
}

func FuzzParseUndoesRender(f *testing.F) {
	f.Add(all.Render(mine))
	f.Fuzz(func(t *testing.T, content []byte) {
		s, err := Parse(content)
		if err != nil {
			return
		}
		if back, err := Parse(s.Render(mine)); err != nil || !reflect.DeepEqual(back, s) {
			t.Errorf("%v: %+v, was %+v", err, back, s)
		}
	})
}

// TestChronydIsToldOnce runs chrony.sh.
func TestChronydIsToldOnce(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		args      []string
		systemctl string
		status    int
		calls     []string
		says      string
	}{
		"start":                  {[]string{"start"}, "", 0, []string{"systemctl reset-failed chrony.service", "systemctl restart chrony.service"}, ""},
		"it does not start":      {[]string{"start"}, "[ $1 != restart ]", 1, []string{"systemctl reset-failed chrony.service", "systemctl restart chrony.service", "journalctl -q --no-pager -o cat -n 10 -u chrony.service"}, "Could not open"},
		"it serves":              {[]string{"verify"}, "", 0, []string{"systemctl is-active --quiet chrony.service", "ss -Hlun sport = :123"}, ""},
		"it ended":               {[]string{"verify"}, "exit 3", 1, []string{"systemctl is-active --quiet chrony.service"}, "a container"},
		"the last goes":          {[]string{"end"}, "", 0, []string{"systemctl is-active --quiet chrony.service", "systemctl restart chrony.service"}, ""},
		"one that did not run":   {[]string{"end"}, "exit 3", 0, []string{"systemctl is-active --quiet chrony.service"}, ""},
		"nothing is configured":  {[]string{"running", "/no/such"}, "exit 3", 0, nil, ""},
		"it ought to run":        {[]string{"running", "/etc/passwd"}, "exit 3", 0, []string{"systemctl is-active --quiet chrony.service"}, ""},
		"others have nothing":    {[]string{"besides", Path}, "exit 3", 0, nil, ""},
		"nothing reads its file": {[]string{"check", "/no/such"}, "", 1, nil, "confdir"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			end := hosttest.Script{Text: script, Args: c.args, Programs: map[string]string{
				"systemctl": c.systemctl, "ss": "echo UNCONN", "journalctl": "echo Could not open", "chronyd": "",
			}}.Run(t)
			if end.Status != c.status || !slices.Equal(end.Calls, c.calls) || !strings.Contains(end.Stderr, c.says) {
				t.Errorf("%+v", end)
			}
		})
	}
}
