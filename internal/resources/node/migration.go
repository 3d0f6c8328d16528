package node

import (
	"context"
	"errors"
	"fmt"
	"path"
	"time"

	tfpath "github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/convert"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/fleet"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/plan"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/values"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/machine"
)

// migrationModel says how the node goes to another hypervisor.
type migrationModel struct {
	Allow        types.Bool   `tfsdk:"allow"`
	BandwidthMiB types.Int64  `tfsdk:"bandwidth_mib"`
	Timeout      types.String `tfsdk:"timeout"`
}

func hypervisorAttribute() schema.Attribute {
	return values.Name.Optional("Which of the provider's `hypervisors` the node is on. Default: the provider's `uri`. A change moves the node there, while it runs, with its disks: see `migration`. " +
		"A node with an attached `volume`, and one with another image, is made anew there instead.")
}

// mostMiBPerSecond is the most that libvirt takes for a migration's bandwidth (qemu_migration_params.c), with room for none.
const mostMiBPerSecond = 1 << 20

func migrationAttribute() schema.Attribute {
	return values.OptionalObject("How the node goes to another `hypervisor`. It goes on running, its disks are copied into storage pools of the same names there, or of those that are planned, and its cloud-init disk, addresses, reservations, network filters and marks go with it. "+
		"Everything on the old hypervisor is removed once the new one has it all. A node that is off goes in the same way, without running. "+
		"The two hypervisors send memory and disks to each other directly, unencrypted, at ports 49152 to 49215 and at the name that the new one has for itself (`migration_host` in its `qemu.conf`), which the old one has to know. "+
		"The plan refuses a move where the new hypervisor lacks the network, the pool, the image, room, the machine type or a feature of the processor, where both hypervisors have one storage, where the node has a snapshot, and to the same machine by another name. "+
		"A move that fails or takes too long leaves the node where it was, running; one that was interrupted is brought to its end by the next apply.", values.Attributes{
		"allow":         values.Flag.Optional("Whether it may. With `false`, another `hypervisor` makes another node, and the old one is destroyed with its disks. Default: `true`."),
		"bandwidth_mib": values.Between(1, mostMiBPerSecond).Optional("How much is sent in a second at most, in MiB. Default: what the network has."),
		"timeout":       values.Duration(time.Second, 7*24*time.Hour).Optional("How long sending may take: a guest that changes its memory faster than it can be sent would never arrive. `timeouts.update` bounds the whole change, so it must be longer. Default: what `timeouts.update` leaves."),
	})
}

// movesNode says whether a changed hypervisor moves the node as it is, and does not make another one.
func (p *planner) movesNode(planned, prior *version, was *machine.Spec) bool {
	if planned.Hypervisor.IsUnknown() || planned.Hypervisor.Equal(prior.Hypervisor) || !planned.Name.Equal(prior.Name) || was.State == machine.Undefined {
		return false
	}
	if p.isLost(prior.Hypervisor.ValueString()) {
		return false // nothing comes from there
	}
	want := planned.toSpec()
	if want.Unknown.Has("migration") || !want.MayMigrate() || !was.HasOwnDisks() || !want.HasOwnDisks() || (planned.Root == nil) != (prior.Root == nil) {
		return false
	}
	return planned.Root == nil || sameImage(planned.Root.Image, prior.Root.Image)
}

// isLost says whether the provider was told that a hypervisor is lost.
func (p *planner) isLost(hypervisor string) bool {
	if p.at.Fleet == nil {
		return false
	}
	_, err := p.at.Fleet.URI(hypervisor)
	return errors.As(err, new(*fleet.LostError))
}

// sameImage says whether two images, on two hypervisors, are called alike: the disk has all of its content either way.
func sameImage(a, b types.String) bool {
	if !convert.Known(a) || !convert.Known(b) {
		return a.IsNull() && b.IsNull() || a.IsUnknown() && !b.IsNull()
	}
	return path.Base(a.ValueString()) == path.Base(b.ValueString())
}

// planMove says that the node moves, and has the checks ask both hypervisors.
func (p *planner) planMove(ctx context.Context, want, was *machine.Spec) {
	how := "It is off, and is copied without running"
	if was.Runs() {
		how = "It goes on running all the while"
	}
	p.resp.Diagnostics.AddAttributeWarning(tfpath.Root("hypervisor"), "The node moves to another hypervisor",
		fmt.Sprintf("node %q moves from %s to %s with its disks. %s, and nothing of it is left on the old one.", want.Name, plan.NameHypervisor(was.Hypervisor), plan.NameHypervisor(want.Hypervisor), how))
	if p.at.Fleet == nil {
		return
	}
	if from, err := p.at.Fleet.Hypervisor(ctx, was.Hypervisor); err == nil {
		p.checker.From = from
	}
}
