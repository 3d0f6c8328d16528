package storage

import (
	"strings"
	"testing"

	"libvirt.org/go/libvirtxml"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
)

func TestADiskIsInAPoolByItsNameOrItsDirectory(t *testing.T) {
	p := &hypervisor.Pool{XML: libvirtxml.StoragePool{Name: "okd", Target: &libvirtxml.StoragePoolTarget{Path: "/srv/okd/"}}}
	for name, c := range map[string]struct {
		source *libvirtxml.DomainDiskSource
		want   bool
	}{
		"none":                       {nil, false},
		"a file":                     {&libvirtxml.DomainDiskSource{File: &libvirtxml.DomainDiskSourceFile{File: "/srv/okd/v"}}, true},
		"a file below the directory": {&libvirtxml.DomainDiskSource{File: &libvirtxml.DomainDiskSourceFile{File: "/srv/okd/more/v"}}, false},
		"a file elsewhere":           {&libvirtxml.DomainDiskSource{File: &libvirtxml.DomainDiskSourceFile{File: "/srv/okd2/v"}}, false},
		"a volume":                   {&libvirtxml.DomainDiskSource{Volume: &libvirtxml.DomainDiskSourceVolume{Pool: "okd", Volume: "v"}}, true},
		"a volume of another pool":   {&libvirtxml.DomainDiskSource{Volume: &libvirtxml.DomainDiskSourceVolume{Pool: "okd2", Volume: "v"}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			d := &libvirtxml.Domain{Devices: &libvirtxml.DomainDeviceList{Disks: []libvirtxml.DomainDisk{{Source: c.source}}}}
			if got := hasDiskIn(d, p); got != c.want {
				t.Errorf("it is in the pool: %t", got)
			}
		})
	}
}

func TestOthersArePutBeforeWhatAStateHasInAPool(t *testing.T) {
	for text, e := range map[string]*PoolInUseError{
		"needed by the volume v: remove those first, or leave the pool": {Pool: "okd", Users: []string{"the volume v"}, Own: []string{"the volume w"}},
		"still has the volume w of this state":                          {Pool: "okd", Own: []string{"the volume w"}},
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			if !strings.Contains(e.Error(), text) {
				t.Errorf("%q lacks %q", e.Error(), text)
			}
		})
	}
}
