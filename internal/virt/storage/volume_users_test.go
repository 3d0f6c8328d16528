package storage

import (
	"slices"
	"testing"

	"libvirt.org/go/libvirtxml"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/metadata"
)

func TestUsersAreDisksAndWhatIsBelowThem(t *testing.T) {
	base := volumeOf("/srv/okd/base", "qcow2", "", 1<<30)
	base.XML.Name = "base"
	file := func(path string) *libvirtxml.DomainDiskSource {
		return &libvirtxml.DomainDiskSource{File: &libvirtxml.DomainDiskSourceFile{File: path}}
	}
	named := &libvirtxml.DomainDiskSource{Volume: &libvirtxml.DomainDiskSourceVolume{Pool: "okd", Volume: "base"}}
	below := &libvirtxml.DomainDiskBackingStore{Source: file("/elsewhere"), BackingStore: &libvirtxml.DomainDiskBackingStore{Source: file("/srv/okd/base")}}
	domain := func(workspace string, disks ...libvirtxml.DomainDisk) *hypervisor.Domain {
		d := &libvirtxml.Domain{Devices: &libvirtxml.DomainDeviceList{Disks: disks}}
		if workspace != "" {
			d.Metadata = &libvirtxml.DomainMetadata{XML: `<app:x xmlns:app="urn:x"/><virtcluster:node xmlns:virtcluster="` + metadata.Machine + `" owner="x" workspace="` + workspace + `"><virtcluster:label name="a">b</virtcluster:label></virtcluster:node>`}
		}
		return &hypervisor.Domain{Name: "d", Config: d}
	}
	for name, c := range map[string]struct {
		survey survey
		want   []string
	}{
		"nothing":                  {survey{}, nil},
		"itself, and another one":  {survey{volumes: []*hypervisor.Volume{base, volumeOf("/srv/okd/v", "qcow2", "", 1)}}, nil},
		"an overlay":               {survey{volumes: []*hypervisor.Volume{volumeOf("/srv/okd/v", "qcow2", "/srv/okd/base", 1)}}, []string{"its overlay /srv/okd/v"}},
		"a machine without disks":  {survey{domains: []*hypervisor.Domain{domain("")}}, nil},
		"a person's machine":       {survey{domains: []*hypervisor.Domain{domain("", libvirtxml.DomainDisk{Source: file("/srv/okd/base")})}}, []string{`the domain "d"`}},
		"a disk named as a volume": {survey{domains: []*hypervisor.Domain{domain("", libvirtxml.DomainDisk{Source: named})}}, []string{`the domain "d"`}},
		"another state's machine":  {survey{domains: []*hypervisor.Domain{domain("there", libvirtxml.DomainDisk{Source: named})}}, []string{`the domain "d"`}},
		"this state's machine":     {survey{domains: []*hypervisor.Domain{domain("here", libvirtxml.DomainDisk{Source: named})}}, nil},
		"below this state's disk":  {survey{domains: []*hypervisor.Domain{domain("here", libvirtxml.DomainDisk{Source: file("/o"), BackingStore: below})}}, []string{`the domain "d"`}},
		"a machine that runs":      {survey{domains: []*hypervisor.Domain{{Name: "d", Config: domain("").Config, Live: domain("", libvirtxml.DomainDisk{Source: named}).Config}}}, []string{`the domain "d"`}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := c.survey.listUsers(base, "here"); !slices.Equal(got, c.want) {
				t.Errorf("%s: %q, want %q", name, got, c.want)
			}
		})
	}
}

func TestUsersOfAMachinesVolumesBesideIt(t *testing.T) {
	root, data := volumeOf("/srv/okd/root", "qcow2", "", 1<<30), volumeOf("/srv/okd/data", "qcow2", "/srv/okd/root", 1<<30)
	snapshot := volumeOf("/srv/okd/snapshot", "qcow2", "/srv/okd/root", 1<<30)
	domain := func(uuid string, paths ...string) *hypervisor.Domain {
		d := &libvirtxml.Domain{Devices: &libvirtxml.DomainDeviceList{}}
		for _, path := range paths {
			d.Devices.Disks = append(d.Devices.Disks, libvirtxml.DomainDisk{Source: &libvirtxml.DomainDiskSource{File: &libvirtxml.DomainDiskSourceFile{File: path}}})
		}
		return &hypervisor.Domain{Name: uuid, UUID: uuid, Config: d}
	}
	for name, c := range map[string]struct {
		survey survey
		want   string
	}{
		"itself":                   {survey{domains: []*hypervisor.Domain{domain("m", "/srv/okd/root", "/srv/okd/data")}, volumes: []*hypervisor.Volume{root, data}}, ""},
		"a snapshot that it runs":  {survey{domains: []*hypervisor.Domain{domain("m", "/srv/okd/snapshot")}, volumes: []*hypervisor.Volume{root, data, snapshot}}, ""},
		"a clone's overlay":        {survey{domains: []*hypervisor.Domain{domain("m", "/srv/okd/root")}, volumes: []*hypervisor.Volume{root, data, snapshot}}, "its overlay /srv/okd/snapshot"},
		"another one's disk":       {survey{domains: []*hypervisor.Domain{domain("m", "/srv/okd/root"), domain("other", "/srv/okd/data")}}, `the domain "other"`},
		"below another one's disk": {survey{domains: []*hypervisor.Domain{domain("other", "/srv/okd/snapshot")}, volumes: []*hypervisor.Volume{snapshot}}, "its overlay /srv/okd/snapshot"},
	} {
		t.Run(name, func(t *testing.T) {
			volumes := []*hypervisor.Volume{root, data}
			inUse := c.survey.withoutMachine("m", volumes).findUsed(volumes, "")
			if got := inUse.users(); got != c.want {
				t.Errorf("%s: %q, want %q", name, got, c.want)
			}
		})
	}
}

// users names them, "" for none.
func (e *InUseError) users() string {
	if e == nil {
		return ""
	}
	return e.Users[0]
}
