package snapshot

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/guest"
)

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

func TestAMachineHasOfASnapshotWhatLiesUnderItsNames(t *testing.T) {
	ours, theirs := owner.Mark{ID: "ours"}, owner.Mark{ID: "theirs"}
	memory := &hypervisor.Volume{}
	for name, c := range map[string]struct {
		part  part
		taken bool
		whose owner.Mark
	}{
		"nothing":                          {part{}, false, owner.Mark{}},
		"a record":                         {part{record: &hypervisor.Snapshot{}, note: guest.Note{Mark: ours}}, true, ours},
		"a layer":                          {part{disks: []disk{{unused: []*hypervisor.Volume{memory}, mark: ours}}}, true, ours},
		"a layer beside a foreign memory":  {part{disks: []disk{{unused: []*hypervisor.Volume{memory}, mark: ours}}, memory: memory, memoryMark: theirs}, true, ours},
		"a memory of a killed run":         {part{memory: memory, memoryMark: ours}, true, ours},
		"a memory file that nobody marked": {part{memory: memory}, true, owner.Mark{}},
	} {
		t.Run(name, func(t *testing.T) {
			if c.part.isTaken() != c.taken || c.part.findOwner() != c.whose {
				t.Errorf("it is taken: %v, by %v", c.part.isTaken(), c.part.findOwner())
			}
		})
	}
}

// A machine that no hypervisor has which is asked may be on one that is lost: its snapshot is not known to be gone.
func TestASnapshotOfAMachineThatMayBeOnALostHypervisorIsNotGone(t *testing.T) {
	t.Parallel()
	known := Snapshot{Name: "before", Nodes: []string{"master-1"}}
	if _, err := Open(nil, known, owner.BeginRun().New()).Get(t.Context()); !errors.Is(err, service.ErrAbsent) {
		t.Errorf("without a lost one it is %v", err)
	}
	_, err := Open(nil, known, owner.BeginRun().New()).NoteLost([]string{"kvm2"}).Get(t.Context())
	if unseen, is := errors.AsType[*service.UnseenError](err); !is || errors.Is(err, service.ErrAbsent) || !strings.Contains(unseen.Why, `"kvm2"`) || !strings.Contains(unseen.Why, `"master-1"`) {
		t.Errorf("with one it is %v", err)
	}
}
