package storage

import (
	"errors"
	"strings"
)

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
