package storage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
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

func (s *PoolStore) key() [2]string { return [2]string{s.Client.URI(), s.Name} }

// Get reads the pool, and has libvirt look into it.
func (s *PoolStore) Get(ctx context.Context) (Pool, error) {
	p, err := s.Client.Pool(ctx, cmp.Or(s.UUID, s.Name))
	if err == nil && p.Active {
		p, err = s.refresh(ctx, p)
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

// refresh has libvirt look into a started pool. It stops one whose directory is gone.
func (s *PoolStore) refresh(ctx context.Context, p *hypervisor.Pool) (*hypervisor.Pool, error) {
	if err := s.Client.RefreshPool(ctx, p.UUID()); err != nil && hypervisor.Code(err) == 0 {
		return nil, err
	} else if err != nil {
		tflog.Warn(ctx, "libvirt cannot look into a storage pool", map[string]any{"pool": p.Name(), "reason": err.Error()})
	}
	return s.Client.Pool(ctx, p.UUID())
}

// Create defines and starts a pool of type "dir". What a killed run of the same workspace left of it is gone on with.
func (s *PoolStore) Create(ctx context.Context, want Pool) (Pool, error) {
	p, err := s.make(ctx, want.Path)
	if err != nil {
		return Pool{}, err
	}
	s.UUID = p.UUID()
	poolsMade.Store(s.key(), true)
	got, err := s.adjust(ctx, p, want)
	if err != nil { // the pool exists
		return newPool(p), &service.Unfinished{Made: true, Err: err}
	}
	return got, nil
}

func (s *PoolStore) make(ctx context.Context, dir string) (_ *hypervisor.Pool, err error) {
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
			err = errors.Join(err, s.withdraw(context.WithoutCancel(ctx), dir))
		}
	}()
	if existing == nil {
		if other, err := PoolIn(ctx, s.Client, s.Name, dir); err != nil || other != nil {
			return nil, cmp.Or(err, DirectoryTaken(other))
		}
		if err := s.define(ctx, dir, adopted); err != nil {
			return nil, err
		}
	}
	// That it cannot be started is how the hypervisor says that the directory is missing; libvirt's "build"
	// takes one that exists without a word.
	err = s.Client.StartPool(ctx, s.Name)
	if hypervisor.Code(err) == codeSystemError {
		if err = s.Client.UndefinePool(ctx, s.Name); err == nil {
			err = s.define(ctx, dir, made) // so it is on record before the directory is made
		}
		if err == nil {
			err = s.start(ctx)
		}
	}
	if err != nil {
		return nil, err
	}
	return s.Client.Pool(ctx, s.Name)
}

// checkTaken returns an *owner.ForeignError where a pool that exists was not left behind by a killed run of this workspace.
func (s *PoolStore) checkTaken(existing *hypervisor.Pool, dir string) error {
	_, twice := poolsMade.Load(s.key())
	if readPoolMark(existing, s.Claim.Mark().Workspace).Workspace && SamePath(existing.Path(), dir) && !twice {
		return nil
	}
	return s.ForeignError(existing)
}

// ForeignError says that a pool is there already which is not this state's.
func (s *PoolStore) ForeignError(existing *hypervisor.Pool) *owner.ForeignError {
	importID := existing.Name()
	if s.Hypervisor != "" {
		importID = s.Hypervisor + "/" + importID
	}
	return &owner.ForeignError{
		What: fmt.Sprintf("storage pool %q", existing.Name()), Place: existing.Path(), ImportID: importID,
	}
}

