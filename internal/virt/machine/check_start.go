package machine

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/hashicorp/terraform-plugin-log/tflog"
	"libvirt.org/go/libvirtxml"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/hypervisor"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
)

// plugsInterface says whether a change plugs an interface into a machine that runs, or starts the machine with it.
func (k networkChecker) plugsInterface(i *InterfaceSpec, starts bool) bool {
	if !k.Want.Running {
		return false
	}
	if k.isNewHere() || starts || !k.Was.Running {
		return true
	}
	for _, p := range k.Was.Interfaces {
		if p.MAC == i.MAC {
			return p.Network != i.Network || p.Model != i.Model || p.MTU != i.MTU
		}
	}
	return true
}

// checkPluggable returns an error at an interface that the hypervisor would refuse in the middle of an apply, before the apply
// changes anything: an interface in a network that is stopped, which the plan could not refuse as another resource may have been
// about to start it, or one with a card that QEMU does not have, which no hypervisor says. starts says that the change starts the
// machine.
func (k networkChecker) checkPluggable(ctx context.Context, starts bool) error {
	for n := range k.Want.Interfaces {
		i := &k.Want.Interfaces[n]
		if !k.plugsInterface(i, starts) {
			continue
		}
		if ref := i.Network; ref != "" {
			active, err := k.Cache.isNetworkActive(ctx, k.Client, ref)
			if err != nil {
				return err
			}
			if !active {
				return service.At(pathTo("network_interfaces", n, "network"), fmt.Errorf("network %q of hypervisor %s is stopped, and a machine that runs cannot be in it: %s", ref, k.Client.URI(), adviseNetworkStart(ref)))
			}
		}
		if err := k.Cache.tryCard(ctx, k.Client, k.Want, i.Model); err != nil {
			return service.At(pathTo("network_interfaces", n, "model"), err)
		}
	}
	return nil
}

// adviseNetworkStart returns the way out of a network that is stopped.
func adviseNetworkStart(name string) string {
	return fmt.Sprintf("write active = true for its virtcluster_network, or start it (virsh net-start %s), or import it as a virtcluster_network, which is kept active", name)
}

// isNetworkActive says whether a network runs.
func (f *HypervisorCache) isNetworkActive(ctx context.Context, c *hypervisor.Client, ref string) (bool, error) {
	return askOnceIf(f, question{c, "active network", ref}, func(active bool) bool { return active }, func() (bool, error) {
		n, err := c.Network(ctx, ref)
		if err != nil {
			return false, explainMissing(err, "there is no network %q", ref)
		}
		return n.Active(), nil
	})
}

// commonCards are the network cards that every QEMU for x86 has.
var commonCards = []string{"", "virtio", "e1000", "e1000e", "rtl8139"}

// tryCard returns the refusal of a network card that QEMU does not have. Only a start tells, so that of a machine with nothing
// else is tried, once for each that not every QEMU has.
func (f *HypervisorCache) tryCard(ctx context.Context, c *hypervisor.Client, s *Spec, model string) error {
	if slices.Contains(commonCards, model) {
		return nil
	}
	_, err := askOnce(f, question{c, "card", strings.Join([]string{s.Type, s.Chipset, model}, " ")}, func() (struct{}, error) {
		err := c.TryDomain(ctx, newCardTrial(s, model))
		if err == nil || hypervisor.Code(err) == 0 {
			return struct{}{}, err
		}
		usual := c.TryDomain(ctx, newCardTrial(s, "virtio"))
		if usual == nil {
			return struct{}{}, fmt.Errorf("hypervisor %s starts no machine with a network card %q: write model = \"virtio\", or another that its QEMU has (qemu-system-x86_64 -device help): %w", c.URI(), model, err)
		}
		tflog.Warn(ctx, "cannot try network cards", map[string]any{"reason": usual.Error()}) // it is not the card
		return struct{}{}, nil
	})
	return err
}

// newCardTrial returns a machine like a node's with nothing but a network card.
func newCardTrial(s *Spec, model string) *libvirtxml.Domain {
	id := uuid.NewString()
	return &libvirtxml.Domain{
		Name: "virtcluster-try-" + id[:8], UUID: id, Type: s.Type,
		Memory: &libvirtxml.DomainMemory{Value: 16, Unit: "MiB"},
		OS:     &libvirtxml.DomainOS{Type: &libvirtxml.DomainOSType{Arch: "x86_64", Machine: s.Chipset, Type: "hvm"}},
		Devices: &libvirtxml.DomainDeviceList{Interfaces: []libvirtxml.DomainInterface{{
			Source: &libvirtxml.DomainInterfaceSource{User: &libvirtxml.DomainInterfaceSourceUser{}}, Model: &libvirtxml.DomainInterfaceModel{Type: model},
		}}},
	}
}
