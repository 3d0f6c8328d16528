package exposure

import (
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/transaction"
)

func TestOnlyTheDrawOfAnExposureThatIsGoneIsTakenOver(t *testing.T) {
	t.Parallel()
	exposed := transaction.Tree{}
	if err := Set(exposed, bastion(), owner.Mark{ID: "earlier", Workspace: owner.Workspace()}); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		machine transaction.Tree
		drawn   owner.Mark
		left    bool
	}{
		"this state's, of a machine that was made anew": {transaction.Tree{}, owner.Mark{ID: "earlier", Workspace: owner.Workspace()}, true},
		"of what is exposed":                            {exposed, owner.Mark{ID: "earlier", Workspace: owner.Workspace()}, false},
		"another state's":                               {transaction.Tree{}, owner.Mark{ID: "earlier", Workspace: "there"}, false},
		"one that is being made":                        {transaction.Tree{}, owner.Mark{ID: "earlier", Workspace: owner.Workspace(), Creating: "1.2"}, false},
		"nobody's":                                      {transaction.Tree{}, owner.Mark{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := isDrawLeft(c.machine, "bastion", c.drawn); got != c.left {
				t.Errorf("it is left: %v", got)
			}
		})
	}
}
