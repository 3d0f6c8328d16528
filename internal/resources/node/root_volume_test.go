package node

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/peer"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/plan"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/machine"
)

// rooted is a version with a root disk.
func rooted(r rootModel) *version {
	return &version{plain: plain{ID: text("u"), Name: text("n")}, nested: nested{Root: &r}}
}

func TestARootDiskThatIsAVolume(t *testing.T) {
	t.Parallel()
	attached := rootModel{Volume: text("/v"), Pool: text("p"), Bus: text("sata"), Format: text("qcow2")}
	own := rootModel{Image: text("/i"), Pool: text("p"), Bus: text("virtio"), SizeGiB: types.Int64Value(5)}
	later := types.StringUnknown()
	for name, c := range map[string]struct {
		config, prior rootModel
		// want is what is planned, and replaced the attribute that makes another node; "" for none.
		want     rootModel
		replaced string
	}{
		"the same":                       {rootModel{Volume: text("/v")}, attached, attached, ""},
		"another one":                    {rootModel{Volume: text("/w")}, attached, rootModel{Volume: text("/w"), Pool: later, Bus: text("sata"), Format: later}, "volume"},
		"one that is known later":        {rootModel{Volume: later}, attached, rootModel{Volume: later, Pool: later, Bus: text("sata"), SizeGiB: types.Int64Unknown(), Format: later}, "volume"},
		"one that may be none":           {rootModel{Volume: later, Pool: text("q"), SizeGiB: types.Int64Value(3)}, attached, rootModel{Volume: later, Pool: text("q"), Bus: text("sata"), SizeGiB: types.Int64Value(3), Format: later}, "volume"},
		"outside of every pool":          {rootModel{Volume: text("/dev/sdb")}, rootModel{Volume: text("/dev/sdb"), Bus: text("virtio"), Format: text("raw")}, rootModel{Volume: text("/dev/sdb"), Bus: text("virtio"), Format: text("raw")}, ""},
		"in place of the node's own":     {rootModel{Volume: text("/v")}, own, rootModel{Volume: text("/v"), Pool: later, Bus: text("virtio"), Format: later}, "volume"},
		"the node's own in place of one": {rootModel{Image: text("/i"), SizeGiB: types.Int64Value(5)}, attached, rootModel{Image: text("/i"), SizeGiB: types.Int64Value(5), Pool: text("p"), Bus: text("sata")}, "volume"},
		"the node's own":                 {rootModel{Image: text("/i")}, own, own, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config, prior := rooted(c.config), rooted(c.prior)
			root := c.config
			planned := &version{plain: config.plain, nested: nested{Root: &root}}
			completeVersion(planned, config, prior)
			untuned := *planned.Root
			untuned.diskTuningModel = diskTuningModel{} // which is completed otherwise
			if !reflect.DeepEqual(untuned, c.want) {
				t.Errorf("planned is %v", *planned.Root)
			}
			p := planner{checker: &machine.Checker{}, resp: &resource.ModifyPlanResponse{}}
			another := p.makesAnotherNode(t.Context(), planned, prior)
			at := path.Root("root_disk").AtName(c.replaced)
			if another != (c.replaced != "") || another && !slices.ContainsFunc(p.resp.RequiresReplace, at.Equal) {
				t.Errorf("another node: %v, because of %v", another, p.resp.RequiresReplace)
			}
		})
	}
}

func TestARootDiskThatIsAVolumeIsNotTheNodesOwn(t *testing.T) {
	t.Parallel()
	s := rooted(rootModel{Volume: text("/v"), Pool: text("p")}).toSpec()
	s.Running, s.CloudInit = true, &machine.CloudInit{}
	s.Disks = map[string]machine.DiskSpec{"d": {Volume: "/v"}, "e": {SizeGiB: 1, Pool: "q"}}
	problems := ""
	for _, p := range s.Validate() {
		problems += fmt.Sprintln(p.Path, p.Detail)
	}
	if problems != "[disks d volume] disk \"root\" of this node has it already: write another one\n" {
		t.Errorf("problems are %s", problems)
	}
	volumes := s.VolumeNames()
	if want := []machine.VolumeRef{{Pool: "q", Name: "n-e.qcow2"}, {Pool: "p", Name: "n-seed.iso"}}; !slices.Equal(volumes, want) {
		t.Errorf("its own are %v", volumes)
	}
	for _, kind := range []plan.Kind{plan.AttachedVolume, plan.RunningVolume} {
		if !slices.ContainsFunc(s.Uses(), func(u plan.Use) bool {
			return u.Kind == kind && u.Value == "/v" && fmt.Sprint(u.Path) == "[root_disk volume]"
		}) {
			t.Errorf("it does not use the volume: %v", s.Uses())
		}
	}
	was := rooted(rootModel{Image: text("/i"), Pool: text("p"), SizeGiB: types.Int64Value(5)}).toSpec()
	changes, err := machine.Compare(was, rooted(rootModel{Volume: text("/v"), Pool: text("p")}).toSpec(), nil)
	if err != nil || len(changes) != 1 || fmt.Sprint(changes[0].Path) != "[root_disk volume]" || changes[0].Restart != nil {
		t.Errorf("to be told that it is none of the node's own is %v %v", changes, err)
	}
}

func TestAMovedDomainBootsFromAVolumeOfAnotherResource(t *testing.T) {
	t.Parallel()
	for _, disk := range []bool{true, false} {
		var m model
		moveDomain(&m, peer.Thing{UUID: "u", Name: "n", HasDisk: disk})
		v, diags := m.decodeNested(t.Context())
		if diags.HasError() || v.ID != text("u") || v.Name != text("n") || !v.Type.IsNull() || (v.Root != nil) != disk || disk && !v.Root.isAttached() {
			t.Errorf("moved, with a disk %v: %+v %v", disk, v.Root, diags)
		}
	}
}
