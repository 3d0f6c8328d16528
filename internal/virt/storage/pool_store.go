package storage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"
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
	Owner      owner.Claim

	kept error // why the directory of a deleted pool stays
}

// Claim implements crud.Owned.
func (s *PoolStore) Claim() owner.Claim { return s.Owner }

// FinishMark implements crud.Owned.
func (s *PoolStore) FinishMark(ctx context.Context) error {
	err := s.writeMark(ctx, s.Owner.Finished())
	if err == nil {
		s.Owner = s.Owner.Finished()
	}
	return err
}

// writeMark writes whose the pool is into its definition. Where its directory is from stays.
func (s *PoolStore) writeMark(ctx context.Context, claim owner.Claim) error {
	p, err := s.Client.Pool(ctx, cmp.Or(s.UUID, s.Name))
	if err != nil {
		return err
	}
	if m := readPoolMark(p); m == claim.Mark() || !s.Owner.MayTake(m) {
		return nil
	}
	return s.Client.RedefinePool(ctx, p.UUID(), func(definition *libvirtxml.StoragePool) { notePool(definition, claim.Mark(), readOrigin(p)) })
}

// checkOwned returns an *owner.ForeignError for a pool that is not the claim's own. One that the state knows by its UUID, and whose mark
// somebody edited away, is.
func (s *PoolStore) checkOwned(p *hypervisor.Pool) error {
	m := readPoolMark(p)
	if s.UUID == "" || m.ID != "" && !s.Owner.Anonymous() && !s.Owner.Owns(m) {
		return s.newForeignError(p)
	}
	return nil
}

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
	case !slices.Contains(PoolTypes, p.Type()):
		return Pool{}, fmt.Errorf("it is of type %q, and only %s can be managed", p.Type(), strings.Join(PoolTypes, ", "))
	}
	s.UUID = p.UUID()
	if err := s.checkOwned(p); err != nil {
		return Pool{}, err
	}
	s.Owner = s.Owner.Found(readPoolMark(p))
	return newPool(p), nil
}

// ListUnmodelled says of a stopped pool that nobody can tell what is in it, and of one that has no files that no resource is made of its volumes. It
// implements crud.Inspector.
func (s *PoolStore) ListUnmodelled(ctx context.Context) ([]service.Unmodelled, error) {
	p, err := s.Client.Pool(ctx, cmp.Or(s.UUID, s.Name))
	switch {
	case err != nil:
		return nil, err
	case p.Active && p.Files():
		return nil, nil
	case p.Active:
		return []service.Unmodelled{{Place: "/pool", What: "Its volumes are no files, beside which it could stand whose they are: no resource is made of them, and nodes have them by their paths."}}, nil
	}
	return []service.Unmodelled{{Place: "/pool", What: "It is stopped, so that its volumes cannot be seen: start it to have them listed."}}, nil
}

// refreshPool has libvirt look into a started pool. It stops one whose directory is gone, which is not asked for where the pool is somebody else's.
func (s *PoolStore) refreshPool(ctx context.Context, p *hypervisor.Pool) (*hypervisor.Pool, error) {
	look := s.Client.LookIntoPool
	if !s.Owner.Anonymous() && s.Owner.Owns(readPoolMark(p)) {
		look = func(ctx context.Context, p *hypervisor.Pool) error { return s.Client.RefreshPool(ctx, p.UUID()) }
	}
	err := look(ctx, p)
	if err != nil && hypervisor.Code(err) == 0 && !errors.Is(err, hypervisor.ErrPoolStopped) {
		return nil, err
	}
	if err != nil {
		tflog.Warn(ctx, "libvirt cannot look into a storage pool", map[string]any{"pool": p.Name(), "reason": err.Error()})
	}
	return s.Client.Pool(ctx, p.UUID())
}

// MayCreate implements crud.Previewer.
func (s *PoolStore) MayCreate(ctx context.Context) error {
	p, err := s.Client.Pool(ctx, s.Name)
	if hypervisor.IsNotFound(err) || err == nil && s.Owner.MayTake(readPoolMark(p)) {
		return nil
	}
	if err != nil {
		return err
	}
	return s.newForeignError(p)
}

// Create defines and starts a pool. What a killed run of the same workspace left of it is gone on with.
func (s *PoolStore) Create(ctx context.Context, want Pool) (Pool, error) {
	var got Pool
	p, err := s.makePool(ctx, want)
	if err == nil {
		got, err = s.adjustPool(ctx, p, want)
	}
	if err != nil && s.UUID != "" { // the pool exists
		want.UUID = s.UUID
		return want, &service.Unfinished{Made: true, Err: err}
	}
	return got, err
}

// makePool has the pool be there and started. With an error it has no UUID unless something of it stays.
func (s *PoolStore) makePool(ctx context.Context, want Pool) (*hypervisor.Pool, error) {
	before := s.Owner
	existing, err := s.Client.Pool(ctx, s.Name)
	switch {
	case err == nil && (!s.Owner.MayTake(readPoolMark(existing)) || !isMadeFrom(newPool(existing), want)):
		return nil, s.newForeignError(existing)
	case err == nil:
		if err := s.writeMark(ctx, s.Owner); err != nil {
			return nil, err
		}
		s.UUID, s.Owner = existing.UUID(), s.Owner.Written()
	case !hypervisor.IsNotFound(err):
		return nil, err
	default:
		if other, err := findPoolLike(ctx, s.Client, s.Name, want); err != nil || other != nil {
			return nil, cmp.Or(err, newDirectoryTakenError(other))
		}
		if err := s.definePool(ctx, want, adopted); err != nil {
			return nil, err
		}
	}
	p, err := s.startNewPool(ctx, want)
	if err == nil {
		return p, nil
	}
	if left := s.withdrawPool(context.WithoutCancel(ctx), want); left != nil {
		return nil, errors.Join(err, left)
	}
	s.UUID, s.Owner = "", before
	return nil, err
}

