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
		if got := c.survey.listUsers(base, "here"); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
