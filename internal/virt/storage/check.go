package storage

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-log/tflog"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/plan"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

// Checker finds what can be known about planned storage only by asking its hypervisor. What cannot be asked now the apply tells.
type Checker struct {
	Client *hypervisor.Client
	// Hypervisor is its name in the configuration, "" for the provider's own, and Plan is what the plan holds.
	Hypervisor string
	Plan       plan.View
}

// CheckPool returns what is wrong with the pool that a volume or an image is to be in, and whether there is one that it can be in
// now: one that another resource of the plan makes is no problem, and not there yet.
func (k Checker) CheckPool(ctx context.Context, pool string) (problems []service.Problem, there bool) {
	p, err := k.Client.Pool(ctx, pool)
	switch {
	case err == nil && p.Files():
		return nil, true
	case err == nil:
		return []service.Problem{service.Problemf([]any{"pool"}, "Unsuitable storage pool",
			"The pool %q is of type %q. Images and volumes need a pool of files, such as \"dir\".", p.Name(), p.Type())}, false
	case !hypervisor.IsNotFound(err):
		tflog.Warn(ctx, "storage pool not checked while planning", map[string]any{"pool": pool, "reason": err.Error()})
	case !PlansPool(k.Plan, k.Hypervisor, pool):
		return []service.Problem{service.Problemf([]any{"pool"}, "Unknown storage pool",
			"The hypervisor %s has no storage pool %q, and no virtcluster_storage_pool planned so far makes it. Name one that exists, or make it and refer to it: virtcluster_storage_pool.NAME.name.%s",
			k.Client.URI(), pool, k.listPools(ctx))}, false
	}
	return nil, false
}

// listPools returns a sentence that names the pools that there are, with a blank before it; "" where there are none.
func (k Checker) listPools(ctx context.Context) string {
	pools, err := k.Client.Pools(ctx)
	if err != nil || len(pools) == 0 {
		return ""
	}
	names := make([]string, len(pools))
	for i, p := range pools {
		names[i] = fmt.Sprintf("%q", p.Name())
	}
	return " It has " + strings.Join(names, ", ") + "."
}

// CheckNewPool returns what is wrong with a pool that is to be made: of a type that the hypervisor's libvirt has no driver for, where something is
// mounted already, and in the directory, or from the source, of another pool which it does not replace. Whose a pool of its name is says its store.
func (k Checker) CheckNewPool(ctx context.Context, want Pool, claim owner.Claim) []service.Problem {
	if offered, err := k.Client.PoolTypes(ctx); err == nil && len(offered) > 0 && !slices.Contains(offered, want.Type) {
		return []service.Problem{service.Problemf([]any{"type"}, "Type not offered",
			"The libvirt of the hypervisor %s has no driver for pools of type %q: install it there (Debian: libvirt-daemon-driver-storage-%s). It has %s.", k.Client.URI(), want.Type, want.Type, strings.Join(offered, ", "))}
	}
	if problem := k.checkMount(ctx, want, claim); problem != nil {
		return []service.Problem{*problem}
	}
	p, err := findPoolLike(ctx, k.Client, want.Name, want)
	if err == nil && p == nil {
		return k.checkSession(ctx, want, claim)
	}
	if err != nil || claim.Replaces() && claim.Owns(readPoolMark(p)) {
		return nil
	}
	at, summary := []any{"path"}, "Directory taken"
	if want.Source != nil {
		at, summary = []any{"source"}, "Source taken"
	}
	return []service.Problem{service.Problemf(at, summary,
		"On the hypervisor %s, %s. To take that pool over, give it its name and run: terraform import ADDRESS %s",
		k.Client.URI(), newDirectoryTakenError(p), ImportID(k.Hypervisor, p.Name()))}
}

// checkMount finds something that is mounted already where a pool is to be mounted: with the pool it would be unmounted. What a pool
// mounts that the claim may take is no such thing: one that it replaces goes before, and one that a killed run left is gone on with.
func (k Checker) checkMount(ctx context.Context, want Pool, claim owner.Claim) *service.Problem {
	if want.Type != NetFS {
		return nil
	}
	if pools, err := k.Client.Pools(ctx); err == nil && mayTakeMount(pools, want.Path, claim) {
		return nil
	}
	mounts, err := k.Client.HostFile(ctx, "/proc/mounts")
	if err != nil {
		return nil // nobody can look
	}
	source := findMount(string(mounts), want.Path)
	if source == "" {
		return nil
	}
	p := service.Problemf([]any{"path"}, "Mounted already", "On the hypervisor %s, %s is mounted at %s, and stopping the pool would unmount that: write another directory, or take what is there for a pool of type \"dir\".",
		k.Client.URI(), source, want.Path)
	return &p
}

