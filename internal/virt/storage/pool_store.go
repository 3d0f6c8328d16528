package storage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"sync"

	"github.com/hashicorp/terraform-plugin-log/tflog"
	"libvirt.org/go/libvirtxml"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

// codeSystemError is VIR_ERR_SYSTEM_ERROR: a system call failed, such as opening a directory that is not there.
const codeSystemError = 38

// PoolStore is where one pool lives. It implements crud.Store.
type PoolStore struct {
	Client *hypervisor.Client
	// Hypervisor is its name in the provider's `hypervisors`; "" for the provider's own.
	Hypervisor string
	// UUID finds the pool, and Name where that is "", as it is for one that is to be made and during an import.
	UUID, Name string
	Claim      owner.Claim

	kept error // why the directory of a deleted pool stays
}

// poolsMade are those that this process made: the pool of one resource is not what a killed run left behind for another.
var poolsMade sync.Map // [hypervisor's URI, name]

func (s *PoolStore) poolKey() [2]string { return [2]string{s.Client.URI(), s.Name} }

// Get reads the pool, and has libvirt look into it.
func (s *PoolStore) Get(ctx context.Context) (Pool, error) {
	p, err := s.Client.Pool(ctx, cmp.Or(s.UUID, s.Name))
	if err == nil && p.Active {
		p, err = s.refreshPool(ctx, p)
	}
	switch {
	case hypervisor.IsNotFound(err):
		return Pool{}, fmt.Errorf("%w: %w", service.ErrAbsent, err)
	case err != nil:
		return Pool{}, err
	case p.Type() != PoolType:
		return Pool{}, fmt.Errorf("it is of type %q, and only %q can be managed", p.Type(), PoolType)
	}
	return newPool(p), nil
}

// refreshPool has libvirt look into a started pool. It stops one whose directory is gone.
func (s *PoolStore) refreshPool(ctx context.Context, p *hypervisor.Pool) (*hypervisor.Pool, error) {
	if err := s.Client.RefreshPool(ctx, p.UUID()); err != nil && hypervisor.Code(err) == 0 {
		return nil, err
	} else if err != nil {
		tflog.Warn(ctx, "libvirt cannot look into a storage pool", map[string]any{"pool": p.Name(), "reason": err.Error()})
	}
	return s.Client.Pool(ctx, p.UUID())
}

// Create defines and starts a pool of type "dir". What a killed run of the same workspace left of it is gone on with.
func (s *PoolStore) Create(ctx context.Context, want Pool) (Pool, error) {
	p, err := s.makePool(ctx, want.Path)
	if err != nil {
		return Pool{}, err
	}
	s.UUID = p.UUID()
	poolsMade.Store(s.poolKey(), true)
	got, err := s.adjustPool(ctx, p, want)
	if err != nil { // the pool exists
		return newPool(p), &service.Unfinished{Made: true, Err: err}
	}
	return got, nil
}

func (s *PoolStore) makePool(ctx context.Context, dir string) (_ *hypervisor.Pool, err error) {
	existing, err := s.Client.Pool(ctx, s.Name)
	switch {
	case err == nil:
		if err := s.checkTaken(existing, dir); err != nil {
			return nil, err
		}
	case !hypervisor.IsNotFound(err):
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.withdrawPool(context.WithoutCancel(ctx), dir))
		}
	}()
	if existing == nil {
		if other, err := FindPoolIn(ctx, s.Client, s.Name, dir); err != nil || other != nil {
			return nil, cmp.Or(err, newDirectoryTakenError(other))
		}
		if err := s.definePool(ctx, dir, adopted); err != nil {
			return nil, err
		}
	}
	// That it cannot be started is how the hypervisor says that the directory is missing; libvirt's "build"
	// takes one that exists without a word.
	err = s.Client.StartPool(ctx, s.Name)
	if hypervisor.Code(err) == codeSystemError {
		if err = s.Client.UndefinePool(ctx, s.Name); err == nil {
			err = s.definePool(ctx, dir, made) // so it is on record before the directory is made
		}
		if err == nil {
			err = s.startPool(ctx)
		}
	}
	if err != nil {
		return nil, err
	}
	return s.Client.Pool(ctx, s.Name)
}

// checkTaken returns an *owner.ForeignError where a pool that exists was not left behind by a killed run of this workspace.
func (s *PoolStore) checkTaken(existing *hypervisor.Pool, dir string) error {
	_, twice := poolsMade.Load(s.poolKey())
	if readPoolMark(existing, s.Claim.Mark().Workspace).Workspace && SamePath(existing.Path(), dir) && !twice {
		return nil
	}
	return s.NewForeignError(existing)
}