// startNewPool starts a pool that was just defined, and makes its directory where it is missing. That it cannot be started is how the
// hypervisor says so; libvirt's "build" takes one that exists without a word.
func (s *PoolStore) startNewPool(ctx context.Context, want Pool) (*hypervisor.Pool, error) {
	err := s.Client.StartPool(ctx, s.Name)
	lacks, unseen := s.lacksDirectory(ctx, err, want.Type, want.Path)
	if lacks {
		if err = s.Client.UndefinePool(ctx, s.Name); err == nil {
			err = s.definePool(ctx, want, made) // so it is on record before the directory is made
		}
		if err == nil {
			err = s.startPool(ctx, want.Type, want.Path)
		}
	}
	err = cmp.Or(unseen, err)
	if err != nil {
		return nil, err
	}
	return s.Client.Pool(ctx, s.Name)
}

func (s *PoolStore) newForeignError(existing *hypervisor.Pool) *owner.ForeignError {
	return s.Owner.NewForeignError(fmt.Sprintf("storage pool %q", existing.Name()), cmp.Or(existing.Path(), s.Client.URI()), ImportID(s.Hypervisor, existing.Name()), readPoolMark(existing))
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
	return findPoolLike(ctx, c, name, Pool{Type: PoolType, Path: dir})
}

// findPoolLike returns the pool of another name in whose directory a pool is to be, or that is made from its source; nil for none.
func findPoolLike(ctx context.Context, c *hypervisor.Client, name string, want Pool) (*hypervisor.Pool, error) {
	pools, err := c.Pools(ctx)
	if err != nil {
		return nil, err
	}
	for _, p := range pools {
		if p.Name() != name && excludeEachOther(newPool(p), want) {
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
	if !hasDirectory(by.Type()) {
		return fmt.Errorf("the storage pool %q, of type %q, is made from it already: use that pool, or choose another source", by.Name(), by.Type())
	}
	return fmt.Errorf("the directory %s is that of the storage pool %q already: use that pool, or choose another directory", by.Path(), by.Name())
}

// lacksDirectory says of a pool that could not be started whether that is for want of its directory. A mount of another machine's fails by
// itself too, so that the hypervisor's machine is looked at.
func (s *PoolStore) lacksDirectory(ctx context.Context, failed error, kind, dir string) (bool, error) {
	switch {
	case hypervisor.Code(failed) == 0 || !hasDirectory(kind):
		return false, nil
	case kind == PoolType:
		return hypervisor.Code(failed) == codeSystemError, nil
	}
	return s.Client.LacksDirectory(ctx, dir)
}

// startPool starts the pool, and makes its directory where it is missing.
func (s *PoolStore) startPool(ctx context.Context, kind, dir string) error {
	err := s.Client.StartPool(ctx, s.Name)
	lacks, unseen := s.lacksDirectory(ctx, err, kind, dir)
	if !lacks {
		return cmp.Or(unseen, err)
	}
	if err := s.Client.BuildPool(ctx, s.Name); err != nil {
		return err
	}
	return s.Client.StartPool(ctx, s.Name)
}

// definePool defines the pool under an UUID of its own choice: the state has that where libvirt's answer to all that follows is lost.
func (s *PoolStore) definePool(ctx context.Context, want Pool, origin string) error {
	id := uuid.NewString()
	definition := want.newDefinition()
	definition.UUID = id
	notePool(definition, s.Owner.Mark(), origin)
	err := s.Client.DefinePool(ctx, definition)
	if err == nil {
		s.UUID, s.Owner = id, s.Owner.Written()
	}
	return err
}

// withdrawPool undefines a pool whose creation failed; a directory that was made stays only if something is in it.
func (s *PoolStore) withdrawPool(ctx context.Context, want Pool) error {
	p, err := s.Client.Pool(ctx, s.Name)
	if err == nil && s.Owner.Owns(readPoolMark(p)) && isMadeFrom(newPool(p), want) {
		_, err = s.removePool(ctx, p)
	}
	if hypervisor.IsNotFound(err) {
		return nil
	}
	return err
}

// Update makes what can be changed in a pool as it is wanted.
func (s *PoolStore) Update(ctx context.Context, _, want Pool) (Pool, error) {
	p, err := s.Client.Pool(ctx, s.UUID)
	if err == nil {
		err = s.checkOwned(p)
	}
	if err != nil {
		return Pool{}, err
	}
	return s.adjustPool(ctx, p, want)
}

func (s *PoolStore) adjustPool(ctx context.Context, p *hypervisor.Pool, want Pool) (Pool, error) {
	s.Name = p.Name()
	if p.Autostart != want.Autostart {
		if err := s.Client.SetPoolAutostart(ctx, p.UUID(), want.Autostart); err != nil {
			return Pool{}, err
		}
	}
	switch {
	case want.Active && !p.Active:
		if err := s.startPool(ctx, p.Type(), p.Path()); err != nil {
			return Pool{}, err
		}
	case p.Active && !want.Active:
		if err := s.checkStop(ctx, p); err != nil {
			return Pool{}, err
		}
		if err := s.Client.StopPool(ctx, p.UUID()); err != nil {
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
