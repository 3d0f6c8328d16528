package backup

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"

	"libvirt.org/go/libvirtxml"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/storage"
)

// libvirt reaches files by pools only. Where the target is a directory that is no pool's, one that libvirt forgets as it ends shows it for as long as a
// backup is in there; a pool leaves a directory and what is in it alone, whatever becomes of the pool.

// namePool returns what a pool is called that shows a directory for backups.
func namePool(directory string) string {
	return "virtcluster-backup" + strings.ReplaceAll(path.Clean(directory), "/", "-")
}

// targetKey is what a hypervisor's client has the uses of a directory under.
type targetKey struct{ directory string }

// targetUses counts who of this process needs the pool that shows a directory, so that nobody stops it meanwhile.
type targetUses struct {
	mu    sync.Mutex
	users int
}

func (s *Store) shareTarget(c *hypervisor.Client) *targetUses {
	return c.Shared(targetKey{path.Clean(s.known.Target.Path)}, &targetUses{}).(*targetUses)
}

// startTarget returns the pool that is the target, by its name, and what says that it is not needed any more. One that shows a directory is started
// where there is none.
func (s *Store) startTarget(ctx context.Context, c *hypervisor.Client) (pool string, done func(), err error) {
	if s.known.Target.Path == "" {
		pool, err = s.findTarget(ctx, c)
		return pool, func() {}, err
	}
	uses := s.shareTarget(c)
	uses.mu.Lock()
	defer uses.mu.Unlock()
	if pool, err = s.showDirectory(ctx, c); err != nil {
		return "", func() {}, err
	}
	uses.users++
	return pool, sync.OnceFunc(func() {
		uses.mu.Lock()
		defer uses.mu.Unlock()
		uses.users--
	}), nil
}

// findTarget returns the started pool that is the target.
func (s *Store) findTarget(ctx context.Context, c *hypervisor.Client) (string, error) {
	pools, err := s.listPools(ctx, c)
	if err != nil || len(pools) > 0 {
		return append(pools, "")[0], err
	}
	if err := s.refuseTarget(ctx, c); err != nil {
		return "", err
	}
	return "", service.At(append(slices.Clone(targetPath), "pool"), fmt.Errorf("the hypervisor %s of the node has no storage pool %q", c.URI(), s.known.Target.Pool))
}

// showDirectory returns the pool that shows the target's directory.
func (s *Store) showDirectory(ctx context.Context, c *hypervisor.Client) (string, error) {
	pools, err := s.listPools(ctx, c)
	if err != nil || len(pools) > 0 {
		return append(pools, "")[0], err
	}
	other, err := storage.FindPoolIn(ctx, c, "", s.known.Target.Path)
	if err != nil {
		return "", err
	}
	at := append(slices.Clone(targetPath), "path")
	if other != nil {
		return "", service.At(at, fmt.Errorf("the directory %s of hypervisor %s is that of the storage pool %q, which is stopped: start it", s.known.Target.Path, c.URI(), other.Name()))
	}
	name := namePool(s.known.Target.Path)
	shown := c.StartTransientPool(ctx, &libvirtxml.StoragePool{Type: storage.PoolType, Name: name, Target: &libvirtxml.StoragePoolTarget{Path: path.Clean(s.known.Target.Path)}})
	// Another run may have been faster.
	if pools, err = s.listPools(ctx, c); err != nil || len(pools) > 0 {
		return append(pools, "")[0], err
	}
	return "", service.At(at, fmt.Errorf("libvirt cannot use the directory %s of hypervisor %s: make it there first: %w", s.known.Target.Path, c.URI(), shown))
}

// stopTarget stops a pool that shows a directory for backups, where none is in there any more.
func (s *Store) stopTarget(ctx context.Context, c *hypervisor.Client) error {
	if s.known.Target.Path == "" {
		return nil
	}
	uses := s.shareTarget(c)
	uses.mu.Lock()
	defer uses.mu.Unlock()
	name := namePool(s.known.Target.Path)
	p, err := c.Pool(ctx, name)
	if hypervisor.IsNotFound(err) || uses.users > 0 {
		return nil
	}
	if err != nil || p.Persistent || !s.known.Target.isPool(p) {
		return err
	}
	marked, err := storage.ListMarked(ctx, c, name)
	if err != nil || len(marked) > 0 {
		return err
	}
	return c.StopPool(ctx, name)
}
