package node

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/fleet"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/machine"
)

func TestAChangedHypervisorMovesANodeOrMakesAnother(t *testing.T) {
	t.Parallel()
	node := func(on string, change func(*version)) *version {
		v := planOf(&version{plain: plain{Name: text("n"), Hypervisor: text(on)}, nested: nested{Root: &rootModel{Image: text("/" + on + "/tiny.qcow2"), Pool: text(on), SizeGiB: types.Int64Value(1)}}}, &version{})
		if change != nil {
			change(v)
		}
		return v
	}
	for name, c := range map[string]struct {
		change func(*version)
		state  string
		moves  bool
	}{
		"as it is":                {nil, "running", true},
		"off":                     {func(v *version) { v.Running = types.BoolValue(false) }, "running", true},
		"image known later":       {func(v *version) { v.Root.Image = types.StringUnknown() }, "running", true},
		"another image":           {func(v *version) { v.Root.Image = text("/two/other.qcow2") }, "running", false},
		"no image any more":       {func(v *version) { v.Root.Image = types.StringNull() }, "running", false},
		"no root disk":            {func(v *version) { v.Root = nil }, "running", false},
		"another name":            {func(v *version) { v.Name = text("m") }, "running", false},
		"hypervisor known later":  {func(v *version) { v.Hypervisor = types.StringUnknown() }, "running", false},
		"the same hypervisor":     {func(v *version) { v.Hypervisor = text("one") }, "running", false},
		"not allowed":             {func(v *version) { v.Migration = &migrationModel{Allow: types.BoolValue(false)} }, "running", false},
		"allowed":                 {func(v *version) { v.Migration = &migrationModel{Allow: types.BoolValue(true)} }, "running", true},
		"an attached volume":      {func(v *version) { v.Disks = map[string]diskModel{"d": {Volume: text("/two/d.qcow2")}} }, "running", false},
		"whose domain is gone":    {nil, machine.Undefined, false},
		"whose move was broken":   {nil, machine.Moving, true},
		"an attached root volume": {func(v *version) { v.Root = &rootModel{Volume: text("/two/d.qcow2")} }, "running", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			prior := node("one", nil)
			was := prior.toSpec()
			was.State = c.state
			if got := (&planner{}).movesNode(node("two", c.change), prior, was); got != c.moves {
				t.Errorf("it moves: %t", got)
			}
		})
	}
	t.Run("from a lost hypervisor", func(t *testing.T) {
		t.Parallel()
		prior := node("one", nil)
		was := prior.toSpec()
		was.State = "running"
		f := fleet.New(fleet.Config{Hypervisors: map[string]string{"one": "test:///default", "two": "test:///default"}, Lost: map[string]bool{"one": true}})
		if (&planner{at: crud.StoreContext{ProviderData: crud.ProviderData{Fleet: f}}}).movesNode(node("two", nil), prior, was) {
			t.Error("it moves from where nothing answers")
		}
	})
}
