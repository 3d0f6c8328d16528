package snapshot

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
)

// found are the machines of a snapshot. gone are those of which no hypervisor knows any more.
type found struct {
	parts []*part
	gone  []string
}

// findParts finds the machines of the snapshot.
func (s *Store) findParts(ctx context.Context) (found, error) {
	nodes := s.known.listNodes()
	if len(nodes) == 0 {
		parts, err := s.findEveryPart(ctx)
		return found{parts: parts}, err
	}
	var all found
	for _, node := range nodes {
		p, err := findPart(ctx, s.hypervisors, node, s.known.Name)
		switch {
		case hypervisor.IsNotFound(err):
			all.gone = append(all.gone, node)
		case err != nil:
			return all, err
		default:
			all.parts = append(all.parts, p)
		}
	}
	return all, nil
}

// listNodes lists the machines of the snapshot, and those that have lost it and hold something of it yet.
func (s *Snapshot) listNodes() []string {
	all := slices.Clone(s.Nodes)
	for _, node := range slices.Sorted(maps.Keys(s.PerNode)) {
		if !slices.Contains(all, node) {
			all = append(all, node)
		}
	}
	return all
}

// findEveryPart finds all machines that have a snapshot of the name which this provider took, by their ids.
func (s *Store) findEveryPart(ctx context.Context) ([]*part, error) {
	var parts []*part
	seen := map[string]bool{}
	for _, place := range slices.Sorted(maps.Keys(s.hypervisors)) {
		c := s.hypervisors[place]
		domains, err := c.Domains(ctx)
		if err != nil {
			return nil, err
		}
		for _, d := range domains {
			p, err := readPart(ctx, c, d, d.UUID, s.known.Name)
			if err != nil {
				return nil, err
			}
			if p.record == nil || p.note.Mark.ID == "" || seen[d.UUID] {
				continue
			}
			if len(parts) > 0 && parts[0].note.Mark.ID != p.note.Mark.ID {
				return nil, fmt.Errorf("there are several snapshots %q, of different resources: write %s with the names or ids of the nodes of one", s.known.Name, ID(s.known.Name, []string{"NODE", "NODE"}))
			}
			seen[d.UUID] = true
			parts = append(parts, p)
		}
	}
	return parts, nil
}

// newForeignError says that a machine has a snapshot of the name that is somebody else's, or a file under a name of the snapshot's.
func (s *Store) newForeignError(p *part) error {
	if p.record == nil && !p.hasLayers() {
		return s.claim.NewForeignError("volume "+p.listFiles()[0].Name(), fmt.Sprintf("the storage pool of node %q on hypervisor %s", p.d.Name, p.c.URI()), "", p.findOwner())
	}
	return s.claim.NewForeignError(fmt.Sprintf("snapshot %q", s.known.Name), fmt.Sprintf("node %q on hypervisor %s", p.d.Name, p.c.URI()), ID(s.known.Name, []string{p.d.Name}), p.findOwner())
}
