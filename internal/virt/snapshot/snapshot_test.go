package snapshot

import (
	"slices"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/guest"
)

func TestParseNoteUndoesString(t *testing.T) {
	for _, n := range []note{
		{mark: owner.Mark{ID: "abc", Workspace: "0f"}, quiesce: guest.Auto},
		{mark: owner.Mark{ID: "abc", Workspace: "0f", Creating: "a.1.2.3"}, quiesce: guest.Required, frozen: true, memory: true, revert: 12},
	} {
		t.Run(n.String(), func(t *testing.T) {
			if got := parseNote(n.String()); got != n {
				t.Errorf("%q is read as %+v", n, got)
			}
		})
	}
}

func TestADescriptionOfSomebodyElseIsNobodysMark(t *testing.T) {
	for _, text := range []string{"", "before the upgrade", "owner=abc workspace=0f", "my virtcluster owner=abc"} {
		t.Run(text, func(t *testing.T) {
			if got := parseNote(text); got.mark.ID != "" {
				t.Errorf("%q is of %+v", text, got.mark)
			}
		})
	}
}

func TestSplitIDUndoesID(t *testing.T) {
	name, nodes, err := SplitID(ID("before", []string{"b", "a"}))
	if err != nil || name != "before" || !slices.Equal(nodes, []string{"a", "b"}) {
		t.Errorf("%q of %v: %v", name, nodes, err)
	}
	if name, nodes, err := SplitID("before"); err != nil || name != "before" || nodes != nil {
		t.Errorf("%q of %v: %v", name, nodes, err)
	}
	for _, id := range []string{"", "/a", "before/", "before/a,,b", "be fore", "before~", ".before"} {
		t.Run(id, func(t *testing.T) {
			if _, _, err := SplitID(id); err == nil {
				t.Errorf("%q is an id", id)
			}
		})
	}
	if id := ID("before", nil); id != "" {
		t.Errorf("what is of nothing that is known has the id %q", id)
	}
}

func TestNamesThatFilesCannotHaveAreRefused(t *testing.T) {
	for name, good := range map[string]bool{"before-upgrade": true, "1": true, strings.Repeat("a", 40): true, strings.Repeat("a", 41): false, "a/b": false, "a.b": false, "-a": false, "a~": false} {
		t.Run(name, func(t *testing.T) {
			if got := len(Snapshot{Name: name}.Validate()) == 0; got != good {
				t.Errorf("%q: good is %v", name, got)
			}
		})
	}
}
