package node

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/resource"
	"libvirt.org/go/libvirtxml"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/machine"
	virtnetwork "github.com/virtcluster/terraform-provider-virtcluster/internal/virt/network"
)

// Update changes what it can while the node runs, and restarts it for the rest where that is allowed.
func (n *node) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	var v, prior version
	resp.Diagnostics.Append(req.Plan.Get(ctx, &v.model)...)
	resp.Diagnostics.Append(req.State.Get(ctx, &prior.model)...)
	if resp.Diagnostics.HasError() {
		return
	}
	p, diags := v.split(ctx)
	v.parts = p
	resp.Diagnostics.Append(diags...)
	p, diags = prior.split(ctx)
	prior.parts = p
	resp.Diagnostics.Append(diags...)
	limit := crud.Timeout(ctx, v.Timeouts, "update", defaultTimeout, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	planned := v.model
	v.ID = prior.ID
	c, err := n.client(ctx, &v.model)
	if err == nil {
		err = (&checks{n: n, c: c, v: &v, prior: &prior}).bridged(ctx, func() error { return n.change(ctx, c, &prior, &v) })
	}
	if err != nil {
		resp.Diagnostics.Append(crud.Failure("update", what(&v.model), err))
		// What was changed before it failed is for the next refresh to say; state keeps the old values.
		return
	}
	resp.Diagnostics.Append(n.readBack(ctx, c, &v, &planned, &resp.State)...)
	resp.Diagnostics.Append(n.Identify(ctx, resp.State, resp.Identity)...)
}

// changer is one update of one node.
type changer struct {
	*build
	c        *hypervisor.Client
	n        *node
	prior, v *version
	// d is the domain before the change and was what it held.
	d     *hypervisor.Domain
	was   *machine.Machine
	grace time.Duration
	// mustRestart is set where what runs cannot follow, and restart where it could not.
	mustRestart bool
	restart     bool
	// retained is set where the mark names volumes that are to be removed.
	retained bool
	// newStore is set once the variable store is not the prior firmware's any more.
	newStore bool
}

// change turns the node into what is planned. What is to be removed goes last, so that a change that fails
// half-way has lost nothing.
func (n *node) change(ctx context.Context, c *hypervisor.Client, prior, v *version) error {
	d, err := c.Domain(ctx, v.ID.ValueString())
	if err != nil {
		return err
	}
	was, err := located(ctx, c, d)
	if err != nil {
		return err
	}
	u := &changer{c: c, n: n, prior: prior, v: v, d: d, was: was}
	u.grace, _ = time.ParseDuration(v.ShutdownTimeout.ValueString()) // the schema has checked it
	r := &resolver{client: c, facts: n.facts, v: v, existing: u.was, lost: prior.lostDisks()}
	if u.build, err = r.build(ctx, d.UUID); err != nil {
		return err
	}
	if err := u.consider(); err != nil {
		return err
	}
	if err := (&checks{n: n, c: c, v: v, prior: prior}).pluggable(ctx, u.mustRestart || !d.Active()); err != nil {
		return err
	}
	for _, f := range u.filters {
		if err := c.DefineFilter(ctx, f.name, f.xml); err != nil {
			return err
		}
	}
	// A node that is to be stopped is stopped first: a stopped one is easier to change.
	if !v.Running.ValueBool() && d.Active() {
		if err := c.StopDomain(ctx, d.UUID, u.grace); err != nil {
			return err
		}
		d.Live = nil
	}
	// A guest that sleeps lets go of nothing.
	if d.Active() && !u.mustRestart && d.State != "running" {
		if err := c.StartDomain(ctx, d.UUID); err != nil {
			return err
		}
	}
	if !d.Active() || u.mustRestart {
		err = u.redefine(ctx)
	} else {
		err = u.changeLive(ctx)
	}
	if err != nil {
		return errors.Join(err, u.takeBack(context.WithoutCancel(ctx)))
	}
	if err := u.reseed(ctx); err != nil {
		return err
	}
	if d.Autostart != v.Autostart.ValueBool() {
		if err := c.SetDomainAutostart(ctx, d.UUID, v.Autostart.ValueBool()); err != nil {
			return err
		}
	}
	if u.restart {
		if err := c.StopDomain(ctx, d.UUID, u.grace); err != nil {
			return err
		}
	}
	if v.Running.ValueBool() {
		if err := c.StartDomain(ctx, d.UUID); err != nil {
			return err
		}
	}
	return u.clean(ctx)
}

