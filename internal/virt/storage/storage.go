// Package storage is what libvirt keeps of storage as plain values: pools, volumes and images. Each has a Validate, a pure
// comparison with what is wanted, and a store that creates, reads, changes and deletes it.
package storage

import (
	"errors"
	"regexp"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

// Default is the name of the pool that is meant where none is named: libvirt's own convention.
const Default = "default"

// Effect is how a change is made.
type Effect int

const (
	// InPlace changes the object as it is.
	InPlace Effect = iota
	// Anew needs another object in its place.
	Anew
	// Refused cannot be made, and another object in its place would lose what the old one holds.
	Refused
)

// Change is one difference between what there is and what is wanted.
type Change struct {
	// Attribute that differs, by its name in the schema.
	Attribute string
	Effect    Effect
	// Why says of a refused change what is in its way and what to write instead.
	Why string
}

// NameForm is what the name of a pool or a volume looks like.
var NameForm = regexp.MustCompile(`^[^/\x00-\x1f]+$`)

// maxFileName is how many bytes a file's name may have (limits.h, NAME_MAX).
const maxFileName = 255

// maxNameLength leaves room in a file's name for that of the owner's mark beside it, once that is finished.
const maxNameLength = maxFileName - len(markWord) - 2*16 - 1

// checkName finds what is wrong with the name of a volume.
func checkName(name string) []service.Problem {
	switch {
	case name == "": // it is not known yet, or the schema refuses it
		return nil
	case !NameForm.MatchString(name) || name == "." || name == "..":
		return []service.Problem{service.Problemf([]any{"name"}, "Invalid volume name", "A volume's name must hold no slash and no control character, and %q cannot be a file.", name)}
	case len(name) > maxNameLength:
		return []service.Problem{service.Problemf([]any{"name"}, "Volume name too long", "It has %d bytes, and may have %d.", len(name), maxNameLength)}
	}
	return nil
}

// Place says where a volume is, as its import id does.
type Place struct {
	// Hypervisor is "" for the provider's own.
	Hypervisor, Pool, Name string
	// Path is set instead of Pool and Name where the id is a path on the provider's own hypervisor.
	Path string
}

// ParsePlace reads an import id: "pool/name", "hypervisor/pool/name", or a volume's path.
func ParsePlace(id string) (Place, error) {
	if strings.HasPrefix(id, "/") {
		return Place{Path: id}, nil
	}
	parts := strings.Split(id, "/")
	for _, p := range parts {
		if p == "" {
			return Place{}, errors.New("a part of it is empty: write pool/name, hypervisor/pool/name or the volume's path")
		}
	}
	switch len(parts) {
	case 2:
		return Place{Pool: parts[0], Name: parts[1]}, nil
	case 3:
		return Place{Hypervisor: parts[0], Pool: parts[1], Name: parts[2]}, nil
	}
	return Place{}, errors.New("write pool/name, hypervisor/pool/name or the volume's path")
}

// ImportID is what `terraform import` takes for the volume.
func (p Place) ImportID() string {
	if p.Path != "" {
		return p.Path
	}
	if p.Hypervisor == "" {
		return p.Pool + "/" + p.Name
	}
	return p.Hypervisor + "/" + p.Pool + "/" + p.Name
}
