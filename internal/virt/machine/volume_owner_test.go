package machine

import (
	"encoding/xml"
	"slices"
	"testing"
)

// A mark that was written before a volume is made gives no right to what has its name: only the volume's own mark does.
func TestAnIntentionNamesNoVolumeOfAMachine(t *testing.T) {
	root, data := VolumeRef{"default", "web-root.qcow2"}, VolumeRef{"default", "web-data.qcow2"}
	mark := func(creating string, making bool) Mark {
		return Mark{Owner: "x", Creating: creating, Disks: []MarkedDisk{
			{Key: Root, Pool: root.Pool, Volume: root.Name}, {Key: "data", Pool: data.Pool, Volume: data.Name, Making: making}, {Key: "theirs"},
		}}
	}
	for name, c := range map[string]struct {
		mark Mark
		want []VolumeRef
	}{
		"a machine":                           {mark("", false), []VolumeRef{data, root}},
		"one whose change did not end":        {mark("", true), []VolumeRef{root}},
		"one whose create did not end":        {mark("run", true), []VolumeRef{root}},
		"one that somebody else made by hand": {Mark{}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			m := &Machine{Name: "web", Mark: c.mark}
			text, err := m.RenderMark()
			if err != nil {
				t.Fatal(err)
			}
			var read Mark
			if err := xml.Unmarshal([]byte(text), &read); err != nil {
				t.Fatal(err)
			}
			s := &Store{known: &Spec{}}
			owner := s.newVolumeOwner(&Machine{Mark: read})
			var named []VolumeRef
			for _, ref := range []VolumeRef{data, root} {
				if owner.named[ref] {
					named = append(named, ref)
				}
			}
			if !slices.Equal(named, c.want) || len(owner.named) != len(c.want) {
				t.Errorf("it has by its domain's word %v", owner.named)
			}
		})
	}
}

func TestAMarkSaysOfEachVolumeWhetherItIsBeingMade(t *testing.T) {
	k := Mark{Disks: []MarkedDisk{{Key: Root}, {Key: "data"}}}
	k.setMaking([]ownVolume{{key: "data"}})
	if k.Disk(Root).Making || !k.Disk("data").Making {
		t.Errorf("%+v", k.Disks)
	}
	if k.setMaking(nil); k.Disk("data").Making {
		t.Errorf("once it is made: %+v", k.Disks)
	}
}
