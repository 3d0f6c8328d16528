package storage

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/terraform-plugin-log/tflog"
	"libvirt.org/go/libvirtxml"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/metadata"
)

// InUseError says that a volume cannot be deleted because others need what is on it.
type InUseError struct {
	Path  string
	Users []string
}

func (e *InUseError) Error() string {
	const shown = 5
	users := strings.Join(e.Users[:min(shown, len(e.Users))], ", ")
	if more := len(e.Users) - shown; more > 0 {
		users += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Sprintf("%s is used by %s: remove those first, or leave it to them with: terraform state rm ADDRESS", e.Path, users)
}

// usersPatience is how long a deletion waits for what uses the volume to go: the same apply may be removing it.
var usersPatience = 10 * time.Second

// awaitUnused returns when nothing uses a volume but the machines of a workspace: what becomes of those is in the same plan, which
// removes a disk's volume before it removes the disk. It returns an *InUseError where something else still does after a while.
func awaitUnused(ctx context.Context, c *hypervisor.Client, v *hypervisor.Volume, workspace string) error {
	return awaitNone(ctx, func() (*InUseError, error) {
		return findAnywhere(ctx, c, []*hypervisor.Volume{v}, func(s survey, volumes []*hypervisor.Volume) (*InUseError, error) {
			return s.findUsed(volumes, workspace), nil
		})
	})
}

// FindUsers returns what uses one of volumes now and is no other volume, nor a machine, of this state: those may go in the same plan. It is nil for none.
func FindUsers(ctx context.Context, c *hypervisor.Client, volumes ...*hypervisor.Volume) (*InUseError, error) {
	return findAnywhere(ctx, c, volumes, func(s survey, volumes []*hypervisor.Volume) (*InUseError, error) {
		s.domains = slices.DeleteFunc(slices.Clone(s.domains), func(d *hypervisor.Domain) bool { return metadata.MachineWorkspace(d.Config) == owner.Workspace() })
		return s.findUsedByOthers(ctx, volumes, func(string) bool { return true })
	})
}

// FindUsersOfLayers returns what uses one of the files now that a machine's disks consist of: beside the machine of a UUID itself, and beside the layers of
// this state's snapshots. It is nil for none.
func FindUsersOfLayers(ctx context.Context, c *hypervisor.Client, uuid string, files ...*hypervisor.Volume) (*InUseError, error) {
	return findAnywhere(ctx, c, files, func(s survey, files []*hypervisor.Volume) (*InUseError, error) {
		return s.withoutMachine(uuid, nil).findUsedByOthers(ctx, files, isLayer)
	})
}

// findUsedByOthers returns the first of the volumes that something uses, with its users; nil where nothing uses any. Overlays whose names are some do not
// count where they carry a mark of this state.
func (s survey) findUsedByOthers(ctx context.Context, volumes []*hypervisor.Volume, are func(name string) bool) (*InUseError, error) {
	var others []*hypervisor.Volume
	for _, overlay := range s.volumes {
		if !slices.ContainsFunc(volumes, func(v *hypervisor.Volume) bool { return overlay.Backing() == v.Path() }) {
			continue
		}
		marks, err := MarkedName{Client: s.client, Pool: overlay.Pool, Name: overlay.Name()}.ListMarks(ctx, overlay)
		if err != nil {
			return nil, err
		}
		if !are(overlay.Name()) || !slices.ContainsFunc(marks, owner.Mark.IsHere) {
			others = append(others, overlay)
		}
	}
	s.volumes = others
	return s.findUsed(volumes, ""), nil
}

// AwaitUnusedBeside returns when nothing uses a machine's volumes, which are to be deleted, beside the machine of a
// UUID itself: no other machine, and no overlay that is not among them or a disk of the machine's. It returns an *InUseError where
// something still does after a while.
func AwaitUnusedBeside(ctx context.Context, c *hypervisor.Client, uuid string, volumes []*hypervisor.Volume) error {
	if len(volumes) == 0 {
		return nil
	}
	return awaitNone(ctx, func() (*InUseError, error) {
		return findAnywhere(ctx, c, volumes, func(s survey, volumes []*hypervisor.Volume) (*InUseError, error) {
			return s.withoutMachine(uuid, volumes).findUsed(volumes, ""), nil
		})
	})
}

// AwaitUnusedLayers returns when FindUsersOfLayers finds nothing, or what it finds after a while.
func AwaitUnusedLayers(ctx context.Context, c *hypervisor.Client, uuid string, files ...*hypervisor.Volume) error {
	return awaitNone(ctx, func() (*InUseError, error) { return FindUsersOfLayers(ctx, c, uuid, files...) })
}

// awaitNone returns when there is nothing to be found, or what there was when its patience ended.
func awaitNone(ctx context.Context, find func() (*InUseError, error)) error {
	return hypervisor.Retry(ctx, usersPatience, time.Second, func() (bool, error) {
		inUse, err := find()
		if err != nil || inUse == nil {
			return false, err
		}
		return true, inUse
	})
}

// withoutMachine is the survey without a machine of the volumes' own hypervisor, its disks, and its volumes.
func (s survey) withoutMachine(uuid string, volumes []*hypervisor.Volume) survey {
	if s.elsewhere {
		return s
	}
	var disks []*libvirtxml.Domain
	domains := slices.DeleteFunc(slices.Clone(s.domains), func(d *hypervisor.Domain) bool {
		if d.UUID == uuid {
			disks = append(disks, d.Config, d.Live)
		}
		return d.UUID == uuid
	})
	others := slices.DeleteFunc(slices.Clone(s.volumes), func(v *hypervisor.Volume) bool {
		return slices.ContainsFunc(volumes, func(own *hypervisor.Volume) bool { return own.Path() == v.Path() }) ||
			slices.ContainsFunc(disks, func(d *libvirtxml.Domain) bool { return isDisk(d, v) })
	})
	return survey{client: s.client, domains: domains, volumes: others}
}

// findUsed returns the first of the volumes that something uses, with its users; nil where nothing uses any.
func (s survey) findUsed(volumes []*hypervisor.Volume, workspace string) *InUseError {
	for _, v := range volumes {
		if users := s.listUsers(v, workspace); len(users) > 0 {
			return &InUseError{v.Path(), users}
		}
	}
	return nil
}

// survey is every domain and every volume of a hypervisor's started pools.
type survey struct {
	client  *hypervisor.Client
	domains []*hypervisor.Domain
	volumes []*hypervisor.Volume
	// pools are all of the hypervisor's, started or not.
	pools []*hypervisor.Pool
	// elsewhere is set where the volumes that are asked for were written to the same storage by another hypervisor.
	elsewhere bool
}

// surveyKey is what a client has its sharedSurvey under.
type surveyKey struct{}

// sharedSurvey lets those who ask at one time share an answer: deleting a hundred volumes is not to read all volumes a hundred times.
type sharedSurvey struct {
	mu      sync.Mutex
	started time.Time
	last    survey
}

// surveyDisks looks at all domains and volumes. What it returns was looked up after it was called.
func surveyDisks(ctx context.Context, c *hypervisor.Client) (survey, error) {
	asked := time.Now()
	shared := c.Shared(surveyKey{}, &sharedSurvey{}).(*sharedSurvey)
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if shared.started.After(asked) {
		return shared.last, nil
	}
	started := time.Now()
	s, err := readDisks(ctx, c)
	if err == nil {
		shared.started, shared.last = started, s
	}
	return s, err
}

func readDisks(ctx context.Context, c *hypervisor.Client) (s survey, err error) {
	s.client = c
	if s.domains, err = c.Domains(ctx); err != nil {
		return s, err
	}
	if s.pools, err = c.Pools(ctx); err != nil {
		return s, err
	}
	for _, p := range s.pools {
		if !p.Active {
			continue // its volumes cannot be seen
		}
		// An overlay that was made behind libvirt's back is one too.
		if err := c.LookIntoPool(ctx, p); err != nil {
			tflog.Warn(ctx, "libvirt cannot look into a storage pool", map[string]any{"pool": p.Name(), "reason": err.Error()})
		}
		volumes, err := c.Volumes(ctx, p.UUID())
		if err != nil && !hypervisor.IsNotFound(err) && !errors.Is(err, hypervisor.ErrPoolStopped) {
			return s, err
		}
		s.volumes = append(s.volumes, volumes...)
	}
	return s, nil
}

// listUsers names what needs a volume: machines that have it or an overlay of it as a disk, and overlays in any started pool. The
// disks of a workspace's own machines do not count, and what is below them does.
func (s survey) listUsers(v *hypervisor.Volume, workspace string) []string {
	var users []string
	for _, d := range s.domains {
		own := workspace != "" && metadata.MachineWorkspace(d.Config) == workspace
		if !own && (isDisk(d.Config, v) || isDisk(d.Live, v)) || isBelowDisk(d.Config, v) || isBelowDisk(d.Live, v) {
			users = append(users, fmt.Sprintf("the domain %q", d.Name))
		}
	}
	for _, overlay := range s.volumes {
		if overlay.Backing() == v.Path() && overlay.Path() != v.Path() {
			users = append(users, fmt.Sprintf("its overlay %s", overlay.Path()))
		}
	}
	slices.Sort(users)
	return slices.Compact(users)
}

// isDisk says whether a domain has a volume as a disk.
func isDisk(d *libvirtxml.Domain, v *hypervisor.Volume) bool {
	return hasDisk(d, func(disk libvirtxml.DomainDisk) bool { return v.IsSource(disk.Source) })
}

// isBelowDisk says whether a volume is below one of a domain's disks.
func isBelowDisk(d *libvirtxml.Domain, v *hypervisor.Volume) bool {
	return hasDisk(d, v.IsBelow)
}

func hasDisk(d *libvirtxml.Domain, is func(libvirtxml.DomainDisk) bool) bool {
	return d != nil && d.Devices != nil && slices.ContainsFunc(d.Devices.Disks, is)
}

// findRunningUser returns the machine that runs with a volume as a disk; "" for none.
func findRunningUser(ctx context.Context, c *hypervisor.Client, v *hypervisor.Volume) (string, error) {
	domains, err := c.Domains(ctx)
	if err != nil {
		return "", err
	}
	for _, d := range domains {
		if isDisk(d.Live, v) {
			return d.Name, nil
		}
	}
	return "", nil
}
