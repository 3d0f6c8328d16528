package storage

import "testing"

func TestParsePlace(t *testing.T) {
	for id, want := range map[string]Place{
		"default/disk.qcow2":     {Pool: "default", Name: "disk.qcow2"},
		"kvm1/default/disk":      {Hypervisor: "kvm1", Pool: "default", Name: "disk"},
		"/var/lib/libvirt/x/y.z": {Path: "/var/lib/libvirt/x/y.z"},
	} {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			if got, err := ParsePlace(id); err != nil || got != want {
				t.Errorf("ParsePlace(%q) = %+v, %v; want %+v", id, got, err, want)
			}
		})
	}
	for _, id := range []string{"", "disk", "default/", "a//b", "a/b/c/d"} {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			if got, err := ParsePlace(id); err == nil {
				t.Errorf("ParsePlace(%q) = %+v, want an error", id, got)
			}
		})
	}
}
