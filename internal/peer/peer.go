// Package peer reads what the state of another provider, dmacvicar/libvirt, says of things on a hypervisor, so that `moved` blocks can hand
// them over. Version 0.9 of that provider is not compatible with 0.8, and both say schema version 0: they are told by the shape of what they
// keep. Only what identifies a thing is read: 0.9 keeps what was configured and nothing else, so the rest has to be asked of libvirt.
package peer

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Provider is the namespace and the name of the provider whose states are read, on whichever registry.
const Provider = "dmacvicar/libvirt"

// Types of resources of that provider.
const (
	Pool      = "libvirt_pool"
	Network   = "libvirt_network"
	Volume    = "libvirt_volume"
	Domain    = "libvirt_domain"
	CloudInit = "libvirt_cloudinit_disk"
	Ignition  = "libvirt_ignition"
)

// Thing is what a state says of something on a hypervisor.
type Thing struct {
	// UUID is "" for a volume.
	UUID string
	Name string
	// Pool and Path are where a volume is.
	Pool, Path string
	// HasDisk says of a domain that it boots from a disk of its own or of a volume: one that is no CD.
	HasDisk bool
}

// ID is the id that the state of a resource of this provider has of the thing: its UUID, or the path of a volume.
func (t Thing) ID() string {
	if t.UUID != "" {
		return t.UUID
	}
	return t.Path
}

// Is says whether a resource of a type, of a provider by its address such as "registry.terraform.io/dmacvicar/libvirt", is one whose state
// is read here. OpenTofu says of every instance of a resource but the first one that it moves that it is of the provider that it moves to.
func Is(address, kind string) bool {
	of := func(provider string) bool { return address == provider || strings.HasSuffix(address, "/"+provider) }
	return of(Provider) || of("virtcluster") && strings.HasPrefix(kind, "libvirt_")
}

// object is the state of a resource of either version: what both call alike, and that by which they are told.
type object struct {
	ID   any    `json:"id"` // a domain's of 0.9 is a number while it runs
	UUID string `json:"uuid"`
	Name string `json:"name"`
	Pool string `json:"pool"`
	Path string `json:"path"`
	// Disks are a domain's of 0.8, and Devices those of 0.9.
	Disks []struct {
		Volume string `json:"volume_id"`
		URL    string `json:"url"`
		File   string `json:"file"`
		Device string `json:"block_device"`
	} `json:"disk"`
	Devices *struct {
		Disks []struct {
			Device string `json:"device"`
		} `json:"disks"`
	} `json:"devices"`
}

// Read reads the state of a resource of a type, in JSON. The error says that it is not what the type keeps.
func Read(kind string, state []byte) (Thing, error) {
	var o object
	if err := json.Unmarshal(state, &o); err != nil {
		return Thing{}, fmt.Errorf("cannot understand the state of %s: %w", kind, err)
	}
	id, _ := o.ID.(string)
	t := Thing{UUID: o.UUID, Name: o.Name}
	switch kind {
	case Volume:
		t = Thing{Name: o.Name, Pool: o.Pool, Path: o.Path}
		if t.Path == "" { // 0.8
			t.Path = id
		}
		if t.Pool == "" || t.Name == "" {
			return Thing{}, fmt.Errorf("the state of %s does not say in which pool the volume is, or how it is called", kind)
		}
		return t, nil
	case Domain:
		t.HasDisk = o.hasDisk()
	}
	if t.UUID == "" { // 0.8
		t.UUID = id
	}
	if t.UUID == "" || t.Name == "" {
		return Thing{}, fmt.Errorf("the state of %s does not say which UUID and name it has", kind)
	}
	return t, nil
}

// hasDisk says whether a domain has a disk that is no CD. A file is a CD in 0.8.
func (o *object) hasDisk() bool {
	for _, d := range o.Disks {
		if d.Volume != "" || d.Device != "" {
			return true
		}
	}
	if o.Devices == nil {
		return false
	}
	for _, d := range o.Devices.Disks {
		if d.Device == "" || d.Device == "disk" {
			return true
		}
	}
	return false
}

// Advice says what to do about a resource that no `moved` block can hand over to a type: "" where one can, to another type.
func Advice(kind string) string {
	forget := "Take it out of the state without destroying what is there: removed { from = " + kind + ".NAME } with lifecycle { destroy = false }. "
	switch kind {
	case CloudInit:
		return forget + "The disk stays in its domain as it is, and the guest has read it at its first boot; a node that is made anew writes what it is told as its cloud_init."
	case Ignition:
		return forget + "The file stays where its domain finds it, and the guest has read it at its first boot; a node that is made anew writes it as its ignition."
	case Pool:
		return "It becomes a virtcluster_storage_pool."
	case Network:
		return "It becomes a virtcluster_network."
	case Volume:
		return "It becomes a virtcluster_volume, or a virtcluster_image where it was made of a file or of a URL."
	case Domain:
		return "It becomes a virtcluster_node."
	}
	return forget + "What it made stays as it is."
}
