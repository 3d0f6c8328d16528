package storage

import "testing"

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
