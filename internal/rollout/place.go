package rollout

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/hashicorp/terraform-plugin-log/tflog"
	"libvirt.org/go/libvirtxml"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/owner"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/machine"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/metadata"
)

// placeName is what the domain is called that keeps the place of a machine; no node can be called so.
func placeName(node string) string { return node + machine.PlaceSuffix }

// keepPlace has a domain without anything keep the place of a machine that is about to be removed and made anew, or to move, and has that one
// carry the turn's ticket: others go on seeing that the machine is not to be counted on, and libvirt marks no domain that is being migrated. One
// that a killed run left is taken over.
func (t *turn) keepPlace(ctx context.Context, machineType string) error {
	workspace := owner.Workspace()
	place := uuid.NewString()
	left, err := t.at.DomainByName(ctx, placeName(t.name))
	switch {
	case err == nil:
		k := &ticket{}
		if _, err := metadata.ReadTurn(left.Config, k); err != nil || k.Member != t.name || k.Workspace != workspace {
			return fmt.Errorf("domain %q on %s is in the way, which this state did not make: it keeps the place of a node of another one. Remove it with virsh undefine, once that one is not being made anew or moved", left.Name, t.at.URI())
		}
		place = left.UUID
		if len(t.drained) == 0 {
			t.setDrained(k.Drained)
		}
	case !hypervisor.IsNotFound(err):
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	marked := t.ticket
	marked.Group, marked.Member, marked.Workspace, marked.Machine = t.settings.Group, t.name, workspace, t.own
	text, err := marked.renderQualified()
	if err != nil {
		return err
	}
	err = t.at.DefineDomain(ctx, &libvirtxml.Domain{
		Type: machineType, Name: placeName(t.name), UUID: place, Memory: &libvirtxml.DomainMemory{Value: 1, Unit: "MiB"},
		Title: fmt.Sprintf("keeps the place of %s, which is being made anew or moved", t.name), Metadata: &libvirtxml.DomainMetadata{XML: text},
		OS: &libvirtxml.DomainOS{Type: &libvirtxml.DomainOSType{Arch: "x86_64", Type: "hvm"}},
	})
	if err != nil {
		return err
	}
	t.place, t.ticket = place, marked
	return nil
}

// leavePlace has the place of a machine that was not made kept on, without a turn: it counts as down.
func (t *turn) leavePlace(ctx context.Context) {
	t.stopBeating()
	if err := t.changeTicket(context.WithoutCancel(ctx), func(k *ticket) { k.Number, k.Choosing, k.Step = 0, false, "" }); err != nil {
		tflog.Warn(ctx, "the mark of a turn could not be changed", map[string]any{"node": t.name, "reason": err.Error()})
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.over, t.place = true, ""
}
