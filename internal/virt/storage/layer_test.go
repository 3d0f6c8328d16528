package storage

import (
	"encoding/binary"
	"testing"
)

func TestSplitLayerUndoesLayersOf(t *testing.T) {
	for _, volume := range []string{"a-root.qcow2", "/var/lib/libvirt/images/a-root.qcow2", "/p.vcsnap-x/a", "a.vcsnap-b"} {
		for _, layer := range LayersOf(volume, "before") {
			t.Run(layer, func(t *testing.T) {
				if of, snapshot := SplitLayer(layer); of != volume || snapshot != "before" {
					t.Errorf("%s is of %q, snapshot %q", layer, of, snapshot)
				}
			})
		}
	}
}

func TestSplitLayerLeavesWhatIsNone(t *testing.T) {
	for _, name := range []string{"", "a-root.qcow2", ".vcsnap-b", "/var/lib/.vcsnap-b", "/p.vcsnap-x/a"} {
		t.Run(name, func(t *testing.T) {
			if of, snapshot := SplitLayer(name); of != name || snapshot != "" {
				t.Errorf("%s is a layer of %q, snapshot %q", name, of, snapshot)
			}
		})
	}
}

// What is written into a layer that nothing has merged is there alone.
func TestALayerThatMapsAClusterIsNotEmpty(t *testing.T) {
	file := func(change func([]byte)) []byte {
		all := make([]byte, 4096+16)
		copy(all, "QFI\xfb")
		all[39] = 2 // entries of the level 1 table
		binary.BigEndian.PutUint64(all[40:], 4096)
		change(all)
		return all
	}
	for name, c := range map[string]struct {
		file []byte
		want bool
	}{
		"nothing written":    {file(func([]byte) {}), true},
		"a cluster written":  {file(func(all []byte) { all[4096+8] = 0x80 }), false},
		"no qcow2 file":      {file(func(all []byte) { all[0] = 0 }), false},
		"a table beyond all": {file(func(all []byte) { all[36] = 0xff }), false},
		"cut off":            {file(func([]byte) {})[:4096+8], false},
		"empty":              {nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := IsEmptyQCOW2(func(offset, length uint64) ([]byte, error) {
				rest := c.file[min(offset, uint64(len(c.file))):]
				return rest[:min(length, uint64(len(rest)))], nil
			})
			if err != nil || got != c.want {
				t.Errorf("it maps nothing: %v, %v", got, err)
			}
		})
	}
}