// checkSession finds that the hypervisor is logged in already to the target of a pool: with the pool it would be logged out. What a pool of the claim's own
// has made is no such session.
func (k Checker) checkSession(ctx context.Context, want Pool, claim owner.Claim) []service.Problem {
	if want.Type != ISCSI || want.Source == nil || want.Source.Target == "" {
		return nil
	}
	isIts := func(p *hypervisor.Pool) bool {
		is := newPool(p)
		return p.Active && is.Type == ISCSI && is.Source != nil && is.Source.Target == want.Source.Target && (claim.MayTake(readPoolMark(p)) || claim.Owns(readPoolMark(p)))
	}
	if pools, err := k.Client.Pools(ctx); err == nil && slices.ContainsFunc(pools, isIts) {
		return nil
	}
	devices, err := k.Client.FindDevices(ctx, "/dev/disk/by-path", "*-iscsi-"+want.Source.Target+"-lun-*")
	if err != nil || len(devices) == 0 {
		return nil // nobody can look
	}
	return []service.Problem{service.Problemf([]any{"source"}, "Logged in already", "The hypervisor %s is logged in to the target %s (%s), and stopping the pool would log it out, from whoever uses it: "+
		"log out there first (iscsiadm --mode node --targetname %[2]s --logout), or give the device to nodes as it is (volume = %[3]q of a disk).", k.Client.URI(), want.Source.Target, devices[0])}
}

// mayTakeMount says whether one of pools mounts something at a path, and a claim may take that pool. One that is stopped has mounted nothing.
func mayTakeMount(pools []*hypervisor.Pool, path string, claim owner.Claim) bool {
	return slices.ContainsFunc(pools, func(p *hypervisor.Pool) bool {
		return p.Active && p.Type() == NetFS && SamePath(p.Path(), path) && claim.MayTake(readPoolMark(p))
	})
}

// findMount returns what is mounted at a directory, as /proc/mounts has it; "" for nothing.
func findMount(mounts, dir string) string {
	for line := range strings.Lines(mounts) {
		fields := strings.Fields(line)
		if len(fields) > 2 && SamePath(mountEscapes.Replace(fields[1]), dir) {
			return mountEscapes.Replace(fields[0])
		}
	}
	return ""
}

// mountEscapes are how the kernel writes what separates the fields of /proc/mounts.
var mountEscapes = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)

// CheckRoom warns of a volume that is larger than all of its pool: it is made, as it takes up only what is written, and can never
// be filled. at is the attribute of its size.
func (k Checker) CheckRoom(ctx context.Context, at []any, want Volume) []service.Problem {
	p, err := k.Client.Pool(ctx, want.Pool)
	if err != nil {
		return nil // CheckPool says so
	}
	return WarnIfLargerThanPool(p, at, want.SizeGiB)
}

// WarnIfLargerThanPool is the warning of CheckRoom, for a pool that is known.
func WarnIfLargerThanPool(p *hypervisor.Pool, at []any, sizeGiB int64) []service.Problem {
	capacity := newPool(p).CapacityBytes
	if capacity == 0 || sizeGiB <= capacity/gib+1 {
		return nil
	}
	return []service.Problem{service.Warningf(at, "Volume larger than its pool",
		"The storage pool %q has %d GiB altogether, and the volume is to have %d: it takes up only what is written, and writes fail once the pool is full. Write less, or choose a larger pool.",
		p.Name(), capacity/gib, sizeGiB)}
}

// CheckImage returns what is wrong with the image of a volume: that nothing has it or makes it, or that it is larger than the
// volume.
func (k Checker) CheckImage(ctx context.Context, want Volume) []service.Problem {
	image, err := FindImage(ctx, k.Client, want)
	switch {
	case errors.Is(err, service.ErrAbsent):
		if !plansVolume(k.Plan, k.Hypervisor, want.Pool, want.Image) {
			return []service.Problem{service.Problemf([]any{"image"}, "Unknown image",
				"No started storage pool of the hypervisor %s has %s. Refer to an image that is made, as in virtcluster_image.NAME.id, or name a volume that exists.", k.Client.URI(), describeImage(want))}
		}
	case err != nil:
		tflog.Warn(ctx, "image not checked while planning", map[string]any{"image": want.Image, "reason": err.Error()})
	case image != nil && want.SizeGiB != 0 && want.SizeGiB < image.CapacityGiB():
		return []service.Problem{service.Problemf([]any{"size_gib"}, "Volume smaller than its image",
			"The image %s has %d bytes, so the overlay needs size_gib = %d or more.", image.Path(), image.Capacity(), image.CapacityGiB())}
	}
	return nil
}

// describeImage returns what messages call the image of a volume.
func describeImage(v Volume) string {
	if strings.HasPrefix(v.Image, "/") {
		return "a volume " + v.Image
	}
	return fmt.Sprintf("a volume %q in the pool %q", v.Image, v.Pool)
}

// CheckNotRunning refuses a change of an attribute that makes a volume anew while a machine runs with it: the machine would go on
// with the deleted one.
func (k Checker) CheckNotRunning(ctx context.Context, attribute string, was Volume) []service.Problem {
	v, err := k.Client.Volume(ctx, was.Pool, was.Name)
	var user string
	if err == nil {
		user, err = findRunningUser(ctx, k.Client, v)
	}
	switch {
	case err != nil:
		tflog.Warn(ctx, "users of a volume not looked for while planning", map[string]any{"volume": was.Name, "reason": err.Error()})
	case user != "":
		return []service.Problem{service.Problemf([]any{attribute}, "Volume in use",
			"The machine %q runs with the volume %q as a disk, and this change makes it anew. Remove the disk from the machine first, or make a volume of another name.", user, was.Name)}
	}
	return nil
}