// NewForeignError says that a pool is there already which is not this state's.
func (s *PoolStore) NewForeignError(existing *hypervisor.Pool) *owner.ForeignError {
	return &owner.ForeignError{
		What: fmt.Sprintf("storage pool %q", existing.Name()), Place: existing.Path(), ImportID: ImportID(s.Hypervisor, existing.Name()),
	}
}

// ImportID is what `terraform import` takes for a pool.
func ImportID(hypervisor, name string) string {
	if hypervisor == "" {
		return name
	}
	return hypervisor + "/" + name
}

// FindPoolIn returns the pool of another name that has a directory; nil for none.
func FindPoolIn(ctx context.Context, c *hypervisor.Client, name, dir string) (*hypervisor.Pool, error) {
	pools, err := c.Pools(ctx)
	if err != nil {
		return nil, err
	}
	for _, p := range pools {
		if p.Name() != name && p.Path() != "" && SamePath(p.Path(), dir) {
			return p, nil
		}
	}
	return nil, nil
}

// newDirectoryTakenError returns the error that a directory can have only one pool; nil for no pool.
func newDirectoryTakenError(by *hypervisor.Pool) error {
	if by == nil {
		return nil
	}
	return fmt.Errorf("the directory %s is that of the storage pool %q already: use that pool, or choose another directory", by.Path(), by.Name())
}

// mayReplace says whether a pool that exists may be what one that is about to be made replaces, or what a killed run left of it:
// a run of the same workspace made it, or one of a version that did not note its workspace.
func mayReplace(p *hypervisor.Pool, workspace string) bool {
	m := readPoolMark(p, workspace)
	return m.Workspace || m.Ours && !m.Placed
}

// startPool starts the pool, and makes its directory where it is missing.
func (s *PoolStore) startPool(ctx context.Context) error {
	err := s.Client.StartPool(ctx, s.Name)
	if hypervisor.Code(err) != codeSystemError {
		return err
	}
	if err := s.Client.BuildPool(ctx, s.Name); err != nil {
		return err
	}
	return s.Client.StartPool(ctx, s.Name)
}

func (s *PoolStore) definePool(ctx context.Context, dir, origin string) error {
	return s.Client.DefinePool(ctx, &libvirtxml.StoragePool{
		Type: PoolType, Name: s.Name, UUID: buildPoolUUID(s.Name, dir, origin, s.Claim.Mark().Workspace), Target: &libvirtxml.StoragePoolTarget{Path: path.Clean(dir)},
	})
}

// withdrawPool undefines a pool whose creation failed; a directory that was made stays only if something is in it.
func (s *PoolStore) withdrawPool(ctx context.Context, dir string) error {
	p, err := s.Client.Pool(ctx, s.Name)
	if hypervisor.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	if !readPoolMark(p, s.Claim.Mark().Workspace).Workspace || !SamePath(p.Path(), dir) {
		return nil
	}
	_, err = s.removePool(ctx, p)
	return err
}

// Update makes what can be changed in a pool as it is wanted.
func (s *PoolStore) Update(ctx context.Context, _, want Pool) (Pool, error) {
	p, err := s.Client.Pool(ctx, s.UUID)
	if err != nil {
		return Pool{}, err
	}
	return s.adjustPool(ctx, p, want)
}

func (s *PoolStore) adjustPool(ctx context.Context, p *hypervisor.Pool, want Pool) (Pool, error) {
	s.Name = p.Name()
	for _, change := range newPool(p).Compare(want) {
		var err error
		switch {
		case change.Attribute == "autostart":
			err = s.Client.SetPoolAutostart(ctx, p.UUID(), want.Autostart)
		case change.Attribute == "active" && want.Active:
			err = s.startPool(ctx)
		case change.Attribute == "active":
			err = s.Client.StopPool(ctx, p.UUID())
		}
		if err != nil {
			return Pool{}, err
		}
	}
	p, err := s.Client.Pool(ctx, p.UUID())
	if err != nil {
		return Pool{}, err
	}
	return newPool(p), nil
}

// Warnings implements crud.Warner.
func (s *PoolStore) Warnings() []service.Problem {
	if s.kept == nil {
		return nil
	}
	return []service.Problem{service.Warningf(nil, fmt.Sprintf("Directory of storage pool %q stays", s.Name), "%s", s.kept.Error())}
}
