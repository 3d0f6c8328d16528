package node

import (
	"context"
	"errors"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-log/tflog"
	"golang.org/x/sync/errgroup"
	"libvirt.org/go/libvirtxml"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/machine"
	virtnetwork "github.com/virtcluster/terraform-provider-virtcluster/internal/virt/network"
)

// Delete stops the guest and removes the domain last, so that an interrupted destroy can be taken up again.
func (n *node) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	var v version
	resp.Diagnostics.Append(req.State.Get(ctx, &v.model)...)
	if resp.Diagnostics.HasError() {
		return
	}
	p, diags := v.split(ctx)
	v.parts = p
	resp.Diagnostics.Append(diags...)
	limit := crud.Timeout(ctx, v.Timeouts, "delete", defaultTimeout, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	n.facts.hold(&v)
	c, err := n.client(ctx, &v.model)
	if err == nil {
		err = n.destroy(ctx, c, &v)
	}
	if err != nil {
		resp.Diagnostics.Append(crud.Failure("destroy", what(&v.model), err))
	}
}

func (n *node) destroy(ctx context.Context, c *hypervisor.Client, v *version) error {
	left, err := n.remains(ctx, c, v)
	if err != nil {
		return err
	}
	grace, _ := time.ParseDuration(v.ShutdownTimeout.ValueString()) // the schema has checked it
	return remove(ctx, c, left, grace)
}

// volumeRef names a volume.
type volumeRef struct{ pool, name string }

// remains is what a node consists of on its hypervisor.
type remains struct {
	uuid         string
	volumes      []volumeRef
	reservations []reservation
	filters      []string
	// reclaim is the configuration that names a UEFI variable store which the node's own does not name any more.
	reclaim *libvirtxml.Domain
}

// remains collects what a node in state consists of: the domain's own word where there is a domain, and what
// state knows where it vanished.
func (n *node) remains(ctx context.Context, c *hypervisor.Client, v *version) (remains, error) {
	left := remains{uuid: v.ID.ValueString()}
	for _, i := range v.parts.Interfaces {
		if ref := i.Network.ValueString(); ref != "" {
			left.reservations = append(left.reservations, reservationsOf(&i, ref)...)
		}
		if i.PortSecurity.ValueBool() {
			left.filters = append(left.filters, filterName(v.Name.ValueString(), canonicalMAC(i.MAC.ValueString())))
		}
	}
	d, err := c.Domain(ctx, left.uuid)
	switch {
	case hypervisor.IsNotFound(err):
		left.volumes = v.volumeNames()
		return left, nil
	case err != nil:
		return left, err
	}
	m, err := located(ctx, c, d)
	if err != nil {
		return left, err
	}
	left.volumes, err = ownVolumes(ctx, c, m, v)
	if machine.ReclaimStore(d.Config) {
		left.reclaim = d.Config
	}
	return left, err
}

// ownVolumes are the volumes that go with a node: those that its mark names, and the disks of one that
// someone else made unless state has them as volumes of their own.
func ownVolumes(ctx context.Context, c *hypervisor.Client, m *machine.Machine, v *version) ([]volumeRef, error) {
	var all []volumeRef
	for _, marked := range m.Mark.Disks {
		if marked.Volume != "" {
			all = append(all, volumeRef{marked.Pool, marked.Volume})
		}
	}
	for _, disk := range m.Disks {
		inState, listed := v.parts.Disks[disk.Key]
		own := disk.Key == machine.Root && v.Root != nil || listed && inState.Volume.IsNull()
		if !own || m.Mark.Disk(disk.Key).Volume != "" {
			continue
		}
		volume, err := c.VolumeByPath(ctx, disk.Path)
		if hypervisor.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		all = append(all, volumeRef{volume.Pool, volume.Name()})
	}
	return all, nil
}

// volumeNames are the volumes that a node in state has by its own naming.
func (v *version) volumeNames() []volumeRef {
	name, pool := v.Name.ValueString(), "default"
	var all []volumeRef
	if v.Root != nil {
		pool = v.Root.Pool.ValueString()
		all = append(all, volumeRef{pool, name + "-root.qcow2"})
	}
	for key, d := range v.parts.Disks {
		if d.Volume.IsNull() {
			all = append(all, volumeRef{d.Pool.ValueString(), name + "-" + key + ".qcow2"})
		}
	}
	if v.seeded() {
		all = append(all, volumeRef{pool, name + "-seed.iso"})
	}
	if known(v.Ignition) || known(v.Butane) {
		all = append(all, volumeRef{pool, name + "-ignition.json"})
	}
	return all
}

// remove stops a machine and removes what it consists of; what is absent already is no error. The domain goes
// last, and stays when something else could not be removed: it knows what the rest is called.
func remove(ctx context.Context, c *hypervisor.Client, left remains, grace time.Duration) error {
	if err := c.StopDomain(ctx, left.uuid, grace); err != nil {
		return err
	}
	var group errgroup.Group
	for _, v := range left.volumes {
		group.Go(func() error { return c.DeleteVolume(ctx, v.pool, v.name) })
	}
	for _, r := range left.reservations {
		group.Go(func() error { return virtnetwork.RemoveReservation(ctx, c, r.network, r.host) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	if left.reclaim != nil {
		// A hypervisor that has lost its UEFI firmware cannot be asked; a node that cannot be destroyed were worse.
		if err := c.DefineDomain(ctx, left.reclaim); err != nil {
			tflog.Warn(ctx, "the UEFI variable store that the node left behind stays", map[string]any{"domain": left.uuid, "reason": err.Error()})
		}
	}
	if err := c.UndefineDomain(ctx, left.uuid); err != nil {
		return err
	}
	return dropFilters(ctx, c, left.filters)
}

func dropFilters(ctx context.Context, c *hypervisor.Client, names []string) error {
	var err error
	for _, name := range names {
		err = errors.Join(err, c.UndefineFilter(ctx, name))
	}
	return err
}
