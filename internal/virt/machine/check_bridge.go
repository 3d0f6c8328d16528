package machine

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/virtcluster/terraform-provider-virtcluster/internal/ovn"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/service"
	"github.com/virtcluster/terraform-provider-virtcluster/internal/virt/network"
)

// bridgeChecker finds bridges and devices of the hypervisor that interfaces of a planned machine are to be upon and that are not there.
type bridgeChecker struct{ *Checker }

// checkBridges finds bridges, and devices that interfaces are upon, which the hypervisor's machine does not have and nothing in the plan makes.
func (k bridgeChecker) checkBridges(ctx context.Context) error {
	missing, err := k.findMissingBridges(ctx, func(i *InterfaceSpec) bool {
		name, _ := i.nameHostDevice()
		return i.OVNNetwork == "" && !network.PlansBridge(k.Plan, k.Hypervisors, k.Client, name) // OVN makes its own
	})
	for _, m := range missing {
		switch {
		case !m.sure:
			k.problems = append(k.problems, service.Warningf(m.path, m.spellSummary("not found"),
				"no %s %q was found on hypervisor %s, which cannot be looked at closely: without it the node does not start", m.spellKind(), m.name, k.Client.URI()))
		case !k.Want.Running && !k.Want.Unknown.Has("running"):
			k.problems = append(k.problems, service.Warningf(m.path, "Unknown "+m.spellKind(),
				"hypervisor %s has no %s %q, and without it the node will not start", k.Client.URI(), m.spellKind(), m.name))
		case m.spellKind() == "device":
			k.addProblem(m.path, "Unknown device", "hypervisor %s has no network device %q, and nothing planned so far makes it: write one that it has (ip link)", k.Client.URI(), m.name)
		default:
			k.addProblem(m.path, "Unknown bridge", "hypervisor %s has no bridge %q, and nothing planned so far makes it: make it there, or with virtcluster_external_bridge or virtcluster_network, and refer to that resource's attribute instead of writing its name, so that it comes first", k.Client.URI(), m.name)
		}
	}
	return err
}

// nameHostDevice returns the hypervisor's device that an interface is plugged into or put upon, and the attribute that says so; "" where a
// network of libvirt has it.
func (i *InterfaceSpec) nameHostDevice() (name string, attribute []any) {
	switch {
	case i.OVNNetwork != "":
		return ovn.IntegrationBridge, pathTo("ovn_network")
	case i.Direct != nil:
		return i.Direct.Device, pathTo("direct", "device")
	}
	return i.Bridge, pathTo("bridge")
}

// missingBridge is a bridge, or a device, that an interface needs.
type missingBridge struct {
	path []any
	name string
	// sure is set where everybody who could know says so.
	sure bool
}

// spellKind returns what messages call it.
func (m missingBridge) spellKind() string {
	if m.path[len(m.path)-1] == "device" {
		return "device"
	}
	return "bridge"
}

// spellSummary returns the head of a message about it.
func (m missingBridge) spellSummary(fate string) string {
	kind := m.spellKind()
	return strings.ToUpper(kind[:1]) + kind[1:] + " " + fate
}

// findMissingBridges returns those of the wanted bridges that the hypervisor's machine does not have.
func (k bridgeChecker) findMissingBridges(ctx context.Context, wanted func(*InterfaceSpec) bool) ([]missingBridge, error) {
	var all []missingBridge
	for n := range k.Want.Interfaces {
		i := &k.Want.Interfaces[n]
		device, attribute := i.nameHostDevice()
		if device == "" || k.isPlugged(i) || !wanted(i) {
			continue
		}
		lacks, sure, err := k.Cache.lacksDevice(ctx, k.Client, device)
		if err != nil {
			return nil, err
		}
		if lacks {
			all = append(all, missingBridge{pathBelow(pathTo("network_interfaces", n), attribute...), device, sure})
		}
	}
	return all, nil
}

// runWithBridges calls act, which starts or changes a node that is to run. Where a bridge of the node is missing for sure, it
// returns an error at the bridge and does not call act; where a bridge only seems to be missing, it is named in the error of an
// act that fails. A plan cannot refuse this, as another resource may have been about to make the bridge.
func (k bridgeChecker) runWithBridges(ctx context.Context, act func() error) error {
	var missing []missingBridge
	if k.Want.Running {
		var err error
		if missing, err = k.findMissingBridges(ctx, func(*InterfaceSpec) bool { return true }); err != nil {
			return err
		}
	}
	return actUnlessMissing(missing, act)
}

func actUnlessMissing(missing []missingBridge, act func() error) error {
	for _, m := range missing {
		if m.sure {
			return service.At(m.path, fmt.Errorf("the hypervisor has no %s %q: make it there, or refer to the attribute of the resource that makes it, so that it comes first", m.spellKind(), m.name))
		}
	}
	err := act()
	if err != nil && len(missing) > 0 {
		return service.At(missing[0].path, fmt.Errorf("no %s %q was found on the hypervisor: %w", missing[0].spellKind(), missing[0].name, err))
	}
	return err
}

// isPlugged says that the machine is in an interface's bridge, or upon its device, already, or does not need it now.
func (k bridgeChecker) isPlugged(i *InterfaceSpec) bool {
	starts := !k.Was.Running && k.Want.Running
	return !k.Fresh && !starts && slices.ContainsFunc(k.Was.Interfaces, func(p InterfaceSpec) bool {
		return p.Bridge == i.Bridge && samePointed(p.Direct, i.Direct) && (p.OVNNetwork == "") == (i.OVNNetwork == "")
	})
}