// redefine replaces the configuration and restarts the machine where it runs. A configuration that libvirt
// refuses changes nothing; one with which the machine does not start is taken back.
func (u *changer) redefine(ctx context.Context) error {
	old, err := u.d.Config.Marshal()
	if err != nil {
		return fmt.Errorf("cannot render domain %q: %w", u.d.Name, err)
	}
	if err := machine.Apply(u.d.Config, u.machine); err != nil {
		return err
	}
	if err := u.storeReplaceable(ctx); err != nil {
		return err
	}
	if err := u.c.DefineDomain(ctx, u.d.Config); err != nil {
		return err
	}
	err = u.refurnish(ctx)
	if err == nil && u.d.Active() {
		err = u.c.StopDomain(ctx, u.d.UUID, u.grace)
	}
	if err == nil {
		err = u.replaceStore(ctx)
	}
	if err == nil && u.d.Active() && u.v.Running.ValueBool() {
		err = u.c.StartDomain(ctx, u.d.UUID)
	}
	if err == nil {
		return nil
	}
	ctx = context.WithoutCancel(ctx)
	before := &libvirtxml.Domain{}
	undo := before.Unmarshal(old)
	if undo == nil {
		undo = u.c.DefineDomain(ctx, before)
	}
	if undo == nil {
		undo = u.restoreStore(ctx)
	}
	if undo == nil && u.d.Active() {
		undo = u.c.StartDomain(ctx, u.d.UUID)
	}
	return errors.Join(err, undo, removeVolumes(ctx, u.c, made(u.volumes)))
}

// refurnish makes new volumes and reservations, and grows disks. On failure the new volumes are marked as made.
func (u *changer) refurnish(ctx context.Context) error {
	for i := range u.volumes {
		if err := u.reclaim(ctx, &u.volumes[i]); err != nil {
			return err
		}
	}
	if err := makeVolumes(ctx, u.c, u.volumes); err != nil {
		return err
	}
	if err := u.reserve(ctx); err != nil {
		return err
	}
	return u.grow(ctx)
}

// reseed writes the seed and the Ignition file anew where they say something else.
func (u *changer) reseed(ctx context.Context) error {
	for _, own := range u.rewrite {
		if own.key == machine.Seed && u.sameSeed() {
			_, err := u.c.Volume(ctx, own.pool.Name(), own.xml.Name)
			if err == nil {
				continue
			}
			if !hypervisor.IsNotFound(err) {
				return err
			}
		}
		if err := replaceContent(ctx, u.c, own); err != nil {
			return err
		}
	}
	return nil
}

// sameSeed says that cloud-init is told what it was told before.
func (u *changer) sameSeed() bool {
	was, err := seedOf(u.prior, u.d.UUID)
	is, err2 := seedOf(u.v, u.d.UUID)
	return err == nil && err2 == nil && u.prior.seeded() && *was == *is
}

// clean removes what the node does not need any more.
func (u *changer) clean(ctx context.Context) error {
	for _, r := range u.obsolete() {
		if err := virtnetwork.RemoveReservation(ctx, u.c, r.network, r.host); err != nil {
			return err
		}
	}
	var gone []volumeRef
	for _, d := range u.was.Mark.Disks {
		if d.Volume != "" && u.machine.Mark.Disk(d.Key).Volume != d.Volume {
			gone = append(gone, volumeRef{d.Pool, d.Volume})
		}
	}
	if err := removeVolumes(ctx, u.c, gone); err != nil {
		return err
	}
	var filters []string
	for _, i := range u.was.Interfaces {
		ours := i.Filter == filterName(u.d.Name, i.MAC)
		if ours && !slices.Contains(u.filterNames(), i.Filter) {
			filters = append(filters, i.Filter)
		}
	}
	if u.retained {
		if err := writeMark(ctx, u.c, u.machine, true); err != nil {
			return err
		}
	}
	return dropFilters(ctx, u.c, filters)
}

func removeVolumes(ctx context.Context, c *hypervisor.Client, volumes []volumeRef) error {
	var err error
	for _, v := range volumes {
		err = errors.Join(err, c.DeleteVolume(ctx, v.pool, v.name))
	}
	return err
}
