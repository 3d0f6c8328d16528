package backup

import (
	"context"
	"crypto/sha256"
	"errors"
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

// namePool returns what a pool is called that shows a directory for backups. A digest tells a directory with a dash from the one with a slash there.
func namePool(directory string) string {
	name := nameOldPool(directory)
	if strings.Contains(directory, "-") {
		name += fmt.Sprintf("-%x", sha256.Sum256([]byte(path.Clean(directory))))[:1+8]
	}
	return name
}

// nameOldPool returns what such a pool was called by versions that told no dash from a slash.
func nameOldPool(directory string) string {
	return "virtcluster-backup" + strings.ReplaceAll(path.Clean(directory), "/", "-")
}

// isShownBy says whether a pool, by its name, is there for nothing but to show a directory for backups.
func isShownBy(pool, directory string) bool {
	return pool == namePool(directory) || pool == nameOldPool(directory)
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
	if shown == nil {
		shown = errors.New("it was shown, and somebody ended that at once")
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
	all, err := c.Pools(ctx)
	if err != nil || uses.users > 0 {
		return err
	}
	at := slices.IndexFunc(all, func(p *hypervisor.Pool) bool {
		return isShownBy(p.Name(), s.known.Target.Path) && !p.Persistent && s.known.Target.isPool(p)
	})
	if at < 0 {
		return nil
	}
	marked, err := storage.ListMarked(ctx, c, all[at].Name())
	if err != nil || len(marked) > 0 {
		return err
	}
	return c.StopPool(ctx, all[at].Name())
}
