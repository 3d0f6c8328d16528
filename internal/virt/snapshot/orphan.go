package snapshot

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/storage"
)

// A layer that no domain is in may hold all that a guest wrote since its snapshot: somebody undefined the domain, and may define it again. It goes where
// nothing is lost with it, and a file that another domain uses stays as that one's.

// orphan is a file that the state knows of a machine which is gone.
type orphan struct {
	storage.MarkedName
	file *hypervisor.Volume
}

// listOrphans lists the files that the state knows of a machine that is gone, and that carry the claim's mark.
func (s *Store) listOrphans(ctx context.Context, node string) ([]orphan, error) {
	var orphans []orphan
	for _, c := range s.hypervisors {
		for _, file := range s.listKnownFiles(node) {
			v, err := c.VolumeByPath(ctx, file)
			if hypervisor.IsNotFound(err) {
				continue
			}
			if err != nil {
				return nil, err
			}
			marked := storage.MarkedName{Client: c, Pool: v.Pool, Name: v.Name()}
			marks, err := marked.ListMarks(ctx, v)
			if err != nil {
				return nil, err
			}
			if slices.ContainsFunc(marks, s.claim.Owns) {
				orphans = append(orphans, orphan{marked, v})
			}
		}
	}
	return orphans, nil
}

// listKnownFiles lists the files that the state knows of a machine.
func (s *Store) listKnownFiles(node string) []string {
	known := s.known.PerNode[node]
	files := slices.Clone(known.Layers)
	if known.MemoryFile != "" {
		files = append(files, known.MemoryFile)
	}
	return files
}

// removeOrphans removes what is left of a machine that is gone: all of it, or nothing where a layer holds what is nowhere else. What somebody else uses
// stays without the snapshot's mark.
func (s *Store) removeOrphans(ctx context.Context, node string) error {
	orphans, err := s.listOrphans(ctx, node)
	if err != nil {
		return err
	}
	var used, unused []orphan
	for _, o := range orphans {
		users, err := storage.FindUsers(ctx, o.Client, o.file)
		if err != nil {
			return err
		}
		if users != nil {
			used = append(used, o)
			s.warnings = append(s.warnings, service.Warningf(nil, fmt.Sprintf("File %s of a snapshot stays", o.Name),
				"Node %q, of which it was, is gone, and %s is used by %s. It carries no mark of snapshot %q any more: it is left to them.", node, o.file.Path(), strings.Join(users.Users, ", "), s.known.Name))
			continue
		}
		unused = append(unused, o)
	}
	for _, o := range unused {
		if err := refuseLoss(ctx, o.Client, o.file, node); err != nil {
			return err
		}
	}
	for _, o := range used {
		if err := o.RemoveMarks(ctx, s.claim.Owns); err != nil {
			return err
		}
	}
	for _, o := range unused {
		if err := o.Client.DeleteVolume(ctx, o.Pool, o.Name); err != nil {
			return err
		}
		if err := o.RemoveMarks(ctx, s.claim.Owns); err != nil {
			return err
		}
	}
	return s.removeStrayMarks(ctx, node)
}

// removeStrayMarks removes the claim's marks beside the names of files of a machine that is gone: somebody deleted those.
func (s *Store) removeStrayMarks(ctx context.Context, node string) error {
	for _, c := range s.hypervisors {
		pools, err := c.Pools(ctx)
		if err != nil {
			return err
		}
		for _, file := range s.listKnownFiles(node) {
			at := slices.IndexFunc(pools, func(p *hypervisor.Pool) bool {
				return p.Active && p.Files() && p.Path() != "" && storage.SamePath(p.Path(), path.Dir(file))
			})
			if at < 0 {
				continue
			}
			marked := storage.MarkedName{Client: c, Pool: pools[at].Name(), Name: path.Base(file)}
			if err := marked.RemoveMarks(ctx, func(m owner.Mark) bool { return m.ID == s.claim.Mark().ID }); err != nil {
				return err
			}
		}
	}
	return nil
}

// refuseLoss refuses to delete a file of a node's snapshot of which no disk of the node is: one that something uses, or a layer that holds what is nowhere
// else. The last is so where something was written into it and what lies below it is there.
func refuseLoss(ctx context.Context, c *hypervisor.Client, file *hypervisor.Volume, node string) error {
	if err := storage.AwaitUnused(ctx, c, file, ""); err != nil {
		return err
	}
	empty, err := isEmptyLayer(ctx, c, file)
	if err != nil || empty || file.Backing() == "" {
		return err
	}
	if path.Dir(file.Backing()) == path.Dir(file.Path()) { // as a snapshot makes it
		_, err := c.Volume(ctx, file.Pool, path.Base(file.Backing()))
		if hypervisor.IsNotFound(err) && !hypervisor.IsNoPool(err) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("look for what lies below %s: %w", file.Path(), err)
		}
	}
	_, snapshot := storage.SplitLayer(file.Path())
	return fmt.Errorf("%s holds what node %q wrote since snapshot %q was taken, or last reverted to, and no disk of the node is in it, as after its domain was undefined: it is not deleted. "+
		"Define the domain again with its disk in it (virsh define), or write what it holds into what lies below it, where nothing was written to that since (qemu-img commit). "+
		"Where what it holds is of no use, delete it (virsh vol-delete)", file.Path(), node, snapshot)
}

// FindWritten returns a layer of a snapshot upon a volume into which something was written, nil for none: what a machine wrote that was in it is missing to
// one that is in the volume.
func FindWritten(ctx context.Context, c *hypervisor.Client, pool, volume string) (*hypervisor.Volume, error) {
	if err := c.RefreshPool(ctx, pool); err != nil {
		return nil, err
	}
	names, err := c.VolumeNames(ctx, pool)
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(slices.Values(names)) {
		if below, of := storage.SplitLayer(name); below != volume || !NameForm.MatchString(of) {
			continue
		}
		layer, err := c.KnownVolume(ctx, pool, name)
		if err != nil {
			return nil, err
		}
		if layer == nil {
			continue
		}
		if empty, err := isEmptyLayer(ctx, c, layer); err != nil || !empty {
			return layer, err
		}
	}
	return nil, nil
}

// isEmptyLayer says whether nothing was written into a layer, or all of it was written into what lies below it by qemu-img commit.
func isEmptyLayer(ctx context.Context, c *hypervisor.Client, layer *hypervisor.Volume) (bool, error) {
	return storage.IsEmptyQCOW2(func(offset, length uint64) ([]byte, error) { return c.PeekVolume(ctx, layer, offset, length) })
}
