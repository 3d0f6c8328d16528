package guest

import (
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
)

func TestParseNoteUndoesString(t *testing.T) {
	for _, n := range []Note{
		{Mark: owner.Mark{ID: "abc", Workspace: "0f"}, Quiesce: Auto},
		{Mark: owner.Mark{ID: "abc", Workspace: "0f", Creating: "a.1.2.3"}, Quiesce: Required, Frozen: true},
		{Mark: owner.Mark{ID: "abc", Workspace: "0f", Creating: "a.1.2.3"}, Quiesce: Required, Frozen: true, Memory: true, Revert: 12},
		{Mark: owner.Mark{ID: "abc", Workspace: "0f"}, Quiesce: None, Revert: 12, Ran: true},
	} {
		t.Run(n.String(), func(t *testing.T) {
			t.Parallel()
			if got := ParseNote(n.String()); got != n {
				t.Errorf("%q is read as %+v", n, got)
			}
		})
	}
}

func TestADescriptionOfSomebodyElseIsNobodysMark(t *testing.T) {
	for _, text := range []string{"", "before the upgrade", "owner=abc workspace=0f", "my virtcluster owner=abc"} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			if got := ParseNote(text); got.Mark.ID != "" {
				t.Errorf("%q is of %+v", text, got.Mark)
			}
		})
	}
}