// PoolIn is the pool of another name that has a directory; nil for none.
func PoolIn(ctx context.Context, c *hypervisor.Client, name, dir string) (*hypervisor.Pool, error) {
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

// DirectoryTaken is the error that a directory can have only one pool; nil for no pool.
func DirectoryTaken(by *hypervisor.Pool) error {
	if by == nil {
		return nil
	}
	return fmt.Errorf("the directory %s is that of the storage pool %q already: use that pool, or choose another directory", by.Path(), by.Name())
}

// MadeByProvider says whether this provider made a pool, for whichever state.
func MadeByProvider(p *hypervisor.Pool) bool { return readPoolMark(p, "").Ours }

// start starts the pool, and makes its directory where it is missing.
func (s *PoolStore) start(ctx context.Context) error {
	err := s.Client.StartPool(ctx, s.Name)
	if hypervisor.Code(err) != codeSystemError {
		return err
	}
	if err := s.Client.BuildPool(ctx, s.Name); err != nil {
		return err
	}
	return s.Client.StartPool(ctx, s.Name)
}

func (s *PoolStore) define(ctx context.Context, dir, origin string) error {
	return s.Client.DefinePool(ctx, &libvirtxml.StoragePool{
		Type: PoolType, Name: s.Name, UUID: poolUUID(s.Name, dir, origin, s.Claim.Mark().Workspace), Target: &libvirtxml.StoragePoolTarget{Path: path.Clean(dir)},
	})
}

// withdraw undefines a pool whose creation failed; a directory that was made stays only if something is in it.
func (s *PoolStore) withdraw(ctx context.Context, dir string) error {
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
	_, err = s.remove(ctx, p)
	return err
}

// Update makes what can be changed in a pool as it is wanted.
func (s *PoolStore) Update(ctx context.Context, _, want Pool) (Pool, error) {
	p, err := s.Client.Pool(ctx, s.UUID)
	if err != nil {
		return Pool{}, err
	}
	return s.adjust(ctx, p, want)
}

func (s *PoolStore) adjust(ctx context.Context, p *hypervisor.Pool, want Pool) (Pool, error) {
	s.Name = p.Name()
	for _, change := range newPool(p).Compare(want) {
		var err error
		switch {
		case change.Attribute == "autostart":
			err = s.Client.SetPoolAutostart(ctx, p.UUID(), want.Autostart)
		case change.Attribute == "active" && want.Active:
			err = s.start(ctx)
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

// Delete stops and undefines the pool. A directory that the provider made goes with it when it is empty. Nothing else is ever
// deleted.
func (s *PoolStore) Delete(ctx context.Context) error {
	p, err := s.Client.Pool(ctx, s.UUID)
	if hypervisor.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	s.Name = p.Name()
	if p.Active {
		if err := s.removeStrayMarks(ctx, p); err != nil {
			return err
		}
	}
	s.kept, err = s.remove(ctx, p)
	if hypervisor.IsNotFound(err) {
		err = nil
	}
	if err == nil {
		poolsMade.Delete(s.key())
	}
	if s.kept != nil {
		s.kept = fmt.Errorf("the pool is gone, but its directory %s could not be removed, most likely because there are files in it that Terraform does not know: %w", p.Path(), s.kept)
	}
	return err
}

// removeStrayMarks removes the marks that this workspace left of volumes which somebody else removed.
func (s *PoolStore) removeStrayMarks(ctx context.Context, p *hypervisor.Pool) error {
	names, err := s.Client.VolumeNames(ctx, p.UUID())
	if errors.Is(err, hypervisor.ErrPoolStopped) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, name := range names {
		volume, m, ok := parseMarkName(name)
		if !ok || m.Workspace != s.Claim.Mark().Workspace || m.Workspace == "" || slices.Contains(names, volume) {
			continue
		}
		if err := s.Client.DeleteVolume(ctx, p.UUID(), name); err != nil {
			return err
		}
	}
	return nil
}

// remove stops and undefines a pool. kept says why a directory that the provider made stays.
func (s *PoolStore) remove(ctx context.Context, p *hypervisor.Pool) (kept, err error) {
	if p.Active {
		if err := s.Client.StopPool(ctx, p.UUID()); err != nil {
			return nil, err
		}
	}
	if readPoolMark(p, "").Directory {
		kept = s.Client.DeletePoolTarget(ctx, p.UUID())
		if kept != nil && hypervisor.Code(kept) == 0 {
			return nil, kept // not libvirt's refusal, so it is not known whether the directory is there
		}
	}
	if !p.Persistent {
		return kept, nil
	}
	return kept, s.Client.UndefinePool(ctx, p.UUID())
}

// Warnings implements crud.Warner.
func (s *PoolStore) Warnings() []service.Problem {
	if s.kept == nil {
		return nil
	}
	return []service.Problem{service.Warningf(nil, fmt.Sprintf("Directory of storage pool %q stays", s.Name), "%s", s.kept.Error())}
}
