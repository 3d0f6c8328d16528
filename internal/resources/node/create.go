package node

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-log/tflog"
	"golang.org/x/sync/errgroup"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/crud"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/machine"
	virtnetwork "github.com/virtcluster/terraform-provider-virtcluster/internal/virt/network"
)

// Create makes the domain before anything else that the node consists of, marked as being created and with
// the names of all its volumes: whatever is left when the provider is killed can be found again and told from
// what belongs to somebody. The mark goes when everything is in place.
func (n *node) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	var v version
	resp.Diagnostics.Append(req.Plan.Get(ctx, &v.model)...)
	if resp.Diagnostics.HasError() {
		return
	}
	p, diags := v.split(ctx)
	v.parts = p
	resp.Diagnostics.Append(diags...)
	limit := crud.Timeout(ctx, v.Timeouts, "create", defaultTimeout, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	c, err := n.client(ctx, &v.model)
	if err != nil {
		resp.Diagnostics.Append(crud.Failure("create", what(&v.model), err))
		return
	}
	before, err := n.leases(ctx, c, &v)
	if err != nil {
		resp.Diagnostics.Append(crud.Failure("create", what(&v.model), err))
		return
	}
	var b *build
	k := &checks{n: n, c: c, v: &v, prior: &version{}, fresh: true}
	err = k.bridged(ctx, func() error {
		if err := k.pluggable(ctx, true); err != nil {
			return err
		}
		b, err = n.construct(ctx, c, &v)
		return err
	})
	if err != nil {
		resp.Diagnostics.Append(crud.Failure("create", what(&v.model), err))
		return
	}
	// The node exists from here on: state knows it before anything else can fail.
	planned := v.model
	v.ID = types.StringValue(b.machine.UUID)
	resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root("id"), v.ID)...)
	resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root("name"), v.Name)...)
	resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root("hypervisor"), v.Hypervisor)...)
	resp.Diagnostics.Append(n.Identify(ctx, resp.State, resp.Identity)...)

	if err := n.await(ctx, c, &v, before); err != nil {
		resp.Diagnostics.Append(crud.Failure("wait for", what(&v.model), err))
	}
	// A wait that took all the time there was is no reason to leave the rest undone.
	ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	resp.Diagnostics.Append(n.readBack(ctx, c, &v, &planned, &resp.State)...)
	// The very last thing: a provider that is killed before Terraform has its answer leaves a node that the next
	// apply still knows for an interrupted create.
	if err := writeMark(ctx, c, b.machine, v.Running.ValueBool()); err != nil {
		resp.Diagnostics.Append(crud.Failure("create", what(&v.model), err))
	}
}

// construct makes the node and starts it. When it fails, what was made is removed again.
func (n *node) construct(ctx context.Context, c *hypervisor.Client, v *version) (*build, error) {
	if err := n.takeOver(ctx, c, v); err != nil {
		return nil, err
	}
	r := &resolver{client: c, facts: n.facts, v: v}
	uuid := newUUID()
	b, err := r.build(ctx, uuid)
	if err != nil {
		return nil, err
	}
	n.facts.creating.Store(uuid, true)
	for _, f := range b.filters {
		if err := c.DefineFilter(ctx, f.name, f.xml); err != nil {
			return nil, err
		}
	}
	b.machine.Mark.Creating = true
	domain, err := machine.Render(b.machine)
	if err != nil {
		return nil, err
	}
	if err := c.DefineDomain(ctx, domain); err != nil {
		return nil, errors.Join(err, dropFilters(context.WithoutCancel(ctx), c, b.filterNames()))
	}
	b.machine.Mark.Creating = false
	if err := n.furnish(ctx, c, b, v); err != nil {
		undo := remains{uuid: b.machine.UUID, volumes: made(b.volumes), reservations: b.reservations, filters: b.filterNames()}
		return nil, errors.Join(err, remove(context.WithoutCancel(ctx), c, undo, 0))
	}
	return b, nil
}

// furnish makes what the defined domain refers to, and starts it.
func (n *node) furnish(ctx context.Context, c *hypervisor.Client, b *build, v *version) error {
	var group errgroup.Group
	group.Go(func() error { return makeVolumes(ctx, c, b.volumes) })
	for _, r := range b.reservations {
		group.Go(func() error { return virtnetwork.AddReservation(ctx, c, r.network, r.host) })
	}
	if v.Autostart.ValueBool() {
		group.Go(func() error { return c.SetDomainAutostart(ctx, b.machine.UUID, true) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	if !v.Running.ValueBool() {
		return nil
	}
	return c.StartDomain(ctx, b.machine.UUID)
}

// takeOver removes what an interrupted create of this node left behind. A domain of that name that is not
// such a leftover is somebody's.
func (n *node) takeOver(ctx context.Context, c *hypervisor.Client, v *version) error {
	d, err := c.DomainByName(ctx, v.Name.ValueString())
	if hypervisor.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	got := machine.Read(d.Config)
	if !got.Mark.Marked() || !got.Mark.Creating {
		return fmt.Errorf("the hypervisor has a domain %q already: choose another name, or take it over with `terraform import ADDRESS %s`", d.Name, d.UUID)
	}
	if _, ours := n.facts.creating.Load(d.UUID); ours {
		return fmt.Errorf("another resource of this apply makes a node %q too: give one of them another name", d.Name)
	}
	tflog.Warn(ctx, "removing what an interrupted create left behind", map[string]any{"node": d.Name, "uuid": d.UUID})
	left := remains{uuid: d.UUID}
	for _, disk := range got.Mark.Disks {
		if disk.Volume != "" {
			left.volumes = append(left.volumes, volumeRef{disk.Pool, disk.Volume})
		}
	}
	for _, i := range got.Interfaces {
		if i.Filter == filterName(d.Name, i.MAC) {
			left.filters = append(left.filters, i.Filter)
		}
	}
	// Its reservations are those of the node that is about to be made, for the same machine, or are found by
	// its MAC addresses.
	reservations, err := reservationsBy(ctx, c, got)
	left.reservations = reservations
	return errors.Join(err, remove(ctx, c, left, 0))
}

// reservationsBy finds the reservations that networks hold for a machine's MAC addresses, and for the names
// in its mark.
func reservationsBy(ctx context.Context, c *hypervisor.Client, m *machine.Machine) ([]reservation, error) {
	var all []reservation
	for _, i := range m.Interfaces {
		if i.Network == "" {
			continue
		}
		network, err := c.Network(ctx, i.Network)
		if hypervisor.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		marked := m.Mark.Interface(i.MAC)
		for _, h := range hypervisor.DHCPHosts(network.Current()) {
			if h.MAC == i.MAC || keptFor(h, marked) {
				all = append(all, reservation{i.Network, h})
			}
		}
	}
	return slices.Compact(all), nil
}

// keptFor says whether a reservation is the one of IPv6 that an interface's mark speaks of.
func keptFor(h hypervisor.DHCPHost, k machine.MarkedInterface) bool {
	return k.IPv6 != "" && h.IP.Is6() && h.Name == k.Hostname
}

// writeMark puts the node's mark into the domain's metadata.
func writeMark(ctx context.Context, c *hypervisor.Client, m *machine.Machine, live bool) error {
	element, err := m.Element()
	if err != nil {
		return err
	}
	return c.SetDomainMetadata(ctx, m.UUID, machine.Prefix, machine.Namespace, element, live)
}
