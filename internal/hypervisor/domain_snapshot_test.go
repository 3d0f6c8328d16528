package hypervisor

import (
	"strings"
	"testing"

	"github.com/digitalocean/go-libvirt"
	"libvirt.org/go/libvirtxml"
)

func TestADiskHasALayerUntilItIsMergedWhereverTheLayerIsInItsChain(t *testing.T) {
	t.Parallel()
	const domain = `<domain type='qemu'><name>a</name><devices>
<disk type='file' device='cdrom'><target dev='sda'/></disk>
<disk type='file' device='disk'><source file='/p/root.vcsnap-late'/>
  <backingStore type='file'><source file='/p/root.vcsnap-early'/>
    <backingStore type='file'><source file='/p/root'/><backingStore/></backingStore></backingStore>
  <target dev='vda'/></disk>
<disk type='file' device='disk'><source file='/p/data'/><target dev='vdb'/></disk></devices></domain>`
	var d libvirtxml.Domain
	if err := d.Unmarshal(domain); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		target, file string
		want         bool
	}{
		"the disk is in it":         {"vda", "/p/root.vcsnap-late", true},
		"another one lies upon it":  {"vda", "/p/root.vcsnap-early", true},
		"the disk is in the volume": {"vdb", "/p/data.vcsnap-late", false},
		"another disk has it":       {"vdb", "/p/root.vcsnap-late", false},
		"the disk is gone":          {"vdc", "/p/root.vcsnap-late", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := &Volume{XML: libvirtxml.StorageVolume{Target: &libvirtxml.StorageVolumeTarget{Path: c.file}}}
			if got := hasLayer(&d, c.target, file); got != c.want {
				t.Errorf("%s has %s: %t, want %t", c.target, c.file, got, c.want)
			}
		})
	}
}

func TestAJobThatKeepsALayerFromBeingMergedIsToldFromAnother(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		kind libvirt.DomainBlockJobType
		want string
	}{
		"the layer upon it is merged": {libvirt.DomainBlockJobTypeActiveCommit, "apply again"},
		"a copy":                      {libvirt.DomainBlockJobTypeCopy, "copied by somebody"},
		"a pull":                      {libvirt.DomainBlockJobTypePull, "copied by somebody"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := newOtherJobError("u", "vda", c.kind); !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v", err)
			}
		})
	}
}
