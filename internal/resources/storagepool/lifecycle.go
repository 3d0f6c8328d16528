package storagepool

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path"
	"strings"

	"libvirt.org/go/libvirtxml"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
)

// codeSystemError is VIR_ERR_SYSTEM_ERROR: a system call failed, such as opening a directory that is not there.
const codeSystemError = 38

// A pool's XML has no room for notes, and what this provider must remember has to outlive a killed apply and
// a lost state: whether it made the pool, and whether it made the directory. So the pool's UUID says it.
const (
	adopted = "adopted" // the directory was there
	made    = "made"    // the provider made it, so it goes with the pool when it is empty
)

// mark is the UUID of a pool that this provider made (RFC 9562, version 8).
func mark(name, dir, origin string) string {
	sum := sha256.Sum256([]byte(strings.Join([]string{"virtcluster storage pool", name, path.Clean(dir), origin}, "\x00")))
	u := sum[:16]
	u[6], u[8] = u[6]&0x0f|0x80, u[8]&0x3f|0x80
	h := hex.EncodeToString(u)
	return strings.Join([]string{h[:8], h[8:12], h[12:16], h[16:20], h[20:]}, "-")
}

// ours says whether this provider made a pool, and whether it made its directory too.
func ours(p *hypervisor.Pool) (pool, directory bool) {
	directory = p.UUID() == mark(p.Name(), p.Path(), made)
	return directory || p.UUID() == mark(p.Name(), p.Path(), adopted), directory
}

// create defines and starts a pool of type "dir". What a killed apply left of it is gone on with.
func create(ctx context.Context, c *hypervisor.Client, name, dir string) (_ *hypervisor.Pool, err error) {
	existing, err := c.Pool(ctx, name)
	switch {
	case err == nil:
		if mine, _ := ours(existing); !mine || existing.Path() != path.Clean(dir) {
			return nil, fmt.Errorf("there is a storage pool of that name already, in %s: choose another name, or take it over with: terraform import ADDRESS %s", existing.Path(), name)
		}
	case !hypervisor.IsNotFound(err):
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, withdraw(context.WithoutCancel(ctx), c, name, dir))
		}
	}()
	if existing == nil {
		if other, err := holder(ctx, c, name, dir); err != nil || other != nil {
			return nil, cmp.Or(err, inUse(other))
		}
		if err := define(ctx, c, name, dir, adopted); err != nil {
			return nil, err
		}
	}
	// That it cannot be started is how the hypervisor says that the directory is missing; libvirt's "build"
	// takes one that exists without a word.
	err = c.StartPool(ctx, name)
	if hypervisor.Code(err) == codeSystemError {
		err = redefine(ctx, c, name, dir)
		if err == nil {
			err = start(ctx, c, name)
		}
	}
	if err != nil {
		return nil, err
	}
	return c.Pool(ctx, name)
}

// holder is the pool of another name that has a directory; nil for none.
func holder(ctx context.Context, c *hypervisor.Client, name, dir string) (*hypervisor.Pool, error) {
	pools, err := c.Pools(ctx)
	if err != nil {
		return nil, err
	}
	for _, p := range pools {
		if p.Name() != name && p.Path() != "" && samePath(p.Path(), dir) {
			return p, nil
		}
	}
	return nil, nil
}

// inUse is what a directory can have only one pool for.
func inUse(holder *hypervisor.Pool) error {
	if holder == nil {
		return nil
	}
	return fmt.Errorf("the directory %s is that of the storage pool %q already: use that pool, or choose another directory", holder.Path(), holder.Name())
}

// redefine notes that the directory is about to be made.
func redefine(ctx context.Context, c *hypervisor.Client, name, dir string) error {
	if err := c.UndefinePool(ctx, name); err != nil {
		return err
	}
	return define(ctx, c, name, dir, made)
}

// start starts a pool, and makes its directory where it is missing.
func start(ctx context.Context, c *hypervisor.Client, name string) error {
	err := c.StartPool(ctx, name)
	if hypervisor.Code(err) != codeSystemError {
		return err
	}
	if err := c.BuildPool(ctx, name); err != nil {
		return err
	}
	return c.StartPool(ctx, name)
}

func define(ctx context.Context, c *hypervisor.Client, name, dir, origin string) error {
	return c.DefinePool(ctx, &libvirtxml.StoragePool{
		Type: "dir", Name: name, UUID: mark(name, dir, origin), Target: &libvirtxml.StoragePoolTarget{Path: path.Clean(dir)},
	})
}

// withdraw undefines a pool whose creation failed; a directory that was made stays only if something is in it.
func withdraw(ctx context.Context, c *hypervisor.Client, name, dir string) error {
	p, err := c.Pool(ctx, name)
	if hypervisor.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	if mine, _ := ours(p); !mine || p.Path() != path.Clean(dir) {
		return nil
	}
	_, err = remove(ctx, c, p)
	return err
}

// remove stops and undefines a pool. A directory that the provider made goes with it when it is empty;
// kept says why it stays otherwise. Nothing else is ever deleted.
func remove(ctx context.Context, c *hypervisor.Client, p *hypervisor.Pool) (kept, err error) {
	if p.Active {
		if err := c.StopPool(ctx, p.UUID()); err != nil {
			return nil, err
		}
	}
	if _, directory := ours(p); directory {
		kept = c.DeletePoolTarget(ctx, p.UUID())
		if kept != nil && hypervisor.Code(kept) == 0 {
			return nil, kept // not libvirt's refusal, so it is not known whether the directory is there
		}
	}
	if !p.Persistent {
		return kept, nil
	}
	return kept, c.UndefinePool(ctx, p.UUID())
}
